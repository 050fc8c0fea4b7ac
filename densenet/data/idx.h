// densenet/data/idx.h
//
// The IDX files of MNIST and its kin, plain or gzip: a big-endian header
// (0, 0, element type, rank, extents) and the elements.
// See densenet/data/dataset.h for the contract.

#ifndef DENSENET_DENSENET_DATA_IDX_H_
#define DENSENET_DENSENET_DATA_IDX_H_

#include <string>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/data/dataset.h"

namespace densenet {

// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, also with
// ".gz", also with ".idx" for "-idx", of images of the size in `info`.
StatusOr<Dataset> ReadIdx(ImageDatasetInfo info, const std::string& folder,
                          Split split, MemoryResource& resource);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_IDX_H_
