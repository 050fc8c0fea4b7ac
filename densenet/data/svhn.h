// densenet/data/svhn.h
//
// SVHN's cropped digits ("format 2"): train_32x32.mat, extra_32x32.mat and
// test_32x32.mat, each with X (32 rows x 32 columns x 3 x N, uint8) and y (N
// labels; 10 means the digit 0). See densenet/data/dataset.h for the contract.
//
// Memory  the images are unpacked where they stay; 9 bytes a label and 128 KiB
//         while reading

#ifndef DENSENET_DENSENET_DATA_SVHN_H_
#define DENSENET_DENSENET_DATA_SVHN_H_

#include <string>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/data/dataset.h"

namespace densenet {

// svhn trains on train + extra, in this order, as the DenseNet paper does; that
// extra_32x32.mat is missing is an error. svhn-no-extra trains on train alone.
StatusOr<Dataset> ReadSvhn(ImageDatasetInfo info, const std::string& folder,
                           Split split, MemoryResource& resource);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_SVHN_H_
