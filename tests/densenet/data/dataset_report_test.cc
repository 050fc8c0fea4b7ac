#include "densenet/data/dataset_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/random.h"
#include "memory/host_memory.h"
#include "tests/densenet/test_cifar.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(DatasetCatalog, HasAnEntryForEveryName) {
  std::vector<std::string> names;
  for (const PublishedDataset& dataset : PublishedDatasets()) {
    names.push_back(dataset.name);
    EXPECT_FALSE(dataset.homepage.empty());
    EXPECT_GT(dataset.train_images, 0);
    std::set<Split> splits;
    for (const PublishedFile& file : dataset.files) {
      splits.insert(file.split);
      EXPECT_GT(file.bytes, 0) << file.names[0];
      EXPECT_THAT(file.digest, ::testing::MatchesRegex(
                                   "(md5:[0-9a-f]{32}|sha1:[0-9a-f]{40})"));
    }
    EXPECT_EQ(splits.size(), 2u);
    for (const PublishedDownload& download : dataset.downloads) {
      EXPECT_THAT(download.digest, ::testing::MatchesRegex("md5:[0-9a-f]{32}"));
      EXPECT_TRUE(download.url.ends_with('/')) << download.url;
      EXPECT_GT(download.bytes, 0);
    }
  }
  for (const std::string& name : DatasetNames()) {
    EXPECT_THAT(names, Contains(name));
  }
  EXPECT_THAT(FindPublished("imagenet"),
              Fails(StatusCode::kInvalidArgument, {"imagenet", "cifar10"}));
  EXPECT_EQ(FindPublished("svhn")->train_images, 604'388);
  EXPECT_EQ(FindPublished("cifar10")->unpacked_bytes(), 6 * 30'730'000);
}

TEST(DatasetReport, NamesEveryFault) {
  TempDir dir;
  testing::WriteCifar10(dir, 5, 10);
  std::filesystem::remove(dir.File("test_batch.bin"));
  HostMemory memory;
  StatusOr<DatasetReport> report = VerifyDataset("cifar10", dir.path(), memory);
  ASSERT_OK(report);
  EXPECT_FALSE(report->ok());
  EXPECT_EQ(report->files.size(), 5u);
  EXPECT_THAT(report->faults,
              Contains(::testing::AllOf(HasSubstr("data_batch_3.bin"),
                                        HasSubstr("15365 bytes"),
                                        HasSubstr("30730000"))));
  EXPECT_THAT(report->faults,
              Contains(HasSubstr("train has 25 images, published are 50000")));
  EXPECT_THAT(report->faults, Contains(HasSubstr("test_batch.bin not found")));
  ASSERT_EQ(report->splits.size(), 1u);
  EXPECT_EQ(report->splits[0].images, 25);
  EXPECT_EQ(report->splits[0].of_class[0], 5);
  EXPECT_EQ(report->splits[0].channels.mean.size(), 3u);
}

TEST(DatasetReport, NoFolderAndNoNameAreErrors) {
  HostMemory memory;
  EXPECT_THAT(VerifyDataset("cifar10", "", memory),
              Fails(StatusCode::kInvalidArgument, {"--data"}));
  EXPECT_THAT(VerifyDataset("folder", "/tmp", memory),
              Fails(StatusCode::kInvalidArgument, {"'folder'"}));
}

TEST(DatasetReport, DebiansFashionMnistIsThePublished) {
  if (!std::filesystem::exists(DefaultDataFolder("fashion-mnist"))) {
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }
  HostMemory memory;
  StatusOr<DatasetReport> report = VerifyDataset("fashion-mnist", "", memory);
  ASSERT_OK(report);
  EXPECT_THAT(report->faults, ::testing::IsEmpty());
  ASSERT_EQ(report->splits.size(), 2u);
  EXPECT_EQ(fmt::format("{:.4f}", report->splits[0].channels.mean[0]),
            "0.2860");
}

TEST(DatasetReport, RealFiles) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  if (root == nullptr) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder of data sets";
  }
  const std::filesystem::path folder(root);
  HostMemory memory;
  if (std::filesystem::exists(folder / "mnist")) {
    StatusOr<DatasetReport> report =
        VerifyDataset("mnist", folder.string(), memory);
    ASSERT_OK(report);
    EXPECT_THAT(report->faults, ::testing::IsEmpty());
  }
  // A copy that went through JPEG has the sizes and counts, not the content.
  if (std::filesystem::exists(folder / "cifar-10-batches-bin")) {
    StatusOr<DatasetReport> report =
        VerifyDataset("cifar10", folder.string(), memory);
    ASSERT_OK(report);
    EXPECT_THAT(report->faults, ::testing::SizeIs(6));
    EXPECT_THAT(report->faults, ::testing::Each(HasSubstr("other content")));
  }
}

}  // namespace
}  // namespace densenet
