#include "densenet/kernels/batch_norm_passes.h"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>

#include "densenet/kernels/channel_statistics.h"
#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

struct Case {
  PassShape shape;
  int64_t gap = 0;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.shape.images << " x " << c.shape.pixels << ", " << c.shape.channels
       << ", gap " << c.gap;
}

class BatchNormPassKernelTest : public ::testing::TestWithParam<Case> {
 protected:
  TestTensor Random(uint64_t seed) const {
    return TestTensor::Random({rows_, channels_}, seed, gap_);
  }
  TestTensor Poison() const { return PoisonedTensor({rows_, channels_}, gap_); }

  const PassShape s_ = GetParam().shape;
  const int64_t channels_ = s_.channels;
  const int64_t rows_ = s_.images * s_.pixels;
  const int64_t gap_ = GetParam().gap;
  const int64_t ld_ = channels_ + gap_;
  const NormalizedInput x_{rows_, channels_, 1, gap_};
};

TEST_P(BatchNormPassKernelTest, Normalize) {
  for (int threads : kThreadCounts) {
    const auto ctx = MakeContext(threads);
    TestTensor z = Poison();
    NormalizePass(*ctx, s_, x_.Packed(), Data(z), ld_);
    EXPECT_TRUE(Near(z.const_view(), x_.z(), 1));
    EXPECT_TRUE(z.GapsUntouched());
    TestTensor copy = Poison();
    NormalizePass(*ctx, s_, x_.Stored(), Data(copy), ld_);
    EXPECT_TRUE(SameBits(copy, z));
  }
}

TEST_P(BatchNormPassKernelTest, Sink) {
  const TestTensor dz = Random(20);
  for (SinkMode mode : kSinkModes) {
    std::optional<SinkCase> first;
    for (int threads : kThreadCounts) {
      const auto ctx = MakeContext(threads);
      SinkCase out(x_, mode, gap_);
      FloatScratch scratch(SinkPassScratchFloats(threads, channels_));
      SinkPass(*ctx, s_, Data(dz), ld_, out.sink(), scratch.data());
      EXPECT_TRUE(scratch.Intact());
      if (threads == 1) {
        EXPECT_TRUE(
            out.Matches(dz.ToDoubles(), ImageChunks(s_.images).count(), 1));
        first.emplace(out);
      }
      EXPECT_TRUE(SameBits(out.target(), first->target()));
      EXPECT_TRUE(SameBits(out.partials(), first->partials()));
    }
  }
}

TEST_P(BatchNormPassKernelTest, InputGradient) {
  const TestTensor dy = Random(20);
  const TestTensor old = Random(21);
  const TestTensor k1 = TestTensor::Random({channels_}, 30);
  const TestTensor k2 = TestTensor::Random({channels_}, 31);
  for (bool add : {false, true}) {
    Doubles expected = old.ToDoubles();
    for (int64_t i = 0; i < dy.elems(); ++i) {
      const int64_t c = i % channels_;
      const double centered = double{x_.x().at(i)} - x_.mean().at(c);
      expected[i] = (add ? expected[i] : 0) +
                    double{x_.scale().at(c)} * dy.at(i) -
                    (k1.at(c) + k2.at(c) * centered);
    }
    for (bool in_place : {false, true}) {
      if (add && in_place) continue;  // dy itself would be added to
      for (int threads : kThreadCounts) {
        const auto ctx = MakeContext(threads);
        TestTensor dx = in_place ? dy : add ? old : Poison();
        InputGradientPass pass;
        pass.shape = s_;
        pass.x = Data(x_.x());
        pass.ldx = pass.lddy = pass.lddx = ld_;
        pass.mean = Data(x_.mean());
        pass.scale = Data(x_.scale());
        pass.k1 = Data(k1);
        pass.k2 = Data(k2);
        pass.dy = in_place ? Data(dx) : Data(dy);
        pass.dx = Data(dx);
        pass.add = add;
        densenet::Run(*ctx, pass);
        EXPECT_TRUE(Near(dx.const_view(), expected, 4));
        EXPECT_TRUE(dx.GapsUntouched());
      }
    }
  }
}

TEST_P(BatchNormPassKernelTest, Copy) {
  const TestTensor x = Random(20);
  const TestTensor old = Random(21);
  for (int threads : kThreadCounts) {
    const auto ctx = MakeContext(threads);
    TestTensor copied = Poison();
    CopyPass(*ctx, s_, Data(x), ld_, Data(copied), ld_, /*add=*/false);
    EXPECT_TRUE(SameBits(copied, x));
    TestTensor added = old;
    CopyPass(*ctx, s_, Data(x), ld_, Data(added), ld_, /*add=*/true);
    for (int64_t i = 0; i < x.elems(); ++i) {
      ASSERT_EQ(added.at(i), old.at(i) + x.at(i)) << i;
    }
    EXPECT_TRUE(added.GapsUntouched());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BatchNormPassKernelTest,
    ::testing::Values(Case{{1, 1, 1}}, Case{{3, 1, 5}, 2}, Case{{1, 65, 12}},
                      Case{{3, 9, 16}, 1}, Case{{19, 7, 63}},
                      Case{{3, 64, 64}, 3}, Case{{2, 130, 65}},
                      Case{{19, 3, 130}, 1}));

}  // namespace
}  // namespace densenet
