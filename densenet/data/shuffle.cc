#include "densenet/data/shuffle.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "densenet/data/random_streams.h"

namespace densenet {
namespace {

// Four rounds already are a random permutation to whoever sees few of its
// values; a shuffle shows all of them.
constexpr int kRounds = 8;
// A network of few states favours some orders; a small set walks a larger one.
constexpr int kMinBits = 8;

constexpr uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(int64_t n, const RandomKey& key) : n_(n), key_(key) {
  CHECK(0 <= n && n <= int64_t{1} << 62);
  const int needed =
      n < 2 ? 0
            : static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1)));
  const int bits = std::max(needed, kMinBits);
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
}

uint64_t Permutation::Encrypt(uint64_t x) const {
  uint64_t high = x >> low_bits_;
  uint64_t low = x & Mask(low_bits_);
  for (uint64_t round = 0; round < kRounds; round += 2) {
    // Halves have at most 31 bits.
    high ^= RandomBlock(key_, round << 32 | low).v[0] & Mask(high_bits_);
    low ^= RandomBlock(key_, (round + 1) << 32 | high).v[0] & Mask(low_bits_);
  }
  return high << low_bits_ | low;
}

int64_t Permutation::operator[](int64_t i) const {
  DCHECK(0 <= i && i < n_);
  auto x = static_cast<uint64_t>(i);
  do {
    x = Encrypt(x);
  } while (x >= static_cast<uint64_t>(n_));
  return static_cast<int64_t>(x);
}

Permutation EpochOrder(int64_t examples, uint64_t seed, int64_t epoch) {
  CHECK(0 <= epoch && epoch <= std::numeric_limits<uint32_t>::max());
  return Permutation(examples, {.seed = seed,
                                .step = static_cast<uint32_t>(epoch),
                                .stream = kShuffleStream});
}

StatusOr<HeldOut> HoldOut(int64_t count, int64_t validation, uint64_t seed) {
  if (validation < 0 || validation >= count) {
    return InvalidArgument(fmt::format(
        "cannot hold out {} of {} training examples for validation: expected "
        "0 to {}",
        validation, count, count - 1));
  }
  const Permutation order(count, {.seed = seed, .stream = kHoldOutStream});
  std::vector<bool> held(static_cast<size_t>(count), false);
  for (int64_t i = 0; i < validation; ++i) held[order[i]] = true;
  HeldOut result;
  result.train.reserve(count - validation);
  result.validation.reserve(validation);
  for (int64_t i = 0; i < count; ++i) {
    (held[i] ? result.validation : result.train).push_back(i);
  }
  return result;
}

}  // namespace densenet
