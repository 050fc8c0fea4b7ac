#include "core/io/mat_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/random.h"
#include "tests/support/mat_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::MatArray;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::densenet::testing::WriteMatFile;

constexpr size_t kHead = 128;

std::vector<MatArray> TwoArrays() {
  return {{.name = "images",
           .mat_class = 9,
           .extents = {4, 3, 2, 5},
           .values = std::vector<double>(120, 7)},
          {.name = "y", .extents = {5, 1}, .values = {1, 2, 3, 4, 10}}};
}

class MatFileTest : public ::testing::Test {
 protected:
  std::string Bytes(bool compressed) {
    WriteMatFile(path_, TwoArrays(), compressed);
    return Slurp(path_);
  }
  // Everything in the file, or what went wrong.
  Status ReadAll(const std::string& bytes) {
    dir_.Write("f.mat", bytes);
    ASSIGN_OR_RETURN(const std::unique_ptr<MatFile> file, MatFile::Open(path_));
    for (const MatVariable& variable : file->variables()) {
      RETURN_IF_ERROR(file->ReadNumbers(variable).status());
    }
    return OkStatus();
  }

  TempDir dir_;
  const std::string path_ = dir_.File("f.mat");
};

TEST_F(MatFileTest, ReadsEveryClassPlainAndCompressed) {
  for (const bool compressed : {false, true}) {
    for (int mat_class = 6; mat_class <= 15; ++mat_class) {
      WriteMatFile(path_,
                   {{.name = "other", .extents = {1, 1}, .values = {5}},
                    {.name = "v",
                     .mat_class = mat_class,
                     .extents = {3, 2},
                     .values = {0, 1, 2, 100, 7, 9}}},
                   compressed);
      StatusOr<std::unique_ptr<MatFile>> file = MatFile::Open(path_);
      ASSERT_OK(file) << mat_class;
      StatusOr<MatVariable> v = (*file)->Find("v");
      ASSERT_OK(v);
      EXPECT_EQ(static_cast<int>(v->type), mat_class);
      EXPECT_THAT(v->extents, ::testing::ElementsAre(3, 2));
      StatusOr<std::vector<double>> numbers = (*file)->ReadNumbers(*v);
      ASSERT_OK(numbers);
      EXPECT_THAT(*numbers, ::testing::ElementsAre(0, 1, 2, 100, 7, 9));
    }
  }
}

// More than the buffers of zlib and matio hold, so that reads have seams.
TEST_F(MatFileTest, ReadsLargeVariablesWhole) {
  MatArray large = {
      .name = "X", .mat_class = 9, .extents = {700, 300}, .values = {}};
  for (uint64_t i = 0; i < 210'000; ++i) {
    large.values.push_back(RandomBits({.seed = 3}, i) & 0xff);
  }
  for (const bool compressed : {false, true}) {
    WriteMatFile(path_, {large}, compressed);
    StatusOr<std::unique_ptr<MatFile>> file = MatFile::Open(path_);
    ASSERT_OK(file);
    std::vector<uint8_t> bytes(210'000);
    ASSERT_OK((*file)->ReadBytes((*file)->variables()[0], bytes.data()));
    EXPECT_EQ(std::vector<double>(bytes.begin(), bytes.end()), large.values);
  }
}

TEST_F(MatFileTest, NamesWhatIsThereWhenSomethingIsNot) {
  WriteMatFile(path_, TwoArrays(), true);
  StatusOr<std::unique_ptr<MatFile>> file = MatFile::Open(path_);
  ASSERT_OK(file);
  EXPECT_THAT((*file)->Find("X"),
              Fails(StatusCode::kNotFound, {path_, "'X'", "images, y"}));
  uint8_t byte;
  EXPECT_THAT((*file)->ReadBytes((*file)->variables()[1], &byte),
              Fails(StatusCode::kInvalidArgument, {"'y'", "double 5x1"}));
  EXPECT_THAT(MatFile::Open(dir_.File("no.mat")),
              Fails(StatusCode::kNotFound, {"no.mat"}));
}

TEST_F(MatFileTest, EveryTruncationIsNoticed) {
  for (const bool compressed : {false, true}) {
    const std::string whole = Bytes(compressed);
    int64_t between = 0;
    for (size_t size = 0; size < whole.size(); ++size) {
      const Status status = ReadAll(whole.substr(0, size));
      // A cut between two variables leaves a valid file of fewer.
      if (status.ok()) {
        ++between;
        continue;
      }
      ASSERT_THAT(status.code(), ::testing::AnyOf(StatusCode::kDataLoss,
                                                  StatusCode::kInvalidArgument))
          << size;
      ASSERT_THAT(std::string(StdView(status.message())),
                  ::testing::HasSubstr(path_));
    }
    EXPECT_EQ(between, 2);
    ASSERT_OK(ReadAll(whole));
  }
}

// But for those that fill up the last byte of compressed data: they mean
// nothing.
TEST_F(MatFileTest, EveryFlippedBitOfCompressedDataIsNoticed) {
  const std::string whole = Bytes(true);
  int unnoticed = 0;
  for (size_t at = kHead; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      if (!ReadAll(damaged).ok()) continue;
      ++unnoticed;
      StatusOr<std::unique_ptr<MatFile>> file = MatFile::Open(path_);
      ASSERT_OK(file);
      EXPECT_EQ(*(*file)->ReadNumbers((*file)->variables()[0]),
                TwoArrays()[0].values);
      EXPECT_EQ(*(*file)->ReadNumbers((*file)->variables()[1]),
                TwoArrays()[1].values);
    }
  }
  EXPECT_LE(unnoticed, 2 * 7);
}

