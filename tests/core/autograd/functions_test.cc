// Every function on Vars against central differences of its float64 meaning.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/autograd/losses.h"
#include "core/autograd/math.h"
#include "core/autograd/nn.h"
#include "core/autograd/shaping.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/numeric_gradient.h"
#include "tests/support/reference_conv2d.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::Dot;
using ::densenet::testing::Near;
using ::densenet::testing::NumericGradient;
using ::densenet::testing::TestTensor;

using Vector = std::vector<double>;

struct Case {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Var(const std::vector<Var>&)> function;
  std::function<Vector(const std::vector<Vector>&)> reference;
  int64_t terms = 4;  // summed for one element of a gradient
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class FunctionsTest : public ::testing::TestWithParam<Case> {};

TEST_P(FunctionsTest, ValueAndGradientsMatchReference) {
  const Case& c = GetParam();
  HostMemory memory;
  for (int64_t gap : {0, 3}) {
    const auto ctx = testing::MakeContext(2);
    Tape tape(*ctx, memory);
    std::vector<TestTensor> tensors;
    std::vector<Vector> doubles;
    std::vector<Var> xs;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      // Filters and vectors are packed by contract.
      const bool packed = c.inputs[i].rank() == 1 || i > 0;
      tensors.push_back(
          TestTensor::Random(c.inputs[i], 10 + i, packed ? 0 : gap));
      doubles.push_back(tensors.back().ToDoubles());
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      xs.push_back(tape.Leaf(fmt::format("x{}", i), tensors[i].view()));
    }
    const Var y = c.function(xs);
    ASSERT_OK(tape.Value(y));
    const Vector expected = c.reference(doubles);
    EXPECT_TRUE(Near(*tape.Value(y), expected, c.terms));

    const TestTensor dy = TestTensor::Random(y.shape(), 99);
    StatusOr<std::vector<Tensor>> gradients =
        tape.Gradients({Multiply(y, tape.Leaf("dy", dy.view()))}, xs);
    ASSERT_OK(gradients);
    for (size_t i = 0; i < xs.size(); ++i) {
      EXPECT_EQ((*gradients)[i].shape(), c.inputs[i]);
      const Vector numeric = NumericGradient(
          [&](const Vector& v) {
            std::vector<Vector> at = doubles;
            at[i] = v;
            return Dot(c.reference(at), dy.ToDoubles());
          },
          doubles[i]);
      EXPECT_TRUE(Near((*gradients)[i].const_view(), numeric, c.terms))
          << "input " << i;
    }
  }
}

Vector Map(const Vector& a, double (*fn)(double)) {
  Vector y;
  for (double v : a) y.push_back(fn(v));
  return y;
}

// a (rows, columns) with b repeated: b's length divides that of a.
Vector Zip(const Vector& a, const Vector& b, double (*fn)(double, double)) {
  Vector y;
  for (size_t i = 0; i < a.size(); ++i) y.push_back(fn(a[i], b[i % b.size()]));
  return y;
}

Vector Product(const Vector& a, const Vector& b, int64_t m, int64_t n,
               int64_t k, bool ta, bool tb) {
  Vector y(m * n, 0.0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        y[i * n + j] += (ta ? a[l * m + i] : a[i * k + l]) *
                        (tb ? b[j * k + l] : b[l * n + j]);
      }
    }
  }
  return y;
}

Vector Normalize(const Vector& x, const Vector& gamma, const Vector& beta,
                 const Vector& mean, const Vector& var) {
  Vector y;
  const size_t channels = gamma.size();
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    y.push_back((x[i] - mean[c]) / std::sqrt(var[c] + 1e-5) * gamma[c] +
                beta[c]);
  }
  return y;
}

Vector BatchNormReference(const Vector& x, const Vector& gamma,
                          const Vector& beta) {
  const size_t channels = gamma.size();
  const double rows = static_cast<double>(x.size() / channels);
  Vector mean(channels, 0.0), var(channels, 0.0);
  for (size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / rows;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - mean[i % channels];
    var[i % channels] += d * d / rows;
  }
  return Normalize(x, gamma, beta, mean, var);
}

