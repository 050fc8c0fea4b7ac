// densenet/kernels/weight_gradient.h
//
// Weight gradients are summed per chunk of images; this adds the chunks up.

#ifndef DENSENET_DENSENET_KERNELS_WEIGHT_GRADIENT_H_
#define DENSENET_DENSENET_KERNELS_WEIGHT_GRADIENT_H_

#include <cstdint>

#include "core/context.h"

namespace densenet {

// dw = sum over chunks of partials[chunk], `elems` floats each, in order.
void ReduceWeightGradient(const Context& ctx, const float* partials,
                          int64_t chunks, int64_t elems, float* dw);

// wt (k x c) = transpose of w (c x k).
void TransposeWeights(int64_t c, int64_t k, const float* w, float* wt);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_WEIGHT_GRADIENT_H_
