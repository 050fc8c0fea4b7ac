// densenet/kernels/normalized_rows.h
//
// Operands of the convolution kernels: the normalized input, packed on the
// fly or stored, the dropout of the output, and the output's gradient.

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
// Where there is no halo to pack, twice as many (32 KB) are a little faster.
inline constexpr int64_t kPointwiseBlock = 128;

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
  int64_t first_row = 0;  // pixels of the batch before a tower's share

  bool active() const { return rate > 0; }
  // Rows of a tensor of `channels`, counted from the share's first pixel.
  void Apply(int64_t row, int64_t rows, int64_t channels, float* y,
             int64_t ld) const {
    if (active()) {
      DropoutRows(key, rate, (first_row + row) * channels, rows, channels, y,
                  ld);
    }
  }
};

// The gradient of a convolution's output: rows at dy as they stand, or, where
// k1 is given, finished through the batch norm that follows:
// scale * dy - (k1 + k2 * (y - mean)), y being the convolution's output.
struct OutputGradient {
  const float* dy = nullptr;
  int64_t ld = 0;
  const float* y = nullptr;
  int64_t ldy = 0;
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* k1 = nullptr;
  const float* k2 = nullptr;
  OutputDropout dropout;

  // The rows at dy are what is needed.
  bool ready() const { return k1 == nullptr && !dropout.active(); }
  // Writes `rows` rows of `channels`, all of them, to `out`.
  void Finish(int64_t row, int64_t rows, int64_t channels, float* out,
              int64_t ldout) const {
    const float* from = dy + row * ld;
    if (k1 != nullptr) {
      BatchNormInputRows(rows, channels, y + row * ldy, ldy, mean, scale, k1,
                         k2, from, ld, out, ldout);
    } else {
      CopyRows(rows, channels, from, ld, out, ldout);
    }
    dropout.Apply(row, rows, channels, out, ldout);
  }
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_NORMALIZED_ROWS_H_
