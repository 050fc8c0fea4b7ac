#include "parallel/batch_split.h"

#include <glog/logging.h>

#include <algorithm>

#include "core/cpu/chunks.h"

namespace densenet {

std::vector<BatchShare> SplitBatch(int64_t images, int64_t max_chunks,
                                   int towers) {
  CHECK(images >= 1 && max_chunks >= 1 && towers >= 1);
  const FixedChunks chunks(images, 1, max_chunks);
  const int64_t count = chunks.count();
  const int64_t active = std::min<int64_t>(towers, count);
  std::vector<BatchShare> shares;
  for (int64_t t = 0; t < active; ++t) {
    BatchShare share;
    share.first_chunk = t * count / active;
    share.chunks = (t + 1) * count / active - share.first_chunk;
    share.batch_chunks = count;
    share.first_image = chunks.chunk(share.first_chunk).begin;
    share.images = chunks.chunk(share.first_chunk + share.chunks - 1).end -
                   share.first_image;
    share.batch_images = images;
    shares.push_back(share);
  }
  return shares;
}

int64_t LargestShare(int64_t max_images, int64_t max_chunks, int towers) {
  int64_t largest = 0;
  // Larger batches have as many chunks as the largest, and no larger ones.
  for (int64_t images = 1; images <= std::min(max_images, max_chunks);
       ++images) {
    for (const BatchShare& share : SplitBatch(images, max_chunks, towers)) {
      largest = std::max(largest, share.images);
    }
  }
  for (const BatchShare& share : SplitBatch(max_images, max_chunks, towers)) {
    largest = std::max(largest, share.images);
  }
  return largest;
}

}  // namespace densenet
