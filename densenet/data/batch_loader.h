// densenet/data/batch_loader.h
//
// Hands out the batches of a BatchSource, the next ones prepared by threads
// while the caller works on the last. Any batch may be asked for: what was
// prepared for another order is dropped, so an epoch is entered anywhere.
//
// Shapes    those of BatchSource
// Memory    (ahead + 1) batches and a workspace for each worker, from the
//           resource: PlannedBytes; resident from the start, nothing grows
// Errors    ResourceExhausted  the resource has no room
//           InvalidArgument    ahead < 0 or workers < 1
//           Get(): those of BatchSource::FillPart, of the first example in the
//           batch that has one
// Numerics  the bits of BatchSource, whatever ahead and workers are
// Threads   one caller at a time; the destructor joins every worker

#ifndef DENSENET_DENSENET_DATA_BATCH_LOADER_H_
#define DENSENET_DENSENET_DATA_BATCH_LOADER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"
#include "densenet/data/batch_source.h"

namespace densenet {

// Valid until the loader's next Get().
struct Batch {
  int64_t epoch = 0;
  int64_t index = 0;
  // Without those left out; there may be none.
  ConstTensorView images;  // (n, H, W, C)
  ConstTensorView labels;  // (n)
  // Substituted or left out, by position.
  absl::Span<const BadExample> bad;

  int64_t examples() const { return labels.elems(); }
};

class BatchLoader {
 public:
  struct Options {
    // Batches prepared before they are asked for.
    int64_t ahead = 1;
    // Threads that prepare them; with one worker and ahead 0 it is the caller.
    int workers = 1;
    // After the last batch of an epoch the first of the next is prepared.
    bool across_epochs = true;
    // The batches of an epoch that are asked for; 0: all.
    int64_t batches = 0;
  };

  // What a loader takes from its resource.
  static int64_t PlannedBytes(int64_t batch_examples, int64_t image_elems,
                              int64_t workspace_bytes, const Options& options);
  static int64_t PlannedBytes(const BatchSource& source,
                              const Options& options);

  // `source` and `resource` (a host one) must outlive the loader.
  static StatusOr<std::unique_ptr<BatchLoader>> Create(
      const BatchSource* source, const Options& options,
      MemoryResource& resource);
  ~BatchLoader();

  const BatchSource& source() const { return *source_; }
  // CHECKs 0 <= batch < source().batches() and 0 <= epoch < 2^32. After an
  // error the next Get() starts afresh.
  StatusOr<Batch> Get(int64_t epoch, int64_t batch);

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
    int64_t examples = 0;  // without those left out once it is ready
    // Parts, guarded by mutex_: taken in order, done in any.
    int64_t parts = 0;
    int64_t taken = 0;
    int64_t done = 0;
    bool ready = false;
    // Of each part, written by whoever fills it.
    std::vector<Status> statuses;
    std::vector<std::vector<BadExample>> bad;
    std::vector<BadExample> all_bad;
    Status status;
  };
  struct Part {
    Slot* slot = nullptr;
    int64_t index = 0;
  };

  BatchLoader(const BatchSource* source, const Options& options);

  bool has_threads() const {
    return options_.ahead > 0 || options_.workers > 1;
  }
  void ThreadLoop(BatchSource::Workspace& workspace);
  void FillPart(const Part& part, BatchSource::Workspace& workspace);
  // Joins the parts of a slot whose last has been filled.
  void FinishSlot(Slot& slot);
  StatusOr<Batch> Hold(Slot& slot);
  void PrepareSlot(Slot& slot, const Key& key);
  // Those below hold mutex_.
  bool TakePart(Part* part);
  bool Expects(const Key& key) const;
  void Restart(const Key& key, std::unique_lock<std::mutex>& lock);
  void AdvanceNext();

  const BatchSource* source_;
  const Options options_;
  const int64_t part_examples_;
  std::vector<Tensor> workspace_bytes_;
  std::vector<BatchSource::Workspace> workspaces_;
  std::vector<std::unique_ptr<Slot>> slots_;

  std::mutex mutex_;
  std::condition_variable work_;   // for the workers
  std::condition_variable ready_;  // for the caller
  // Every slot is in exactly one of: free_, queue_, held_. The queue's are
  // filled or being filled with successive batches; then comes next_.
  std::vector<Slot*> free_;
  std::deque<Slot*> queue_;
  Slot* held_ = nullptr;
  int64_t in_flight_ = 0;  // parts that a worker is filling
  Key next_;
  bool has_next_ = false;  // not before the first Get()
  bool stop_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_BATCH_LOADER_H_
