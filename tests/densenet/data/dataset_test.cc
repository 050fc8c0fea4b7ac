#include "densenet/data/dataset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/random.h"
#include "densenet/data/normalization.h"
#include "memory/host_memory.h"
#include "tests/support/gzip.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::TempDir;

std::string Pixels(int64_t count, uint64_t seed) {
  std::string bytes(static_cast<size_t>(count), '\0');
  for (int64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<char>(RandomBits({.seed = seed}, i));
  }
  return bytes;
}

// --- CIFAR ------------------------------------------------------------------

// `records` records whose label is `record % classes`.
std::string CifarFile(int64_t records, int classes, uint64_t seed) {
  std::string bytes;
  for (int64_t i = 0; i < records; ++i) {
    if (classes == 100) bytes += static_cast<char>(19 - i % 20);
    bytes += static_cast<char>(i % classes);
    bytes += Pixels(3072, seed * 1000 + i);
  }
  return bytes;
}

class CifarTest : public ::testing::Test {
 protected:
  void WriteCifar10(const std::string& folder) {
    for (int i = 1; i <= 5; ++i) {
      dir_.Write(fmt::format("{}data_batch_{}.bin", folder, i),
                 CifarFile(i, 10, i));
    }
    dir_.Write(folder + "test_batch.bin", CifarFile(2, 10, 9));
  }
  StatusOr<Dataset> Load(std::string_view name, Split split) {
    return LoadDataset(name, dir_.path(), split, memory_);
  }

  TempDir dir_;
  HostMemory memory_;
};

