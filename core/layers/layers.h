// core/layers/layers.h
//
// Layers for nets of your own: operations on Vars that get their variables
// from a scope. A net is a function:
//
//   Var Net(const Scope& net, Var x, const Pass& pass) {
//     x = layers::Conv2d(net / "conv", x, {.filters = 16});
//     x = Relu(layers::BatchNorm(net / "norm", x, pass));
//     return layers::Dense(net / "dense", GlobalAvgPool(x), {.units = 10});
//   }
//
// Relu, MaxPool, AvgPool and GlobalAvgPool have no variables: they are the
// functions of core/autograd/nn.h, which this header includes.
//
// Shapes    activations (N, H, W, C), matrices (N, C)
// Types     float32
// Memory    variables: the store's; the rest: the tape's
// Errors    the tape's, with the scope's name; a poisoned x gives a poisoned
//           result and creates no variable
// Numerics  those of the operations
// Threads   one thread of control

#ifndef DENSENET_CORE_LAYERS_LAYERS_H_
#define DENSENET_CORE_LAYERS_LAYERS_H_

#include <cstdint>
#include <optional>

#include "core/autograd/nn.h"
#include "core/autograd/variable_store.h"
#include "core/layers/pass.h"

namespace densenet::layers {

struct Conv2dOptions {
  int64_t filters = 0;
  int64_t window_h = 3;
  int64_t window_w = 3;
  Stride stride = {};
  Padding padding = Padding::Same();
  bool bias = false;
  Initializer initializer = Initializer::HeFanOut();
};

// Variables  weight (window_h, window_w, C, filters); bias (filters), zeros
Var Conv2d(const Scope& scope, Var x, const Conv2dOptions& options);

// Normalizes with the statistics of the batch in training, and advances the
// running ones; with the running ones in evaluation.
// Variables  weight (C), ones; bias (C), zeros; not trainable: running_mean
//            (C), zeros; running_var (C), ones
Var BatchNorm(const Scope& scope, Var x, const Pass& pass,
              const BatchNormParams& params = {});

struct DenseOptions {
  int64_t units = 0;
  bool bias = true;
  // Without one: uniform within +-1 / sqrt(C).
  std::optional<Initializer> initializer = std::nullopt;
};

// x (N, C) -> (N, units)
// Variables  weight (C, units); bias (units), zeros
Var Dense(const Scope& scope, Var x, const DenseOptions& options);

// In training, zeroes a share `rate` of the elements; x itself in evaluation.
// Variables  none; the scope's name keys the mask
Var Dropout(const Scope& scope, Var x, double rate, const Pass& pass);

// (N, ...) -> (N, rest)
Var Flatten(Var x);

}  // namespace densenet::layers

#endif  // DENSENET_CORE_LAYERS_LAYERS_H_
