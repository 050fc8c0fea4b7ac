// densenet/data/shuffle.h
//
// Random orders that are computed, not stored, and the split of a training
// set into examples to train on and examples to validate on.
//
// Memory   a Permutation is a few words; HoldOut 8 bytes an example
// Threads  safe

#ifndef DENSENET_DENSENET_DATA_SHUFFLE_H_
#define DENSENET_DENSENET_DATA_SHUFFLE_H_

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "core/status.h"

namespace densenet {

// A random bijection of [0, n): a Feistel network over the smallest power of
// two that holds n (2^8 at least), walked until it lands inside (Black,
// Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). Any element
// can be had without those before it, so an epoch resumes anywhere.
class Permutation {
 public:
  // CHECKs 0 <= n <= 2^62. Keys that differ give independent orders.
  Permutation(int64_t n, const RandomKey& key);

  int64_t size() const { return n_; }
  // CHECKs 0 <= i < size() in debug builds.
  int64_t operator[](int64_t i) const;

 private:
  uint64_t Encrypt(uint64_t x) const;

  int64_t n_;
  RandomKey key_;
  int high_bits_;
  int low_bits_;
};

// The order of the training examples in an epoch.
Permutation EpochOrder(int64_t examples, uint64_t seed, int64_t epoch);

// Two disjoint sets that together are [0, count), each ascending.
struct HeldOut {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
};

// Chooses `validation` examples by seed.
// Errors  InvalidArgument  validation < 0, or nothing is left to train on
StatusOr<HeldOut> HoldOut(int64_t count, int64_t validation, uint64_t seed);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_SHUFFLE_H_
