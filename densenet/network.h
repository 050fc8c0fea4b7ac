// densenet/network.h
//
// A DenseNet as a static schedule of tasks over one arena (the planned level).
// A training network runs forward and backward and leaves the gradients of the
// MEAN loss of the batch in the parameter store; an evaluation network runs
// the forward pass with running statistics and keeps no activations.
//
//   ASSIGN_OR_RETURN(auto network,
//                    Network::Create(ctx, config, options, store));
//   ASSIGN_OR_RETURN(Arena arena,
//                    Arena::Create(memory, network->plan().arena_bytes()));
//   network->Bind(arena);
//   ASSIGN_OR_RETURN(BatchResult result,
//                    network->TrainStep(images, labels, seed, step));
//
// Shapes    images (n, H, W, C) float32, packed, n <= options.max_batch;
//           labels n values in [0, classes); logits (n, classes)
// Memory    the arena of plan().arena_bytes(); a step allocates nothing else
// Errors    InvalidArgument     shapes, labels out of range, batch norm over a
//                               single value in training, impossible options
// Numerics  loss and statistics bitwise equal under every strategy and number
//           of threads
// Threads   one thread of control; works on ctx.threads()

#ifndef DENSENET_DENSENET_NETWORK_H_
#define DENSENET_DENSENET_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"
#include "densenet/model_config.h"
#include "densenet/strategy.h"
#include "memory/arena.h"
#include "memory/plan.h"
#include "memory/schedule.h"
#include "parallel/gradient_listener.h"
#include "parallel/parameter_store.h"
#include "parallel/partials_exchange.h"

namespace densenet {

// Sums over a batch, so that batches of different sizes add up right.
struct BatchResult {
  double loss_sum = 0;  // of the examples' losses
  int64_t correct = 0;  // top-1
  int64_t correct_top5 = 0;
  int64_t examples = 0;
};

class Network {
 public:
  enum class Mode { kTrain, kEvaluate };
  struct Options {
    Mode mode = Mode::kTrain;
    Strategy strategy = Strategy::kRecomputeBn;
    int64_t max_batch = 64;
    // Training: normalize with the running statistics and leave them alone
    // (fine-tuning). They are constants to the gradient.
    bool frozen_statistics = false;
    // Training: only the classifier is. All before it runs as in evaluation:
    // running statistics, no dropout, no activations kept; the gradients of
    // its parameters are left alone.
    bool freeze_features = false;
    // Training: of the loss (core/ops/sparse_softmax_cross_entropy.h).
    double label_smoothing = 0;
    // Training: an example's loss counts as often as its class's weight says;
    // the mean is still over the examples. Empty: once each.
    std::vector<float> class_weights = {};
    // Training as one of several towers. Both must outlive the network.
    // Batch norm over the whole batch, by way of the other towers; null: over
    // the tower's own images.
    PartialsExchange* exchange = nullptr;
    // Told which gradients are complete while the backward pass goes on.
    GradientListener* listener = nullptr;
  };

  // Builds the schedule; allocates none of its buffers. `ctx` and `store` must
  // outlive the network.
  // Errors  InvalidArgument  impossible configuration or batch
  static StatusOr<std::unique_ptr<Network>> Create(const Context& ctx,
                                                   const ModelConfig& config,
                                                   const Options& options,
                                                   ParameterStore& store);
  ~Network();

  // Arena buffers only; callers add parameters, slots and input.
  const MemoryPlan& plan() const { return plan_; }
  const Options& options() const { return options_; }
  const ModelConfig& config() const { return config_; }
  Schedule& schedule() { return schedule_; }
  const Schedule& schedule() const { return schedule_; }

  // CHECKs that the arena is large enough; it must outlive the runs. Two
  // networks may share one arena when their runs do not overlap.
  void Bind(Arena& arena);

  // Forward and backward. `step` keys the dropout masks together with `seed`.
  // Updates the running statistics once.
  StatusOr<BatchResult> TrainStep(ConstTensorView images,
                                  absl::Span<const int32_t> labels,
                                  uint64_t seed, uint32_t step);
  // The same for a tower's share of a batch: its part of the gradient of the
  // MEAN loss of the whole batch. share.images == images.dim(0).
  StatusOr<BatchResult> TrainShare(ConstTensorView images,
                                   absl::Span<const int32_t> labels,
                                   uint64_t seed, uint32_t step,
                                   const BatchShare& share);
  // Takes that step again, for one that ended in a loss that is no finite
  // number: the module whose output first was not finite, "" if all were.
  // Gradients and running statistics are of no use afterwards.
  StatusOr<std::string> FindNonFinite(ConstTensorView images,
                                      absl::Span<const int32_t> labels,
                                      uint64_t seed, uint32_t step);
  // Forward with running statistics. Without labels (an empty span) loss and
  // correct are 0.
  StatusOr<BatchResult> Evaluate(ConstTensorView images,
                                 absl::Span<const int32_t> labels);
  // (n, classes) of the last Evaluate's n images; valid until the arena's next
  // run. CHECKs that this is an evaluation network: the backward pass of a
  // training network writes over its logits.
  ConstTensorView logits() const;

 private:
  Network(const Context& ctx, const ModelConfig& config, const Options& options,
          ParameterStore& store);
  StatusOr<BatchResult> Run(const Step& step);
  // Batch norm in training needs more than one value a channel.
  Status CheckStatistics(const Step& step) const;
  // Checks the batch.
  StatusOr<Step> MakeStep(ConstTensorView images,
                          absl::Span<const int32_t> labels, uint64_t seed,
                          uint32_t step_number) const;

  const ModelConfig config_;
  const Options options_;
  ParameterStore& store_;
  Schedule schedule_;
  MemoryPlan plan_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_NETWORK_H_
