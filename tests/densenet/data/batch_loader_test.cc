#include "densenet/data/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/random.h"
#include "densenet/data/shuffle.h"
#include "memory/host_memory.h"
#include "tests/densenet/data/test_dataset.h"
#include "tests/support/compare.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::RandomDataset;

constexpr int64_t kExamples = 53;
constexpr int64_t kBatch = 20;  // the last batch has 13

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() : dataset_(RandomDataset(kExamples, 6, 5, 3, memory_)) {}

  BatchSource Source(const BatchSource::Options& options,
                     std::optional<std::vector<int64_t>> examples = {}) {
    StatusOr<BatchSource> source = BatchSource::Create(
        &dataset_, normalization_, options, std::move(examples));
    CHECK(source.ok()) << source.status();
    return *std::move(source);
  }
  BatchSource TrainSource() {
    return Source({.batch_size = kBatch,
                   .seed = 9,
                   .shuffle = true,
                   .augment = AugmentOptions{.pad = 2}});
  }
  std::unique_ptr<BatchLoader> Loader(const BatchSource& source,
                                      const BatchLoader::Options& options) {
    auto loader = BatchLoader::Create(&source, options, memory_);
    CHECK(loader.ok()) << loader.status();
    return *std::move(loader);
  }
  // The batch is the one that the source fills.
  void ExpectIs(const BatchSource& source, const StatusOr<Batch>& got,
                int64_t epoch, int64_t index) {
    ASSERT_OK(got);
    const Batch& batch = *got;
    EXPECT_EQ(batch.epoch, epoch);
    EXPECT_EQ(batch.index, index);
    const int64_t n = source.BatchExamples(index);
    Tensor images = *Tensor::Zeros(memory_, DType::kFloat32, {n, 6, 5, 3});
    Tensor labels = *Tensor::Zeros(memory_, DType::kInt32, {n});
    ASSERT_OK(source.Fill(epoch, index, images.view(), labels.view()));
    EXPECT_TRUE(BitwiseEqual(batch.images, images.const_view()));
    ASSERT_EQ(batch.examples(), n);
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(batch.labels.data<int32_t>()[i], labels.data<int32_t>()[i]);
    }
  }

  static void FillAll(const BatchSource& source, int64_t epoch, int64_t batch,
                      float* images, int32_t* labels) {
    BatchSource::Workspace workspace({});
    ASSERT_OK(source.FillPart(epoch, batch, 0, source.BatchExamples(batch),
                              workspace, images, labels, nullptr));
  }

  HostMemory memory_;
  Dataset dataset_;
  Normalization normalization_ = {{0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}};
};

TEST_F(BatchTest, EvaluationIsInOrderAndUnchanged) {
  const BatchSource source = Source({.batch_size = kBatch});
  EXPECT_EQ(source.batches(), 3);
  const StatusOr<PixelTable> table = PixelTable::Create(normalization_);
  int64_t at = 0;
  for (int64_t b = 0; b < 3; ++b) {
    const int64_t n = source.BatchExamples(b);
    EXPECT_EQ(n, b < 2 ? kBatch : 13);
    std::vector<float> images(n * 90), expected(90);
    std::vector<int32_t> labels(n);
    FillAll(source, 0, b, images.data(), labels.data());
    for (int64_t i = 0; i < n; ++i, ++at) {
      table->Normalize(dataset_.image(at), 30, expected.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                             images.begin() + i * 90));
      EXPECT_EQ(labels[i], dataset_.label(at));
    }
  }
  EXPECT_EQ(at, kExamples);
}

TEST_F(BatchTest, TrainingShowsEveryExampleOnceAnEpoch) {
  const std::vector<int64_t> subset = HoldOut(kExamples, 10, 1)->train;
  const BatchSource source =
      Source({.batch_size = kBatch, .seed = 9, .shuffle = true}, subset);
  EXPECT_EQ(source.examples(), kExamples - 10);
  std::vector<int64_t> orders[2];
  for (int64_t epoch : {0, 1}) {
    for (int64_t i = 0; i < source.examples(); ++i) {
      orders[epoch].push_back(source.ExampleAt(epoch, i));
    }
  }
  EXPECT_NE(orders[0], orders[1]);
  for (auto& order : orders) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, subset);
  }
}

// What happens to an example depends on neither its batch nor its subset.
TEST_F(BatchTest, AugmentationFollowsTheExample) {
  const AugmentOptions augment = {.pad = 2};
  const BatchSource whole =
      Source({.batch_size = kExamples, .seed = 9, .augment = augment});
  const BatchSource shuffled =
      Source({.batch_size = 7, .seed = 9, .shuffle = true, .augment = augment},
             HoldOut(kExamples, 5, 2)->train);
  const int64_t epoch = 3;
  std::vector<float> all(kExamples * 90), part(7 * 90);
  std::vector<int32_t> labels(kExamples);
  FillAll(whole, epoch, 0, all.data(), labels.data());
  for (int64_t b = 0; b < shuffled.batches(); ++b) {
    const int64_t n = shuffled.BatchExamples(b);
    FillAll(shuffled, epoch, b, part.data(), labels.data());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t example = shuffled.ExampleAt(epoch, b * 7 + i);
      EXPECT_TRUE(std::equal(part.begin() + i * 90, part.begin() + i * 90 + 90,
                             all.begin() + example * 90));
      EXPECT_EQ(labels[i], dataset_.label(example));
    }
  }
}

