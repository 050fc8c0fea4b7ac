#include "core/io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;

TEST(FileTest, WritesAndReadsBack) {
  TempDir dir;
  const std::string text("a\0b\nc", 5);
  ASSERT_OK(WriteFileAtomically(dir.File("x"), text));
  EXPECT_EQ(Slurp(dir.File("x")), text);
  StatusOr<std::string> read = ReadFile(dir.File("x"));
  ASSERT_OK(read);
  EXPECT_EQ(*read, text);
  EXPECT_THAT(dir.Names(), ElementsAre("x"));
}

TEST(FileTest, ReadsNoMoreThanItMay) {
  TempDir dir;
  dir.Write("x", "12345");
  EXPECT_OK(ReadFile(dir.File("x"), 5));
  EXPECT_THAT(ReadFile(dir.File("x"), 4),
              Fails(StatusCode::kInvalidArgument, {"/x", "more than 4 bytes"}));
  // A stream has no size and no end; a hole has a size and no bytes.
  EXPECT_THAT(ReadFile("/dev/zero", 1 << 20),
              Fails(StatusCode::kInvalidArgument, {"/dev/zero", "1048576"}));
  std::filesystem::resize_file(dir.File("x"), uintmax_t{1} << 40);
  EXPECT_THAT(ReadFile(dir.File("x")),
              Fails(StatusCode::kInvalidArgument, {"/x", "1073741824"}));
}

