#include "densenet/data/svhn.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "memory/host_memory.h"
#include "tests/support/mat_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::SvhnPixel;
using ::densenet::testing::TempDir;
using ::densenet::testing::WriteMatFile;
using ::densenet::testing::WriteSvhnFile;

class SvhnTest : public ::testing::Test {
 protected:
  StatusOr<Dataset> Load(std::string_view name, Split split) {
    return LoadDataset(name, dir_.path(), split, memory_);
  }
  // The images of a file written with `seed`, from example `first` on.
  static void ExpectImages(const Dataset& data, int64_t first, int64_t count,
                           uint64_t seed) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t y = 0; y < 32; ++y) {
        for (int64_t x = 0; x < 32; ++x) {
          for (int64_t c = 0; c < 3; ++c) {
            ASSERT_EQ(data.image(first + i)[(y * 32 + x) * 3 + c],
                      SvhnPixel(i, y, x, c, seed))
                << i << ' ' << y << ' ' << x << ' ' << c;
          }
        }
      }
    }
  }

  TempDir dir_;
  HostMemory memory_;
};

TEST_F(SvhnTest, TrainsOnTrainThenExtra) {
  WriteSvhnFile(dir_.File("train_32x32.mat"), {1, 10, 9}, 1);
  WriteSvhnFile(dir_.File("extra_32x32.mat"), {10, 2}, 2, false);
  WriteSvhnFile(dir_.File("test_32x32.mat"), {5}, 3, true, /*uint8*/ 9);
  StatusOr<Dataset> train = Load("svhn", Split::kTrain);
  ASSERT_OK(train);
  ASSERT_EQ(train->count(), 5);
  EXPECT_EQ(train->images.shape(), Shape({5, 32, 32, 3}));
  const std::vector<int32_t> labels = {1, 0, 9, 0, 2};
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(train->label(i), labels[i]);
  ExpectImages(*train, 0, 3, 1);
  ExpectImages(*train, 3, 2, 2);
  // Nothing but the data set itself was taken from the resource.
  EXPECT_EQ(memory_.stats().peak_bytes,
            train->images.bytes() + train->labels.bytes());
  StatusOr<Dataset> test = Load("svhn", Split::kTest);
  ASSERT_OK(test);
  ASSERT_EQ(test->count(), 1);
  EXPECT_EQ(test->label(0), 5);
  ExpectImages(*test, 0, 1, 3);
}

TEST_F(SvhnTest, MissingExtraIsAnErrorThatNamesTheChoice) {
  WriteSvhnFile(dir_.File("train_32x32.mat"), {1, 10}, 1);
  EXPECT_THAT(Load("svhn", Split::kTrain),
              Fails(StatusCode::kNotFound,
                    {"svhn: extra_32x32.mat not found", dir_.path(),
                     "svhn-no-extra", "ufldl.stanford.edu"}));
  StatusOr<Dataset> train = Load("svhn-no-extra", Split::kTrain);
  ASSERT_OK(train);
  EXPECT_EQ(train->count(), 2);
  EXPECT_EQ(train->info.name, "svhn-no-extra");
  EXPECT_THAT(Load("svhn", Split::kTest),
              Fails(StatusCode::kNotFound, {"test_32x32.mat"}));
}

TEST_F(SvhnTest, WhatIsNotSvhnIsAnError) {
  const std::string path = dir_.File("test_32x32.mat");
  const auto fails = [&](const std::vector<std::string>& parts) {
    std::vector<std::string> all = parts;
    all.push_back("svhn: ");
    all.push_back(path);
    EXPECT_THAT(Load("svhn", Split::kTest), Fails(StatusCode::kDataLoss, all));
  };
  WriteSvhnFile(path, {1, 11}, 1);
  fails({"record 1", "label 11", "1 to 10"});
  WriteSvhnFile(path, {0, 1}, 1);
  fails({"record 0", "label 0"});
  const std::vector<double> images(2 * 3072, 7);
  WriteMatFile(path,
               {{.name = "X",
                 .mat_class = 9,
                 .extents = {32, 32, 3, 2},
                 .values = images}},
               true);
  fails({"no variable 'y'", "it has X"});
  WriteMatFile(path,
               {{.name = "X",
                 .mat_class = 9,
                 .extents = {32, 32, 3, 2},
                 .values = images},
                {.name = "y", .extents = {3, 1}, .values = {1, 2, 3}}},
               true);
  fails({"2 images and 3 labels"});
  WriteMatFile(path,
               {{.name = "X", .extents = {32, 32, 3, 2}, .values = images},
                {.name = "y", .extents = {2, 1}, .values = {1, 2}}},
               true);
  fails({"double 32x32x3x2", "expected uint8 32x32x3xN"});
  WriteMatFile(path,
               {{.name = "X",
                 .mat_class = 9,
                 .extents = {3, 32, 32, 2},
                 .values = images},
                {.name = "y", .extents = {2, 1}, .values = {1, 1.5}}},
               true);
  fails({"uint8 3x32x32x2"});
  WriteMatFile(path,
               {{.name = "X",
                 .mat_class = 9,
                 .extents = {32, 32, 3, 2},
                 .values = images},
                {.name = "y", .extents = {2, 1}, .values = {1, 1.5}}},
               true);
  fails({"record 1", "label 1.5"});
}

TEST_F(SvhnTest, DamageIsAnErrorBeforeMemoryIsTaken) {
  const std::string path = dir_.File("test_32x32.mat");
  WriteSvhnFile(path, std::vector<int>(20, 3), 1);
  std::string bytes = testing::Slurp(path);
  bytes[bytes.size() / 2] ^= 0x20;
  dir_.Write("test_32x32.mat", bytes);
  EXPECT_THAT(Load("svhn", Split::kTest),
              Fails(StatusCode::kDataLoss, {path, "damaged near byte"}));
  dir_.Write("test_32x32.mat", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(Load("svhn", Split::kTest),
              Fails(StatusCode::kDataLoss, {path, "was cut"}));
  EXPECT_EQ(memory_.stats().peak_bytes, 0);
}

}  // namespace
}  // namespace densenet
