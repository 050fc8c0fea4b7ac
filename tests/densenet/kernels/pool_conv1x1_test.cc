#include "densenet/kernels/pool_conv1x1.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "densenet/kernels/channel_statistics.h"
#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_conv2d.h"
#include "tests/support/reference_pool.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

struct Case {
  PoolConv1x1Shape shape;
  int64_t gap = 0;

  int64_t rows() const { return shape.images * shape.height * shape.width; }
  int64_t out_rows() const { return shape.images * shape.out_pixels(); }
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.shape.images << " x " << c.shape.height << " x " << c.shape.width
       << ", " << c.shape.c << " -> " << c.shape.k << ", gap " << c.gap;
}

// The reference convolves first and pools then, as the paper does.
class PoolConv1x1KernelTest : public ::testing::TestWithParam<Case> {
 protected:
  ReferenceConv2d Conv() const {
    return {GetParam().rows(), 1, 1, s_.c, 1, 1, s_.k, 1, 1, 0, 0, 1, 1};
  }
  ReferencePool Pool() const {
    return {s_.images, s_.height, s_.width,        s_.k,          2, 2, 2, 2,
            0,         0,         s_.out_height(), s_.out_width()};
  }

  const PoolConv1x1Shape s_ = GetParam().shape;
  const int64_t gap_ = GetParam().gap;
  const NormalizedInput x_{GetParam().rows(), s_.c, 1, gap_};
  const TestTensor w_ = TestTensor::Random({s_.c, s_.k}, 9);
  const TestTensor dy_ =
      TestTensor::Random({GetParam().out_rows(), s_.k}, 20, gap_);
};

struct ForwardOutputs {
  TestTensor y;
  std::vector<double> moments;
};

