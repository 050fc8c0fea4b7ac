#include "densenet/dense_layer.h"
#include "densenet/feature_norm.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/conv1x1.h"
#include "densenet/kernels/conv3x3.h"
#include "densenet/local_norm.h"

namespace densenet {
namespace {

// norm1, ReLU, conv1 (1x1, C -> B), norm2, ReLU, conv2 (3x3, B -> growth).
class BottleneckLayer : public DenseLayer {
 public:
  BottleneckLayer(StepBuilder& builder, const BlockFeatures& features,
                  int64_t layer, const std::string& name)
      : features_(features),
        output_(layer + 1),
        name_(name),
        bottleneck_(builder.config().bottleneck_channels()),
        norm1_(builder, features, layer + 1, name + ".norm1",
               /*last_reader=*/false),
        norm2_(builder, name + ".norm2", features.pixels(), bottleneck_),
        w1_(builder.Parameter(name + ".conv1.weight")),
        w2_(builder.Parameter(name + ".conv2.weight")),
        stream1_(builder.NextDropoutStream()),
        stream2_(builder.NextDropoutStream()) {}

  void AddForward(StepBuilder& builder) override;
  void AddBackward(StepBuilder& builder) override;

 private:
  Conv3x3Shape Conv2Shape(int64_t images) const {
    const Extent extent = features_.extent();
    return {images, extent.height, extent.width, bottleneck_,
            features_.piece_channels(output_)};
  }
  // The bottleneck b of a pass, normalized where that is materialized.
  NormalizedRows Conv2Rows(const Step& step, BufferId b, BufferId z) const {
    if (z.valid()) return {step.Data<float>(z), bottleneck_, nullptr, nullptr};
    return norm2_.Rows(step, b);
  }

  // conv1 into `b`; gathers moments where the buffer is given.
  void AddConv1Task(StepBuilder& builder, bool forward, BufferId b,
                    BufferId moments);
  void AddConv2Task(StepBuilder& builder, BufferId b, BufferId z);
  void AddConv2BackwardTask(StepBuilder& builder, BufferId b, BufferId z,
                            BufferId correction, BufferId dy2);
  void AddConv1BackwardTask(StepBuilder& builder, BufferId b, BufferId dy2);

