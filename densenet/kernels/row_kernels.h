// densenet/kernels/row_kernels.h
//
// Element-wise work of the dense block on one thread: a tile of `rows` pixels
// by `channels`, each operand with its own row stride. The parallel kernels of
// this folder call them on tiles that fit the cache.
//
// Shapes    x, y, z, dy, dz, g (rows x channels), leading dimension ld...;
//           scale, shift, mean, sums: (channels)
// Types     float32
// Memory    none; outputs may be an input where said
// Errors    none: callers have validated
// Numerics  y = fma(x, scale, shift) everywhere, so that a mask computed again
//           is the mask of the forward pass; a sum runs over the rows in
//           order, a float32 chain per channel
// Threads   safe
//
// Batch norm of a channel is scale = gamma * inv_std and
// shift = beta - mean * scale. ReLU passes where y > 0.

#ifndef DENSENET_DENSENET_KERNELS_ROW_KERNELS_H_
#define DENSENET_DENSENET_KERNELS_ROW_KERNELS_H_

#include <cstdint>

#include "core/random.h"

namespace densenet {

// Rows of a tile: 64 x 342 channels of float32 are 87 KB, well inside L2.
inline constexpr int64_t kTileRows = 64;

// mean of each channel, and m2 = sum of (x - mean)^2: two passes over the tile.
void MomentsRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                 float* mean, float* m2);

// dy = dz where y > 0, else 0; sum_dy = sum dy, sum_dyx = sum dy * (x - mean).
// dy may be dz.
void MaskedSumsRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                    const float* scale, const float* shift, const float* mean,
                    const float* dz, int64_t lddz, float* dy, int64_t lddy,
                    float* sum_dy, float* sum_dyx);

// The same sums, and g += scale * dy; dy itself is not written.
void MaskedAccumulateRows(int64_t rows, int64_t channels, const float* x,
                          int64_t ldx, const float* scale, const float* shift,
                          const float* mean, const float* dz, int64_t lddz,
                          float* g, int64_t ldg, float* sum_dy, float* sum_dyx);

// The same sums, and g = scale * dy.
void MaskedScaleRows(int64_t rows, int64_t channels, const float* x,
                     int64_t ldx, const float* scale, const float* shift,
                     const float* mean, const float* dz, int64_t lddz, float* g,
                     int64_t ldg, float* sum_dy, float* sum_dyx);

// dx = scale * dy - (k1 + k2 * (x - mean)); dx may be dy. The gradient of batch
// norm's input with k1 = gamma * inv_std / M * sum_dy and
// k2 = gamma * inv_std^3 / M * sum_dyx.
void BatchNormInputRows(int64_t rows, int64_t channels, const float* x,
                        int64_t ldx, const float* mean, const float* scale,
                        const float* k1, const float* k2, const float* dy,
                        int64_t lddy, float* dx, int64_t lddx);
// The same added to dx.
void BatchNormInputAddRows(int64_t rows, int64_t channels, const float* x,
                           int64_t ldx, const float* mean, const float* scale,
                           const float* k1, const float* k2, const float* dy,
                           int64_t lddy, float* dx, int64_t lddx);

// y += x.
void AddRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
             float* y, int64_t ldy);
// y = x.
void CopyRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
              float* y, int64_t ldy);

// sum[c] += the column sums of x, rows in order.
void AddColumnSums(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                   float* sum);

// y(q) = 1/4 of the sum of x at pixels (2q, 2q + 1) of two image rows: 2x2
// average pooling of one output row, `width` pixels. x0 and x1 are the rows.
void AveragePoolRow(int64_t width, int64_t channels, const float* x0,
                    const float* x1, int64_t ldx, float* y, int64_t ldy);

// The mask of core/ops/dropout.h: element (r, c) is number
// first_element + r * channels + c of the stream `key`.
void DropoutRows(const RandomKey& key, double rate, int64_t first_element,
                 int64_t rows, int64_t channels, float* x, int64_t ldx);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_ROW_KERNELS_H_