// Windows of 2 in steps of 2 over (N, 4, 4, C).
Vector PoolReference(const Vector& x, int64_t n, int64_t c, bool largest) {
  Vector y;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = 0; p < 2; ++p) {
      for (int64_t q = 0; q < 2; ++q) {
        for (int64_t k = 0; k < c; ++k) {
          double sum = 0, max = -1e30;
          for (int64_t r = 0; r < 4; ++r) {
            const double v =
                x[((i * 4 + 2 * p + r / 2) * 4 + 2 * q + r % 2) * c + k];
            sum += v / 4;
            max = std::max(max, v);
          }
          y.push_back(largest ? max : sum);
        }
      }
    }
  }
  return y;
}

const float kRunningMean[3] = {0.1f, -0.2f, 0.3f};
const float kRunningVar[3] = {0.5f, 1.5f, 2.5f};
constexpr PoolParams kPool = {2, 2, {2, 2}, {}};

std::vector<Case> ArithmeticCases() {
  const auto add = [](double a, double b) { return a + b; };
  const auto subtract = [](double a, double b) { return a - b; };
  const auto multiply = [](double a, double b) { return a * b; };
  return {
      {"Add",
       {{4, 5}, {4, 5}},
       [](auto& x) { return Add(x[0], x[1]); },
       [=](auto& x) { return Zip(x[0], x[1], add); }},
      {"AddBias",
       {{4, 5}, {5}},
       [](auto& x) { return Add(x[0], x[1]); },
       [=](auto& x) { return Zip(x[0], x[1], add); }},
      {"AddTwice",
       {{4, 5}},
       [](auto& x) { return Add(x[0], x[0]); },
       [=](auto& x) { return Zip(x[0], x[0], add); }},
      {"SubtractScalar",
       {{4, 5}, {}},
       [](auto& x) { return Subtract(x[0], x[1]); },
       [=](auto& x) { return Zip(x[0], x[1], subtract); },
       20},
      {"Multiply",
       {{3, 4, 5}, {3, 4, 5}},
       [](auto& x) { return Multiply(x[0], x[1]); },
       [=](auto& x) { return Zip(x[0], x[1], multiply); }},
      {"MultiplyBias",
       {{3, 4, 5}, {1, 5}},
       [](auto& x) { return Multiply(x[0], x[1]); },
       [=](auto& x) { return Zip(x[0], x[1], multiply); },
       12},
      {"Square",
       {{7}},
       [](auto& x) { return Multiply(x[0], x[0]); },
       [=](auto& x) { return Zip(x[0], x[0], multiply); }},
      {"Negate",
       {{4, 5}},
       [](auto& x) { return Negate(x[0]); },
       [](auto& x) { return Map(x[0], [](double v) { return -v; }); }},
      {"Scale",
       {{4, 5}},
       [](auto& x) { return Scale(x[0], 0.25f); },
       [](auto& x) { return Map(x[0], [](double v) { return v / 4; }); }},
      {"ReduceSumAll",
       {{4, 5}},
       [](auto& x) { return ReduceSum(x[0]); },
       [](auto& x) { return Vector{Dot(x[0], Vector(20, 1.0))}; }},
      {"ReduceMeanColumns",
       {{4, 5}},
       [](auto& x) { return ReduceMean(x[0], {0}); },
       [](auto& x) {
         Vector y(5, 0.0);
         for (int i = 0; i < 20; ++i) y[i % 5] += x[0][i] / 4;
         return y;
       }},
      {"ReduceSumRowsKept",
       {{4, 5}},
       [](auto& x) { return ReduceSum(x[0], {-1}, true); },
       [](auto& x) {
         Vector y(4, 0.0);
         for (int i = 0; i < 20; ++i) y[i / 5] += x[0][i];
         return y;
       }},
      {"L2Norm",
       {{4, 5}},
       [](auto& x) { return L2Norm(x[0]); },
       [](auto& x) { return Vector{std::sqrt(Dot(x[0], x[0]))}; },
       20},
  };
}

