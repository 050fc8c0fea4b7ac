// parallel/gradient_listener.h
//
// Hears from a tower's backward pass which gradients are complete, so that they
// can travel while the rest is computed.

#ifndef DENSENET_PARALLEL_GRADIENT_LISTENER_H_
#define DENSENET_PARALLEL_GRADIENT_LISTENER_H_

#include <cstdint>

#include "core/context.h"

namespace densenet {

class GradientListener {
 public:
  virtual ~GradientListener() = default;

  // The flat gradients [from, end) are complete. Called on the tower's thread,
  // with falling `from`; the last call of a step has from = 0. `ctx` is the
  // tower's, for work that the listener does on the way.
  virtual void GradientsReady(const Context& ctx, int64_t from) = 0;
};

}  // namespace densenet

#endif  // DENSENET_PARALLEL_GRADIENT_LISTENER_H_
