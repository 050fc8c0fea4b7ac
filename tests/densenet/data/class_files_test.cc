#include "densenet/data/class_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;

void WriteFile(const TempDir& dir, const std::string& name,
               const std::string& bytes) {
  std::filesystem::create_directories(
      std::filesystem::path(dir.File(name)).parent_path());
  dir.Write(name, bytes);
}

TEST(ClassFilesTest, ListsImagesByClassAndName) {
  TempDir dir;
  WriteFile(dir, "b/2.JPG", "22");
  WriteFile(dir, "b/1.png", "1");
  WriteFile(dir, "a/deep/er/x.jpeg", "333");
  WriteFile(dir, "a/y.gif", "");
  WriteFile(dir, "a/z.jfif", "");
  WriteFile(dir, "a/.hidden.jpg", "no");
  WriteFile(dir, "a/Thumbs.db", "no");
  WriteFile(dir, "readme.txt", "beside the folders");
  StatusOr<std::vector<std::string>> classes = FoldersIn(dir.path());
  ASSERT_OK(classes);
  EXPECT_THAT(*classes, ElementsAre("a", "b"));
  StatusOr<ClassFiles> files = ListClassFiles(dir.path(), *classes, true);
  ASSERT_OK(files);
  std::vector<std::string> names;
  std::vector<int64_t> labels;
  for (const ClassFile& file : files->files) {
    names.push_back(file.name);
    labels.push_back(file.label);
  }
  EXPECT_THAT(
      names, ElementsAre("a/deep/er/x.jpeg", "a/z.jfif", "b/1.png", "b/2.JPG"));
  EXPECT_THAT(labels, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(files->bytes(), 6);
  EXPECT_EQ(files->others.count, 2);
  EXPECT_EQ(files->others.Note("train"),
            "passed over in the train images, not named as JPEG or PNG: " +
                dir.File("a/Thumbs.db") + " and 1 more");
  EXPECT_EQ(OtherFiles().Note("train"), "");
}

TEST(ClassFilesTest, WhatIsNoFileIsPassedOver) {
  TempDir dir;
  WriteFile(dir, "a/folder.jpg/1.jpg", "1");
  // Opening it would wait for a writer.
  ASSERT_EQ(::mkfifo(dir.File("a/pipe.jpg").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", dir.File("a/zero.jpg"));
  std::filesystem::create_symlink("gone", dir.File("a/dangling.jpg"));
  std::filesystem::create_symlink("self.png", dir.File("a/self.png"));
  std::filesystem::create_symlink("gone", dir.File("a/dangling.txt"));
  const StatusOr<ClassFiles> files = ListClassFiles(dir.path(), {"a"}, true);
  ASSERT_OK(files);
  std::vector<std::string> names;
  for (const ClassFile& file : files->files) names.push_back(file.name);
  EXPECT_THAT(
      names, ElementsAre("a/dangling.jpg", "a/folder.jpg/1.jpg", "a/self.png"));
  EXPECT_EQ(files->others.count, 3);
}

TEST(ClassFilesTest, AGivenOrderOfClassesIsKept) {
  TempDir dir;
  WriteFile(dir, "a/1.jpg", "");
  WriteFile(dir, "b/2.jpg", "");
  StatusOr<ClassFiles> files = ListClassFiles(dir.path(), {"b", "a"}, true);
  ASSERT_OK(files);
  EXPECT_EQ(files->files[0].name, "b/2.jpg");
  EXPECT_EQ(files->files[0].label, 0);
  EXPECT_OK(ListClassFiles(dir.path(), {"a", "b", "c"}, false));
  EXPECT_THAT(ListClassFiles(dir.path(), {"a", "b", "c"}, true),
              Fails(StatusCode::kFailedPrecondition, {"'c'"}));
  EXPECT_THAT(ListClassFiles(dir.path(), {"a"}, true),
              Fails(StatusCode::kFailedPrecondition, {"/b", "classes a"}));
}

TEST(ClassFilesTest, SaysWhatIsMissing) {
  TempDir dir;
  EXPECT_THAT(ListClassFiles(dir.File("gone"), {}, true),
              Fails(StatusCode::kNotFound, {"gone"}));
  EXPECT_THAT(ListClassFiles(dir.path(), {}, true),
              Fails(StatusCode::kFailedPrecondition, {"<class>"}));
  WriteFile(dir, "a/readme.txt", "");
  EXPECT_THAT(ListClassFiles(dir.path(), {"a"}, true),
              Fails(StatusCode::kFailedPrecondition, {"no image files", "a"}));
  std::filesystem::create_directory_symlink(dir.File("a"), dir.File("a/loop"));
  EXPECT_THAT(ListClassFiles(dir.path(), {"a"}, true),
              Fails(StatusCode::kFailedPrecondition, {"circles"}));
}

}  // namespace
}  // namespace densenet
