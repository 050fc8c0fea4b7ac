#include "densenet/data/batch_loader.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>

namespace densenet {
namespace {

// Examples a worker takes at once: small enough to stop soon, large enough
// that taking them costs nothing.
constexpr int64_t kPartExamples = 8;
constexpr int64_t kMaxEpochs = int64_t{1} << 32;  // random keys hold 32 bits

}  // namespace

int64_t BatchLoader::PlannedBytes(int64_t batch_examples, int64_t image_elems,
                                  const Options& options) {
  const int64_t example_bytes =
      image_elems * SizeOf(DType::kFloat32) + SizeOf(DType::kInt32);
  return (options.ahead + 1) * batch_examples * example_bytes;
}

int64_t BatchLoader::PlannedBytes(const BatchSource& source,
                                  const Options& options) {
  const int64_t examples = source.batches() == 0 ? 0 : source.BatchExamples(0);
  return PlannedBytes(examples, source.info().image_elems(), options);
}

StatusOr<std::unique_ptr<BatchLoader>> BatchLoader::Create(
    const BatchSource* source, const Options& options,
    MemoryResource& resource) {
  if (options.ahead < 0 || options.workers < 1) {
    return InvalidArgument(
        fmt::format("batch loader: {} batches ahead by {} workers: expected 0 "
                    "or more by at least 1",
                    options.ahead, options.workers));
  }
  CHECK(resource.device().is_cpu());
  std::unique_ptr<BatchLoader> loader(new BatchLoader(source, options));
  const ImageDatasetInfo& info = source->info();
  const int64_t examples =
      source->batches() == 0 ? 0 : source->BatchExamples(0);
  for (int64_t i = 0; i <= options.ahead; ++i) {
    Slot slot;
    ASSIGN_OR_RETURN(slot.images, Tensor::Empty(resource, DType::kFloat32,
                                                {examples, info.height,
                                                 info.width, info.channels}));
    ASSIGN_OR_RETURN(slot.labels,
                     Tensor::Empty(resource, DType::kInt32, {examples}));
    loader->slots_.push_back(std::move(slot));
    loader->free_.push_back(i);
  }
  if (options.ahead > 0) {
    loader->thread_ = std::thread([l = loader.get()] { l->ThreadLoop(); });
  }
  return loader;
}

BatchLoader::~BatchLoader() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    cancel_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool BatchLoader::FillSlot(Slot& slot) {
  const int64_t examples = source_->BatchExamples(slot.key.batch);
  const int64_t parts = (examples + kPartExamples - 1) / kPartExamples;
  pool_.ParallelFor(parts, [&](int64_t part, int) {
    if (cancel_.load(std::memory_order_relaxed)) return;
    const int64_t begin = part * kPartExamples;
    source_->FillPart(slot.key.epoch, slot.key.batch, begin,
                      std::min(begin + kPartExamples, examples),
                      slot.images.data<float>(), slot.labels.data<int32_t>());
  });
  return !cancel_.load(std::memory_order_relaxed);
}

void BatchLoader::AdvanceNext() {
  if (next_.batch + 1 < source_->batches()) {
    ++next_.batch;
  } else {
    next_ = {next_.epoch + 1, 0};
    has_next_ = options_.across_epochs && next_.epoch < kMaxEpochs;
  }
}

void BatchLoader::ThreadLoop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock,
                  [this] { return stop_ || (has_next_ && !free_.empty()); });
    if (stop_) return;
    filling_ = free_.back();
    free_.pop_back();
    Slot& slot = slots_[filling_];
    slot.key = next_;
    AdvanceNext();
    lock.unlock();
    const bool complete = FillSlot(slot);
    lock.lock();
    if (complete) {
      ready_.push_back(filling_);
    } else {
      free_.push_back(filling_);
    }
    filling_ = -1;
    changed_.notify_all();
  }
}

bool BatchLoader::Expects(const Key& key) const {
  if (!ready_.empty()) return slots_[ready_.front()].key == key;
  if (filling_ >= 0) return slots_[filling_].key == key;
  return has_next_ && next_ == key;
}

void BatchLoader::Restart(const Key& key, std::unique_lock<std::mutex>& lock) {
  // In this order: the thread must not take another stale batch meanwhile.
  has_next_ = false;
  cancel_ = true;
  changed_.wait(lock, [this] { return filling_ < 0; });
  cancel_ = false;
  free_.insert(free_.end(), ready_.begin(), ready_.end());
  ready_.clear();
  next_ = key;
  has_next_ = true;
}

Batch BatchLoader::Hold(int64_t slot) {
  held_ = slot;
  const Slot& held = slots_[slot];
  const int64_t n = source_->BatchExamples(held.key.batch);
  return {.epoch = held.key.epoch,
          .index = held.key.batch,
          .images = held.images.view().Slice(0, 0, n),
          .labels = held.labels.view().Slice(0, 0, n)};
}

Batch BatchLoader::Get(int64_t epoch, int64_t batch) {
  const Key key{epoch, batch};
  CHECK(0 <= epoch && epoch < kMaxEpochs);
  CHECK(0 <= batch && batch < source_->batches())
      << "batch " << batch << " of " << source_->batches();
  if (!thread_.joinable()) {
    slots_[0].key = key;
    FillSlot(slots_[0]);
    return Hold(0);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (held_ >= 0) {
    free_.push_back(held_);
    held_ = -1;
  }
  if (!Expects(key)) Restart(key, lock);
  changed_.notify_all();
  changed_.wait(lock, [this] { return !ready_.empty(); });
  const int64_t slot = ready_.front();
  ready_.pop_front();
  return Hold(slot);
}

}  // namespace densenet
