#include "densenet/network.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <cmath>
#include <vector>

#include "densenet/block_features.h"
#include "densenet/classifier.h"
#include "densenet/dense_layer.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/stem.h"
#include "densenet/step_builder.h"
#include "densenet/transition.h"

namespace densenet {

// The modules, in the order of the forward pass. Tasks refer to them.
struct Network::State {
  State(const Context& ctx, const ModelConfig& config, const Options& options,
        ParameterStore& store, Schedule& schedule)
      : builder(ctx, config, options, store, schedule) {}

  void MakeFeatures();
  void MakeLayers();
  Status AddForward();
  Status AddBackward();

  StepBuilder builder;
  std::vector<std::unique_ptr<BlockFeatures>> features;  // of each block
  std::unique_ptr<StemModule> stem;
  std::vector<std::vector<std::unique_ptr<DenseLayer>>> layers;
  std::vector<std::unique_ptr<Transition>> transitions;
  std::unique_ptr<Classifier> classifier;
};

void Network::State::MakeFeatures() {
  const ModelConfig& config = builder.config();
  for (size_t b = 0; b < config.block_config.size(); ++b) {
    const int64_t block = static_cast<int64_t>(b);
    std::vector<int64_t> pieces = {BlockInputChannels(config, block)};
    pieces.insert(pieces.end(), config.block_config[b], config.growth_rate);
    features.push_back(std::make_unique<BlockFeatures>(
        builder, fmt::format("features.denseblock{}", b + 1),
        BlockExtent(config, block), pieces));
  }
}

// In forward order, which numbers the streams of the dropout masks.
void Network::State::MakeLayers() {
  const ModelConfig& config = builder.config();
  const size_t blocks = config.block_config.size();
  stem = config.stem == Stem::kImageNet
             ? MakeImageNetStem(builder, *features[0])
             : MakeCifarStem(builder, *features[0]);
  auto make_layer = config.bottleneck ? MakeBottleneckLayer : MakeBasicLayer;
  layers.resize(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    for (int64_t l = 0; l < config.block_config[b]; ++l) {
      layers[b].push_back(make_layer(
          builder, *features[b], l,
          fmt::format("features.denseblock{}.denselayer{}", b + 1, l + 1)));
    }
    if (b + 1 < blocks) {
      transitions.push_back(std::make_unique<Transition>(
          builder, *features[b], *features[b + 1],
          fmt::format("features.transition{}", b + 1)));
    }
  }
  classifier =
      std::make_unique<Classifier>(builder, *features[blocks - 1],
                                   fmt::format("features.norm{}", blocks + 1));
}

Status Network::State::AddForward() {
  RETURN_IF_ERROR(stem->AddForward(builder));
  for (size_t b = 0; b < layers.size(); ++b) {
    for (auto& layer : layers[b]) layer->AddForward(builder);
    if (b < transitions.size()) transitions[b]->AddForward(builder);
  }
  return classifier->AddForward(builder);
}

Status Network::State::AddBackward() {
  RETURN_IF_ERROR(classifier->AddBackward(builder));
  if (!builder.training()) {
    // Nothing else has a gradient.
    builder.AddGradientsReadyTask("features.conv0.weight");
    return OkStatus();
  }
  builder.AddGradientsReadyTask(
      fmt::format("features.norm{}.weight", layers.size() + 1));
  for (size_t b = layers.size(); b-- > 0;) {
    if (b < transitions.size()) {
      transitions[b]->AddBackward(builder);
      builder.AddGradientsReadyTask(
          fmt::format("features.transition{}.norm.weight", b + 1));
    }
    for (size_t l = layers[b].size(); l-- > 0;) {
      layers[b][l]->AddBackward(builder);
      builder.AddGradientsReadyTask(fmt::format(
          "features.denseblock{}.denselayer{}.norm1.weight", b + 1, l + 1));
    }
  }
  RETURN_IF_ERROR(stem->AddBackward(builder));
  builder.AddGradientsReadyTask("features.conv0.weight");
  return OkStatus();
}

Network::Network(const Context& ctx, const ModelConfig& config,
                 const Options& options, ParameterStore& store)
    : config_(config), options_(options), store_(store) {
  state_ = std::make_unique<State>(ctx, config_, options_, store_, schedule_);
}

Network::~Network() = default;

StatusOr<std::unique_ptr<Network>> Network::Create(const Context& ctx,
                                                   const ModelConfig& config,
                                                   const Options& options,
                                                   ParameterStore& store) {
  RETURN_IF_ERROR(ValidateModelConfig(config));
  if (options.max_batch < 1) {
    return InvalidArgument(fmt::format("batch of {} images: expected 1 or more",
                                       options.max_batch));
  }
  if (!options.class_weights.empty() &&
      static_cast<int64_t>(options.class_weights.size()) != config.classes) {
    return InvalidArgument(fmt::format("{} class weights for {} classes",
                                       options.class_weights.size(),
                                       config.classes));
  }
  for (float weight : options.class_weights) {
    if (!(0 <= weight && std::isfinite(weight))) {
      return InvalidArgument(fmt::format(
          "class weight {}: expected a number of 0 or more", weight));
    }
  }
  if (!(0 <= options.label_smoothing && options.label_smoothing < 1)) {
    return InvalidArgument(
        fmt::format("label smoothing {}: expected 0 or more, less than 1",
                    options.label_smoothing));
  }
  if (!ctx.device().is_cpu()) {
    return Unimplemented(fmt::format(
        "training and evaluation run on the CPU only so far, not on {}: use "
        "--device cpu",
        ctx.device().ToString()));
  }
  std::unique_ptr<Network> network(new Network(ctx, config, options, store));
  State& state = *network->state_;
  state.MakeFeatures();
  state.MakeLayers();
  RETURN_IF_ERROR(state.AddForward());
  if (options.mode == Mode::kTrain) RETURN_IF_ERROR(state.AddBackward());
  network->plan_ = network->schedule_.Plan();
  return network;
}

void Network::Bind(Arena& arena) {
  CHECK_GE(arena.bytes(), plan_.arena_bytes());
  schedule_.Bind(plan_, arena.base());
}

StatusOr<BatchResult> Network::TrainStep(ConstTensorView images,
                                         absl::Span<const int32_t> labels,
                                         uint64_t seed, uint32_t step) {
  CHECK(options_.mode == Mode::kTrain);
  ASSIGN_OR_RETURN(const Step run, MakeStep(images, labels, seed, step));
  return Run(run);
}

StatusOr<BatchResult> Network::TrainShare(ConstTensorView images,
                                          absl::Span<const int32_t> labels,
                                          uint64_t seed, uint32_t step,
                                          const BatchShare& share) {
  CHECK(options_.mode == Mode::kTrain);
  ASSIGN_OR_RETURN(Step run, MakeStep(images, labels, seed, step));
  CHECK_EQ(share.images, run.images);
  run.share = share;
  return Run(run);
}

StatusOr<BatchResult> Network::Evaluate(ConstTensorView images,
                                        absl::Span<const int32_t> labels) {
  CHECK(options_.mode == Mode::kEvaluate);
  ASSIGN_OR_RETURN(const Step run, MakeStep(images, labels, 0, 0));
  return Run(run);
}

StatusOr<std::string> Network::FindNonFinite(ConstTensorView images,
                                             absl::Span<const int32_t> labels,
                                             uint64_t seed, uint32_t step) {
  ASSIGN_OR_RETURN(const Step run, MakeStep(images, labels, seed, step));
  ASSIGN_OR_RETURN(const int64_t task, schedule_.RunUntilNonFinite(run));
  return task < 0 ? std::string() : schedule_.tasks()[task].name;
}

StatusOr<BatchResult> Network::Run(const Step& step) {
  RETURN_IF_ERROR(CheckStatistics(step));
  RETURN_IF_ERROR(schedule_.Run(step));
  return state_->classifier->result();
}

Status Network::CheckStatistics(const Step& step) const {
  if (options_.mode == Mode::kEvaluate || options_.frozen_statistics ||
      options_.freeze_features) {
    return OkStatus();
  }
  const Extent last = BlockExtent(
      config_, static_cast<int64_t>(config_.block_config.size()) - 1);
  const int64_t images =
      options_.exchange ? step.share.batch_images : step.images;
  if (images * last.height * last.width > 1) return OkStatus();
  return InvalidArgument(
      "batch norm over a single value: one image of 1 x 1 pixels in the last "
      "block; train with larger batches or images");
}

StatusOr<Step> Network::MakeStep(ConstTensorView images,
                                 absl::Span<const int32_t> labels,
                                 uint64_t seed, uint32_t step_number) const {
  const Shape expected{images.rank() == 4 ? images.dim(0) : 0,
                       config_.image_height, config_.image_width,
                       config_.image_channels};
  if (images.shape() != expected || expected[0] < 1 ||
      expected[0] > options_.max_batch || images.dtype() != DType::kFloat32 ||
      !images.IsPacked()) {
    return InvalidArgument(fmt::format(
        "images are {}, expected packed float32 (1..{}, {}, {}, {})",
        images.ToString(), options_.max_batch, config_.image_height,
        config_.image_width, config_.image_channels));
  }
  if (!labels.empty() && static_cast<int64_t>(labels.size()) != images.dim(0)) {
    return InvalidArgument(
        fmt::format("{} labels for {} images", labels.size(), images.dim(0)));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= config_.classes) {
      return InvalidArgument(
          fmt::format("label {} of image {} in the batch: expected 0..{}",
                      labels[i], i, config_.classes - 1));
    }
  }
  if (options_.mode == Mode::kTrain && labels.empty()) {
    return InvalidArgument("training step without labels");
  }
  Step step;
  step.images = images.dim(0);
  const int64_t chunks = ImageChunks(step.images).count();
  step.share = {0, step.images, step.images, 0, chunks, chunks};
  step.seed = seed;
  step.number = step_number;
  step.input = images.data<float>();
  step.labels = labels.empty() ? nullptr : labels.data();
  return step;
}

ConstTensorView Network::logits() const {
  CHECK(options_.mode == Mode::kEvaluate);
  return state_->classifier->logits();
}

}  // namespace densenet
