// densenet/selected_model.h
//
// The test error of the model that a run's validation images chose: of the
// checkpoint with the lowest validation error, which is not always the last.
//
// Memory   the test images, parameters and the arena of an evaluation
// Errors   those of checkpoints, data and evaluation
// Threads  one thread of control

#ifndef DENSENET_DENSENET_SELECTED_MODEL_H_
#define DENSENET_DENSENET_SELECTED_MODEL_H_

#include <functional>
#include <optional>

#include "core/status.h"
#include "densenet/console.h"
#include "densenet/metrics_csv.h"
#include "densenet/run_config.h"

namespace densenet {

// Of a run that is done and held images out. Measured once: the run folder
// keeps it in selected.json. Nothing when `should_stop` ended it.
StatusOr<std::optional<Score>> TestSelectedModel(
    const RunConfig& config, const std::function<bool()>& should_stop,
    Console& console);

}  // namespace densenet

#endif  // DENSENET_DENSENET_SELECTED_MODEL_H_
