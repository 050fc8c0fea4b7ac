// tests/support/free_densenet.h
//
// A DenseNet on the free level, with plain concatenation and the order of the
// paper (a transition convolves before it pools): a check of every planned
// strategy that shares the operations with them and nothing else.

#ifndef DENSENET_TESTS_SUPPORT_FREE_DENSENET_H_
#define DENSENET_TESTS_SUPPORT_FREE_DENSENET_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/tape.h"
#include "core/ops/batch_norm.h"

namespace densenet::testing {

struct FreeDenseNet {
  std::vector<int64_t> block_config;  // layers of each block
  int64_t growth_rate = 12;
  bool bottleneck = true;
  double compression = 0.5;
  int64_t stem_channels = 24;  // of the 3x3 convolution of the CIFAR stem
  int64_t image_channels = 3;
  int64_t classes = 10;
  BatchNormParams batch_norm;

  // By name as in torchvision: "features.denseblock1.denselayer1.conv1.weight";
  // filters (R, S, C, K), the classifier's weight (C, classes). The last norm
  // is "features.norm<blocks + 1>".
  using Parameters = std::map<std::string, ConstTensorView>;

  // Name and shape of every parameter, in the order of the forward pass.
  std::vector<std::pair<std::string, Shape>> ParameterShapes() const;

  // The logits of images (N, H, W, image_channels) in training, batch norm with
  // the statistics of the batch. Parameters are leaves of their names. One that
  // is missing is the tape's error and named.
  Var Logits(const Parameters& parameters, Var images) const;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_FREE_DENSENET_H_
