#include "densenet/data/class_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::EndsWith;

class ClassFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view bytes) {
    std::filesystem::create_directories(
        std::filesystem::path(dir_.File(name)).parent_path());
    dir_.Write(name, bytes);
  }
  // Two classes, one file deeper than the others, and what else lies about.
  void WriteUsual() {
    Write("train/bees/2.png", "bb");
    Write("train/bees/1.JPG", "b");
    Write("train/ants/deep/er/x.jpeg", "aaaa");
    Write("train/ants/note.txt", "text");
    Write("train/ants/.hidden.jpg", "hidden");
    Write("train/README", "no class");
    Write("val/bees/9.jpg", "val");
  }

  TempDir dir_;
};

TEST_F(ClassFolderTest, ListsTheImagesOfClasses) {
  WriteUsual();
  const auto set = ClassFolder::Open(dir_.path(), Split::kTrain);
  ASSERT_OK(set);
  const ClassFolder& train = **set;
  EXPECT_THAT(train.Info().class_names, ElementsAre("ants", "bees"));
  EXPECT_EQ(train.Info().channels, 3);
  EXPECT_EQ(train.Info().height, 0);
  ASSERT_EQ(train.count(), 3);
  EXPECT_EQ(train.max_encoded_bytes(), 4);
  EXPECT_EQ(train.others().count, 1);
  EXPECT_THAT(train.others().first, EndsWith("train/ants/note.txt"));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"train/ants/deep/er/x.jpeg", "aaaa"},
      {"train/bees/1.JPG", "b"},
      {"train/bees/2.png", "bb"}};
  for (int64_t i = 0; i < 3; ++i) {
    char scratch[4];
    const StatusOr<Example> example = train.Read(i, absl::MakeSpan(scratch));
    ASSERT_OK(example);
    EXPECT_EQ(example->encoded, expected[i].second);
    EXPECT_EQ(example->pixels, nullptr);
    EXPECT_EQ(example->label, i == 0 ? 0 : 1);
    EXPECT_EQ(*train.Label(i), example->label);
    EXPECT_EQ(train.NameOf(i), dir_.File(expected[i].first));
  }
}

TEST_F(ClassFolderTest, LabelsOfTheTestSplitAreThoseOfTraining) {
  WriteUsual();
  const auto set = ClassFolder::Open(dir_.path(), Split::kTest);
  ASSERT_OK(set);
  EXPECT_THAT((*set)->Info().class_names, ElementsAre("ants", "bees"));
  ASSERT_EQ((*set)->count(), 1);
  EXPECT_EQ(*(*set)->Label(0), 1);
  Write("val/wasps/1.jpg", "x");
  EXPECT_THAT(ClassFolder::Open(dir_.path(), Split::kTest),
              Fails(StatusCode::kInvalidArgument, {"val/wasps", "no such"}));
}

TEST_F(ClassFolderTest, DigestTellsFilesApart) {
  WriteUsual();
  const auto digest = [&] {
    return (*ClassFolder::Open(dir_.path(), Split::kTrain))->Digest();
  };
  const uint32_t before = digest();
  EXPECT_EQ(digest(), before);
  Write("train/bees/1.JPG", "c");  // of the same size: not looked into
  EXPECT_EQ(digest(), before);
  Write("train/bees/1.JPG", "longer");
  const uint32_t longer = digest();
  EXPECT_NE(longer, before);
  Write("train/bees/3.jpg", "");
  EXPECT_NE(digest(), longer);
}

TEST_F(ClassFolderTest, FilesMayGoOrGrow) {
  WriteUsual();
  const auto set = ClassFolder::Open(dir_.path(), Split::kTrain);
  ASSERT_OK(set);
  std::vector<char> scratch(4);
  Write("train/bees/2.png", "much longer");
  StatusOr<Example> read = (*set)->Read(2, absl::MakeSpan(scratch));
  EXPECT_THAT(read, Fails(StatusCode::kDataLoss, {"2.png", "11 bytes"}));
  EXPECT_TRUE(IsBadExample(read.status()));
  std::filesystem::remove(dir_.File("train/bees/1.JPG"));
  read = (*set)->Read(1, absl::MakeSpan(scratch));
  EXPECT_THAT(read, Fails(StatusCode::kNotFound, {"1.JPG"}));
  EXPECT_TRUE(IsBadExample(read.status()));
}

TEST_F(ClassFolderTest, ErrorsSayWhatIsExpected) {
  const auto open = [&](Split split) {
    return ClassFolder::Open(dir_.path(), split);
  };
  EXPECT_THAT(ClassFolder::Open("", Split::kTrain),
              Fails(StatusCode::kInvalidArgument, {"--data"}));
  EXPECT_THAT(ClassFolder::Open(dir_.File("gone"), Split::kTrain),
              Fails(StatusCode::kNotFound, {"gone"}));
  EXPECT_THAT(open(Split::kTrain),
              Fails(StatusCode::kNotFound, {"train/<class>/"}));
  std::filesystem::create_directories(dir_.File("train"));
  EXPECT_THAT(open(Split::kTrain),
              Fails(StatusCode::kInvalidArgument, {"no class folders"}));
  Write("train/ants/a.gif", "GIF89a");
  EXPECT_THAT(open(Split::kTrain),
              Fails(StatusCode::kInvalidArgument, {"no image files", ".jpg"}));
  Write("train/ants/a.jpg", "x");
  EXPECT_OK(open(Split::kTrain));
  EXPECT_THAT(open(Split::kTest),
              Fails(StatusCode::kNotFound, {"val, validation, valid, test"}));
  std::filesystem::create_directory_symlink(dir_.File("train/ants"),
                                            dir_.File("train/ants/circle"));
  EXPECT_THAT(open(Split::kTrain),
              Fails(StatusCode::kFailedPrecondition, {"circles"}));
}

TEST_F(ClassFolderTest, LinksToNowhereAreBadExamples) {
  std::filesystem::create_directories(dir_.File("train/a"));
  std::filesystem::create_symlink("gone", dir_.File("train/a/1.jpg"));
  std::filesystem::create_symlink("2.jpg", dir_.File("train/a/2.jpg"));
  const auto set = ClassFolder::Open(dir_.path(), Split::kTrain);
  ASSERT_OK(set);
  ASSERT_EQ((*set)->count(), 2);
  // Nothing can be read, but they are files still and not pixels.
  EXPECT_GT((*set)->max_encoded_bytes(), 0);
  std::vector<char> scratch(1);
  const auto dangling = (*set)->Read(0, absl::MakeSpan(scratch));
  EXPECT_THAT(dangling, Fails(StatusCode::kNotFound, {"1.jpg"}));
  EXPECT_TRUE(IsBadExample(dangling.status()));
  const auto circle = (*set)->Read(1, absl::MakeSpan(scratch));
  EXPECT_THAT(circle, Fails(StatusCode::kInvalidArgument, {"2.jpg"}));
  EXPECT_TRUE(IsBadExample(circle.status()));
}

}  // namespace
}  // namespace densenet
