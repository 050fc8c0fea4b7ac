#include "densenet/synthetic_batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

TEST(SyntheticBatchTest, NormalPixelsLabelsInRangeAndThePlannedBytes) {
  ModelConfig config;
  config.classes = 7;
  HostMemory memory;
  constexpr int64_t kImages = 8;
  {
    auto batch = SyntheticBatch::Create(memory, config, kImages, /*seed=*/1);
    ASSERT_OK(batch);
    EXPECT_EQ(memory.stats().active_bytes,
              SyntheticBatch::PlannedBytes(config, kImages));
    const std::vector<double> pixels = testing::ToVector(batch->images());
    double sum = 0;
    double squares = 0;
    for (double p : pixels) {
      sum += p;
      squares += p * p;
    }
    const double n = static_cast<double>(pixels.size());
    const double five_standard_errors = 5 / std::sqrt(n);
    EXPECT_NEAR(sum / n, 0, five_standard_errors);
    EXPECT_NEAR(squares / n, 1, std::sqrt(2.0) * five_standard_errors);
    for (int32_t label : batch->labels()) {
      EXPECT_GE(label, 0);
      EXPECT_LT(label, config.classes);
    }
  }
  EXPECT_EQ(memory.stats().active_bytes, 0);
}

}  // namespace
}  // namespace densenet
