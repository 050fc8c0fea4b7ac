#include "densenet/data/batch_loader.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstring>

namespace densenet {
namespace {

// Examples a worker takes at once: small enough to stop soon, large enough
// that taking them costs nothing. To decode one takes a millisecond.
constexpr int64_t kPartExamples = 8;
constexpr int64_t kMaxEpochs = int64_t{1} << 32;  // random keys hold 32 bits

int64_t LargestBatch(const BatchSource& source) {
  return source.batches() == 0 ? 0 : source.BatchExamples(0);
}

}  // namespace

int64_t BatchLoader::PlannedBytes(int64_t batch_examples, int64_t image_elems,
                                  int64_t workspace_bytes,
                                  const Options& options) {
  const int64_t example_bytes =
      image_elems * SizeOf(DType::kFloat32) + SizeOf(DType::kInt32);
  return (options.ahead + 1) * batch_examples * example_bytes +
         options.workers * workspace_bytes;
}

int64_t BatchLoader::PlannedBytes(const BatchSource& source,
                                  const Options& options) {
  return PlannedBytes(LargestBatch(source), source.info().image_elems(),
                      source.workspace_bytes(), options);
}

BatchLoader::BatchLoader(const BatchSource* source, const Options& options)
    : source_(source),
      options_(options),
      part_examples_(source->decodes() ? 1 : kPartExamples) {}

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
  CHECK(0 <= options.batches && options.batches <= source->batches());
  std::unique_ptr<BatchLoader> loader(new BatchLoader(source, options));
  const ImageDatasetInfo& info = source->info();
  const int64_t examples = LargestBatch(*source);
  // Zeros, so that all of it is resident now: a batch that is first needed when
  // the network happens to be slow would look like growth.
  for (int64_t i = 0; i <= options.ahead; ++i) {
    auto slot = std::make_unique<Slot>();
    ASSIGN_OR_RETURN(slot->images, Tensor::Zeros(resource, DType::kFloat32,
                                                 {examples, info.height,
                                                  info.width, info.channels}));
    ASSIGN_OR_RETURN(slot->labels,
                     Tensor::Zeros(resource, DType::kInt32, {examples}));
    loader->free_.push_back(slot.get());
    loader->slots_.push_back(std::move(slot));
  }
  for (int i = 0; i < options.workers; ++i) {
    ASSIGN_OR_RETURN(Tensor bytes, Tensor::Zeros(resource, DType::kUInt8,
                                                 {source->workspace_bytes()}));
    loader->workspaces_.emplace_back(
        absl::MakeSpan(reinterpret_cast<char*>(bytes.data<uint8_t>()),
                       static_cast<size_t>(bytes.elems())));
    loader->workspace_bytes_.push_back(std::move(bytes));
  }
  if (!loader->has_threads()) return loader;
  for (BatchSource::Workspace& workspace : loader->workspaces_) {
    loader->threads_.emplace_back(
        [l = loader.get(), &workspace] { l->ThreadLoop(workspace); });
  }
  return loader;
}

BatchLoader::~BatchLoader() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BatchLoader::PrepareSlot(Slot& slot, const Key& key) {
  slot.key = key;
  slot.examples = source_->BatchExamples(key.batch);
  slot.parts = (slot.examples + part_examples_ - 1) / part_examples_;
  slot.taken = 0;
  slot.done = 0;
  slot.ready = false;
  const auto parts = static_cast<size_t>(slot.parts);
  slot.statuses.assign(parts, OkStatus());
  slot.bad.resize(parts);
  for (std::vector<BadExample>& bad : slot.bad) bad.clear();
}

void BatchLoader::FillPart(const Part& part,
                           BatchSource::Workspace& workspace) {
  Slot& slot = *part.slot;
  const auto index = static_cast<size_t>(part.index);
  const int64_t begin = part.index * part_examples_;
  slot.statuses[index] = source_->FillPart(
      slot.key.epoch, slot.key.batch, begin,
      std::min(begin + part_examples_, slot.examples), workspace,
      slot.images.data<float>(), slot.labels.data<int32_t>(), &slot.bad[index]);
}

