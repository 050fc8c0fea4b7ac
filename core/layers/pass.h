// core/layers/pass.h
//
// How a net is run this time. Layers that behave differently in training
// (batch norm, dropout) take it explicitly; there is no global mode.

#ifndef DENSENET_CORE_LAYERS_PASS_H_
#define DENSENET_CORE_LAYERS_PASS_H_

#include <cstdint>

namespace densenet {

struct Pass {
  bool training = false;
  // Dropout masks follow from (seed, step, name of the layer).
  uint64_t seed = 0;
  uint32_t step = 0;

  static Pass Train(uint64_t seed, uint32_t step) { return {true, seed, step}; }
  static Pass Evaluate() { return {}; }
};

}  // namespace densenet

#endif  // DENSENET_CORE_LAYERS_PASS_H_
