// core/ops/dropout.h
//
// Zeroes each element with probability `rate` and scales those it keeps by
// 1 / (1 - rate), so that the mean stays. Which ones it keeps is a pure
// function of the key and of the element's number in row-major order: the
// backward pass draws the same mask again, nothing is stored, and a strided
// view gets the mask of its packed copy.
//
// Shapes    x, y, dy, dx equal, any strides
// Types     float32
// Memory    scratch: 0 bytes; y may be x, dx may be dy
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  rate outside [0, 1); shapes, types or device
// Numerics  one rounding; rate 0 is the identity, bit for bit; bitwise equal
//           for every thread count
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_DROPOUT_H_
#define DENSENET_CORE_OPS_DROPOUT_H_

#include "core/context.h"
#include "core/random.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status Dropout(const Context& ctx, ConstTensorView x, double rate,
               const RandomKey& key, TensorView y);

// dx = mask * dy / (1 - rate), with the rate and key of the forward pass.
Status DropoutBackward(const Context& ctx, ConstTensorView dy, double rate,
                       const RandomKey& key, TensorView dx);

// Errors  InvalidArgument  outside [0, 1)
Status CheckDropoutRate(double rate);

// The mask in terms of random bits, for kernels that apply it on the way: an
// element is kept when its bits reach the threshold.
struct DropoutMask {
  // CHECKs that rate is in [0, 1).
  static DropoutMask Of(double rate);

  uint32_t threshold = 0;  // rate * 2^32
  float scale = 1.0f;      // of the kept elements

  DENSENET_HOST_DEVICE float Apply(float x, uint32_t bits) const {
    return bits >= threshold ? x * scale : 0.0f;
  }
};

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_DROPOUT_H_