TEST_F(CifarTest, StoresChannelsLastInFileOrder) {
  WriteCifar10("");
  StatusOr<Dataset> train = Load("cifar10", Split::kTrain);
  ASSERT_OK(train);
  EXPECT_EQ(train->count(), 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(train->images.shape(), Shape({15, 32, 32, 3}));
  EXPECT_EQ(train->info.class_names[9], "truck");
  int64_t at = 0;
  for (int file = 1; file <= 5; ++file) {
    for (int64_t i = 0; i < file; ++i, ++at) {
      EXPECT_EQ(train->label(at), i % 10);
      const std::string planes = Pixels(3072, file * 1000 + i);
      for (int64_t y : {0, 1, 31}) {
        for (int64_t x : {0, 1, 31}) {
          for (int64_t c = 0; c < 3; ++c) {
            EXPECT_EQ(train->image(at)[(y * 32 + x) * 3 + c],
                      static_cast<uint8_t>(planes[c * 1024 + y * 32 + x]));
          }
        }
      }
    }
  }
  StatusOr<Dataset> test = Load("cifar10", Split::kTest);
  ASSERT_OK(test);
  EXPECT_EQ(test->count(), 2);
}

TEST_F(CifarTest, TakesTheFolderOfTheArchiveToo) {
  WriteCifar10("cifar-10-batches-bin/");
  StatusOr<Dataset> train = Load("cifar10", Split::kTrain);
  ASSERT_OK(train);
  EXPECT_EQ(train->count(), 15);
  dir_.Write("cifar-100-binary/test.bin", CifarFile(3, 100, 1));
  EXPECT_OK(Load("cifar100", Split::kTest));
}

// More records than one read takes, so that reads have a seam.
TEST_F(CifarTest, FineLabelsAndNamesOfCifar100) {
  dir_.Write("train.bin", CifarFile(1100, 100, 1));
  StatusOr<Dataset> train = Load("cifar100", Split::kTrain);
  ASSERT_OK(train);
  EXPECT_EQ(train->count(), 1100);
  EXPECT_EQ(train->info.class_names[42], "42");
  for (int64_t i : {0, 99, 1023, 1024, 1099}) {
    EXPECT_EQ(train->label(i), i % 100);
    EXPECT_EQ(train->image(i)[3 * 5 + 1],
              static_cast<uint8_t>(Pixels(3072, 1000 + i)[1024 + 5]));
  }
  std::string names;
  for (int i = 0; i < 100; ++i) names += fmt::format("class {}\r\n", i);
  dir_.Write("fine_label_names.txt", names + "\n");
  train = Load("cifar100", Split::kTrain);
  ASSERT_OK(train);
  EXPECT_EQ(train->info.class_names[42], "class 42");
  dir_.Write("fine_label_names.txt", "apple\n");
  EXPECT_THAT(Load("cifar100", Split::kTrain),
              Fails(StatusCode::kDataLoss,
                    {"fine_label_names.txt", "1 names, expected 100"}));
}

TEST_F(CifarTest, PartialRecordIsAnError) {
  WriteCifar10("");
  for (size_t size : {1, 3072, 3074, 3 * 3073 - 1}) {
    const std::string path =
        dir_.Write("data_batch_3.bin", CifarFile(3, 10, 1).substr(0, size));
    EXPECT_THAT(Load("cifar10", Split::kTrain),
                Fails(StatusCode::kDataLoss,
                      {"cifar10", path, fmt::format("{} bytes", size),
                       "multiple of 3073"}));
  }
  dir_.Write("test_batch.bin", "");
  EXPECT_THAT(Load("cifar10", Split::kTest),
              Fails(StatusCode::kDataLoss, {"test_batch.bin", "no records"}));
}

TEST_F(CifarTest, LabelOutOfRangeIsAnError) {
  WriteCifar10("");
  std::string bytes = CifarFile(4, 10, 1);
  bytes[3 * 3073] = 10;
  const std::string path = dir_.Write("data_batch_4.bin", bytes);
  EXPECT_THAT(
      Load("cifar10", Split::kTrain),
      Fails(StatusCode::kDataLoss, {path, "record 3", "label 10", "0 to 9"}));
  bytes = CifarFile(2, 100, 1);
  bytes[3074 + 1] = 100;
  dir_.Write("test.bin", bytes);
  EXPECT_THAT(Load("cifar100", Split::kTest),
              Fails(StatusCode::kDataLoss,
                    {"test.bin", "record 1", "label 100", "0 to 99"}));
}

TEST_F(CifarTest, MissingFilesAreListed) {
  EXPECT_THAT(
      Load("cifar10", Split::kTest),
      Fails(StatusCode::kNotFound, {"test_batch.bin", dir_.path(),
                                    "cifar-10-batches-bin", "cs.toronto.edu"}));
  WriteCifar10("cifar-10-batches-bin/");
  std::filesystem::remove(dir_.File("cifar-10-batches-bin/data_batch_4.bin"));
  EXPECT_THAT(Load("cifar10", Split::kTrain),
              Fails(StatusCode::kNotFound,
                    {"data_batch_4.bin not found in",
                     dir_.File("cifar-10-batches-bin"), "data_batch_5.bin"}));
  EXPECT_THAT(LoadDataset("cifar10", dir_.File("gone"), Split::kTest, memory_),
              Fails(StatusCode::kNotFound, {"no folder", dir_.File("gone")}));
}

TEST_F(CifarTest, NoRoomIsAnError) {
  WriteCifar10("");
  HostMemory small(1000);
  EXPECT_THAT(LoadDataset("cifar10", dir_.path(), Split::kTest, small),
              Fails(StatusCode::kResourceExhausted, {"limit 1000"}));
}

TEST(DatasetTest, UnknownNamesAndFolders) {
  HostMemory memory;
  EXPECT_THAT(LoadDataset("foo", "", Split::kTrain, memory),
              Fails(StatusCode::kInvalidArgument,
                    {"unknown data set 'foo': expected one of cifar10, "
                     "cifar100, svhn, svhn-no-extra, mnist, fashion-mnist"}));
  EXPECT_THAT(LoadDataset("cifar10", "", Split::kTrain, memory),
              Fails(StatusCode::kInvalidArgument, {"cifar10", "--data"}));
  EXPECT_EQ(DefaultDataFolder("fashion-mnist"),
            "/usr/share/datasets/fashion-mnist");
  EXPECT_EQ(DefaultDataFolder("cifar10"), "");
  for (const std::string& name : DatasetNames()) {
    StatusOr<ImageDatasetInfo> info = GetDatasetInfo(name);
    ASSERT_OK(info);
    EXPECT_EQ(info->name, name);
    EXPECT_EQ(info->classes(), name == "cifar100" ? 100 : 10);
  }
}

// --- IDX --------------------------------------------------------------------

std::string IdxFile(uint32_t magic, const std::vector<uint32_t>& extents,
                    const std::string& elements) {
  std::string bytes;
  const auto put = [&](uint32_t v) {
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(v >> shift);
  };
  put(magic);
  for (uint32_t extent : extents) put(extent);
  return bytes + elements;
}

constexpr uint32_t kImages = 0x803;
constexpr uint32_t kLabels = 0x801;

class IdxTest : public ::testing::Test {
 protected:
  IdxTest()
      : images_(IdxFile(kImages, {4, 28, 28}, Pixels(4 * 784, 1))),
        labels_(IdxFile(kLabels, {4}, std::string("\3\0\7\11", 4))) {}

  void Write(const std::string& suffix = "") {
    dir_.Write("train-images-idx3-ubyte" + suffix, images_);
    dir_.Write("train-labels-idx1-ubyte" + suffix, labels_);
  }
  StatusOr<Dataset> Load() {
    return LoadDataset("fashion-mnist", dir_.path(), Split::kTrain, memory_);
  }

  TempDir dir_;
  HostMemory memory_;
  std::string images_;
  std::string labels_;
};

TEST_F(IdxTest, ReadsPlainAndGzipUnderAllNames) {
  const std::string plain_images = images_, plain_labels = labels_;
  for (const char* format :
       {"{}-{}-idx{}-ubyte", "{}-{}.idx{}-ubyte", "{}-{}-idx{}-ubyte.gz",
        "{}-{}.idx{}-ubyte.gz", "mnist/{}-{}-idx{}-ubyte.gz"}) {
    for (Split split : {Split::kTrain, Split::kTest}) {
      TempDir dir;
      const bool gzip = std::string_view(format).ends_with(".gz");
      const char* prefix = split == Split::kTrain ? "train" : "t10k";
      dir.Write(fmt::format(fmt::runtime(format), prefix, "images", 3),
                gzip ? Gzip(images_) : images_);
      dir.Write(fmt::format(fmt::runtime(format), prefix, "labels", 1),
                gzip ? Gzip(labels_) : labels_);
      StatusOr<Dataset> data = LoadDataset("mnist", dir.path(), split, memory_);
      ASSERT_OK(data) << format;
      EXPECT_EQ(data->images.shape(), Shape({4, 28, 28, 1}));
      EXPECT_EQ(data->label(2), 7);
      EXPECT_EQ(
          std::string(reinterpret_cast<const char*>(data->image(0)), 4 * 784),
          Pixels(4 * 784, 1));
    }
  }
}

TEST_F(IdxTest, HeaderIsChecked) {
  labels_ = IdxFile(kImages, {4}, "\1\2\3\4");
  Write();
  EXPECT_THAT(Load(), Fails(StatusCode::kDataLoss,
                            {"train-labels-idx1-ubyte", "00000803", "00000801",
                             "1 dimensions"}));
  labels_ = IdxFile(kLabels, {5}, "\1\2\3\4\5");
  Write();
  EXPECT_THAT(Load(), Fails(StatusCode::kDataLoss,
                            {"4 images", "train-labels-idx1-ubyte has 5"}));
  images_ = IdxFile(kImages, {5, 28, 27}, Pixels(5 * 28 * 27, 1));
  Write();
  EXPECT_THAT(Load(),
              Fails(StatusCode::kDataLoss, {"28x27", "expected 28x28"}));
  images_ = IdxFile(kImages, {0, 28, 28}, "");
  labels_ = IdxFile(kLabels, {0}, "");
  Write();
  EXPECT_THAT(Load(), Fails(StatusCode::kDataLoss, {"no images"}));
}

// The header of a damaged file may promise terabytes.
TEST_F(IdxTest, PromisesAreNotBelieved) {
  for (bool gzip : {false, true}) {
    for (uint32_t count : {100'000u, 0xffffffffu}) {
      for (uint32_t side : {28u, 0xffffffffu}) {
        images_ = IdxFile(kImages, {count, side, side}, Pixels(4 * 784, 1));
        if (gzip) images_ = Gzip(images_);
        Write();
        EXPECT_THAT(Load(), Fails(StatusCode::kDataLoss,
                                  {"train-images-idx3-ubyte", "promises"}));
      }
    }
  }
  EXPECT_LT(memory_.stats().peak_bytes, 1000);
}

TEST_F(IdxTest, EveryTruncationIsAnErrorThatNamesTheFile) {
  const std::string images = images_, labels = labels_;
  for (const bool gzip : {false, true}) {
    const std::string whole = gzip ? Gzip(images) : images;
    for (size_t size = 0; size < whole.size();
         size += size < 40 || size + 20 > whole.size() ? 1 : 97) {
      images_ = whole.substr(0, size);
      Write();
      ASSERT_THAT(Load(), Fails(StatusCode::kDataLoss,
                                {dir_.File("train-images-idx3-ubyte")}))
          << size;
    }
    images_ = whole;
    for (size_t size = 0; size < labels.size(); ++size) {
      labels_ = labels.substr(0, size);
      Write();
      ASSERT_THAT(Load(), Fails(StatusCode::kDataLoss,
                                {dir_.File("train-labels-idx1-ubyte")}))
          << size;
    }
    labels_ = labels;
    Write();
    ASSERT_OK(Load());
  }
  images_ = images + "x";
  Write();
  EXPECT_THAT(Load(),
              Fails(StatusCode::kDataLoss,
                    {dir_.File("train-images-idx3-ubyte"), "more than"}));
}

TEST_F(IdxTest, LabelOutOfRangeIsAnError) {
  labels_ = IdxFile(kLabels, {4}, "\1\2\3\12");
  Write();
  EXPECT_THAT(Load(), Fails(StatusCode::kDataLoss,
                            {dir_.File("train-labels-idx1-ubyte"), "record 3",
                             "label 10", "0 to 9"}));
}

TEST_F(IdxTest, MissingFilesAreListedWithTheirSource) {
  EXPECT_THAT(Load(), Fails(StatusCode::kNotFound,
                            {"train-images-idx3-ubyte, train-labels-idx1-ubyte",
                             dir_.path(), "dataset-fashion-mnist",
                             "/usr/share/datasets/fashion-mnist"}));
  Write();
  std::filesystem::remove(dir_.File("train-images-idx3-ubyte"));
  EXPECT_THAT(Load(),
              Fails(StatusCode::kNotFound,
                    {"fashion-mnist: train-images-idx3-ubyte not found"}));
}

// --- Real files -------------------------------------------------------------

TEST(RealDataTest, FashionMnist) {
  if (!std::filesystem::exists(DefaultDataFolder("fashion-mnist"))) {
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }
  HostMemory memory;
  StatusOr<Dataset> train =
      LoadDataset("fashion-mnist", "", Split::kTrain, memory);
  ASSERT_OK(train);
  EXPECT_EQ(train->count(), 60000);
  std::vector<int64_t> of_class(10);
  for (int64_t i = 0; i < train->count(); ++i) ++of_class[train->label(i)];
  EXPECT_THAT(of_class, ::testing::Each(6000));
  EXPECT_EQ(train->info.class_names[train->label(0)], "Ankle boot");
  StatusOr<Normalization> normalization = ComputeNormalization(*train);
  ASSERT_OK(normalization);
  // The published values, to their four digits.
  EXPECT_EQ(fmt::format("{:.4f}", normalization->mean[0]), "0.2860");
  EXPECT_EQ(fmt::format("{:.4f}", normalization->std[0]), "0.3530");
  StatusOr<Dataset> test =
      LoadDataset("fashion-mnist", "", Split::kTest, memory);
  ASSERT_OK(test);
  EXPECT_EQ(test->count(), 10000);
}

TEST(RealDataTest, CifarAndMnist) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  if (root == nullptr) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder of data sets";
  }
  const std::filesystem::path folder(root);
  HostMemory memory;
  int found = 0;
  if (std::filesystem::exists(folder / "cifar-10-batches-bin")) {
    StatusOr<Dataset> train =
        LoadDataset("cifar10", folder.string(), Split::kTrain, memory);
    ASSERT_OK(train);
    EXPECT_EQ(train->count(), 50000);
    EXPECT_EQ(train->info.class_names[train->label(0)], "frog");
    ++found;
  }
  if (std::filesystem::exists(folder / "mnist")) {
    StatusOr<Dataset> train =
        LoadDataset("mnist", folder.string(), Split::kTrain, memory);
    ASSERT_OK(train);
    EXPECT_EQ(train->count(), 60000);
    StatusOr<Normalization> normalization = ComputeNormalization(*train);
    ASSERT_OK(normalization);
    EXPECT_EQ(fmt::format("{:.4f}", normalization->mean[0]), "0.1307");
    EXPECT_EQ(fmt::format("{:.4f}", normalization->std[0]), "0.3081");
    ++found;
  }
  if (found == 0) GTEST_SKIP() << root << " has no known data set";
}

}  // namespace
}  // namespace densenet
