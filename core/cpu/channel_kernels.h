// core/cpu/channel_kernels.h
//
// Loops over the rows of a strided (rows x channels) matrix with one
// coefficient or sum per channel, in SIMD along the channels. Every channel's
// sum runs over the rows in order, so it does not depend on the vector width.
//
// Memory   arrays of `channels` elements; outputs may alias no input, except
//          that y may be x, dx may be dy, and sum_of_squares may be center
// Numerics ScaleShiftRows and AffineReluRows have one rounding an element on
//          every machine; the others fuse their multiply-adds where the
//          instruction set can
// Threads  safe; these are pure functions of their arguments

#ifndef DENSENET_CORE_CPU_CHANNEL_KERNELS_H_
#define DENSENET_CORE_CPU_CHANNEL_KERNELS_H_

#include <cstdint>

namespace densenet {

// A (rows x channels) matrix of float32 whose rows are `stride` apart.
template <typename T>
struct ChannelRows {
  T* data;
  int64_t stride;
};

// y = fma(x, scale, shift)
void ScaleShiftRows(int64_t rows, int64_t channels, ChannelRows<const float> x,
                    const float* scale, const float* shift,
                    ChannelRows<float> y);

// z = max(fma(x, scale, shift), 0); z may be x. NaN stays NaN, so that a
// divergence shows. The one forward arithmetic of batch norm and ReLU: the op,
// and the packing of the dense block's convolutions.
void AffineReluRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                    const float* scale, const float* shift, float* z,
                    int64_t ldz);

// sum = sum over rows of x
void SumRows(int64_t rows, int64_t channels, ChannelRows<const float> x,
             float* sum);

// With e = x - center: sum of e and sum of e * e.
void CenteredSumsRows(int64_t rows, int64_t channels,
                      ChannelRows<const float> x, const float* center,
                      float* sum, float* sum_of_squares);

// sum_dy = sum of dy, sum_dy_x = sum of dy * (x - mean)
void GradientSumsRows(int64_t rows, int64_t channels,
                      ChannelRows<const float> x, ChannelRows<const float> dy,
                      const float* mean, float* sum_dy, float* sum_dy_x);

// dx = fma(slope, x - mean, fma(scale, dy, offset))
void BatchNormGradientRows(int64_t rows, int64_t channels,
                           ChannelRows<const float> x,
                           ChannelRows<const float> dy, const float* mean,
                           const float* scale, const float* slope,
                           const float* offset, ChannelRows<float> dx);

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_CHANNEL_KERNELS_H_
