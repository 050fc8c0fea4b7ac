#include "core/io/tar_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/random.h"
#include "tests/support/gzip.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tar_files.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::Slurp;
using ::densenet::testing::Tar;
using ::densenet::testing::TarMember;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;
namespace fs = std::filesystem;

constexpr int64_t kRoom = 1 << 20;

class TarReaderTest : public ::testing::Test {
 protected:
  StatusOr<std::vector<std::string>> Unpack(const std::string& archive,
                                            int64_t room = kRoom) {
    path_ = dir_.Write("a.tar.gz", archive);
    return UnpackTar(path_, out_.path(), room);
  }
  StatusOr<std::vector<std::string>> Unpack(
      const std::vector<TarMember>& members) {
    return Unpack(Gzip(Tar(members)));
  }

  TempDir dir_;
  TempDir out_;
  std::string path_;
};

TEST_F(TarReaderTest, UnpacksFilesAndFoldersOfEveryFormat) {
  const std::string long_text(100'000, 'x');
  const std::string gnu("ustar  \0", 8);
  const std::vector<TarMember> members = {
      {.name = "set/", .bytes = "", .type = '5'},
      {.name = "set/a.bin", .bytes = "abc"},
      {.name = "./set/b.bin",
       .bytes = long_text,
       .magic = gnu,
       .prefix = "ignored"},
      {.name = "head", .bytes = "26 mtime=1234567890.12345\n", .type = 'x'},
      {.name = "c.bin", .bytes = std::string(512, 'c'), .prefix = "set/deep"},
      {.name = "set/empty", .bytes = "", .type = '\0'},
  };
  for (const bool gzip : {true, false}) {
    StatusOr<std::vector<std::string>> paths =
        Unpack(gzip ? Gzip(Tar(members)) : Tar(members));
    ASSERT_OK(paths);
    EXPECT_THAT(*paths, ElementsAre("set/a.bin", "set/b.bin", "set/deep/c.bin",
                                    "set/empty"));
    EXPECT_EQ(Slurp(out_.File("set/a.bin")), "abc");
    EXPECT_EQ(Slurp(out_.File("set/b.bin")), long_text);
    EXPECT_EQ(Slurp(out_.File("set/deep/c.bin")), std::string(512, 'c'));
    EXPECT_EQ(Slurp(out_.File("set/empty")), "");
  }
}

// An archive that the system's tar wrote, in each of its formats.
TEST_F(TarReaderTest, UnpacksWhatTarWrites) {
  dir_.Write("from/set/a.bin", "abc");
  dir_.Write("from/set/b.bin", std::string(5000, 'b'));
  for (const char* format : {"gnu", "ustar", "pax", "v7"}) {
    const std::string archive = dir_.File("w.tar.gz");
    const std::string command =
        fmt::format("tar --format={} -C {} -czf {} set 2>/dev/null", format,
                    dir_.File("from"), archive);
    ASSERT_EQ(std::system(command.c_str()), 0);
    const auto paths = UnpackTar(archive, out_.path(), kRoom);
    if (std::string_view(format) == "v7") {
      EXPECT_THAT(paths,
                  Fails(StatusCode::kInvalidArgument, {"no tar archive"}));
      continue;
    }
    ASSERT_OK(paths) << format;
    EXPECT_THAT(*paths,
                ::testing::UnorderedElementsAre("set/a.bin", "set/b.bin"));
  }
}

TEST_F(TarReaderTest, WhatLeadsOutIsRefused) {
  for (const char* name : {"/etc/x", "../x", "set/../../x", "..", "a/..",
                           "set/\nx", "set\\..\\x"}) {
    EXPECT_THAT(Unpack({{.name = name, .bytes = "x"}}),
                Fails(StatusCode::kInvalidArgument,
                      {"a.tar.gz", "leads out of the folder"}))
        << name;
  }
  EXPECT_THAT(Unpack({{.name = "x", .bytes = "x", .prefix = "/etc"}}),
              Fails(StatusCode::kInvalidArgument, {"/etc/x"}));
  EXPECT_THAT(Unpack({{.name = "./", .bytes = "x"}}),
              Fails(StatusCode::kInvalidArgument, {"'./'"}));
  EXPECT_THAT(out_.Names(), ElementsAre());
}

TEST_F(TarReaderTest, LinksDevicesAndLongNamesAreRefused) {
  for (const char type : {'1', '2', '3', '4', '6', '7', 'L', 'K', 'S', 'V'}) {
    const bool link = type == '1' || type == '2';
    EXPECT_THAT(Unpack({{.name = "set/x",
                         .bytes = "",
                         .type = type,
                         .link = "/etc/passwd"}}),
                Fails(StatusCode::kInvalidArgument,
                      {"'set/x' is a", link ? "link" : "type"}))
        << type;
  }
  EXPECT_THAT(Unpack({{.name = "h", .bytes = "14 path=/etc/x\n", .type = 'x'},
                      {.name = "x", .bytes = "x"}}),
              Fails(StatusCode::kInvalidArgument, {"path="}));
  EXPECT_THAT(Unpack({{.name = "h", .bytes = "99 mtime=1\n", .type = 'x'}}),
              Fails(StatusCode::kInvalidArgument, {"pax header is damaged"}));
  EXPECT_THAT(
      Unpack({{.name = "h", .bytes = std::string(1 << 17, 'x'), .type = 'g'}}),
      Fails(StatusCode::kInvalidArgument, {"pax header is too large"}));
  EXPECT_THAT(out_.Names(), ElementsAre());
}

TEST_F(TarReaderTest, MoreBytesThanExpectedAreRefused) {
  const std::string archive =
      Gzip(Tar({{.name = "a", .bytes = std::string(600, 'a')},
                {.name = "b", .bytes = std::string(600, 'b')}}));
  EXPECT_OK(Unpack(archive, 1200));
  EXPECT_THAT(Unpack(archive, 1199),
              Fails(StatusCode::kInvalidArgument, {"1199 bytes"}));
}

TEST_F(TarReaderTest, EveryTruncationAndFlipIsNoticed) {
  const std::vector<TarMember> members = {
      {.name = "set/", .bytes = "", .type = '5'},
      {.name = "set/a.bin", .bytes = std::string(700, 'a')}};
  const std::string packed = Gzip(Tar(members));
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(Unpack(packed.substr(0, size)).ok()) << size;
  }
  // Without the checksum of gzip the one of each header tells, but for the
  // space that follows it.
  const std::string plain = Tar(members).substr(0, 3072);
  for (size_t at = 0; at < 1024; ++at) {
    if (at % 512 == 155) continue;
    std::string damaged = plain;
    damaged[at] ^= 0x11;
    EXPECT_FALSE(Unpack(damaged).ok()) << at;
  }
  EXPECT_FALSE(Unpack(plain.substr(0, 1024 + 700)).ok());
  EXPECT_THAT(Unpack(std::string(2000, 'x')),
              Fails(StatusCode::kInvalidArgument, {"no tar archive"}));
}

}  // namespace
}  // namespace densenet
