#include "parallel/tower_gradients.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/cpu/chunks.h"

namespace densenet {
namespace {

// Elements that are worth handing to a thread.
constexpr int64_t kChunkFloats = 16 * 1024;

}  // namespace

class TowerGradients::Listener : public GradientListener {
 public:
  Listener(TowerGradients& all, int tower) : all_(all), tower_(tower) {}

  void Begin() { next_ = all_.buckets_ - 1; }
  void GradientsReady(const Context& ctx, int64_t from) override {
    while (next_ >= 0 && next_ * kBucketFloats >= from) {
      all_.Ready(tower_, next_--, ctx);
    }
  }

 private:
  TowerGradients& all_;
  const int tower_;
  int64_t next_ = -1;  // bucket, from the last to the first
};

TowerGradients::TowerGradients(ParameterStore& hosted,
                               std::vector<ParameterStore*> towers,
                               const std::vector<bool>& whole)
    : hosted_(hosted), towers_(std::move(towers)) {
  CHECK_EQ(whole.size(), hosted.parameters().size());
  int64_t end = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int64_t begin = hosted.OffsetOf(static_cast<int64_t>(i));
    end = begin + hosted.parameters()[i].shape.elems();
    if (!ranges_.empty() && ranges_.back().whole == whole[i]) {
      ranges_.back().end = end;
    } else {
      ranges_.push_back({begin, end, whole[i]});
    }
  }
  buckets_ = (end + kBucketFloats - 1) / kBucketFloats;
  arrived_ = std::vector<std::atomic<int>>(static_cast<size_t>(buckets_));
  for (size_t t = 0; t < towers_.size(); ++t) {
    listeners_.push_back(
        std::make_unique<Listener>(*this, static_cast<int>(t)));
  }
}

TowerGradients::~TowerGradients() = default;

GradientListener* TowerGradients::listener(int tower) {
  return listeners_[tower].get();
}

void TowerGradients::Begin(int active, BucketDone done) {
  CHECK(active >= 1 && active <= static_cast<int>(towers_.size()));
  active_ = active;
  done_ = std::move(done);
  for (std::atomic<int>& arrived : arrived_) arrived.store(0);
  for (auto& listener : listeners_) listener->Begin();
  remaining_.store(buckets_);
}

void TowerGradients::Ready(int tower, int64_t bucket, const Context& ctx) {
  DCHECK_LT(tower, active_);
  // The last to arrive sees what the others wrote.
  if (arrived_[bucket].fetch_add(1, std::memory_order_acq_rel) + 1 < active_) {
    return;
  }
  const int64_t begin = bucket * kBucketFloats;
  const int64_t end =
      std::min(begin + kBucketFloats, int64_t{ranges_.back().end});
  AddUp(ctx, begin, end);
  if (done_) done_(ctx, begin, end);
  remaining_.fetch_sub(1);
}

void TowerGradients::AddUp(const Context& ctx, int64_t begin, int64_t end) {
  const FixedChunks chunks(end - begin, kChunkFloats,
                           std::numeric_limits<int64_t>::max());
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        const int64_t first = begin + chunk.begin;
        const int64_t last = begin + chunk.end;
        auto range = std::upper_bound(
            ranges_.begin(), ranges_.end(), first,
            [](int64_t at, const Range& r) { return at < r.end; });
        for (; range != ranges_.end() && range->begin < last; ++range) {
          AddUpRange(std::max(first, range->begin), std::min(last, range->end),
                     range->whole ? 1 : active_);
        }
      });
}

void TowerGradients::AddUpRange(int64_t begin, int64_t end, int towers) {
  float* __restrict__ sum = hosted_.gradients().data();
  std::copy(towers_[0]->gradients().data() + begin,
            towers_[0]->gradients().data() + end, sum + begin);
  for (int t = 1; t < towers; ++t) {
    const float* __restrict__ part = towers_[t]->gradients().data();
    for (int64_t i = begin; i < end; ++i) sum[i] += part[i];
  }
}

}  // namespace densenet
