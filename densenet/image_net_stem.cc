#include <algorithm>

#include "core/ops/max_pool.h"
#include "densenet/kernels/batch_norm_fold.h"
#include "densenet/kernels/batch_norm_passes.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/stem.h"
#include "densenet/stem_conv.h"

namespace densenet {
namespace {

constexpr int64_t kFilterSide = 7;
constexpr char kNorm[] = "features.norm0";

Conv2dParams ConvParams() {
  return {Stride{2, 2}, Padding::Explicit(3, 3, 3, 3)};
}

PoolParams MaxPoolParams() {
  return {3, 3, Stride{2, 2}, Padding::Explicit(1, 1, 1, 1)};
}

Extent ConvExtent(const ModelConfig& config) {
  return {(config.image_height + 1) / 2, (config.image_width + 1) / 2};
}

// conv 7x7/2 -> y; norm, ReLU -> z; max pooling -> piece 0. y is kept for the
// backward pass; z only where the strategy keeps normalized activations.
class ImageNetStem : public StemModule {
 public:
  ImageNetStem(StepBuilder& builder, const BlockFeatures& features)
      : features_(features),
        extent_(ConvExtent(builder.config())),
        channels_(builder.config().stem_channels),
        conv_(builder, kFilterSide, ConvParams(), extent_),
        norm_(builder.Norm(kNorm)) {}

  Status AddForward(StepBuilder& builder) override;
  Status AddBackward(StepBuilder& builder) override;

 private:
  enum Coefficient { kMean, kInvStd, kVariance, kScale, kShift, kCount };

  float* At(const Step& step, Coefficient which) const {
    return step.Data<float>(coefficients_) + which * channels_;
  }
  int64_t pixels() const { return extent_.height * extent_.width; }
  int64_t Floats(StepBuilder& builder) const {
    return builder.max_batch() * pixels() * channels_;
  }
  TensorView View(const Step& step, BufferId id) const {
    return ImagesView(step.Data<float>(id), step.images, extent_, channels_,
                      channels_);
  }
  TensorView PieceView(const Step& step, RowsRef rows) const {
    return ImagesView(rows.At(step), step.images, features_.extent(), channels_,
                      rows.ld);
  }
  void AddNormTask(StepBuilder& builder);
  BufferId AddNormalizeTask(StepBuilder& builder, bool forward);
  void AddNormBackwardTask(StepBuilder& builder, BufferId dz);

