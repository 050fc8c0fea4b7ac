// densenet/data/batch_loader.h
//
// Hands out the batches of a BatchSource, the next ones prepared by a thread
// while the caller works on the last. Any batch may be asked for: what was
// prepared for another order is dropped, so an epoch is entered anywhere.
//
// Shapes    those of BatchSource
// Memory    (ahead + 1) batches from the resource: PlannedBytes
// Errors    ResourceExhausted  the resource has no room
//           InvalidArgument    ahead < 0 or workers < 1
// Numerics  the bits of BatchSource, whatever ahead and workers are
// Threads   one caller at a time

#ifndef DENSENET_DENSENET_DATA_BATCH_LOADER_H_
#define DENSENET_DENSENET_DATA_BATCH_LOADER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "densenet/data/batch_source.h"

namespace densenet {

// Valid until the loader's next Get().
struct Batch {
  int64_t epoch = 0;
  int64_t index = 0;
  ConstTensorView images;  // (n, H, W, C)
  ConstTensorView labels;  // (n)

  int64_t examples() const { return labels.elems(); }
};

class BatchLoader {
 public:
  struct Options {
    // Batches prepared before they are asked for; with 0 the caller prepares
    // each, and there is no thread.
    int64_t ahead = 1;
    // Threads that prepare one batch.
    int workers = 1;
    // After the last batch of an epoch the first of the next is prepared.
    bool across_epochs = true;
  };

  // What a loader takes from its resource.
  static int64_t PlannedBytes(int64_t batch_examples, int64_t image_elems,
                              const Options& options);
  static int64_t PlannedBytes(const BatchSource& source,
                              const Options& options);

  // `source` and `resource` (a host one) must outlive the loader.
  static StatusOr<std::unique_ptr<BatchLoader>> Create(
      const BatchSource* source, const Options& options,
      MemoryResource& resource);
  ~BatchLoader();

  const BatchSource& source() const { return *source_; }
  // CHECKs 0 <= batch < source().batches() and 0 <= epoch < 2^32.
  Batch Get(int64_t epoch, int64_t batch);

 private:
  struct Key {
    int64_t epoch = 0;
    int64_t batch = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Slot {
    Tensor images;
    Tensor labels;
    Key key;
  };

  BatchLoader(const BatchSource* source, const Options& options)
      : source_(source), options_(options), pool_(options.workers) {}

  // False when it was cancelled half-way.
  bool FillSlot(Slot& slot);
  void ThreadLoop();
  // Those below hold mutex_.
  bool Expects(const Key& key) const;
  void Restart(const Key& key, std::unique_lock<std::mutex>& lock);
  void AdvanceNext();
  Batch Hold(int64_t slot);

  const BatchSource* source_;
  Options options_;
  ThreadPool pool_;
  std::vector<Slot> slots_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Every slot is in exactly one of: free_, filling_, ready_, held_. Ready
  // slots hold successive batches, then comes filling_, then next_.
  std::vector<int64_t> free_;
  std::deque<int64_t> ready_;
  int64_t filling_ = -1;
  int64_t held_ = -1;
  Key next_;               // what the thread fills next
  bool has_next_ = false;  // not before the first Get()
  bool stop_ = false;
  std::atomic<bool> cancel_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_BATCH_LOADER_H_