ForwardOutputs RunForward(const Case& c, const NormalizedInput& x,
                          const TestTensor& w, const OutputDropout& dropout,
                          bool stored, int threads, bool with_moments = true) {
  const auto ctx = MakeContext(threads);
  ForwardOutputs out{PoisonedTensor({c.out_rows(), c.shape.k}, c.gap),
                     Poisoned<double>(kMaxChunks * 2 * c.shape.k)};
  FloatScratch scratch(PoolConv1x1ForwardScratchFloats(threads, c.shape));
  PoolConv1x1Forward conv;
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

TEST_P(PoolConv1x1KernelTest, ForwardMatchesReference) {
  const Doubles y = Pool().Average(Conv().Forward(x_.z(), w_.ToDoubles()));
  for (double rate : {0.0, 0.3}) {
    const OutputDropout dropout{rate, {3, 1, 2}};
    const ForwardOutputs out =
        RunForward(GetParam(), x_, w_, dropout, false, 2);
    EXPECT_TRUE(
        Near(out.y.view(),
             Multiply(y, DropoutFactors(dropout, GetParam().out_rows() * s_.k)),
             4 * s_.c));
    EXPECT_TRUE(MomentsMatch(out.moments, s_.images, out.y));
  }
}

TEST_P(PoolConv1x1KernelTest, ForwardBitsDependOnNeitherThreadsNorStorage) {
  const OutputDropout dropout{0.3, {3, 1, 2}};
  const ForwardOutputs first =
      RunForward(GetParam(), x_, w_, dropout, false, 1);
  for (int threads : kThreadCounts) {
    for (bool stored : {false, true}) {
      for (bool with_moments : {false, true}) {
        const ForwardOutputs out = RunForward(GetParam(), x_, w_, dropout,
                                              stored, threads, with_moments);
        EXPECT_TRUE(SameBits(out.y, first.y));
        if (with_moments) {
          EXPECT_TRUE(SameBits(out.moments, first.moments));
        }
      }
    }
  }
}

struct BackwardOutputs {
  SinkCase sink;
  TestTensor dw;
};

BackwardOutputs RunBackward(const Case& c, const NormalizedInput& x,
                            const TestTensor& w, const TestTensor& dy,
                            const OutputDropout& dropout, SinkMode mode,
                            bool stored, int threads) {
  const auto ctx = MakeContext(threads);
  const PoolConv1x1Shape& s = c.shape;
  BackwardOutputs out{SinkCase(x, mode, c.gap), PoisonedTensor({s.c, s.k})};
  FloatScratch scratch(PoolConv1x1BackwardScratchFloats(threads, s));
  std::vector<float> partials = Poisoned<float>(kMaxChunks * s.c * s.k);
  PoolConv1x1Backward conv;
  conv.shape = s;
  conv.x = x.Rows(stored);
  conv.w = Data(w);
  conv.dy = Data(dy);
  conv.lddy = s.k + c.gap;
  conv.dropout = dropout;
  conv.sink = out.sink.sink();
  conv.dw_partials = partials.data();
  conv.dw = Data(out.dw);
  conv.scratch = scratch.data();
  Run(*ctx, conv);
  EXPECT_TRUE(scratch.Intact());
  return out;
}

TEST_P(PoolConv1x1KernelTest, BackwardMatchesReference) {
  const int64_t chunks = ImageChunks(s_.images).count();
  for (double rate : {0.0, 0.3}) {
    const OutputDropout dropout{rate, {3, 1, 2}};
    const Doubles dy = Pool().AverageBackward(
        Multiply(dy_.ToDoubles(),
                 DropoutFactors(dropout, GetParam().out_rows() * s_.k)));
    const Doubles dz = Conv().BackwardData(dy, w_.ToDoubles());
    const Doubles dw = Conv().BackwardFilter(x_.z(), dy);
    for (SinkMode mode : kSinkModes) {
      const BackwardOutputs out =
          RunBackward(GetParam(), x_, w_, dy_, dropout, mode, false, 2);
      EXPECT_TRUE(out.sink.Matches(dz, chunks, s_.k));
      EXPECT_TRUE(Near(out.dw.const_view(), dw, GetParam().rows()));
    }
  }
}

TEST_P(PoolConv1x1KernelTest, BackwardBitsDependOnNeitherThreadsNorStorage) {
  const OutputDropout dropout{0.3, {3, 1, 2}};
  for (SinkMode mode : kSinkModes) {
    const BackwardOutputs first =
        RunBackward(GetParam(), x_, w_, dy_, dropout, mode, false, 1);
    for (int threads : kThreadCounts) {
      for (bool stored : {false, true}) {
        const BackwardOutputs out = RunBackward(GetParam(), x_, w_, dy_,
                                                dropout, mode, stored, threads);
        EXPECT_TRUE(SameBits(out.sink.target(), first.sink.target()));
        EXPECT_TRUE(SameBits(out.sink.partials(), first.sink.partials()));
        EXPECT_TRUE(SameBits(out.dw, first.dw));
      }
    }
  }
}

// Odd heights and widths, one output pixel, several tiles an image with a
// lower last one, output rows wider than a tile.
INSTANTIATE_TEST_SUITE_P(
    Shapes, PoolConv1x1KernelTest,
    // The last two have too wide a dw for a partial sum per chunk: two, and
    // one.
    ::testing::Values(Case{{1, 2, 2, 1, 1}}, Case{{3, 3, 3, 5, 4}, 1},
                      Case{{1, 2, 5, 12, 6}, 4}, Case{{3, 7, 4, 16, 5}},
                      Case{{19, 3, 2, 63, 12}, 2}, Case{{2, 22, 20, 64, 1}},
                      Case{{3, 5, 9, 65, 12}, 130}, Case{{1, 6, 6, 130, 65}, 1},
                      Case{{2, 2, 141, 9, 3}, 1}, Case{{3, 2, 4, 300, 400}},
                      Case{{2, 2, 2, 520, 700}}));

}  // namespace
}  // namespace densenet