// Whoever computes the checksums anew can write anything; nothing of it may
// crash, hang or take memory that the file does not hold.
TEST_F(MatFileTest, NothingInsideIsTrusted) {
  const std::string plain = Bytes(false);
  uint64_t draw = 0;
  const auto random = [&](uint64_t n) {
    return RandomBits({.seed = 11}, draw++) % n;
  };
  int fine = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = plain;
    for (uint64_t n = 1 + random(3); n > 0; --n) {
      const size_t at = kHead + random(damaged.size() - kHead);
      const uint64_t how = random(4);
      damaged[at] = static_cast<char>(how == 0   ? 0
                                      : how == 1 ? 0xff
                                                 : random(256));
    }
    if (round % 2 == 0) {
      // The first variable once more, compressed.
      uint32_t bytes;
      std::memcpy(&bytes, plain.data() + kHead + 4, 4);
      const std::string matrix = damaged.substr(kHead, 8 + bytes);
      uLongf packed = compressBound(matrix.size());
      std::string element(8 + packed, '\0');
      ASSERT_EQ(compress(reinterpret_cast<Bytef*>(element.data() + 8), &packed,
                         reinterpret_cast<const Bytef*>(matrix.data()),
                         matrix.size()),
                Z_OK);
      element.resize(8 + packed);
      element[0] = 15;
      const auto size = static_cast<uint32_t>(packed);
      std::memcpy(element.data() + 4, &size, 4);
      damaged = damaged.substr(0, kHead) + element;
    }
    fine += ReadAll(damaged).ok();
  }
  // Values themselves cannot be told from others.
  EXPECT_GT(fine, 100);
  EXPECT_LT(fine, 3900);
}

TEST_F(MatFileTest, OtherFormatsAreNamed) {
  std::string bytes = Bytes(true);
  bytes[125] = 2;
  EXPECT_THAT(ReadAll(bytes), Fails(StatusCode::kInvalidArgument,
                                    {path_, "7.3 (HDF5)", "-v7"}));
  bytes[125] = 3;
  EXPECT_THAT(ReadAll(bytes), Fails(StatusCode::kInvalidArgument,
                                    {path_, "version", "0x0300"}));
  bytes[126] = 'x';
  EXPECT_THAT(ReadAll(bytes),
              Fails(StatusCode::kInvalidArgument, {path_, "byte order"}));
  EXPECT_THAT(ReadAll(""),
              Fails(StatusCode::kInvalidArgument, {path_, "0 bytes"}));
}

// Files that MATLAB wrote on several machines, some of them damaged.
TEST(MatFileRealTest, FilesOfMatlab) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  if (root == nullptr ||
      !std::filesystem::exists(std::filesystem::path(root) / "matlab")) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder with matlab/";
  }
  const std::string folder = std::string(root) + "/matlab/";
  for (const char* name :
       {"test3dmatrix_6.1_SOL2.mat", "test3dmatrix_7.4_GLNX86.mat"}) {
    StatusOr<std::unique_ptr<MatFile>> file = MatFile::Open(folder + name);
    ASSERT_OK(file) << name;
    StatusOr<MatVariable> matrix = (*file)->Find("test3dmatrix");
    ASSERT_OK(matrix);
    EXPECT_EQ(matrix->ToString(), "double 2x3x4");
    StatusOr<std::vector<double>> numbers = (*file)->ReadNumbers(*matrix);
    ASSERT_OK(numbers);
    for (int i = 0; i < 24; ++i) EXPECT_EQ((*numbers)[i], i + 1);
  }
  const auto fails = [&](const char* name, StatusCode code,
                         const std::vector<std::string>& parts) {
    EXPECT_THAT(MatFile::Open(folder + name), Fails(code, parts)) << name;
  };
  fails("corrupted_zlib_checksum.mat", StatusCode::kDataLoss,
        {"corrupted_zlib_checksum.mat", "incorrect data check"});
  fails("testhdf5_7.4_GLNX86.mat", StatusCode::kInvalidArgument,
        {"testhdf5_7.4_GLNX86.mat", "HDF5"});
  fails("testdouble_4.2c_SOL2.mat", StatusCode::kInvalidArgument,
        {"testdouble_4.2c_SOL2.mat", "no MATLAB 5 file"});
}

}  // namespace
}  // namespace densenet