  const BlockFeatures& features_;
  const Extent extent_;  // of the convolution's output
  const int64_t channels_;
  StemConv conv_;
  const NormRef norm_;
  BufferId y_;
  BufferId z_;
  BufferId coefficients_;
};

Status ImageNetStem::AddForward(StepBuilder& builder) {
  y_ = builder.Floats("features.conv0.y", BufferKind::kStored, Floats(builder));
  coefficients_ = builder.Floats("features.norm0.coefficients",
                                 BufferKind::kStored, kCount * channels_);
  RETURN_IF_ERROR(conv_.AddForward(builder, {y_, 0, channels_}));
  AddNormTask(builder);
  z_ = AddNormalizeTask(builder, /*forward=*/true);
  const RowsRef piece = features_.Piece(0);
  const Context& ctx = builder.ctx();
  builder.Add("features.pool0", "forward stem", {z_, piece.buffer},
              [this, piece, &ctx](const Step& step) {
                return MaxPool(ctx, View(step, z_), MaxPoolParams(),
                               PieceView(step, piece));
              });
  features_.AddGatherStatisticsTasks(builder, 0);
  return OkStatus();
}

void ImageNetStem::AddNormTask(StepBuilder& builder) {
  const double epsilon = builder.config().batch_norm_epsilon;
  if (!builder.batch_statistics()) {
    builder.Add(std::string(kNorm) + ".fold", "forward fold", {coefficients_},
                [this, epsilon](const Step& step) {
                  std::copy_n(norm_.running_mean(), channels_, At(step, kMean));
                  InverseDeviation(channels_, norm_.running_var(), epsilon,
                                   At(step, kInvStd));
                  FoldRunningBatchNorm(channels_, norm_.gamma.value(),
                                       norm_.beta.value(), norm_.running_mean(),
                                       norm_.running_var(), epsilon,
                                       At(step, kScale), At(step, kShift));
                  return OkStatus();
                });
    return;
  }
  const Context& ctx = builder.ctx();
  const BufferId moments =
      builder.Bytes(std::string(kNorm) + ".moments", BufferKind::kScratch,
                    MomentsBytes(channels_));
  const BufferId scratch = builder.Scratch(
      kNorm, builder.threads() * MomentsScratchFloats(channels_));
  const double momentum = builder.config().batch_norm_momentum;
  builder.Add(
      std::string(kNorm) + ".statistics", "forward statistics",
      {y_, moments, scratch, coefficients_},
      [this, moments, scratch, epsilon, momentum, &ctx](const Step& step) {
        GatherMoments(ctx, step.images, pixels(), channels_,
                      step.Data<float>(y_), channels_,
                      step.Data<double>(moments), step.Data<float>(scratch));
        MergeMoments(step.Data<double>(moments), step.images, pixels(),
                     channels_, epsilon,
                     {At(step, kMean), At(step, kInvStd), At(step, kVariance)});
        FoldBatchNorm(channels_, norm_.gamma.value(), norm_.beta.value(),
                      At(step, kMean), At(step, kInvStd), At(step, kScale),
                      At(step, kShift));
        UpdateRunning(channels_, At(step, kMean), momentum,
                      norm_.running_mean());
        UpdateRunning(channels_, At(step, kVariance), momentum,
                      norm_.running_var());
        return OkStatus();
      });
}

BufferId ImageNetStem::AddNormalizeTask(StepBuilder& builder, bool forward) {
  const bool kept = builder.traits().keeps_normalized;
  const BufferId z = builder.Floats(
      forward ? "features.norm0.z" : "features.norm0.z_again",
      kept ? BufferKind::kStored : BufferKind::kScratch, Floats(builder));
  const Context& ctx = builder.ctx();
  builder.Add("features.norm0.normalize",
              forward ? "forward normalize" : "backward normalize",
              {y_, coefficients_, z}, [this, z, &ctx](const Step& step) {
                NormalizePass(ctx, {step.images, pixels(), channels_},
                              {step.Data<float>(y_), channels_,
                               At(step, kScale), At(step, kShift)},
                              step.Data<float>(z), channels_);
                return OkStatus();
              });
  return z;
}

Status ImageNetStem::AddBackward(StepBuilder& builder) {
  features_.AddFinishGradientTask(builder, 0);
  const BufferId z = builder.traits().keeps_normalized
                         ? z_
                         : AddNormalizeTask(builder, /*forward=*/false);
  const BufferId dz = builder.Floats("features.norm0.dz",
                                     BufferKind::kGradients, Floats(builder));
  const RowsRef dy = features_.PieceGradient(0);
  const Context& ctx = builder.ctx();
  builder.Add("features.pool0.backward", "backward stem", {z, dy.buffer, dz},
              [this, z, dy, dz, &ctx](const Step& step) {
                return MaxPoolBackward(ctx, View(step, z), PieceView(step, dy),
                                       MaxPoolParams(), View(step, dz));
              });
  AddNormBackwardTask(builder, dz);
  return conv_.AddBackward(builder, {dz, 0, channels_});
}

// dz becomes the gradient of y in place.
void ImageNetStem::AddNormBackwardTask(StepBuilder& builder, BufferId dz) {
  const bool frozen = !builder.batch_statistics();
  const BufferId sums =
      builder.Bytes("features.norm0.gradient_sums", BufferKind::kScratch,
                    GradientSumsBytes(kMaxChunks, channels_));
  const BufferId k = builder.Scratch("features.norm0.k", 2 * channels_);
  const BufferId scratch =
      builder.Scratch("features.norm0.backward",
                      SinkPassScratchFloats(builder.threads(), channels_));
  const Context& ctx = builder.ctx();
  builder.Add(
      "features.norm0.backward", "backward input gradient",
      {y_, dz, coefficients_, sums, k, scratch},
      [this, dz, sums, k, scratch, frozen, &ctx](const Step& step) {
        const PassShape shape = {step.images, pixels(), channels_};
        BatchNormSink sink;
        sink.channels = channels_;
        sink.x = step.Data<float>(y_);
        sink.ldx = sink.lddy = channels_;
        sink.scale = At(step, kScale);
        sink.shift = At(step, kShift);
        sink.mean = At(step, kMean);
        sink.dy = step.Data<float>(dz);
        sink.partials = step.Data<double>(sums);
        SinkPass(ctx, shape, sink.dy, channels_, sink,
                 step.Data<float>(scratch));
        ReduceGradientSums(sink.partials, ImageChunks(step.images).count(),
                           channels_, At(step, kInvStd), norm_.gamma.gradient(),
                           norm_.beta.gradient());
        InputGradientPass pass;
        float* k1 = step.Data<float>(k);
        if (frozen) {
          std::fill(k1, k1 + 2 * channels_, 0.0f);
        } else {
          InputGradientCoefficients(
              channels_, norm_.gamma.value(), At(step, kInvStd),
              norm_.gamma.gradient(), norm_.beta.gradient(),
              static_cast<double>(step.images * pixels()), k1, k1 + channels_);
        }
        pass.shape = shape;
        pass.x = sink.x;
        pass.ldx = pass.lddy = pass.lddx = channels_;
        pass.mean = sink.mean;
        pass.scale = sink.scale;
        pass.k1 = k1;
        pass.k2 = k1 + channels_;
        pass.dy = pass.dx = sink.dy;
        Run(ctx, pass);
        return OkStatus();
      });
}

}  // namespace

std::unique_ptr<StemModule> MakeImageNetStem(StepBuilder& builder,
                                             const BlockFeatures& features) {
  return std::make_unique<ImageNetStem>(builder, features);
}

}  // namespace densenet
