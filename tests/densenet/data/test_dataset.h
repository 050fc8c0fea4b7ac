// tests/densenet/data/test_dataset.h
//
// A data set of random pixels.

#ifndef DENSENET_TESTS_DENSENET_DATA_TEST_DATASET_H_
#define DENSENET_TESTS_DENSENET_DATA_TEST_DATASET_H_

#include <glog/logging.h>

#include <string>
#include <utility>

#include "core/random.h"
#include "densenet/data/dataset.h"

namespace densenet::testing {

inline Dataset RandomDataset(int64_t count, int64_t height, int64_t width,
                             int64_t channels, MemoryResource& resource) {
  StatusOr<Dataset> dataset = Dataset::Create(
      {"random", height, width, channels, {"a", "b", "c"}}, count, resource);
  CHECK(dataset.ok());
  for (int64_t i = 0; i < dataset->images.elems(); ++i) {
    dataset->images.data<uint8_t>()[i] =
        static_cast<uint8_t>(RandomBits({.seed = 11}, i));
  }
  for (int64_t i = 0; i < count; ++i) {
    dataset->labels.data<int32_t>()[i] = static_cast<int32_t>(i % 3);
  }
  return *std::move(dataset);
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_DATA_TEST_DATASET_H_