std::vector<Case> ShapingCases() {
  return {
      {"Reshape",
       {{4, 5}},
       [](auto& x) {
         return Reshape(x[0], {2, -1});
       },
       [](auto& x) { return x[0]; }},
      {"SliceChannels",
       {{4, 5}},
       [](auto& x) {
         return Slice(x[0], {0, 1}, {-1, 3});
       },
       [](auto& x) {
         Vector y;
         for (int i = 0; i < 20; ++i) {
           if (i % 5 >= 1 && i % 5 < 4) y.push_back(x[0][i]);
         }
         return y;
       }},
      {"SliceMiddle",
       {{2, 4, 3}},
       [](auto& x) {
         return Slice(x[0], {0, 1, 0}, {-1, 2, -1});
       },
       [](auto& x) {
         Vector y;
         for (int i = 0; i < 24; ++i) {
           if (i / 3 % 4 >= 1 && i / 3 % 4 < 3) y.push_back(x[0][i]);
         }
         return y;
       }},
      {"Transpose",
       {{4, 5}},
       [](auto& x) {
         return Transpose(x[0], {1, 0});
       },
       [](auto& x) {
         Vector y;
         for (int i = 0; i < 20; ++i) y.push_back(x[0][i % 4 * 5 + i / 4]);
         return y;
       }},
      {"Concat",
       {{4, 5}, {4, 2}},
       [](auto& x) {
         return Concat({x[0], x[1], x[0]}, -1);
       },
       [](auto& x) {
         Vector y;
         for (int row = 0; row < 4; ++row) {
           for (int c = 0; c < 5; ++c) y.push_back(x[0][row * 5 + c]);
           for (int c = 0; c < 2; ++c) y.push_back(x[1][row * 2 + c]);
           for (int c = 0; c < 5; ++c) y.push_back(x[0][row * 5 + c]);
         }
         return y;
       }},
  };
}

Case MatMulCase(bool ta, bool tb) {
  return {fmt::format("MatMul{}{}", ta ? "TransposedA" : "",
                      tb ? "TransposedB" : ""),
          {ta ? Shape{5, 4} : Shape{4, 5}, tb ? Shape{3, 5} : Shape{5, 3}},
          [=](auto& x) { return MatMul(x[0], x[1], ta, tb); },
          [=](auto& x) { return Product(x[0], x[1], 4, 3, 5, ta, tb); },
          5};
}

std::vector<Case> NetworkCases() {
  const testing::ReferenceConv2d conv = {.n = 2,
                                         .h = 5,
                                         .w = 4,
                                         .c = 3,
                                         .r = 3,
                                         .s = 3,
                                         .k = 2,
                                         .stride_h = 1,
                                         .stride_w = 1,
                                         .top = 1,
                                         .left = 1,
                                         .p = 5,
                                         .q = 4};
  return {
      MatMulCase(false, false),
      MatMulCase(true, false),
      MatMulCase(false, true),
      MatMulCase(true, true),
      {"Conv2d",
       {{2, 5, 4, 3}, {3, 3, 3, 2}},
       [](auto& x) {
         return Conv2d(x[0], x[1], {.stride = {}, .padding = Padding::Same()});
       },
       [=](auto& x) { return conv.Forward(x[0], x[1]); },
       40},
      {"BiasAdd",
       {{6, 5}, {5}},
       [](auto& x) { return BiasAdd(x[0], x[1]); },
       [](auto& x) {
         return Zip(x[0], x[1], [](double a, double b) { return a + b; });
       },
       6},
      {"BatchNormTrain",
       {{2, 3, 2, 3}, {3}, {3}},
       [](auto& x) { return BatchNormTrain(x[0], x[1], x[2], {}, {}, {}); },
       [](auto& x) { return BatchNormReference(x[0], x[1], x[2]); },
       36},
      {"BatchNormEval",
       {{2, 3, 2, 3}, {3}, {3}},
       [](auto& x) {
         return BatchNormEval(
             x[0], x[1], x[2], {},
             ConstTensorView(kRunningMean, DType::kFloat32, {3}),
             ConstTensorView(kRunningVar, DType::kFloat32, {3}));
       },
       [](auto& x) {
         return Normalize(x[0], x[1], x[2],
                          Vector(kRunningMean, kRunningMean + 3),
                          Vector(kRunningVar, kRunningVar + 3));
       },
       36},
      {"Relu",
       {{4, 5}},
       [](auto& x) { return Relu(x[0]); },
       [](auto& x) {
         return Map(x[0], [](double v) { return v > 0 ? v : 0.0; });
       }},
      {"MaxPool",
       {{2, 4, 4, 3}},
       [](auto& x) { return MaxPool(x[0], kPool); },
       [](auto& x) { return PoolReference(x[0], 2, 3, true); }},
      {"AvgPool",
       {{2, 4, 4, 3}},
       [](auto& x) { return AvgPool(x[0], kPool); },
       [](auto& x) { return PoolReference(x[0], 2, 3, false); }},
      {"GlobalAvgPool",
       {{2, 3, 2, 3}},
       [](auto& x) { return GlobalAvgPool(x[0]); },
       [](auto& x) {
         Vector y(6, 0.0);
         for (int i = 0; i < 36; ++i) y[i / 18 * 3 + i % 3] += x[0][i] / 6;
         return y;
       }},
      {"Dropout",
       {{4, 5}},
       [](auto& x) {
         return Dropout(x[0], 0.5, {1, 2, 3});
       },
       [](auto& x) {
         Vector y;
         for (int i = 0; i < 20; ++i) {
           const bool kept = UniformFloat(RandomBits({1, 2, 3}, i)) >= 0.5f;
           y.push_back(kept ? 2 * x[0][i] : 0.0);
         }
         return y;
       }},
  };
}

