#include "densenet/data/normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "memory/host_memory.h"
#include "tests/densenet/data/test_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::RandomDataset;
using ::densenet::testing::RelativeTolerance;

TEST(NormalizationTest, EqualsTwoPassesInFloat64) {
  HostMemory memory;
  for (int64_t channels : {1, 3}) {
    const Dataset data = RandomDataset(7, 5, 4, channels, memory);
    const std::vector<int64_t> examples = {0, 2, 3, 6};
    StatusOr<Normalization> result = ComputeNormalization(data, examples);
    ASSERT_OK(result);
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      const double n = 20.0 * static_cast<double>(examples.size());
      for (int64_t i : examples) {
        for (int64_t p = 0; p < 20; ++p) {
          sum += data.image(i)[p * channels + c] / 255.0;
        }
      }
      for (int64_t i : examples) {
        for (int64_t p = 0; p < 20; ++p) {
          const double d = data.image(i)[p * channels + c] / 255.0 - sum / n;
          squares += d * d;
        }
      }
      const double tolerance = RelativeTolerance(DType::kFloat64, 80);
      EXPECT_NEAR(result->mean[c], sum / n, tolerance);
      EXPECT_NEAR(result->std[c], std::sqrt(squares / n), tolerance);
    }
  }
}

TEST(NormalizationTest, NormalizedPixelsHaveMean0AndDeviation1) {
  HostMemory memory;
  const Dataset data = RandomDataset(7, 5, 4, 3, memory);
  StatusOr<Normalization> normalization = ComputeNormalization(data);
  ASSERT_OK(normalization);
  StatusOr<PixelTable> table = PixelTable::Create(*normalization);
  ASSERT_OK(table);
  std::vector<float> out(data.images.elems());
  table->Normalize(data.images.data<uint8_t>(), data.images.elems() / 3,
                   out.data());
  for (int64_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = c; i < out.size(); i += 3) {
      // Each value is the float64 formula, rounded once.
      const double exact =
          (data.images.data<uint8_t>()[i] / 255.0 - normalization->mean[c]) /
          normalization->std[c];
      EXPECT_EQ(out[i], static_cast<float>(exact));
      sum += exact;
      squares += exact * exact;
    }
    const double tolerance = RelativeTolerance(DType::kFloat64, 140);
    EXPECT_NEAR(sum / 140, 0, tolerance);
    EXPECT_NEAR(squares / 140, 1, tolerance);
  }
}

TEST(NormalizationTest, ConstantChannelKeepsItsScale) {
  HostMemory memory;
  Dataset data = RandomDataset(2, 2, 2, 1, memory);
  std::fill_n(data.images.data<uint8_t>(), 8, uint8_t{51});
  StatusOr<Normalization> result = ComputeNormalization(data);
  ASSERT_OK(result);
  EXPECT_EQ(result->mean[0], 0.2);
  EXPECT_EQ(result->std[0], 1.0);
}

TEST(NormalizationTest, Errors) {
  HostMemory memory;
  const Dataset data = RandomDataset(2, 2, 2, 1, memory);
  EXPECT_THAT(ComputeNormalization(data, {}),
              Fails(StatusCode::kInvalidArgument, {"no examples"}));
  EXPECT_THAT(ComputeNormalization(data, {0, 2}),
              Fails(StatusCode::kInvalidArgument, {"example 2", "of 2"}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Normalization& bad :
       {Normalization{{0.5}, {0.0}}, Normalization{{0.5}, {-1.0}},
        Normalization{{nan}, {1.0}}, Normalization{{0.5}, {nan}}}) {
    EXPECT_THAT(PixelTable::Create(bad),
                Fails(StatusCode::kInvalidArgument, {"channel 0"}));
  }
  EXPECT_THAT(PixelTable::Create({{0.5, 0.5}, {1.0}}),
              Fails(StatusCode::kInvalidArgument, {"2 means", "1 dev"}));
  EXPECT_FALSE(PixelTable::Create({}).ok());
}

TEST(ParseNormalizationTest, NamesAndNumbers) {
  EXPECT_EQ(*ParseNormalization("dataset", 3), std::nullopt);
  EXPECT_EQ(*ParseNormalization("imagenet", 3), ImageNetNormalization());
  EXPECT_EQ(**ParseNormalization("0.5,0.4,0.3/0.1,0.2,0.3", 3),
            (Normalization{{0.5, 0.4, 0.3}, {0.1, 0.2, 0.3}}));
  EXPECT_EQ(**ParseNormalization("0.5/0.25", 3),
            (Normalization{{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}}));
  EXPECT_EQ(**ParseNormalization("0.1/1", 1), (Normalization{{0.1}, {1}}));
  for (const char* text : {"", "images", "0.5", "0.5/0", "0.5,0.5/0.5", "2/1",
                           "0.5/0.5/0.5", "0.5,0.5,0.5/nan", "-0.1/1"}) {
    EXPECT_THAT(ParseNormalization(text, 3),
                Fails(StatusCode::kInvalidArgument, {"imagenet", "3 channels"}))
        << text;
  }
  EXPECT_THAT(ParseNormalization("imagenet", 1),
              Fails(StatusCode::kInvalidArgument, {"1 channel,"}));
}

}  // namespace
}  // namespace densenet
