// tests/densenet/test_cifar.h
//
// CIFAR-10 in its binary format with a few random images, and options that
// train the smallest DenseNet-BC on them.

#ifndef DENSENET_TESTS_DENSENET_TEST_CIFAR_H_
#define DENSENET_TESTS_DENSENET_TEST_CIFAR_H_

#include <fmt/format.h>

#include <string>

#include "core/random.h"
#include "densenet/run_config.h"
#include "tests/support/temp_dir.h"

namespace densenet::testing {

// A label byte and 3072 pixels for each of `records`.
inline std::string CifarRecords(int64_t records, uint64_t seed) {
  std::string bytes;
  for (int64_t i = 0; i < records; ++i) {
    bytes += static_cast<char>(i % 10);
    for (uint64_t p = 0; p < 3072; ++p) {
      bytes +=
          static_cast<char>(RandomBits({seed, static_cast<uint32_t>(i), 0}, p));
    }
  }
  return bytes;
}

// 5 x `per_batch` training images and `test` test images.
inline void WriteCifar10(const TempDir& dir, int64_t per_batch, int64_t test) {
  for (int i = 1; i <= 5; ++i) {
    dir.Write(fmt::format("data_batch_{}.bin", i), CifarRecords(per_batch, i));
  }
  dir.Write("test_batch.bin", CifarRecords(test, 6));
}

inline RunOptions TinyRun(const TempDir& data, const std::string& out) {
  RunOptions options;
  options.depth = 10;
  options.growth = 4;
  options.bottleneck = true;
  options.dropout = 0.2;
  options.dataset = "cifar10";
  options.data = data.path();
  options.augment = "cifar";
  options.batch = "8";
  options.epochs = 3;
  options.strategy = "recompute-bn";
  options.threads = 1;
  options.checkpoint_every = 2;
  options.checkpoint_minutes = 0;
  options.out = out;
  return options;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_TEST_CIFAR_H_
