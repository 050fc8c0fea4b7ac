// densenet/trainer.h
//
// A training run from its configuration to its last checkpoint. Where the run
// folder holds an unfinished run of the same configuration, that run goes on;
// however often it is stopped or killed, it ends bitwise where an
// uninterrupted one does.
//
//   epochs      every image once each, in an order of its own; the last batch
//               of an epoch has what is left (or is dropped or padded:
//               --last-batch). Where the last block sees one pixel and that
//               batch one image, batch norm would have a single value: such a
//               batch is left out (it is another image each epoch). With
//               --steps-per-epoch passes over the images and epochs are apart.
//               --max-steps may cut the last epoch short.
//   bad images  stop the run, or others drawn by seed, epoch and position stand
//               in for them; evaluation leaves them out (--on-bad-data)
//   evaluation  every --eval-every epochs and after the last, on the images
//               held out or, without, on the test images
//   best        the lowest error of those evaluations
//   end         after the last epoch; earlier with --patience (evaluations
//               without a lower error), --max-time and TrainHooks::should_stop
//               (a checkpoint is saved, the run can go on). With
//               --initial-epoch it begins as if epochs had been done
//
// Memory    everything from one HostMemory whose peak equals the plan
// Errors    FailedPrecondition  the folder holds a run of another
//                               configuration: names each difference
//           ResourceExhausted   the plan exceeds the memory budget
//           DataLoss            data or all checkpoints are damaged
//           Internal            the loss is no finite number any more
//                               (IsDivergence, densenet/divergence.h)
//           others              of data, files, network
// Threads   one thread of control

#ifndef DENSENET_DENSENET_TRAINER_H_
#define DENSENET_DENSENET_TRAINER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/console.h"
#include "densenet/metrics_csv.h"
#include "densenet/run_config.h"

namespace densenet {

struct TrainHooks {
  // Asked after each step and each batch of an evaluation: true saves a
  // checkpoint and ends the run early, in good order.
  std::function<bool()> should_stop;
  // Called after each step; an error ends the run at once and saves nothing,
  // as a kill would.
  std::function<Status(const TrainingProgress&)> after_step;
};

struct TrainResult {
  int64_t steps = 0;
  int64_t epochs = 0;  // completed
  // On the test images, after the last epoch; nothing when stopped before.
  std::optional<Score> test;
  double images_per_second = 0;  // in training steps, over the whole run
  int64_t planned_peak_bytes = 0;
  int64_t measured_peak_bytes = 0;
  std::string checkpoint;  // the newest
  // The lowest of all evaluations, and its step; -1: there was none. Of
  // validation images where some are held out, else of the test images.
  double best_error = 0;
  int64_t best_step = -1;
  bool stopped = false;  // by should_stop or --max-time
};

// `config.device` is "cpu".
StatusOr<TrainResult> Train(const RunConfig& config, const TrainHooks& hooks,
                            Console& console);

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRAINER_H_
