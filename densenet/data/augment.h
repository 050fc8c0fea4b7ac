// densenet/data/augment.h
//
// The augmentation of the CIFAR experiments: pad by zeros AFTER normalization,
// cut a window of the original size at random, mirror half of them.
//
// Numerics  what is drawn depends on (seed, epoch, example) alone
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_AUGMENT_H_
#define DENSENET_DENSENET_DATA_AUGMENT_H_

#include <cstdint>

#include "densenet/data/normalization.h"

namespace densenet {

struct AugmentOptions {
  int64_t pad = 4;  // on every side
  bool mirror = true;
};

// One image's share of chance.
struct Augmentation {
  int64_t top = 0;  // the window's corner in the padded image: 0 .. 2 * pad
  int64_t left = 0;
  bool mirror = false;
};

Augmentation DrawAugmentation(const AugmentOptions& options, uint64_t seed,
                              int64_t epoch, int64_t example);

// Normalizes, pads, cuts and mirrors `image` (H, W, C) into `out` (H, W, C).
void AugmentImage(const PixelTable& table, const uint8_t* image, int64_t height,
                  int64_t width, int64_t pad, const Augmentation& augmentation,
                  float* out);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_AUGMENT_H_
