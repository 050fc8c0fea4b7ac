// core/io/image_resize.h
//
// Bilinear resizing that weighs every pixel it shrinks (a triangle as wide as
// the scale), and cutting out the middle: what brings a photograph to the size
// a network was trained on.
//
// Numerics  Pillow's: 22-bit fixed-point weights, rows first, each pass
//           rounded to uint8
// Errors    InvalidArgument  an empty image or size; a cut larger than the
//                            image
// Threads   safe

#ifndef DENSENET_CORE_IO_IMAGE_RESIZE_H_
#define DENSENET_CORE_IO_IMAGE_RESIZE_H_

#include <cstdint>

#include "core/io/image.h"
#include "core/status.h"

namespace densenet {

StatusOr<Image> ResizeBilinear(const Image& image, int64_t height,
                               int64_t width);

StatusOr<Image> CenterCrop(const Image& image, int64_t height, int64_t width);

// Resizes, with its proportions kept, to the smallest image that covers
// (height, width), and cuts out its middle.
StatusOr<Image> ResizeAndCenterCrop(const Image& image, int64_t height,
                                    int64_t width);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_IMAGE_RESIZE_H_
