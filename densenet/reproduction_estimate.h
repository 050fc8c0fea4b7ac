// densenet/reproduction_estimate.h
//
// How long rows of the paper take on this machine, before anyone starts. For
// each network a few training steps are run and timed, on random images; where
// a step of the row's batch would take long, with a smaller batch, and the time
// is scaled by the number of images. Preparing images is taken to be hidden
// behind the steps, evaluating an image to cost a third of training on it.
//
// Memory   a network at a time, as its plan says
// Errors   InvalidArgument  options; others: those of a training step
// Threads  one thread of control

#ifndef DENSENET_DENSENET_REPRODUCTION_ESTIMATE_H_
#define DENSENET_DENSENET_REPRODUCTION_ESTIMATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/reproduction.h"
#include "densenet/strategy.h"

namespace densenet {

struct EstimateOptions {
  std::vector<PaperRow> rows;
  double epochs_scale = 1;
  int threads = 0;
  int64_t steps = 3;                // timed, after one that is not
  int64_t memory_budget_bytes = 0;  // 0: what the machine has free
};

struct EstimatedRow {
  PaperRow row;
  int64_t epochs = 0;
  int64_t train_images = 0;  // of an epoch
  Strategy strategy = Strategy::kFused;
  int64_t planned_bytes = 0;  // of a step with the row's batch
  // Nothing where the plan does not fit: then nothing was measured.
  std::optional<double> image_seconds;
  int64_t measured_batch = 0;
  std::optional<double> hours;
};

// `done` hears each row as soon as it is known; false stops.
StatusOr<std::vector<EstimatedRow>> EstimateReproductions(
    const EstimateOptions& options,
    const std::function<bool(const EstimatedRow&)>& done);

// Of which a training step of `batch` images does no more operations than
// `operations`: a power of two, at least 1, at most `most`.
int64_t MeasuredBatch(const ModelConfig& model, int64_t most,
                      double operations);

}  // namespace densenet

#endif  // DENSENET_DENSENET_REPRODUCTION_ESTIMATE_H_