TEST(FileTest, OnlyFilesAreReadAnywhere) {
  TempDir dir;
  // Opening one for reading waits for a writer.
  ASSERT_EQ(::mkfifo(dir.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(RandomAccessFile::Open(dir.File("pipe")),
              Fails(StatusCode::kInvalidArgument, {"/pipe", "a pipe"}));
  EXPECT_THAT(RandomAccessFile::Open("/dev/zero"),
              Fails(StatusCode::kInvalidArgument, {"/dev/zero", "a device"}));
  EXPECT_THAT(RandomAccessFile::Open(dir.path()),
              Fails(StatusCode::kInvalidArgument, {"a folder"}));
  ASSERT_EQ(::symlink("self", dir.File("self").c_str()), 0);
  EXPECT_THAT(RandomAccessFile::Open(dir.File("self")),
              Fails(StatusCode::kInvalidArgument, {"/self"}));
}

TEST(FileTest, ListsNames) {
  TempDir dir;
  dir.Write("b", "");
  dir.Write(".a", "");
  StatusOr<std::vector<std::string>> names = NamesIn(dir.path());
  ASSERT_OK(names);
  EXPECT_THAT(*names, ElementsAre(".a", "b"));
  EXPECT_THAT(NamesIn(dir.File("none")),
              Fails(StatusCode::kNotFound, {"/none"}));
}

TEST(FileTest, ReplacesOnlyWhenCommitted) {
  TempDir dir;
  dir.Write("x", "old");
  {
    StatusOr<AtomicFile> file = AtomicFile::Create(dir.File("x"));
    ASSERT_OK(file);
    ASSERT_OK(file->Append("new, but never committed"));
    EXPECT_EQ(Slurp(dir.File("x")), "old");
    EXPECT_EQ(dir.Names().size(), 2u);
  }
  EXPECT_EQ(Slurp(dir.File("x")), "old");
  EXPECT_THAT(dir.Names(), ElementsAre("x"));
}

TEST(FileTest, OverwritesWhatWasAppended) {
  TempDir dir;
  StatusOr<AtomicFile> file = AtomicFile::Create(dir.File("x"));
  ASSERT_OK(file);
  ASSERT_OK(file->Append("0123456789"));
  ASSERT_OK(file->WriteAt(3, "abc", 3));
  ASSERT_OK(file->Append("!"));
  EXPECT_EQ(file->size(), 11);
  ASSERT_OK(file->Commit());
  EXPECT_EQ(Slurp(dir.File("x")), "012abc6789!");
}

TEST(FileTest, RelativePathWithoutFolder) {
  TempDir dir;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  EXPECT_OK(WriteFileAtomically("x", "here"));
  std::filesystem::current_path(before);
  EXPECT_EQ(Slurp(dir.File("x")), "here");
}

TEST(FileTest, FollowsLinks) {
  TempDir dir;
  dir.Write("target", "old");
  ASSERT_EQ(::symlink("target", dir.File("link").c_str()), 0);
  ASSERT_OK(WriteFileAtomically(dir.File("link"), "new"));
  EXPECT_EQ(Slurp(dir.File("target")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.File("link")));
}

TEST(FileTest, FailuresNamePathAndReason) {
  TempDir dir;
  dir.Write("plain", "");
  EXPECT_THAT(WriteFileAtomically(dir.File("no/such/x"), "a"),
              Fails(StatusCode::kNotFound, {"no/such/x", "No such file"}));
  EXPECT_THAT(
      WriteFileAtomically(dir.File("plain/x"), "a"),
      Fails(StatusCode::kFailedPrecondition, {"plain/x", "Not a directory"}));
  EXPECT_THAT(WriteFileAtomically(dir.path(), "a"),
              Fails(StatusCode::kInvalidArgument, {dir.path(), "folder"}));
  EXPECT_THAT(WriteFileAtomically("", "a"),
              Fails(StatusCode::kInvalidArgument, {"no name"}));
  EXPECT_THAT(ReadFile(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone", "No such file"}));
  EXPECT_THAT(ReadFile(dir.path()),
              Fails(StatusCode::kInvalidArgument, {dir.path(), "folder"}));
  EXPECT_THAT(dir.Names(), ElementsAre("plain"));
}

TEST(FileTest, DeviceIsWrittenInPlace) {
  struct stat before, after;
  ASSERT_EQ(::stat("/dev/null", &before), 0);
  EXPECT_OK(WriteFileAtomically("/dev/null", "gone"));
  ASSERT_EQ(::stat("/dev/null", &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(S_ISCHR(after.st_mode));
}

TEST(FileTest, FullDiskIsAnError) {
  EXPECT_THAT(
      WriteFileAtomically("/dev/full", "a"),
      Fails(StatusCode::kResourceExhausted, {"/dev/full", "No space left"}));
}

// A write that the system cuts short leaves neither name behind.
TEST(FileTest, FailedWriteRemovesTheTemporary) {
  TempDir dir;
  struct rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  auto* old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status =
      WriteFileAtomically(dir.File("x"), std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status, Fails(status.code(), {dir.File("x"), "File too large"}));
  EXPECT_THAT(dir.Names(), ElementsAre());
}

TEST(FileTest, ReadAtPastTheEndIsDataLoss) {
  TempDir dir;
  const std::string path = dir.Write("x", "0123456789");
  StatusOr<RandomAccessFile> file = RandomAccessFile::Open(path);
  ASSERT_OK(file);
  EXPECT_EQ(file->size(), 10);
  char out[8];
  ASSERT_OK(file->ReadAt(2, out, 8));
  EXPECT_EQ(std::string(out, 8), "23456789");
  EXPECT_THAT(file->ReadAt(5, out, 8),
              Fails(StatusCode::kDataLoss, {path, "ends at byte 10", "3"}));
}

TEST(FileTest, RemovesTemporariesOfKilledProcesses) {
  TempDir dir;
  dir.Write("x.safetensors.tmp-0123abcd", "half");
  dir.Write("x.safetensors", "whole");
  dir.Write("x.tmp-0123abcg", "not ours");
  dir.Write("x.tmp", "not ours");
  ASSERT_OK(RemoveTemporaries(dir.path()));
  EXPECT_THAT(dir.Names(),
              ElementsAre("x.safetensors", "x.tmp", "x.tmp-0123abcg"));
  EXPECT_THAT(RemoveTemporaries(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone"}));
}

}  // namespace
}  // namespace densenet
