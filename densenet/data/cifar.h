// densenet/data/cifar.h
//
// The binary version of CIFAR-10 and CIFAR-100: records of one or two label
// bytes and 3 planes (red, green, blue) of 32x32 bytes. Any whole number of
// records a file is accepted. See densenet/data/dataset.h for the contract.

#ifndef DENSENET_DENSENET_DATA_CIFAR_H_
#define DENSENET_DENSENET_DATA_CIFAR_H_

#include <string>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/data/dataset.h"

namespace densenet {

// data_batch_1.bin ... data_batch_5.bin, or test_batch.bin.
StatusOr<Dataset> ReadCifar10(ImageDatasetInfo info, const std::string& folder,
                              Split split, MemoryResource& resource);

// train.bin or test.bin, with fine labels; the names of the classes from
// fine_label_names.txt where there is one.
StatusOr<Dataset> ReadCifar100(ImageDatasetInfo info, const std::string& folder,
                               Split split, MemoryResource& resource);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_CIFAR_H_
