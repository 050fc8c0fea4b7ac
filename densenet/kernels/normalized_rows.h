// densenet/kernels/normalized_rows.h
//
// Operands of the convolution kernels: the normalized input, packed on the
// fly or stored, and the dropout of the output.

#ifndef DENSENET_DENSENET_KERNELS_NORMALIZED_ROWS_H_
#define DENSENET_DENSENET_KERNELS_NORMALIZED_ROWS_H_

#include <cstdint>

#include "core/cpu/channel_kernels.h"
#include "core/random.h"
#include "densenet/kernels/row_kernels.h"

namespace densenet {

// Channels that the kernels pack at a time: 64 rows of them are 16 KB, so a
// packed tile stays in L1 and scratch does not grow with the input's width.
inline constexpr int64_t kChannelBlock = 64;

// z = max(fma(x, scale, shift), 0) where scale is given; without it the rows
// at x hold z already. Both ways give the same bits.
struct NormalizedRows {
  const float* x = nullptr;
  int64_t ld = 0;
  const float* scale = nullptr;
  const float* shift = nullptr;

  bool stored() const { return scale == nullptr; }
  // Writes z of a tile to `z`.
  void Pack(int64_t row, int64_t rows, int64_t channel, int64_t channels,
            float* z, int64_t ldz) const {
    const float* from = x + row * ld + channel;
    if (stored()) {
      CopyRows(rows, channels, from, ld, z, ldz);
    } else {
      AffineReluRows(rows, channels, from, ld, scale + channel, shift + channel,
                     z, ldz);
    }
  }
};

// Dropout of a convolution's output, element by element of its packed tensor.
struct OutputDropout {
  double rate = 0;
  RandomKey key;

  bool active() const { return rate > 0; }
  // Rows of a tensor of `channels`, counted from the batch's first pixel.
  void Apply(int64_t row, int64_t rows, int64_t channels, float* y,
             int64_t ld) const {
    if (active()) {
      DropoutRows(key, rate, row * channels, rows, channels, y, ld);
    }
  }
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_NORMALIZED_ROWS_H_
