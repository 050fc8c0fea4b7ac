// core/random.h
//
// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC11). A number is a pure
// function of (key, index), so a dropout mask is recomputed, never stored, and
// nothing depends on thread count, order of evaluation or resume.

#ifndef DENSENET_CORE_RANDOM_H_
#define DENSENET_CORE_RANDOM_H_

#include <cstdint>

#include "core/host_device.h"

namespace densenet {

struct Philox4 {
  uint32_t v[4];
};

// Ten rounds on counter (c0..c3) under key (k0, k1).
DENSENET_HOST_DEVICE inline Philox4 Philox4x32(uint32_t c0, uint32_t c1,
                                               uint32_t c2, uint32_t c3,
                                               uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Names one stream of random numbers: who draws (`stream`: a layer, say), at
// which `step`, under which `seed`. Streams of different keys are independent.
struct RandomKey {
  uint64_t seed = 0;
  uint32_t step = 0;
  uint32_t stream = 0;
};

// The 4 numbers with indices 4 * block .. 4 * block + 3 of a stream.
DENSENET_HOST_DEVICE inline Philox4 RandomBlock(const RandomKey& key,
                                                uint64_t block) {
  return Philox4x32(static_cast<uint32_t>(block),
                    static_cast<uint32_t>(block >> 32), key.step, key.stream,
                    static_cast<uint32_t>(key.seed),
                    static_cast<uint32_t>(key.seed >> 32));
}

// Number `index` of a stream; RandomBlock is four times cheaper in bulk.
DENSENET_HOST_DEVICE inline uint32_t RandomBits(const RandomKey& key,
                                                uint64_t index) {
  return RandomBlock(key, index / 4).v[index % 4];
}

// [0, 1), 24 bits.
DENSENET_HOST_DEVICE inline float UniformFloat(uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

// [0, n) for n < 2^32, by multiplication (Lemire): bias below n / 2^32.
DENSENET_HOST_DEVICE inline uint32_t UniformInt(uint32_t bits, uint32_t n) {
  return static_cast<uint32_t>((static_cast<uint64_t>(bits) * n) >> 32);
}

}  // namespace densenet

#endif  // DENSENET_CORE_RANDOM_H_
