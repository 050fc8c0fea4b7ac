#include "core/cpu/gemm.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "core/cpu/gemm_portable.h"
#include "core/random.h"
#include "tests/support/compare.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using testing::TestTensor;

// (m, n, k, gap of the leading dimensions)
using Case = std::tuple<int64_t, int64_t, int64_t, int64_t>;

class GemmTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int kTerms = 3;  // of a batch

  void SetUp() override {
    auto [m, n, k, gap] = GetParam();
    for (int t = 0; t < kTerms; ++t) {
      a_.push_back(TestTensor::Random({m, k}, 10 + t, gap));
      at_.push_back(TestTensor::Random({k, m}, 10 + t, gap));
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t p = 0; p < k; ++p) {
          at_[t].at(p * m + i) = a_[t].at(i * k + p);
        }
      }
      b_.push_back(TestTensor::Random({k, n}, 20 + t, gap));
    }
    c_ = TestTensor::Random({m, n}, 30, gap);
  }

  std::vector<double> Reference(int terms, bool accumulate) const {
    auto [m, n, k, gap] = GetParam();
    std::vector<double> c(m * n, 0.0);
    if (accumulate) c = c_.ToDoubles();
    for (int t = 0; t < terms; ++t) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t p = 0; p < k; ++p) {
            c[i * n + j] += double{a_[t].at(i * k + p)} * b_[t].at(p * n + j);
          }
        }
      }
    }
    return c;
  }

  GemmShape MakeShape(bool transpose_a, bool accumulate) const {
    auto [m, n, k, gap] = GetParam();
    return {m,       n,       k,           (transpose_a ? m : k) + gap,
            n + gap, n + gap, transpose_a, accumulate};
  }

  std::vector<TestTensor> a_, at_, b_;
  TestTensor c_{{1}};
};

TEST_P(GemmTest, MatchesReference) {
  const int64_t k = std::get<2>(GetParam());
  for (bool transpose_a : {false, true}) {
    for (bool accumulate : {false, true}) {
      const GemmShape shape = MakeShape(transpose_a, accumulate);
      const std::vector<double> expected = Reference(1, accumulate);
      const float* a = (transpose_a ? at_ : a_)[0].view().data<float>();
      const float* b = b_[0].view().data<float>();
      TestTensor jit = c_;
      Gemm{shape}(a, b, jit.view().data<float>());
      EXPECT_TRUE(testing::Near(jit.const_view(), expected, k));
      EXPECT_TRUE(jit.GapsUntouched());
      TestTensor portable = c_;
      GemmPortable(shape, &a, &b, portable.view().data<float>(), 1);
      EXPECT_TRUE(testing::Near(portable.const_view(), expected, k));
      EXPECT_TRUE(portable.GapsUntouched());
    }
  }
}

TEST_P(GemmTest, BatchMatchesReference) {
  const int64_t k = std::get<2>(GetParam());
  std::vector<const float*> a, b;
  for (int t = 0; t < kTerms; ++t) {
    a.push_back(a_[t].const_view().data<float>());
    b.push_back(b_[t].const_view().data<float>());
  }
  for (bool accumulate : {false, true}) {
    const GemmShape shape = MakeShape(false, accumulate);
    const std::vector<double> expected = Reference(kTerms, accumulate);
    TestTensor jit = c_;
    BatchGemm{shape}(a.data(), b.data(), jit.view().data<float>(), kTerms);
    EXPECT_TRUE(testing::Near(jit.const_view(), expected, k * kTerms));
    EXPECT_TRUE(jit.GapsUntouched());
    TestTensor portable = c_;
    GemmPortable(shape, a.data(), b.data(), portable.view().data<float>(),
                 kTerms);
    EXPECT_TRUE(testing::Near(portable.const_view(), expected, k * kTerms));
    EXPECT_TRUE(portable.GapsUntouched());
  }
}

// The one forward arithmetic of all memory strategies needs it: stored rows
// and packed rows have different leading dimensions.
TEST_P(GemmTest, BitsDoNotDependOnLeadingDimensions) {
  auto [m, n, k, gap] = GetParam();
  const TestTensor packed =
      TestTensor::FromVector({m, k}, a_[0].ToDoubles(), 0);
  const TestTensor wide = TestTensor::FromVector({m, k}, a_[0].ToDoubles(), 37);
  const float* b = b_[0].const_view().data<float>();
  TestTensor c1({m, n}), c2({m, n}, 19);
  Gemm({m, n, k, k, n + gap, n})(packed.const_view().data<float>(), b,
                                 c1.view().data<float>());
  Gemm({m, n, k, k + 37, n + gap, n + 19})(wide.const_view().data<float>(), b,
                                           c2.view().data<float>());
  EXPECT_TRUE(testing::BitwiseEqual(c1.const_view(), c2.const_view()));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GemmTest,
    ::testing::Values(Case{1, 1, 1, 0}, Case{3, 5, 7, 0}, Case{64, 48, 24, 3},
                      Case{32, 12, 48, 192}, Case{8, 12, 48, 5},
                      Case{1, 48, 342, 1}, Case{64, 48, 342, 0},
                      Case{17, 33, 100, 2}, Case{12, 48, 1088, 0},
                      Case{5, 1, 9, 0}, Case{64, 342, 48, 0}));

}  // namespace
}  // namespace densenet
