#include "densenet/kernels/conv3x3.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "densenet/kernels/channel_statistics.h"
#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_conv2d.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

constexpr int64_t kTaps = 9;

struct Case {
  Conv3x3Shape shape;
  int64_t gap = 0;

  int64_t rows() const { return shape.images * shape.pixels(); }
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.shape.images << " x " << c.shape.height << " x " << c.shape.width
       << ", " << c.shape.c << " -> " << c.shape.k << ", gap " << c.gap;
}

class Conv3x3KernelTest : public ::testing::TestWithParam<Case> {
 protected:
  ReferenceConv2d Reference() const {
    return {s_.images, s_.height, s_.width, s_.c, 3,         3,       s_.k,
            1,         1,         1,        1,    s_.height, s_.width};
  }

  const Conv3x3Shape s_ = GetParam().shape;
  const int64_t rows_ = GetParam().rows();
  const int64_t gap_ = GetParam().gap;
  const NormalizedInput x_{rows_, s_.c, 1, gap_};
  const TestTensor w_ = TestTensor::Random({3, 3, s_.c, s_.k}, 9);
};

struct ForwardOutputs {
  TestTensor y;
  std::vector<double> moments;
};

ForwardOutputs RunForward(const Case& c, const NormalizedInput& x,
                          const TestTensor& w, const OutputDropout& dropout,
                          bool stored, int threads, bool with_moments = true) {
  const auto ctx = MakeContext(threads);
  ForwardOutputs out{PoisonedTensor({c.rows(), c.shape.k}, c.gap),
                     Poisoned<double>(kMaxChunks * 2 * c.shape.k)};
  FloatScratch scratch(Conv3x3ForwardScratchFloats(threads, c.shape));
  Conv3x3Forward conv;
  conv.shape = c.shape;
  conv.x = x.Rows(stored);
  conv.w = Data(w);
  conv.y = Data(out.y);
  conv.ldy = c.shape.k + c.gap;
  conv.dropout = dropout;
  conv.moments = with_moments ? out.moments.data() : nullptr;
  conv.scratch = scratch.data();
  Run(*ctx, conv);
  EXPECT_TRUE(scratch.Intact());
  EXPECT_TRUE(out.y.GapsUntouched());
  return out;
}

TEST_P(Conv3x3KernelTest, ForwardMatchesReference) {
  const Doubles y = Reference().Forward(x_.z(), w_.ToDoubles());
  for (double rate : {0.0, 0.3}) {
    const OutputDropout dropout{rate, {3, 1, 2}};
    const ForwardOutputs out =
        RunForward(GetParam(), x_, w_, dropout, false, 2);
    EXPECT_TRUE(Near(out.y.view(),
                     Multiply(y, DropoutFactors(dropout, rows_ * s_.k)),
                     kTaps * s_.c));
    EXPECT_TRUE(MomentsMatch(out.moments, s_.images, out.y));
  }
}

TEST_P(Conv3x3KernelTest, ForwardBitsDependOnNeitherThreadsNorStorage) {
  for (double rate : {0.0, 0.3}) {
    const OutputDropout dropout{rate, {3, 1, 2}};
    const ForwardOutputs first =
        RunForward(GetParam(), x_, w_, dropout, false, 1);
    for (int threads : kThreadCounts) {
      for (bool stored : {false, true}) {
        const ForwardOutputs out =
            RunForward(GetParam(), x_, w_, dropout, stored, threads);
        EXPECT_TRUE(SameBits(out.y, first.y));
        EXPECT_TRUE(SameBits(out.moments, first.moments));
      }
    }
    const ForwardOutputs alone = RunForward(GetParam(), x_, w_, dropout, false,
                                            2, /*with_moments=*/false);
    EXPECT_TRUE(SameBits(alone.y, first.y));
  }
}

struct BackwardOutputs {
  SinkCase sink;
  TestTensor dw;
};

BackwardOutputs RunBackward(const Case& c, const NormalizedInput& x,
                            const TestTensor& w,
                            const OutputGradientCase& output, SinkMode mode,
                            bool stored, int threads) {
  const auto ctx = MakeContext(threads);
  const Conv3x3Shape& s = c.shape;
  BackwardOutputs out{SinkCase(x, mode, c.gap),
                      PoisonedTensor({3, 3, s.c, s.k})};
  FloatScratch scratch(Conv3x3BackwardScratchFloats(threads, s));
  std::vector<float> partials = Poisoned<float>(kMaxChunks * kTaps * s.c * s.k);
  Conv3x3Backward conv;
  conv.shape = s;
  conv.x = x.Rows(stored);
  conv.w = Data(w);
  conv.output = output.gradient();
  conv.sink = out.sink.sink();
  conv.dw_partials = partials.data();
  conv.dw = Data(out.dw);
  conv.scratch = scratch.data();
  Run(*ctx, conv);
  EXPECT_TRUE(scratch.Intact());
  return out;
}

TEST_P(Conv3x3KernelTest, BackwardMatchesReference) {
  const int64_t chunks = ImageChunks(s_.images).count();
  for (double rate : {0.0, 0.3}) {
    for (bool finish : {false, true}) {
      const OutputGradientCase output(rows_, s_.k, GetParam().gap,
                                      {rate, {3, 1, 2}}, finish);
      const Doubles dy = output.Expected();
      const Doubles dz = Reference().BackwardData(dy, w_.ToDoubles());
      const Doubles dw = Reference().BackwardFilter(x_.z(), dy);
      for (SinkMode mode : kSinkModes) {
        const BackwardOutputs out =
            RunBackward(GetParam(), x_, w_, output, mode, false, 2);
        EXPECT_TRUE(out.sink.Matches(dz, chunks, kTaps * s_.k));
        EXPECT_TRUE(Near(out.dw.const_view(), dw, rows_));
      }
    }
  }
}

TEST_P(Conv3x3KernelTest, BackwardBitsDependOnNeitherThreadsNorStorage) {
  const OutputGradientCase output(rows_, s_.k, GetParam().gap, {0.3, {3, 1, 2}},
                                  /*finish=*/true);
  for (SinkMode mode : kSinkModes) {
    const BackwardOutputs first =
        RunBackward(GetParam(), x_, w_, output, mode, false, 1);
    for (int threads : kThreadCounts) {
      for (bool stored : {false, true}) {
        const BackwardOutputs out =
            RunBackward(GetParam(), x_, w_, output, mode, stored, threads);
        EXPECT_TRUE(SameBits(out.sink.target(), first.sink.target()));
        EXPECT_TRUE(SameBits(out.sink.partials(), first.sink.partials()));
        EXPECT_TRUE(SameBits(out.dw, first.dw));
      }
    }
  }
}

// The last: rows wider than a tile of the sink.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Conv3x3KernelTest,
    ::testing::Values(Case{{1, 1, 1, 1, 1}}, Case{{3, 1, 1, 5, 4}, 1},
                      Case{{1, 5, 3, 12, 12}, 4}, Case{{3, 4, 7, 16, 5}},
                      Case{{19, 3, 3, 63, 12}, 2}, Case{{3, 6, 5, 64, 1}},
                      Case{{3, 5, 5, 65, 12}, 130}, Case{{1, 1, 9, 130, 48}, 1},
                      Case{{19, 2, 1, 48, 12}, 3}, Case{{2, 2, 70, 9, 3}, 1}));

}  // namespace
}  // namespace densenet