const int32_t kLabels[4] = {4, 0, 2, 2};

Vector CrossEntropyReference(const Vector& x) {
  Vector losses;
  for (int row = 0; row < 4; ++row) {
    double sum = 0;
    for (int c = 0; c < 5; ++c) sum += std::exp(x[row * 5 + c]);
    losses.push_back(std::log(sum) - x[row * 5 + kLabels[row]]);
  }
  return losses;
}

std::vector<Case> LossCases() {
  return {
      {"Softmax",
       {{4, 5}},
       [](auto& x) { return Softmax(x[0]); },
       [](auto& x) {
         Vector y;
         for (int i = 0; i < 20; ++i) {
           double sum = 0;
           for (int c = 0; c < 5; ++c) sum += std::exp(x[0][i / 5 * 5 + c]);
           y.push_back(std::exp(x[0][i]) / sum);
         }
         return y;
       },
       5},
      {"SparseSoftmaxCrossEntropy",
       {{4, 5}},
       [](auto& x) {
         const Var labels = x[0].tape()->Leaf(
             "labels", ConstTensorView(kLabels, DType::kInt32, {4}));
         return SparseSoftmaxCrossEntropy(x[0], labels);
       },
       [](auto& x) { return CrossEntropyReference(x[0]); },
       5},
      {"MeanSparseSoftmaxCrossEntropy",
       {{4, 5}},
       [](auto& x) {
         const Var labels = x[0].tape()->Leaf(
             "labels", ConstTensorView(kLabels, DType::kInt32, {4}));
         return MeanSparseSoftmaxCrossEntropy(x[0], labels);
       },
       [](auto& x) {
         return Vector{Dot(CrossEntropyReference(x[0]), Vector(4, 0.25))};
       },
       5},
      {"SigmoidCrossEntropy",
       {{4, 5}},
       [](auto& x) {
         return SigmoidCrossEntropy(x[0], x[0].tape()->Constant(0.25f, {4, 5}));
       },
       [](auto& x) {
         return Map(
             x[0], [](double v) { return std::log1p(std::exp(v)) - 0.25 * v; });
       }},
  };
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, FunctionsTest,
                         ::testing::ValuesIn(ArithmeticCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Shaping, FunctionsTest,
                         ::testing::ValuesIn(ShapingCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Network, FunctionsTest,
                         ::testing::ValuesIn(NetworkCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Losses, FunctionsTest,
                         ::testing::ValuesIn(LossCases()), CaseName);

}  // namespace
}  // namespace densenet
