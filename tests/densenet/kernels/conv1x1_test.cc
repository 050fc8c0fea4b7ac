#include "densenet/kernels/conv1x1.h"

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

struct Case {
  int64_t images, pixels, c, k;
  int64_t gap = 0;

  int64_t rows() const { return images * pixels; }
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.images << " x " << c.pixels << ", " << c.c << " -> " << c.k
       << ", gap " << c.gap;
}

class Conv1x1KernelTest : public ::testing::TestWithParam<Case> {
 protected:
  ReferenceConv2d Reference() const {
    return {s_.rows(), 1, 1, s_.c, 1, 1, s_.k, 1, 1, 0, 0, 1, 1};
  }

  const Case s_ = GetParam();
  const NormalizedInput x_{s_.rows(), s_.c, 1, s_.gap};
  const TestTensor w_ = TestTensor::Random({s_.c, s_.k}, 9);
};

struct ForwardOutputs {
  TestTensor y;
  std::vector<double> moments;
};

ForwardOutputs RunForward(const Case& s, const NormalizedInput& x,
                          const TestTensor& w, const OutputDropout& dropout,
                          bool stored, int threads, bool with_moments = true) {
  const auto ctx = MakeContext(threads);
  ForwardOutputs out{PoisonedTensor({s.rows(), s.k}, s.gap),
                     Poisoned<double>(kMaxChunks * 2 * s.k)};
  FloatScratch scratch(Conv1x1ForwardScratchFloats(threads, s.k));
  Conv1x1Forward conv;
  conv.images = s.images;
  conv.pixels = s.pixels;
  conv.c = s.c;
  conv.k = s.k;
  conv.x = x.Rows(stored);
  conv.w = Data(w);
  conv.y = Data(out.y);
  conv.ldy = s.k + s.gap;
  conv.dropout = dropout;
  conv.moments = with_moments ? out.moments.data() : nullptr;
  conv.scratch = scratch.data();
  Run(*ctx, conv);
  EXPECT_TRUE(scratch.Intact());
  EXPECT_TRUE(out.y.GapsUntouched());
  EXPECT_TRUE(x.GapsUntouched());
  return out;
}

TEST_P(Conv1x1KernelTest, ForwardMatchesReference) {
  for (double rate : {0.0, 0.3}) {
    const OutputDropout dropout{rate, {3, 1, 2}};
    const ForwardOutputs out = RunForward(s_, x_, w_, dropout, false, 2);
    const Doubles expected =
        Multiply(Reference().Forward(x_.z(), w_.ToDoubles()),
                 DropoutFactors(dropout, s_.rows() * s_.k));
    EXPECT_TRUE(Near(out.y.view(), expected, s_.c));
    EXPECT_TRUE(MomentsMatch(out.moments, s_.images, out.y));
  }
}

TEST_P(Conv1x1KernelTest, ForwardBitsDependOnNeitherThreadsNorStorage) {
  for (double rate : {0.0, 0.3}) {
    const OutputDropout dropout{rate, {3, 1, 2}};
    const ForwardOutputs first = RunForward(s_, x_, w_, dropout, false, 1);
    for (int threads : kThreadCounts) {
      for (bool stored : {false, true}) {
        const ForwardOutputs out =
            RunForward(s_, x_, w_, dropout, stored, threads);
        EXPECT_TRUE(SameBits(out.y, first.y));
        EXPECT_TRUE(SameBits(out.moments, first.moments));
      }
    }
    const ForwardOutputs alone =
        RunForward(s_, x_, w_, dropout, false, 2, /*with_moments=*/false);
    EXPECT_TRUE(SameBits(alone.y, first.y));
    EXPECT_TRUE(
        SameBits(alone.moments, Poisoned<double>(alone.moments.size())));
  }
}

struct BackwardOutputs {
  SinkCase sink;
  TestTensor dw;
};

BackwardOutputs RunBackward(const Case& s, const NormalizedInput& x,
                            const TestTensor& w,
                            const OutputGradientCase& output, SinkMode mode,
                            bool stored, int threads) {
  const auto ctx = MakeContext(threads);
  BackwardOutputs out{SinkCase(x, mode, s.gap), PoisonedTensor({s.c, s.k})};
  FloatScratch scratch(Conv1x1BackwardScratchFloats(threads, s.c, s.k));
  std::vector<float> partials = Poisoned<float>(kMaxChunks * s.c * s.k);
  Conv1x1Backward conv;
  conv.images = s.images;
  conv.pixels = s.pixels;
  conv.c = s.c;
  conv.k = s.k;
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

TEST_P(Conv1x1KernelTest, BackwardMatchesReference) {
  const int64_t chunks = ImageChunks(s_.images).count();
  for (double rate : {0.0, 0.3}) {
    for (bool finish : {false, true}) {
      const OutputGradientCase output(s_.rows(), s_.k, s_.gap,
                                      {rate, {3, 1, 2}}, finish);
      const Doubles dy = output.Expected();
      const Doubles dz = Reference().BackwardData(dy, w_.ToDoubles());
      const Doubles dw = Reference().BackwardFilter(x_.z(), dy);
      for (SinkMode mode : kSinkModes) {
        const BackwardOutputs out =
            RunBackward(s_, x_, w_, output, mode, false, 2);
        EXPECT_TRUE(out.sink.Matches(dz, chunks, s_.k));
        EXPECT_TRUE(Near(out.dw.const_view(), dw, s_.rows()));
      }
    }
  }
}

TEST_P(Conv1x1KernelTest, BackwardBitsDependOnNeitherThreadsNorStorage) {
  const OutputGradientCase output(s_.rows(), s_.k, s_.gap, {0.3, {3, 1, 2}},
                                  /*finish=*/true);
  for (SinkMode mode : kSinkModes) {
    const BackwardOutputs first =
        RunBackward(s_, x_, w_, output, mode, false, 1);
    for (int threads : kThreadCounts) {
      for (bool stored : {false, true}) {
        const BackwardOutputs out =
            RunBackward(s_, x_, w_, output, mode, stored, threads);
        EXPECT_TRUE(SameBits(out.sink.target(), first.sink.target()));
        EXPECT_TRUE(SameBits(out.sink.partials(), first.sink.partials()));
        EXPECT_TRUE(SameBits(out.dw, first.dw));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Conv1x1KernelTest,
    ::testing::Values(Case{1, 1, 1, 1}, Case{1, 1, 5, 3, 2}, Case{3, 1, 5, 4},
                      Case{1, 7, 12, 12, 1}, Case{3, 15, 16, 5},
                      Case{19, 9, 63, 12, 7}, Case{3, 64, 64, 1},
                      Case{3, 70, 65, 48, 3}, Case{2, 129, 130, 20},
                      Case{19, 1, 130, 16, 5}));

}  // namespace
}  // namespace densenet