void BatchLoader::FinishSlot(Slot& slot) {
  slot.status = OkStatus();
  slot.all_bad.clear();
  for (size_t i = 0; i < static_cast<size_t>(slot.parts); ++i) {
    slot.status.Update(slot.statuses[i]);  // the first error stays
    slot.all_bad.insert(slot.all_bad.end(), slot.bad[i].begin(),
                        slot.bad[i].end());
  }
  if (!slot.status.ok() || slot.all_bad.empty()) return;
  const int64_t elems = source_->info().image_elems();
  float* images = slot.images.data<float>();
  int32_t* labels = slot.labels.data<int32_t>();
  int64_t kept = 0;
  for (int64_t i = 0; i < slot.examples; ++i) {
    if (labels[i] == kLeftOut) continue;
    if (kept != i) {
      std::memcpy(images + kept * elems, images + i * elems,
                  static_cast<size_t>(elems) * sizeof(float));
      labels[kept] = labels[i];
    }
    ++kept;
  }
  slot.examples = kept;
}

void BatchLoader::AdvanceNext() {
  const int64_t batches =
      options_.batches > 0 ? options_.batches : source_->batches();
  if (next_.batch + 1 < batches) {
    ++next_.batch;
  } else {
    next_ = {next_.epoch + 1, 0};
    has_next_ = options_.across_epochs && next_.epoch < kMaxEpochs;
  }
}

bool BatchLoader::TakePart(Part* part) {
  for (Slot* slot : queue_) {
    if (slot->taken == slot->parts) continue;
    *part = {slot, slot->taken++};
    return true;
  }
  if (!has_next_ || free_.empty()) return false;
  Slot* slot = free_.back();
  free_.pop_back();
  PrepareSlot(*slot, next_);
  AdvanceNext();
  queue_.push_back(slot);
  *part = {slot, slot->taken++};
  return true;
}

void BatchLoader::ThreadLoop(BatchSource::Workspace& workspace) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    Part part;
    work_.wait(lock, [&] { return stop_ || TakePart(&part); });
    if (stop_) return;
    ++in_flight_;
    lock.unlock();
    FillPart(part, workspace);
    lock.lock();
    Slot& slot = *part.slot;
    if (++slot.done == slot.parts) {
      lock.unlock();
      FinishSlot(slot);
      lock.lock();
      slot.ready = true;
    }
    --in_flight_;
    if (slot.ready || in_flight_ == 0) ready_.notify_one();
  }
}

bool BatchLoader::Expects(const Key& key) const {
  if (!queue_.empty()) return queue_.front()->key == key;
  return has_next_ && next_ == key;
}

void BatchLoader::Restart(const Key& key, std::unique_lock<std::mutex>& lock) {
  // In this order: no worker must take another stale part meanwhile.
  has_next_ = false;
  for (Slot* slot : queue_) slot->taken = slot->parts;
  ready_.wait(lock, [this] { return in_flight_ == 0; });
  free_.insert(free_.end(), queue_.begin(), queue_.end());
  queue_.clear();
  next_ = key;
  has_next_ = true;
}

StatusOr<Batch> BatchLoader::Hold(Slot& slot) {
  RETURN_IF_ERROR(slot.status);
  return Batch{.epoch = slot.key.epoch,
               .index = slot.key.batch,
               .images = slot.images.const_view().Slice(0, 0, slot.examples),
               .labels = slot.labels.const_view().Slice(0, 0, slot.examples),
               .bad = slot.all_bad};
}

StatusOr<Batch> BatchLoader::Get(int64_t epoch, int64_t batch) {
  const Key key{epoch, batch};
  CHECK(0 <= epoch && epoch < kMaxEpochs);
  CHECK(0 <= batch && batch < source_->batches())
      << "batch " << batch << " of " << source_->batches();
  if (!has_threads()) {
    Slot& slot = *slots_[0];
    PrepareSlot(slot, key);
    for (int64_t i = 0; i < slot.parts; ++i)
      FillPart({&slot, i}, workspaces_[0]);
    FinishSlot(slot);
    return Hold(slot);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (held_ != nullptr) free_.push_back(held_);
  held_ = nullptr;
  if (!Expects(key)) Restart(key, lock);
  work_.notify_all();
  ready_.wait(lock,
              [this] { return !queue_.empty() && queue_.front()->ready; });
  held_ = queue_.front();
  queue_.pop_front();
  return Hold(*held_);
}

}  // namespace densenet