  const BlockFeatures& features_;
  const int64_t output_;  // the piece that this layer makes
  const std::string name_;
  const int64_t bottleneck_;
  FeatureNorm norm1_;
  LocalNorm norm2_;
  const ParameterRef w1_;
  const ParameterRef w2_;
  const uint32_t stream1_;
  const uint32_t stream2_;
  BufferId b_;  // (N, H, W, B) of the forward pass
  BufferId z_;  // its normalized copy, where it is kept
};

void BottleneckLayer::AddForward(StepBuilder& builder) {
  norm1_.AddForward(builder);
  const StrategyTraits& traits = builder.traits();
  b_ = builder.Floats(
      name_ + ".bottleneck",
      traits.keeps_bottleneck ? BufferKind::kStored : BufferKind::kScratch,
      builder.max_batch() * features_.pixels() * bottleneck_);
  BufferId moments;
  if (builder.batch_statistics()) {
    moments = builder.Bytes(name_ + ".conv1.moments", BufferKind::kScratch,
                            MomentsBytes(bottleneck_));
  }
  AddConv1Task(builder, /*forward=*/true, b_, moments);
  builder.SetOutputOfLast({b_, 0, bottleneck_}, features_.pixels(),
                          bottleneck_);
  norm2_.AddFoldTask(builder, moments);
  if (traits.materializes_normalized) {
    z_ = norm2_.AddNormalizeTask(builder, /*forward=*/true, b_);
  }
  AddConv2Task(builder, b_, z_);
}

void BottleneckLayer::AddBackward(StepBuilder& builder) {
  const StrategyTraits& traits = builder.traits();
  const int64_t floats = builder.max_batch() * features_.pixels() * bottleneck_;
  const BufferId correction = features_.AddCorrectionTask(builder, output_);
  norm1_.BeginBackward(builder);
  BufferId b = b_;
  if (!traits.keeps_bottleneck) {
    b = builder.Floats(name_ + ".bottleneck_again", BufferKind::kScratch,
                       floats);
    AddConv1Task(builder, /*forward=*/false, b, BufferId());
  }
  BufferId z = z_;
  if (traits.materializes_normalized && !traits.keeps_normalized) {
    z = norm2_.AddNormalizeTask(builder, /*forward=*/false, b);
  }
  const BufferId dy2 =
      builder.Floats(name_ + ".norm2.dy", BufferKind::kGradients, floats);
  norm2_.BeginBackward(builder);
  AddConv2BackwardTask(builder, b, z, correction, dy2);
  norm2_.AddGradientTask(builder);
  AddConv1BackwardTask(builder, b, dy2);
  norm1_.EndBackward(builder);
}

void BottleneckLayer::AddConv1Task(StepBuilder& builder, bool forward,
                                   BufferId b, BufferId moments) {
  const std::string name = name_ + (forward ? ".conv1" : ".conv1_again");
  const BufferId scratch = builder.Scratch(
      name, Conv1x1ForwardScratchFloats(builder.threads(), bottleneck_));
  std::vector<BufferId> buffers =
      Join(forward ? norm1_.ForwardBuffers() : norm1_.BackwardBuffers(),
           {b, scratch});
  if (moments.valid()) buffers.push_back(moments);
  builder.Add(
      name, forward ? "forward 1x1 convolution" : "backward 1x1 again", buffers,
      [this, forward, b, moments, scratch, &builder](const Step& step) {
        Conv1x1Forward conv;
        conv.images = step.images;
        conv.chunks = step.share.chunks;
        conv.pixels = features_.pixels();
        conv.c = norm1_.channels();
        conv.k = bottleneck_;
        conv.x = forward ? norm1_.ForwardRows(step) : norm1_.BackwardRows(step);
        conv.w = w1_.value();
        conv.y = step.Data<float>(b);
        conv.ldy = bottleneck_;
        conv.dropout = builder.DropoutOf(step, stream1_, conv.pixels);
        conv.moments = builder.OwnPartials(step, moments, bottleneck_);
        conv.scratch = step.Data<float>(scratch);
        Run(builder.ctx(), conv);
        return OkStatus();
      });
}

void BottleneckLayer::AddConv2Task(StepBuilder& builder, BufferId b,
                                   BufferId z) {
  const RowsRef y = features_.Piece(output_);
  const Conv3x3Shape shape = Conv2Shape(builder.max_batch());
  const BufferId scratch = builder.Scratch(
      name_ + ".conv2", Conv3x3ForwardScratchFloats(builder.threads(), shape));
  std::vector<BufferId> buffers = {z.valid() ? z : b, norm2_.coefficients(),
                                   y.buffer, scratch};
  BufferId moments;
  if (builder.batch_statistics()) {
    moments = builder.Bytes(name_ + ".conv2.moments", BufferKind::kScratch,
                            MomentsBytes(shape.k));
    buffers.push_back(moments);
  }
  builder.Add(
      name_ + ".conv2", "forward 3x3 convolution", buffers,
      [this, b, z, y, scratch, moments, &builder](const Step& step) {
        Conv3x3Forward conv;
        conv.shape = Conv2Shape(step.images);
        conv.shape.chunks = step.share.chunks;
        conv.x = Conv2Rows(step, b, z);
        conv.w = w2_.value();
        conv.y = y.At(step);
        conv.ldy = y.ld;
        conv.dropout = builder.DropoutOf(step, stream2_, features_.pixels());
        if (moments.valid()) {
          conv.moments = builder.OwnPartials(step, moments, conv.shape.k);
        }
        conv.scratch = step.Data<float>(scratch);
        Run(builder.ctx(), conv);
        return OkStatus();
      });
  builder.SetOutputOfLast(y, features_.pixels(), shape.k);
  features_.AddStatisticsTask(builder, output_, moments);
}

void BottleneckLayer::AddConv2BackwardTask(StepBuilder& builder, BufferId b,
                                           BufferId z, BufferId correction,
                                           BufferId dy2) {
  const Conv3x3Shape shape = Conv2Shape(builder.max_batch());
  const BufferId scratch =
      builder.Scratch(name_ + ".conv2.backward",
                      Conv3x3BackwardScratchFloats(builder.threads(), shape));
  const BufferId partials =
      builder.Floats(name_ + ".conv2.dw_partials", BufferKind::kScratch,
                     kMaxChunks * 9 * shape.c * shape.k);
  std::vector<BufferId> buffers =
      Join(features_.OutputGradientBuffers(output_, correction),
           {b, norm2_.coefficients(), dy2, norm2_.sums(), scratch, partials});
  if (z.valid()) buffers.push_back(z);
  builder.Add(name_ + ".conv2.backward", "backward 3x3 convolution", buffers,
              [this, b, z, correction, dy2, scratch, partials,
               &builder](const Step& step) {
                Conv3x3Backward conv;
                conv.shape = Conv2Shape(step.images);
                conv.shape.chunks = step.share.chunks;
                conv.x = Conv2Rows(step, b, z);
                conv.w = w2_.value();
                conv.output =
                    features_.OutputGradientOf(step, output_, correction);
                conv.output.dropout =
                    builder.DropoutOf(step, stream2_, features_.pixels());
                conv.sink = norm2_.Sink(step, b, dy2);
                conv.dw_partials = step.Data<float>(partials);
                conv.dw = w2_.gradient();
                conv.scratch = step.Data<float>(scratch);
                Run(builder.ctx(), conv);
                return OkStatus();
              });
}

void BottleneckLayer::AddConv1BackwardTask(StepBuilder& builder, BufferId b,
                                           BufferId dy2) {
  const int64_t channels = norm1_.channels();
  const BufferId scratch = builder.Scratch(
      name_ + ".conv1.backward",
      Conv1x1BackwardScratchFloats(builder.threads(), channels, bottleneck_));
  const BufferId partials =
      builder.Floats(name_ + ".conv1.dw_partials", BufferKind::kScratch,
                     kMaxChunks * channels * bottleneck_);
  builder.Add(
      name_ + ".conv1.backward", "backward 1x1 convolution",
      Join(norm1_.BackwardBuffers(),
           {b, dy2, norm2_.k(), norm2_.coefficients(), scratch, partials}),
      [this, b, dy2, scratch, partials, &builder](const Step& step) {
        Conv1x1Backward conv;
        conv.images = step.images;
        conv.chunks = step.share.chunks;
        conv.pixels = features_.pixels();
        conv.c = norm1_.channels();
        conv.k = bottleneck_;
        conv.x = norm1_.BackwardRows(step);
        conv.w = w1_.value();
        conv.output.dy = step.Data<float>(dy2);
        conv.output.ld = bottleneck_;
        conv.output.y = step.Data<float>(b);
        conv.output.ldy = bottleneck_;
        conv.output.mean = norm2_.mean(step);
        conv.output.scale = norm2_.scale(step);
        conv.output.k1 = norm2_.k1(step);
        conv.output.k2 = norm2_.k2(step);
        conv.output.dropout = builder.DropoutOf(step, stream1_, conv.pixels);
        conv.sink = norm1_.Sink(step);
        conv.dw_partials = step.Data<float>(partials);
        conv.dw = w1_.gradient();
        conv.scratch = step.Data<float>(scratch);
        Run(builder.ctx(), conv);
        return OkStatus();
      });
}

}  // namespace

std::unique_ptr<DenseLayer> MakeBottleneckLayer(StepBuilder& builder,
                                                const BlockFeatures& features,
                                                int64_t layer,
                                                const std::string& name) {
  return std::make_unique<BottleneckLayer>(builder, features, layer, name);
}

}  // namespace densenet
