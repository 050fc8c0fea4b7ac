// densenet/data/photo_augment.h
//
// The augmentation of ImageNet training: a part of the photograph of random
// size and shape is brought to the network's size, half of them mirrored;
// brightness, contrast and saturation change in a random order; and each image
// gets a shift of colour along the principal components of ImageNet's colours
// (Krizhevsky, Sutskever, Hinton, NIPS 2012). The defaults are those that
// DenseNet was trained with.
//
// Numerics  what is drawn depends on (seed, epoch, example) and the image's
//           size alone; colours in float32
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_PHOTO_AUGMENT_H_
#define DENSENET_DENSENET_DATA_PHOTO_AUGMENT_H_

#include <cstdint>

#include "core/io/image_cut.h"
#include "core/status.h"
#include "densenet/data/normalization.h"

namespace densenet {

struct PhotoAugmentOptions {
  // The part's share of the image's area, and its width / height.
  double min_area = 0.08;
  double max_area = 1.0;
  double min_ratio = 3.0 / 4.0;
  double max_ratio = 4.0 / 3.0;
  bool mirror = true;
  // Brightness, contrast and saturation: factors of 1 +- jitter.
  float jitter = 0.4f;
  // The deviation of each component's weight.
  float lighting = 0.1f;
};

// Errors  InvalidArgument  names the option that is out of range
Status ValidatePhotoAugment(const PhotoAugmentOptions& options);

// The cut that shows (height, width) of a part of the image. Ten draws are
// tried; if none fits into the image it is the middle, of the nearest shape
// allowed.
ImageCut DrawPhotoCut(const PhotoAugmentOptions& options, uint64_t seed,
                      int64_t epoch, int64_t example, int64_t image_height,
                      int64_t image_width, int64_t height, int64_t width);

enum class ColorChange { kBrightness, kContrast, kSaturation };

// One image's share of chance but for the cut.
struct PhotoColors {
  bool mirror = false;
  ColorChange order[3] = {ColorChange::kBrightness, ColorChange::kContrast,
                          ColorChange::kSaturation};
  float factors[3] = {1, 1, 1};  // of order[i]
  float shift[3] = {0, 0, 0};    // of red, green, blue in [0, 1]
};

PhotoColors DrawPhotoColors(const PhotoAugmentOptions& options, uint64_t seed,
                            int64_t epoch, int64_t example);

// Changes the colours of `pixels` (H, W, C), C 1 or 3, values clamped to what
// a pixel can be after each change; then shifts (C = 3), normalizes and
// mirrors into `out` (H, W, C). `scratch` is of PhotoColorScratchFloats.
void ApplyPhotoColors(const PhotoColors& colors,
                      const Normalization& normalization, const uint8_t* pixels,
                      int64_t height, int64_t width, float* scratch,
                      float* out);
constexpr int64_t PhotoColorScratchFloats(int64_t height, int64_t width,
                                          int64_t channels) {
  return (channels + 1) * height * width;
}

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_PHOTO_AUGMENT_H_
