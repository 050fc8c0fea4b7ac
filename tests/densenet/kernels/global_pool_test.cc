#include "densenet/kernels/global_pool.h"

#include <gtest/gtest.h>

#include <ostream>

#include "densenet/kernels/channel_statistics.h"
#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

struct Case {
  int64_t images, pixels, c;
  int64_t gap = 0;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.images << " x " << c.pixels << ", " << c.c << ", gap " << c.gap;
}

class GlobalPoolKernelTest : public ::testing::TestWithParam<Case> {
 protected:
  TestTensor RunForward(bool stored, int threads) const {
    const auto ctx = MakeContext(threads);
    TestTensor pooled = PoisonedTensor({s_.images, s_.c});
    FloatScratch scratch(GlobalPoolForwardScratchFloats(threads));
    GlobalPoolForward pool;
    pool.images = s_.images;
    pool.pixels = s_.pixels;
    pool.c = s_.c;
    pool.x = x_.Rows(stored);
    pool.pooled = Data(pooled);
    pool.scratch = scratch.data();
    densenet::Run(*ctx, pool);
    EXPECT_TRUE(scratch.Intact());
    return pooled;
  }

  SinkCase RunBackward(SinkMode mode, int threads) const {
    const auto ctx = MakeContext(threads);
    SinkCase sink(x_, mode, s_.gap);
    FloatScratch scratch(GlobalPoolBackwardScratchFloats(threads, s_.c));
    GlobalPoolBackward pool;
    pool.images = s_.images;
    pool.pixels = s_.pixels;
    pool.c = s_.c;
    pool.d_pooled = Data(d_pooled_);
    pool.sink = sink.sink();
    pool.scratch = scratch.data();
    densenet::Run(*ctx, pool);
    EXPECT_TRUE(scratch.Intact());
    return sink;
  }

  const Case s_ = GetParam();
  const NormalizedInput x_{s_.images * s_.pixels, s_.c, 1, s_.gap};
  const TestTensor d_pooled_ = TestTensor::Random({s_.images, s_.c}, 20);
};

TEST_P(GlobalPoolKernelTest, ForwardMatchesReference) {
  Doubles expected(s_.images * s_.c, 0.0);
  for (size_t i = 0; i < x_.z().size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / s_.c;
    const int64_t c = static_cast<int64_t>(i) % s_.c;
    expected[row / s_.pixels * s_.c + c] += x_.z()[i] / s_.pixels;
  }
  const TestTensor first = RunForward(false, 1);
  EXPECT_TRUE(Near(first.view(), expected, s_.pixels));
  for (int threads : kThreadCounts) {
    for (bool stored : {false, true}) {
      EXPECT_TRUE(SameBits(RunForward(stored, threads), first));
    }
  }
}

TEST_P(GlobalPoolKernelTest, BackwardMatchesReference) {
  Doubles dz(x_.z().size());
  for (size_t i = 0; i < dz.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / s_.c;
    const int64_t c = static_cast<int64_t>(i) % s_.c;
    dz[i] = double{d_pooled_.at(row / s_.pixels * s_.c + c)} / s_.pixels;
  }
  for (SinkMode mode : kSinkModes) {
    const SinkCase first = RunBackward(mode, 1);
    EXPECT_TRUE(first.Matches(dz, ImageChunks(s_.images).count(), 1));
    for (int threads : kThreadCounts) {
      const SinkCase out = RunBackward(mode, threads);
      EXPECT_TRUE(SameBits(out.target(), first.target()));
      EXPECT_TRUE(SameBits(out.partials(), first.partials()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GlobalPoolKernelTest,
                         ::testing::Values(Case{1, 1, 1}, Case{3, 1, 5, 2},
                                           Case{1, 49, 12}, Case{3, 63, 16, 1},
                                           Case{19, 4, 63}, Case{3, 64, 64, 3},
                                           Case{2, 65, 65},
                                           Case{19, 130, 130, 1}));

}  // namespace
}  // namespace densenet
