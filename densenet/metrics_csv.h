// densenet/metrics_csv.h
//
// metrics.csv of a run folder: one row per completed epoch. A row is on disk
// before the checkpoint that follows it, and rows after the checkpoint that a
// run resumes from are cut off, so that there is exactly one row per epoch.
// Columns that came later stand at the end; files without them are read too.
//
// Errors   DataLoss  the file's columns are not those written here
//          others    what the system said
// Threads  one thread of control

#ifndef DENSENET_DENSENET_METRICS_CSV_H_
#define DENSENET_DENSENET_METRICS_CSV_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/run_observer.h"

namespace densenet {

// A mean over examples.
struct Score {
  double loss = 0;
  double error_percent = 0;
  // Where there are more than 5 classes.
  std::optional<double> top5_error_percent = std::nullopt;

  friend bool operator==(const Score&, const Score&) = default;
};

struct EpochMetrics {
  int64_t epoch = 0;  // 1 for the first
  int64_t step = 0;   // global, at its end
  double learning_rate = 0;
  Score train;  // as seen during the epoch, with batch statistics
  std::optional<Score> validation;
  std::optional<Score> test;
  double images_per_second = 0;
  double seconds = 0;   // of the epoch's training steps
  int64_t skipped = 0;  // images that could not be read, in those steps
};

class MetricsCsv final : public RunObserver {
 public:
  // Opens or creates the file and keeps the rows of steps up to `last_step`.
  static StatusOr<MetricsCsv> Open(const std::string& path, int64_t last_step);

  // Appends a row; returns when it is on disk.
  Status EpochDone(const EpochMetrics& metrics) override;

  const std::string& path() const { return path_; }

 private:
  explicit MetricsCsv(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The rows of a metrics.csv.
StatusOr<std::vector<EpochMetrics>> ReadMetricsCsv(const std::string& path);

}  // namespace densenet

#endif  // DENSENET_DENSENET_METRICS_CSV_H_
