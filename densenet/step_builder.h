// densenet/step_builder.h
//
// What the modules of a network share while they append their tasks to the
// schedule: configuration, strategy, parameters, and short ways to declare
// buffers.

#ifndef DENSENET_DENSENET_STEP_BUILDER_H_
#define DENSENET_DENSENET_STEP_BUILDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/cpu/chunks.h"
#include "core/ops/sparse_softmax_cross_entropy.h"
#include "densenet/kernels/normalized_rows.h"
#include "densenet/model_config.h"
#include "densenet/network.h"
#include "densenet/strategy.h"
#include "memory/schedule.h"
#include "parallel/parameter_store.h"

namespace densenet {

// A parameter of the store; resolved when a task runs.
class ParameterRef {
 public:
  ParameterRef() = default;
  ParameterRef(ParameterStore* store, int64_t index)
      : store_(store), index_(index) {}
  const float* value() const { return store_->value(index_).data<float>(); }
  float* gradient() const { return store_->gradient(index_).data<float>(); }

 private:
  ParameterStore* store_ = nullptr;
  int64_t index_ = -1;
};

// A batch norm's four arrays in the store.
struct NormRef {
  ParameterRef gamma;
  ParameterRef beta;
  ParameterStore* store = nullptr;
  int64_t running_mean_index = -1;
  int64_t running_var_index = -1;

  float* running_mean() const {
    return store->statistic(running_mean_index).data<float>();
  }
  float* running_var() const {
    return store->statistic(running_var_index).data<float>();
  }
};

// Where a matrix of rows lies: float `offset` of a buffer, leading dimension.
struct RowsRef {
  BufferId buffer;
  int64_t offset = 0;
  int64_t ld = 0;

  float* At(const Step& step) const {
    return step.Data<float>(buffer) + offset;
  }
};

// (images, H, W, channels) over rows of leading dimension `ld`.
inline TensorView ImagesView(float* data, int64_t images, Extent extent,
                             int64_t channels, int64_t ld) {
  return TensorView(
      data, DType::kFloat32, {images, extent.height, extent.width, channels},
      {extent.height * extent.width * ld, extent.width * ld, ld, 1});
}

class StepBuilder {
 public:
  StepBuilder(const Context& ctx, const ModelConfig& config,
              const Network::Options& options, ParameterStore& store,
              Schedule& schedule);

  const Context& ctx() const { return ctx_; }
  const ModelConfig& config() const { return config_; }
  // Of the layers before the classifier; not with frozen features.
  bool training() const {
    return trains_classifier() && !options_.freeze_features;
  }
  bool trains_classifier() const {
    return options_.mode == Network::Mode::kTrain;
  }
  // Batch norm normalizes by the batch: training, unless statistics are frozen.
  bool batch_statistics() const {
    return training() && !options_.frozen_statistics;
  }
  // An evaluation network keeps nothing and normalizes inside the kernels.
  const StrategyTraits& traits() const { return traits_; }
  int64_t max_batch() const { return options_.max_batch; }
  // Of the training loss; evaluation has the plain one.
  CrossEntropyParams loss_params() const {
    return {trains_classifier() ? options_.label_smoothing : 0.0};
  }
  absl::Span<const float> class_weights() const {
    return trains_classifier() ? absl::MakeConstSpan(options_.class_weights)
                               : absl::Span<const float>();
  }
  int64_t threads() const { return ctx_.threads().threads(); }

  BufferId Floats(std::string_view name, BufferKind kind, int64_t count) {
    return schedule_.Declare(name, kind, count * int64_t{sizeof(float)});
  }
  BufferId Bytes(std::string_view name, BufferKind kind, int64_t bytes) {
    return schedule_.Declare(name, kind, bytes);
  }
  // Scratch of one task, in floats.
  BufferId Scratch(std::string_view name, int64_t floats) {
    return Floats(std::string(name) + ".scratch", BufferKind::kScratch, floats);
  }
  void Add(std::string name, std::string phase, std::vector<BufferId> buffers,
           std::function<Status(const Step&)> run) {
    schedule_.Add({std::move(name), std::move(phase), std::move(buffers),
                   std::move(run)});
  }

  // The task added last writes `pixels` rows of `channels` at `y` for each
  // image: where Network::FindNonFinite looks.
  void SetOutputOfLast(RowsRef y, int64_t pixels, int64_t channels);

  // Gradients from that parameter on are complete: backward passes go through
  // the parameters from the last to the first. For the listener, where there
  // is one.
  void AddGradientsReadyTask(const std::string& parameter);

  // CHECKs that the configuration has it.
  ParameterRef Parameter(const std::string& name);
  NormRef Norm(const std::string& name);

  // The next convolution's stream of dropout masks: forward order, so that a
  // layer has one stream under every strategy.
  uint32_t NextDropoutStream() { return next_stream_++; }
  // Of a tensor of `pixels` an image. Masks depend on the place in the batch,
  // not on the tower.
  OutputDropout DropoutOf(const Step& step, uint32_t stream,
                          int64_t pixels) const {
    return {training() ? config_.dropout : 0.0,
            {step.seed, step.number, stream},
            step.share.first_image * pixels};
  }

  // The images that batch norm's statistics are taken of: those of the step,
  // or, synchronized, those of the whole batch.
  FixedChunks StatisticsImages(const Step& step) const {
    const BatchShare& s = step.share;
    return options_.exchange ? FixedChunks::Of(s.batch_images, s.batch_chunks)
                             : FixedChunks::Of(s.images, s.chunks);
  }
  // Where this step's own begin among the partial sums of all those chunks,
  // 2 x channels float64 each; null where there is no buffer for any.
  double* OwnPartials(const Step& step, BufferId partials,
                      int64_t channels) const {
    if (!partials.valid()) return nullptr;
    const int64_t first = options_.exchange ? step.share.first_chunk : 0;
    return step.Data<double>(partials) + first * 2 * channels;
  }
  // Fills in the partial sums of the other towers.
  Status ExchangePartials(const Step& step, BufferId partials,
                          int64_t channels) const {
    if (!options_.exchange) return OkStatus();
    const BatchShare& s = step.share;
    return options_.exchange->AllGather(step.Data<double>(partials),
                                        2 * channels, s.first_chunk, s.chunks,
                                        s.batch_chunks);
  }

 private:
  const Context& ctx_;
  const ModelConfig& config_;
  const Network::Options& options_;
  ParameterStore& store_;
  Schedule& schedule_;
  StrategyTraits traits_;
  uint32_t next_stream_ = 0;
};

// The union of buffer lists, for a task that several modules contribute to.
inline std::vector<BufferId> Join(std::vector<BufferId> a,
                                  const std::vector<BufferId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace densenet

#endif  // DENSENET_DENSENET_STEP_BUILDER_H_
