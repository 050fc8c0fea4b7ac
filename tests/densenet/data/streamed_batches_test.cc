// Batches of images in files: what they hold, in what memory, and what becomes
// of those that cannot be read.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/io/file.h"
#include "densenet/data/batch_loader.h"
#include "densenet/data/class_folder.h"
#include "memory/host_memory.h"
#include "tests/densenet/photo_folder.h"
#include "tests/support/compare.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;

const Normalization kNormalization = {{0.4, 0.5, 0.6}, {0.2, 0.3, 0.25}};

class StreamedBatchesTest : public ::testing::Test {
 protected:
  StreamedBatchesTest() {
    testing::WritePhotoFolder(dir_);
    Open();
  }

  void Open() {
    StatusOr<std::unique_ptr<ClassFolder>> set =
        ClassFolder::Open(dir_.path(), Split::kTrain);
    CHECK(set.ok()) << set.status();
    set_ = *std::move(set);
  }
  BatchSource Source(BatchSource::Options options) {
    options.batch_size = 8;
    options.height = 24;
    options.width = 20;
    StatusOr<BatchSource> source =
        BatchSource::Create(set_.get(), kNormalization, options);
    CHECK(source.ok()) << source.status();
    return *std::move(source);
  }
  std::unique_ptr<BatchLoader> Loader(const BatchSource& source,
                                      const BatchLoader::Options& options) {
    auto loader = BatchLoader::Create(&source, options, memory_);
    CHECK(loader.ok()) << loader.status();
    return *std::move(loader);
  }

  TempDir dir_;
  std::unique_ptr<ClassFolder> set_;
  HostMemory memory_;
};

// Decoded, brought to the size and normalized, one step after the other.
TEST_F(StreamedBatchesTest, EvaluationShowsTheCentre) {
  const BatchSource source = Source({.center_margin = 1.25});
  EXPECT_TRUE(source.decodes());
  EXPECT_EQ(source.info().height, 24);
  auto loader = Loader(source, {.ahead = 1, .workers = 2});
  const PixelTable table = *PixelTable::Create(kNormalization);
  int64_t number = 0;
  for (int64_t b = 0; b < source.batches(); ++b) {
    const StatusOr<Batch> batch = loader->Get(0, b);
    ASSERT_OK(batch);
    for (int64_t i = 0; i < batch->examples(); ++i, ++number) {
      const std::string file = *ReadFile(set_->NameOf(number));
      std::vector<uint8_t> pixels(24 * 20 * 3);
      ImageCutter cutter;
      ASSERT_OK(cutter.Decode(
          file, "x",
          [](int64_t h, int64_t w) { return CenterCut(h, w, 24, 20, 1.25); },
          pixels.data()));
      std::vector<float> expected(pixels.size());
      table.Normalize(pixels.data(), 24 * 20, expected.data());
      EXPECT_TRUE(std::equal(
          expected.begin(), expected.end(),
          batch->images.data<float>() + i * source.info().image_elems()));
      EXPECT_EQ(batch->labels.data<int32_t>()[i], *set_->Label(number));
    }
  }
  EXPECT_EQ(number, 20);
}

TEST_F(StreamedBatchesTest, WorkersChangeNothing) {
  const BatchSource source =
      Source({.seed = 4, .shuffle = true, .photo = PhotoAugmentOptions{}});
  auto one = Loader(source, {.ahead = 0, .workers = 1});
  auto many = Loader(source, {.ahead = 3, .workers = 4});
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t b = 0; b < source.batches(); ++b) {
      const StatusOr<Batch> expected = one->Get(epoch, b);
      const StatusOr<Batch> actual = many->Get(epoch, b);
      ASSERT_OK(expected);
      ASSERT_OK(actual);
      EXPECT_TRUE(BitwiseEqual(actual->images, expected->images));
    }
  }
}

// Another size, colours or parts: nothing of an image stays as it was, and
// every epoch shows it differently.
TEST_F(StreamedBatchesTest, EpochsDiffer) {
  const BatchSource source = Source({.photo = PhotoAugmentOptions{}});
  auto loader = Loader(source, {});
  const StatusOr<Batch> first = loader->Get(0, 0);
  ASSERT_OK(first);
  const std::vector<float> before(
      first->images.data<float>(),
      first->images.data<float>() + first->images.elems());
  const StatusOr<Batch> second = loader->Get(1, 0);
  ASSERT_OK(second);
  int64_t same = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    same += before[i] == second->images.data<float>()[i];
  }
  EXPECT_LT(same, static_cast<int64_t>(before.size()) / 20);
}

