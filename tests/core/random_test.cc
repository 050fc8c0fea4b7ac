#include "core/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace densenet {
namespace {

using Words = std::array<uint32_t, 4>;

Words ToWords(const Philox4& p) { return {p.v[0], p.v[1], p.v[2], p.v[3]}; }

// kat_vectors of the Random123 distribution, philox4x32 with 10 rounds.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(ToWords(Philox4x32(0, 0, 0, 0, 0, 0)),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(ToWords(Philox4x32(kOnes, kOnes, kOnes, kOnes, kOnes, kOnes)),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(ToWords(Philox4x32(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344,
                               0xa4093822, 0x299f31d0)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, BitsAreTheWordsOfBlocks) {
  const RandomKey key{0x0123456789abcdef, 7, 3};
  const uint64_t far = uint64_t{1} << 40;
  for (uint64_t index : {uint64_t{0}, uint64_t{1}, uint64_t{6}, far + 3}) {
    EXPECT_EQ(RandomBits(key, index), RandomBlock(key, index / 4).v[index % 4]);
  }
  // Every part of key and index counts.
  std::set<uint32_t> drawn;
  for (const RandomKey& k :
       {key, RandomKey{key.seed ^ 1, 7, 3},
        RandomKey{key.seed ^ (uint64_t{1} << 63), 7, 3},
        RandomKey{key.seed, 8, 3}, RandomKey{key.seed, 7, 4}}) {
    drawn.insert(RandomBits(k, 5));
    drawn.insert(RandomBits(k, 5 + (uint64_t{1} << 34)));
  }
  EXPECT_EQ(drawn.size(), 10u);
}

TEST(RandomTest, UniformFloatCoversTheHalfOpenInterval) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_EQ(UniformFloat(0xff), 0.0f);
  EXPECT_EQ(UniformFloat(0xffffffff), 1.0f - std::ldexp(1.0f, -24));
  EXPECT_EQ(UniformFloat(0x80000000), 0.5f);
}

// The mean of n uniform numbers has deviation 1 / sqrt(12 n): 5 of them.
TEST(RandomTest, UniformFloatHasTheMeanOfItsKind) {
  constexpr int kCount = 1 << 16;
  const RandomKey key{42, 0, 0};
  double sum = 0;
  for (int i = 0; i < kCount; ++i) sum += UniformFloat(RandomBits(key, i));
  EXPECT_NEAR(sum / kCount, 0.5, 5 / std::sqrt(12.0 * kCount));
}

TEST(RandomTest, UniformIntStaysBelowAndReachesAll) {
  EXPECT_EQ(UniformInt(0xffffffff, 0xffffffff), 0xfffffffeu);
  EXPECT_EQ(UniformInt(0, 10), 0u);
  std::vector<int> counts(7, 0);
  const RandomKey key{1, 2, 3};
  constexpr int kCount = 7000;
  for (int i = 0; i < kCount; ++i) ++counts[UniformInt(RandomBits(key, i), 7)];
  // Binomial(7000, 1/7): deviation below sqrt(1000); six of them.
  for (int c : counts) EXPECT_NEAR(c, 1000, 6 * std::sqrt(1000.0));
}

}  // namespace
}  // namespace densenet
