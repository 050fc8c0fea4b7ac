#include "core/ops/max_pool.h"
#include "densenet/kernels/batch_norm_passes.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/local_norm.h"
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
        norm_(builder, kNorm, extent_.height * extent_.width, channels_) {}

  Status AddForward(StepBuilder& builder) override;
  Status AddBackward(StepBuilder& builder) override;

 private:
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
  void AddNormTasks(StepBuilder& builder);
  void AddNormBackwardTasks(StepBuilder& builder, BufferId dz);

  const BlockFeatures& features_;
  const Extent extent_;  // of the convolution's output
  const int64_t channels_;
  StemConv conv_;
  LocalNorm norm_;
  BufferId y_;
  BufferId z_;
};

Status ImageNetStem::AddForward(StepBuilder& builder) {
  y_ = builder.Floats("features.conv0.y", BufferKind::kStored, Floats(builder));
  RETURN_IF_ERROR(conv_.AddForward(builder, {y_, 0, channels_}));
  AddNormTasks(builder);
  z_ = norm_.AddNormalizeTask(builder, /*forward=*/true, y_);
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

void ImageNetStem::AddNormTasks(StepBuilder& builder) {
  BufferId moments;
  if (builder.batch_statistics()) {
    const Context& ctx = builder.ctx();
    moments = builder.Bytes(std::string(kNorm) + ".moments",
                            BufferKind::kScratch, MomentsBytes(channels_));
    const BufferId scratch = builder.Scratch(
        kNorm, builder.threads() * MomentsScratchFloats(channels_));
    builder.Add(std::string(kNorm) + ".moments", "forward statistics",
                {y_, moments, scratch},
                [this, moments, scratch, &ctx, &builder](const Step& step) {
                  GatherMoments(
                      ctx, ImageChunks(step.images, step.share.chunks),
                      pixels(), channels_, step.Data<float>(y_), channels_,
                      builder.OwnPartials(step, moments, channels_),
                      step.Data<float>(scratch));
                  return OkStatus();
                });
  }
  norm_.AddFoldTask(builder, moments);
}

Status ImageNetStem::AddBackward(StepBuilder& builder) {
  features_.AddFinishGradientTask(builder, 0);
  const BufferId z =
      builder.traits().keeps_normalized
          ? z_
          : norm_.AddNormalizeTask(builder, /*forward=*/false, y_);
  const BufferId dz = builder.Floats("features.norm0.dz",
                                     BufferKind::kGradients, Floats(builder));
  const RowsRef dy = features_.PieceGradient(0);
  const Context& ctx = builder.ctx();
  builder.Add("features.pool0.backward", "backward stem", {z, dy.buffer, dz},
              [this, z, dy, dz, &ctx](const Step& step) {
                return MaxPoolBackward(ctx, View(step, z), PieceView(step, dy),
                                       MaxPoolParams(), View(step, dz));
              });
  AddNormBackwardTasks(builder, dz);
  return conv_.AddBackward(builder, {dz, 0, channels_});
}

// dz becomes the gradient of y in place.
void ImageNetStem::AddNormBackwardTasks(StepBuilder& builder, BufferId dz) {
  norm_.BeginBackward(builder);
  const BufferId scratch =
      builder.Scratch("features.norm0.backward",
                      SinkPassScratchFloats(builder.threads(), channels_));
  const Context& ctx = builder.ctx();
  builder.Add("features.norm0.mask", "backward input gradient",
              {y_, dz, norm_.coefficients(), norm_.sums(), scratch},
              [this, dz, scratch, &ctx](const Step& step) {
                const BatchNormSink sink = norm_.Sink(step, y_, dz);
                SinkPass(ctx, norm_.shape(step), sink.dy, channels_, sink,
                         step.Data<float>(scratch));
                return OkStatus();
              });
  norm_.AddGradientTask(builder);
  builder.Add("features.norm0.input_gradient", "backward input gradient",
              {y_, dz, norm_.coefficients(), norm_.k()},
              [this, dz, &ctx](const Step& step) {
                InputGradientPass pass;
                pass.shape = norm_.shape(step);
                pass.x = step.Data<float>(y_);
                pass.ldx = pass.lddy = pass.lddx = channels_;
                pass.mean = norm_.mean(step);
                pass.scale = norm_.scale(step);
                pass.k1 = norm_.k1(step);
                pass.k2 = norm_.k2(step);
                pass.dx = step.Data<float>(dz);
                pass.dy = pass.dx;
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