// A set that is larger than the memory there is.
TEST_F(StreamedBatchesTest, MemoryIsThatOfThePlanWhateverTheSet) {
  testing::WritePhotos(dir_, "train", "many", 600, 5000);
  Open();
  int64_t bytes = 0;
  for (int64_t i = 0; i < set_->count(); ++i) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(set_->NameOf(i)));
  }
  const BatchSource source =
      Source({.seed = 4, .shuffle = true, .photo = PhotoAugmentOptions{}});
  const BatchLoader::Options options = {.ahead = 2, .workers = 2};
  const int64_t planned = BatchLoader::PlannedBytes(source, options);
  ASSERT_LT(planned, bytes / 2);
  HostMemory limited(planned);
  auto loader = BatchLoader::Create(&source, options, limited);
  ASSERT_OK(loader);
  std::set<int64_t> labels;
  int64_t examples = 0;
  for (int64_t b = 0; b < source.batches(); ++b) {
    const StatusOr<Batch> batch = (*loader)->Get(0, b);
    ASSERT_OK(batch);
    examples += batch->examples();
    for (int64_t i = 0; i < batch->examples(); ++i) {
      labels.insert(batch->labels.data<int32_t>()[i]);
    }
  }
  EXPECT_EQ(examples, 620);
  EXPECT_EQ(labels.size(), 3u);
  EXPECT_EQ(limited.stats().peak_bytes, planned);
}

TEST_F(StreamedBatchesTest, TheFirstBadImageOfABatchIsTheError) {
  dir_.Write("train/ants/006.jpg", "late");
  dir_.Write("train/ants/002.jpg", "early");
  const BatchSource source = Source({});
  for (int workers : {1, 4}) {
    auto loader = Loader(source, {.ahead = 1, .workers = workers});
    for (int round = 0; round < 3; ++round) {
      EXPECT_THAT(loader->Get(0, 0),
                  Fails(StatusCode::kInvalidArgument, {"train/ants/002.jpg"}));
      EXPECT_OK(loader->Get(0, 1));
    }
  }
}

TEST_F(StreamedBatchesTest, BadImagesAreLeftOut) {
  const BatchSource whole = Source({});
  auto whole_loader = Loader(whole, {});
  const StatusOr<Batch> all = whole_loader->Get(0, 0);
  ASSERT_OK(all);
  for (int i : {0, 5, 7}) {
    dir_.Write(fmt::format("train/ants/{:03}.jpg", i), "bad");
  }
  const BatchSource source = Source({.bad_data = BadData::kLeaveOut});
  auto loader = Loader(source, {.ahead = 1, .workers = 3});
  const StatusOr<Batch> batch = loader->Get(0, 0);
  ASSERT_OK(batch);
  ASSERT_EQ(batch->examples(), 5);
  ASSERT_EQ(batch->bad.size(), 3u);
  EXPECT_EQ(batch->bad[0].position, 0);
  EXPECT_EQ(batch->bad[2].position, 7);
  EXPECT_THAT(StdView(batch->bad[1].reason.message()),
              ::testing::HasSubstr("005.jpg"));
  const int64_t kept[] = {1, 2, 3, 4, 6};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(BitwiseEqual(batch->images.Slice(0, i, i + 1),
                             all->images.Slice(0, kept[i], kept[i] + 1)));
  }
}

TEST_F(StreamedBatchesTest, OthersStandInAlike) {
  for (int i : {0, 3, 5}) {
    dir_.Write(fmt::format("train/ants/{:03}.jpg", i), "bad");
  }
  const BatchSource source =
      Source({.seed = 2, .shuffle = true, .bad_data = BadData::kSubstitute});
  auto one = Loader(source, {.ahead = 0, .workers = 1});
  auto many = Loader(source, {.ahead = 2, .workers = 3});
  int64_t bad = 0;
  for (int64_t b = 0; b < source.batches(); ++b) {
    const StatusOr<Batch> expected = one->Get(3, b);
    const StatusOr<Batch> actual = many->Get(3, b);
    ASSERT_OK(expected);
    ASSERT_OK(actual);
    EXPECT_EQ(actual->examples(), source.BatchExamples(b));
    EXPECT_TRUE(BitwiseEqual(actual->images, expected->images));
    EXPECT_EQ(actual->bad.size(), expected->bad.size());
    bad += static_cast<int64_t>(actual->bad.size());
  }
  EXPECT_EQ(bad, 3);
}

TEST_F(StreamedBatchesTest, NormalizationOfASample) {
  std::vector<int64_t> all(20);
  for (int64_t i = 0; i < 20; ++i) all[i] = i;
  const StatusOr<Normalization> measured =
      ComputeNormalization(*set_, all, 24, 20);
  ASSERT_OK(measured);
  // Of uniformly random pixels, resized.
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(measured->mean[c], 0.5, 0.05);
    EXPECT_GT(measured->std[c], 0.05);
    EXPECT_LT(measured->std[c], 0.3);
  }
  dir_.Write("train/ants/000.jpg", "bad");
  EXPECT_OK(ComputeNormalization(*set_, all, 24, 20));
  EXPECT_THAT(
      ComputeNormalization(*set_, std::vector<int64_t>{0}, 24, 20),
      Fails(StatusCode::kInvalidArgument, {"not one image", "000.jpg"}));
}

TEST_F(StreamedBatchesTest, ASizeMustBeGiven) {
  EXPECT_THAT(BatchSource::Create(set_.get(), kNormalization, {}),
              Fails(StatusCode::kInvalidArgument, {"sizes of their own"}));
}

}  // namespace
}  // namespace densenet
