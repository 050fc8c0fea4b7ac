#include "core/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/compare.h"

namespace densenet {
namespace {

using ::densenet::testing::Near;
using ::testing::HasSubstr;

constexpr float kMomentum = 0.9f;
constexpr float kDecay = 1e-4f;

std::vector<float> RandomVector(int64_t count, uint32_t stream) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = 2 * UniformFloat(RandomBits({7, 0, stream}, i)) - 1;
  }
  return values;
}

std::unique_ptr<Context> MakeContext(int threads) {
  StatusOr<std::unique_ptr<Context>> ctx =
      Context::Create({.threads = threads});
  CHECK(ctx.ok());
  return std::move(*ctx);
}

// The formulas in float64, over the whole history of gradients.
std::vector<double> Reference(const std::string& name,
                              const std::vector<float>& start,
                              const std::vector<std::vector<float>>& gradients,
                              const std::vector<float>& rates) {
  const double mu = kMomentum;
  std::vector<double> w(start.begin(), start.end());
  std::vector<double> v(w.size(), 0.0);
  for (size_t step = 0; step < gradients.size(); ++step) {
    for (size_t i = 0; i < w.size(); ++i) {
      const double g = gradients[step][i] + static_cast<double>(kDecay) * w[i];
      v[i] = mu * v[i] + g;
      const double direction =
          name == "sgd" ? g : (name == "momentum" ? v[i] : g + mu * v[i]);
      w[i] -= rates[step] * direction;
    }
  }
  return w;
}

class OptimizerTest : public ::testing::TestWithParam<std::string> {
 protected:
  // The values and the slots, one after the other, after three steps.
  static std::vector<float> Train(const Optimizer& optimizer, int threads,
                                  std::vector<float> value, int64_t pieces) {
    std::unique_ptr<Context> ctx = MakeContext(threads);
    const int64_t count = static_cast<int64_t>(value.size());
    std::vector<std::vector<float>> slots(optimizer.slots(),
                                          std::vector<float>(count, 0.0f));
    const std::vector<std::vector<float>> gradients = Gradients(count);
    for (size_t step = 0; step < gradients.size(); ++step) {
      for (int64_t p = 0; p < pieces; ++p) {
        const int64_t begin = count * p / pieces;
        const int64_t size = count * (p + 1) / pieces - begin;
        std::vector<absl::Span<float>> slot_spans;
        for (std::vector<float>& slot : slots) {
          slot_spans.push_back(absl::MakeSpan(slot).subspan(begin, size));
        }
        optimizer.Update(
            *ctx, kRates[step], absl::MakeSpan(value).subspan(begin, size),
            absl::MakeConstSpan(gradients[step]).subspan(begin, size),
            slot_spans);
      }
    }
    for (const std::vector<float>& slot : slots) {
      value.insert(value.end(), slot.begin(), slot.end());
    }
    return value;
  }

  static std::vector<std::vector<float>> Gradients(int64_t count) {
    return {RandomVector(count, 1), RandomVector(count, 2),
            RandomVector(count, 3)};
  }

  static std::unique_ptr<Optimizer> Make() {
    StatusOr<std::unique_ptr<Optimizer>> optimizer = Optimizer::Create(
        {.name = GetParam(), .momentum = kMomentum, .weight_decay = kDecay});
    CHECK(optimizer.ok()) << optimizer.status();
    return std::move(*optimizer);
  }

  static inline const std::vector<float> kRates = {0.1f, 0.1f, 0.01f};
};

TEST_P(OptimizerTest, FollowsTheFormula) {
  const std::unique_ptr<Optimizer> optimizer = Make();
  for (int64_t count : {1, 7, 16384, 40001}) {
    const std::vector<float> start = RandomVector(count, 0);
    std::vector<float> after = Train(*optimizer, 2, start, 1);
    EXPECT_TRUE(Near(ConstTensorView(after.data(), DType::kFloat32, {count}),
                     Reference(GetParam(), start, Gradients(count), kRates), 3))
        << count;
  }
}

TEST_P(OptimizerTest, ThreadsAndGroupingDoNotChangeABit) {
  const std::unique_ptr<Optimizer> optimizer = Make();
  const std::vector<float> start = RandomVector(50003, 0);
  const std::vector<float> expected = Train(*optimizer, 1, start, 1);
  for (int threads : {1, 2, 5}) {
    for (int64_t pieces : {1, 3, 1000}) {
      const std::vector<float> actual =
          Train(*optimizer, threads, start, pieces);
      EXPECT_EQ(std::memcmp(actual.data(), expected.data(),
                            expected.size() * sizeof(float)),
                0)
          << threads << " threads, " << pieces << " pieces";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest,
                         ::testing::ValuesIn(OptimizerNames()),
                         [](const auto& test) { return test.param; });

TEST(OptimizerCreateTest, NamesItsSlots) {
  EXPECT_EQ((*Optimizer::Create({.name = "sgd"}))->slots(), 0);
  for (const char* name : {"momentum", "nesterov"}) {
    const std::unique_ptr<Optimizer> optimizer =
        *Optimizer::Create({.name = name});
    ASSERT_EQ(optimizer->slots(), 1);
    EXPECT_EQ(optimizer->slot_name(0), "velocity");
  }
}

TEST(OptimizerCreateTest, ErrorsSayWhatIsExpected) {
  auto message = [](const OptimizerConfig& config) {
    auto optimizer = Optimizer::Create(config);
    EXPECT_EQ(optimizer.status().code(), StatusCode::kInvalidArgument);
    return std::string(StdView(optimizer.status().message()));
  };
  EXPECT_THAT(message({.name = "adagrad"}),
              HasSubstr("'adagrad': expected sgd, momentum, nesterov"));
  EXPECT_THAT(message({.momentum = 1.0f}), HasSubstr("momentum is 1,"));
  EXPECT_THAT(message({.weight_decay = -1.0f}),
              HasSubstr("weight_decay is -1,"));
  EXPECT_THAT(message({.weight_decay = std::nanf("")}),
              HasSubstr("weight_decay is nan"));
}

}  // namespace
}  // namespace densenet