TEST_F(BatchTest, SourceErrors) {
  EXPECT_THAT(BatchSource::Create(&dataset_, normalization_, {.batch_size = 0}),
              Fails(StatusCode::kInvalidArgument, {"batch size 0"}));
  EXPECT_THAT(
      BatchSource::Create(&dataset_, {{0.5}, {0.5}}, {.batch_size = 1}),
      Fails(StatusCode::kInvalidArgument, {"1 channels", "which has 3"}));
  EXPECT_THAT(BatchSource::Create(&dataset_, normalization_,
                                  {.augment = AugmentOptions{.pad = -1}}),
              Fails(StatusCode::kInvalidArgument, {"pads by -1"}));
  EXPECT_THAT(BatchSource::Create(&dataset_, normalization_, {},
                                  std::vector<int64_t>{0, kExamples}),
              Fails(StatusCode::kInvalidArgument, {"example 53"}));
}

class BatchLoaderTest
    : public BatchTest,
      public ::testing::WithParamInterface<BatchLoader::Options> {};

TEST_P(BatchLoaderTest, EpochsInOrder) {
  const BatchSource source = TrainSource();
  auto loader = Loader(source, GetParam());
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    for (int64_t b = 0; b < source.batches(); ++b) {
      ExpectIs(source, loader->Get(epoch, b), epoch, b);
    }
  }
}

// Jumps from anywhere to anywhere: forward, back, to the same batch again.
TEST_P(BatchLoaderTest, JumpsGetWhatTheyAskFor) {
  const BatchSource source = TrainSource();
  auto loader = Loader(source, GetParam());
  const RandomKey key = {.seed = 21};
  int64_t epoch = 7, b = 2;
  for (uint64_t i = 0; i < 300; ++i) {
    const uint32_t bits = RandomBits(key, i);
    if (bits % 3 == 0) {
      epoch = bits / 4 % 5;
      b = bits / 64 % 3;
    } else if (bits % 3 == 1) {
      b = (b + 1) % 3;
      if (b == 0) ++epoch;
    }
    ExpectIs(source, loader->Get(epoch, b), epoch, b);
  }
}

TEST_P(BatchLoaderTest, StopsAtAnyMoment) {
  const BatchSource source = TrainSource();
  for (int64_t gets = 0; gets < 30; ++gets) {
    auto loader = Loader(source, GetParam());
    for (int64_t i = 0; i < gets % 4; ++i) ASSERT_OK(loader->Get(i / 3, i % 3));
  }
}

TEST_P(BatchLoaderTest, TakesWhatItPlanned) {
  const BatchSource source = TrainSource();
  const int64_t before = memory_.stats().active_bytes;
  auto loader = Loader(source, GetParam());
  ASSERT_OK(loader->Get(0, 0));
  EXPECT_EQ(memory_.stats().active_bytes - before,
            BatchLoader::PlannedBytes(source, GetParam()));
  EXPECT_EQ(BatchLoader::PlannedBytes(source, GetParam()),
            (GetParam().ahead + 1) * kBatch * (6 * 5 * 3 * 4 + 4));
  loader.reset();
  EXPECT_EQ(memory_.stats().active_bytes, before);
}

INSTANTIATE_TEST_SUITE_P(
    Options, BatchLoaderTest,
    ::testing::Values(BatchLoader::Options{.ahead = 0, .workers = 1},
                      BatchLoader::Options{.ahead = 0, .workers = 3},
                      BatchLoader::Options{.ahead = 1, .workers = 1},
                      BatchLoader::Options{.ahead = 2, .workers = 1},
                      BatchLoader::Options{.ahead = 2, .workers = 3},
                      BatchLoader::Options{
                          .ahead = 2, .workers = 1, .across_epochs = false}));

// The caller's batch stays as it is while the thread works ahead.
TEST_F(BatchTest, HeldBatchIsNotOverwritten) {
  const BatchSource source = TrainSource();
  auto loader = Loader(source, {.ahead = 1});
  const StatusOr<Batch> held = loader->Get(0, 0);
  // The second loader takes long enough for the first to have its next ready.
  auto other = Loader(source, {.ahead = 2});
  for (int64_t i = 0; i < 30; ++i) ASSERT_OK(other->Get(i, 0));
  ExpectIs(source, held, 0, 0);
}

TEST_F(BatchTest, SmallerDataThanABatch) {
  const BatchSource source =
      Source({.batch_size = 1000, .seed = 1, .shuffle = true});
  EXPECT_EQ(source.batches(), 1);
  auto loader = Loader(source, {.ahead = 1});
  for (int64_t epoch : {0, 1, 2}) {
    ExpectIs(source, loader->Get(epoch, 0), epoch, 0);
  }
}

TEST_F(BatchTest, LoaderErrors) {
  const BatchSource source = TrainSource();
  EXPECT_THAT(BatchLoader::Create(&source, {.ahead = -1}, memory_),
              Fails(StatusCode::kInvalidArgument, {"-1 batches ahead"}));
  EXPECT_THAT(BatchLoader::Create(&source, {.ahead = 1, .workers = 0}, memory_),
              Fails(StatusCode::kInvalidArgument, {"0 workers"}));
  HostMemory small(1000);
  EXPECT_THAT(BatchLoader::Create(&source, {.ahead = 1}, small),
              Fails(StatusCode::kResourceExhausted, {"limit 1000"}));
}

}  // namespace
}  // namespace densenet
