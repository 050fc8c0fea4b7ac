#include "densenet/data/published_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/densenet/test_cifar.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PublishedContentTest, FilesOfOtherContentAreNamed) {
  const testing::TempDir data;
  testing::WriteCifar10(data, /*per_batch=*/2, /*test=*/2);
  StatusOr<std::vector<std::string>> unlike =
      FilesUnlikePublished("cifar10", data.path());
  ASSERT_OK(unlike);
  EXPECT_THAT(*unlike, ElementsAre("data_batch_1.bin", "data_batch_2.bin",
                                   "data_batch_3.bin", "data_batch_4.bin",
                                   "data_batch_5.bin", "test_batch.bin"));
  EXPECT_THAT(FilesUnlikePublished("cifar10", data.File("gone")),
              testing::Fails(StatusCode::kNotFound, {"gone"}));
}

TEST(PublishedContentTest, PublishedFilesAreNotNamed) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "Debian package dataset-fashion-mnist is not installed";
  }
  StatusOr<std::vector<std::string>> unlike =
      FilesUnlikePublished("fashion-mnist", "");
  ASSERT_OK(unlike);
  EXPECT_THAT(*unlike, IsEmpty());
}

TEST(PublishedContentTest, FilesOfOnesOwnHaveNoPublisher) {
  StatusOr<std::vector<std::string>> unlike =
      FilesUnlikePublished("folder", "somewhere");
  ASSERT_OK(unlike);
  EXPECT_THAT(*unlike, IsEmpty());
}

}  // namespace
}  // namespace densenet
