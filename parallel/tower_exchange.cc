#include "parallel/tower_exchange.h"

#include <glog/logging.h>

#include <algorithm>

namespace densenet {
namespace {

// Towers of equal shares arrive within microseconds of each other.
constexpr int kSpins = 2000;

inline void Pause() { __builtin_ia32_pause(); }

}  // namespace

class TowerExchange::Member : public PartialsExchange {
 public:
  explicit Member(TowerExchange& all) : all_(all) {}

  Status AllGather(double* values, int64_t row, int64_t first, int64_t count,
                   int64_t total) override {
    values_ = values;
    first_ = first;
    count_ = count;
    RETURN_IF_ERROR(all_.Meet());
    int64_t gathered = count;
    for (int t = 0; t < all_.active_; ++t) {
      const Member& other = *all_.members_[t];
      if (&other == this) continue;
      const double* from = other.values_ + other.first_ * row;
      std::copy_n(from, other.count_ * row, values + other.first_ * row);
      gathered += other.count_;
    }
    DCHECK_EQ(gathered, total);
    // Not before all have copied may anybody write there again.
    return all_.Meet();
  }

 private:
  TowerExchange& all_;
  const double* values_ = nullptr;
  int64_t first_ = 0;
  int64_t count_ = 0;
};

TowerExchange::TowerExchange(int towers) {
  for (int t = 0; t < towers; ++t) {
    members_.push_back(std::make_unique<Member>(*this));
  }
}

TowerExchange::~TowerExchange() = default;

void TowerExchange::Begin(int active) {
  CHECK(active >= 1 && active <= static_cast<int>(members_.size()));
  std::lock_guard<std::mutex> lock(mutex_);
  active_ = active;
  waiting_ = 0;
  aborted_ = OkStatus();
}

PartialsExchange* TowerExchange::member(int tower) {
  return members_[tower].get();
}

void TowerExchange::Abort(const Status& status) {
  CHECK(!status.ok());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    generation_.fetch_add(1);
  }
  all_met_.notify_all();
}

Status TowerExchange::Meet() {
  uint64_t seen = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    seen = generation_.load();
    if (++waiting_ == active_) {
      waiting_ = 0;
      generation_.fetch_add(1);
    }
  }
  if (generation_.load() != seen) {
    all_met_.notify_all();
    return OkStatus();
  }
  for (int spin = 0; spin < kSpins && generation_.load() == seen; ++spin) {
    Pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  all_met_.wait(lock, [&] { return generation_.load() != seen; });
  return aborted_;
}

}  // namespace densenet
