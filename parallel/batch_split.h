// parallel/batch_split.h
//
// How towers share a batch: by whole chunks of images, in order, as evenly as
// chunks allow. A batch of fewer chunks than towers leaves the last towers
// without images.
//
// Threads  safe

#ifndef DENSENET_PARALLEL_BATCH_SPLIT_H_
#define DENSENET_PARALLEL_BATCH_SPLIT_H_

#include <cstdint>
#include <vector>

#include "memory/schedule.h"

namespace densenet {

// The shares of the towers that have images: at most `towers` of them, each
// with at least one. The batch has min(images, max_chunks) chunks.
// CHECKs images, max_chunks, towers >= 1.
std::vector<BatchShare> SplitBatch(int64_t images, int64_t max_chunks,
                                   int towers);

// The most images that a tower gets of any batch of up to `max_images`.
int64_t LargestShare(int64_t max_images, int64_t max_chunks, int towers);

}  // namespace densenet

#endif  // DENSENET_PARALLEL_BATCH_SPLIT_H_
