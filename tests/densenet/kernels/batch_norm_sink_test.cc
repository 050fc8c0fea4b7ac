#include "densenet/kernels/batch_norm_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "densenet/kernels/channel_statistics.h"
#include "tests/densenet/kernels/kernel_case.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

constexpr int64_t kGap = 3;

class BatchNormSinkKernelTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kRows = 2 * kTileRows + 5;

  // Puts the rows in parts of `rows` by `width`.
  void Put(SinkCase& out, int64_t chunk, int64_t rows, int64_t width) const {
    const BatchNormSink sink = out.sink();
    FloatScratch sums(2 * std::min(width, channels_));
    ClearSums(sink, chunk + 1);
    BatchNormSinkChunk part(sink, chunk, sums.data());
    for (int64_t r = 0; r < kRows; r += rows) {
      for (int64_t c = 0; c < channels_; c += width) {
        part.Put(r, std::min(rows, kRows - r), c,
                 std::min(width, channels_ - c),
                 Data(dz_) + r * (channels_ + kGap) + c, channels_ + kGap);
      }
    }
    EXPECT_TRUE(sums.Intact());
  }

  const int64_t channels_ = GetParam();
  const NormalizedInput x_{kRows, channels_, 1, kGap};
  const TestTensor dz_ = TestTensor::Random({kRows, channels_}, 20, kGap);
};

TEST_P(BatchNormSinkKernelTest, MatchesReferenceHoweverItIsCut) {
  for (SinkMode mode : kSinkModes) {
    SinkCase whole(x_, mode, kGap);
    Put(whole, 0, kRows, channels_);
    EXPECT_TRUE(whole.Matches(dz_.ToDoubles(), 1, 1));
    for (int64_t rows : {int64_t{1}, int64_t{7}, kTileRows}) {
      for (int64_t width : {int64_t{5}, kChannelBlock}) {
        SinkCase out(x_, mode, kGap);
        Put(out, 0, rows, width);
        EXPECT_TRUE(out.Matches(dz_.ToDoubles(), 1, 1));
        EXPECT_TRUE(SameBits(out.target(), whole.target()));
      }
    }
  }
}

TEST_P(BatchNormSinkKernelTest, AChunkWritesItsPartAlone) {
  for (SinkMode mode : kSinkModes) {
    SinkCase first(x_, mode, kGap);
    Put(first, 0, kRows, channels_);
    SinkCase fourth(x_, mode, kGap);
    Put(fourth, 3, kRows, channels_);
    std::vector<double> expected = Poisoned<double>(kMaxChunks * 2 * channels_);
    std::fill_n(expected.begin(), 3 * 2 * channels_, 0.0);
    std::copy_n(first.partials().begin(), 2 * channels_,
                expected.begin() + 3 * 2 * channels_);
    EXPECT_TRUE(SameBits(fourth.partials(), expected));
  }
}

TEST_P(BatchNormSinkKernelTest, OneGradientForAllRows) {
  for (SinkMode mode : kSinkModes) {
    SinkCase out(x_, mode, kGap);
    const BatchNormSink sink = out.sink();
    FloatScratch sums(2 * channels_);
    ClearSums(sink, 1);
    BatchNormSinkChunk part(sink, 0, sums.data());
    part.Put(0, kRows, 0, channels_, Data(dz_), /*lddz=*/0);
    Doubles dz(kRows * channels_);
    for (size_t i = 0; i < dz.size(); ++i) {
      dz[i] = dz_.at(static_cast<int64_t>(i) % channels_);
    }
    EXPECT_TRUE(out.Matches(dz, 1, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Channels, BatchNormSinkKernelTest,
                         ::testing::ValuesIn(kChannelCounts));

// The convolutions write dz where dy will be.
TEST(BatchNormSinkInPlaceKernelTest, DzMayStandWhereDyWillBe) {
  constexpr int64_t kRows = 70;
  constexpr int64_t kChannels = 65;
  const NormalizedInput x(kRows, kChannels, 1, kGap);
  const TestTensor dz = TestTensor::Random({kRows, kChannels}, 20);
  SinkCase out(x, SinkMode::kStore, kGap);
  const BatchNormSink sink = out.sink();
  CopyRows(kRows, kChannels, Data(dz), kChannels, sink.dy, sink.lddy);
  FloatScratch sums(2 * kChannels);
  ClearSums(sink, 1);
  BatchNormSinkChunk part(sink, 0, sums.data());
  part.Put(0, kRows, 0, kChannels, sink.dy, sink.lddy);
  EXPECT_TRUE(out.Matches(dz.ToDoubles(), 1, 1));
}

}  // namespace
}  // namespace densenet
