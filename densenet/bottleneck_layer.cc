#include <algorithm>

#include "densenet/dense_layer.h"
#include "densenet/feature_norm.h"
#include "densenet/kernels/batch_norm_fold.h"
#include "densenet/kernels/batch_norm_passes.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/conv1x1.h"
#include "densenet/kernels/conv3x3.h"

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
        norm2_(builder.Norm(name + ".norm2")),
        w1_(builder.Parameter(name + ".conv1.weight")),
        w2_(builder.Parameter(name + ".conv2.weight")),
        stream1_(builder.NextDropoutStream()),
        stream2_(builder.NextDropoutStream()) {}

  void AddForward(StepBuilder& builder) override;
  void AddBackward(StepBuilder& builder) override;

 private:
  // Float arrays of B channels in coefficients_.
  enum Coefficient { kMean, kInvStd, kVariance, kScale, kShift, kCount };

  float* At(const Step& step, Coefficient which) const {
    return step.Data<float>(coefficients_) + which * bottleneck_;
  }
  Conv3x3Shape Conv2Shape(int64_t images) const {
    const Extent extent = features_.extent();
    return {images, extent.height, extent.width, bottleneck_,
            features_.piece_channels(output_)};
  }
  PassShape BottleneckShape(int64_t images) const {
    return {images, features_.pixels(), bottleneck_};
  }
  // The bottleneck b of a pass, normalized where that is materialized.
  NormalizedRows Conv2Rows(const Step& step, BufferId b, BufferId z) const {
    if (z.valid()) return {step.Data<float>(z), bottleneck_, nullptr, nullptr};
    return {step.Data<float>(b), bottleneck_, At(step, kScale),
            At(step, kShift)};
  }

  // conv1 into `b`; gathers moments where the buffer is given.
  void AddConv1Task(StepBuilder& builder, bool forward, BufferId b,
                    BufferId moments);
  void AddNorm2Task(StepBuilder& builder, BufferId moments);
  BufferId AddNormalizeTask(StepBuilder& builder, bool forward, BufferId b);
  void AddConv2Task(StepBuilder& builder, BufferId b, BufferId z);
  void AddConv2BackwardTask(StepBuilder& builder, BufferId b, BufferId z,
                            BufferId dy2, BufferId sums);
  void AddNorm2GradientTask(StepBuilder& builder, BufferId sums, BufferId k);
  void AddConv1BackwardTask(StepBuilder& builder, BufferId b, BufferId dy2,
                            BufferId k);

  const BlockFeatures& features_;
  const int64_t output_;  // the piece that this layer makes
  const std::string name_;
  const int64_t bottleneck_;
  FeatureNorm norm1_;
  const NormRef norm2_;
  const ParameterRef w1_;
  const ParameterRef w2_;
  const uint32_t stream1_;
  const uint32_t stream2_;
  BufferId coefficients_;  // of norm2: (kCount, B), forward to backward
  BufferId b_;             // (N, H, W, B) of the forward pass
  BufferId z_;             // its normalized copy, where it is kept
};

void BottleneckLayer::AddForward(StepBuilder& builder) {
  norm1_.AddForward(builder);
  const StrategyTraits& traits = builder.traits();
  b_ = builder.Floats(
      name_ + ".bottleneck",
      traits.keeps_bottleneck ? BufferKind::kStored : BufferKind::kScratch,
      builder.max_batch() * features_.pixels() * bottleneck_);
  coefficients_ = builder.Floats(name_ + ".norm2.coefficients",
                                 BufferKind::kStored, kCount * bottleneck_);
  BufferId moments;
  if (builder.batch_statistics()) {
    moments = builder.Bytes(name_ + ".conv1.moments", BufferKind::kScratch,
                            MomentsBytes(bottleneck_));
  }
  AddConv1Task(builder, /*forward=*/true, b_, moments);
  AddNorm2Task(builder, moments);
  if (traits.materializes_normalized) {
    z_ = AddNormalizeTask(builder, /*forward=*/true, b_);
  }
  AddConv2Task(builder, b_, z_);
}

void BottleneckLayer::AddBackward(StepBuilder& builder) {
  const StrategyTraits& traits = builder.traits();
  const int64_t floats = builder.max_batch() * features_.pixels() * bottleneck_;
  features_.AddFinishGradientTask(builder, output_);
  norm1_.BeginBackward(builder);
  BufferId b = b_;
  if (!traits.keeps_bottleneck) {
    b = builder.Floats(name_ + ".bottleneck_again", BufferKind::kScratch,
                       floats);
    AddConv1Task(builder, /*forward=*/false, b, BufferId());
  }
  BufferId z = z_;
  if (traits.materializes_normalized && !traits.keeps_normalized) {
    z = AddNormalizeTask(builder, /*forward=*/false, b);
  }
  const BufferId dy2 =
      builder.Floats(name_ + ".norm2.dy", BufferKind::kGradients, floats);
  const BufferId sums =
      builder.Bytes(name_ + ".norm2.gradient_sums", BufferKind::kScratch,
                    GradientSumsBytes(kMaxChunks, bottleneck_));
  const BufferId k = builder.Scratch(name_ + ".norm2.k", 2 * bottleneck_);
  AddConv2BackwardTask(builder, b, z, dy2, sums);
  AddNorm2GradientTask(builder, sums, k);
  AddConv1BackwardTask(builder, b, dy2, k);
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
        conv.pixels = features_.pixels();
        conv.c = norm1_.channels();
        conv.k = bottleneck_;
        conv.x = forward ? norm1_.ForwardRows(step) : norm1_.BackwardRows(step);
        conv.w = w1_.value();
        conv.y = step.Data<float>(b);
        conv.ldy = bottleneck_;
        conv.dropout = builder.DropoutOf(step, stream1_);
        if (moments.valid()) conv.moments = step.Data<double>(moments);
        conv.scratch = step.Data<float>(scratch);
        Run(builder.ctx(), conv);
        return OkStatus();
      });
}

void BottleneckLayer::AddNorm2Task(StepBuilder& builder, BufferId moments) {
  const std::string name = name_ + ".norm2.fold";
  const double epsilon = builder.config().batch_norm_epsilon;
  if (!builder.batch_statistics()) {
    builder.Add(
        name, "forward fold", {coefficients_},
        [this, epsilon](const Step& step) {
          std::copy_n(norm2_.running_mean(), bottleneck_, At(step, kMean));
          InverseDeviation(bottleneck_, norm2_.running_var(), epsilon,
                           At(step, kInvStd));
          FoldRunningBatchNorm(bottleneck_, norm2_.gamma.value(),
                               norm2_.beta.value(), norm2_.running_mean(),
                               norm2_.running_var(), epsilon, At(step, kScale),
                               At(step, kShift));
          return OkStatus();
        });
    return;
  }
  const double momentum = builder.config().batch_norm_momentum;
  builder.Add(
      name, "forward statistics", {coefficients_, moments},
      [this, moments, epsilon, momentum](const Step& step) {
        MergeMoments(step.Data<double>(moments), step.images,
                     features_.pixels(), bottleneck_, epsilon,
                     {At(step, kMean), At(step, kInvStd), At(step, kVariance)});
        FoldBatchNorm(bottleneck_, norm2_.gamma.value(), norm2_.beta.value(),
                      At(step, kMean), At(step, kInvStd), At(step, kScale),
                      At(step, kShift));
        UpdateRunning(bottleneck_, At(step, kMean), momentum,
                      norm2_.running_mean());
        UpdateRunning(bottleneck_, At(step, kVariance), momentum,
                      norm2_.running_var());
        return OkStatus();
      });
}

BufferId BottleneckLayer::AddNormalizeTask(StepBuilder& builder, bool forward,
                                           BufferId b) {
  const bool kept = builder.traits().keeps_normalized;
  const BufferId z =
      builder.Floats(name_ + (forward ? ".norm2.z" : ".norm2.z_again"),
                     kept ? BufferKind::kStored : BufferKind::kScratch,
                     builder.max_batch() * features_.pixels() * bottleneck_);
  const Context& ctx = builder.ctx();
  builder.Add(name_ + ".norm2.normalize",
              forward ? "forward normalize" : "backward normalize",
              {b, coefficients_, z}, [this, b, z, &ctx](const Step& step) {
                NormalizePass(ctx, BottleneckShape(step.images),
                              Conv2Rows(step, b, BufferId()),
                              step.Data<float>(z), bottleneck_);
                return OkStatus();
              });
  return z;
}

void BottleneckLayer::AddConv2Task(StepBuilder& builder, BufferId b,
                                   BufferId z) {
  const RowsRef y = features_.Piece(output_);
  const Conv3x3Shape shape = Conv2Shape(builder.max_batch());
  const BufferId scratch = builder.Scratch(
      name_ + ".conv2", Conv3x3ForwardScratchFloats(builder.threads(), shape));
  std::vector<BufferId> buffers = {z.valid() ? z : b, coefficients_, y.buffer,
                                   scratch};
  BufferId moments;
  if (builder.batch_statistics()) {
    moments = builder.Bytes(name_ + ".conv2.moments", BufferKind::kScratch,
                            MomentsBytes(shape.k));
    buffers.push_back(moments);
  }
  builder.Add(name_ + ".conv2", "forward 3x3 convolution", buffers,
              [this, b, z, y, scratch, moments, &builder](const Step& step) {
                Conv3x3Forward conv;
                conv.shape = Conv2Shape(step.images);
                conv.x = Conv2Rows(step, b, z);
                conv.w = w2_.value();
                conv.y = y.At(step);
                conv.ldy = y.ld;
                conv.dropout = builder.DropoutOf(step, stream2_);
                if (moments.valid()) conv.moments = step.Data<double>(moments);
                conv.scratch = step.Data<float>(scratch);
                Run(builder.ctx(), conv);
                return OkStatus();
              });
  features_.AddStatisticsTask(builder, output_, moments);
}

void BottleneckLayer::AddConv2BackwardTask(StepBuilder& builder, BufferId b,
                                           BufferId z, BufferId dy2,
                                           BufferId sums) {
  const RowsRef dy = features_.PieceGradient(output_);
  const Conv3x3Shape shape = Conv2Shape(builder.max_batch());
  const BufferId scratch =
      builder.Scratch(name_ + ".conv2.backward",
                      Conv3x3BackwardScratchFloats(builder.threads(), shape));
  const BufferId partials =
      builder.Floats(name_ + ".conv2.dw_partials", BufferKind::kScratch,
                     kMaxChunks * 9 * shape.c * shape.k);
  std::vector<BufferId> buffers = {b,    coefficients_, dy.buffer, dy2,
                                   sums, scratch,       partials};
  if (z.valid()) buffers.push_back(z);
  builder.Add(name_ + ".conv2.backward", "backward 3x3 convolution", buffers,
              [this, b, z, dy, dy2, sums, scratch, partials,
               &builder](const Step& step) {
                Conv3x3Backward conv;
                conv.shape = Conv2Shape(step.images);
                conv.x = Conv2Rows(step, b, z);
                conv.w = w2_.value();
                conv.dy = dy.At(step);
                conv.lddy = dy.ld;
                conv.dropout = builder.DropoutOf(step, stream2_);
                conv.sink.channels = bottleneck_;
                conv.sink.x = step.Data<float>(b);
                conv.sink.ldx = bottleneck_;
                conv.sink.scale = At(step, kScale);
                conv.sink.shift = At(step, kShift);
                conv.sink.mean = At(step, kMean);
                conv.sink.dy = step.Data<float>(dy2);
                conv.sink.lddy = bottleneck_;
                conv.sink.partials = step.Data<double>(sums);
                conv.dw_partials = step.Data<float>(partials);
                conv.dw = w2_.gradient();
                conv.scratch = step.Data<float>(scratch);
                Run(builder.ctx(), conv);
                return OkStatus();
              });
}

void BottleneckLayer::AddNorm2GradientTask(StepBuilder& builder, BufferId sums,
                                           BufferId k) {
  const bool frozen = !builder.batch_statistics();
  builder.Add(
      name_ + ".norm2.gradient", "backward sums", {sums, coefficients_, k},
      [this, sums, k, frozen](const Step& step) {
        float* d_gamma = norm2_.gamma.gradient();
        float* d_beta = norm2_.beta.gradient();
        ReduceGradientSums(step.Data<double>(sums),
                           ImageChunks(step.images).count(), bottleneck_,
                           At(step, kInvStd), d_gamma, d_beta);
        float* k1 = step.Data<float>(k);
        if (frozen) {
          std::fill(k1, k1 + 2 * bottleneck_, 0.0f);
          return OkStatus();
        }
        InputGradientCoefficients(
            bottleneck_, norm2_.gamma.value(), At(step, kInvStd), d_gamma,
            d_beta, static_cast<double>(step.images * features_.pixels()), k1,
            k1 + bottleneck_);
        return OkStatus();
      });
}

void BottleneckLayer::AddConv1BackwardTask(StepBuilder& builder, BufferId b,
                                           BufferId dy2, BufferId k) {
  const int64_t channels = norm1_.channels();
  const BufferId scratch = builder.Scratch(
      name_ + ".conv1.backward",
      Conv1x1BackwardScratchFloats(builder.threads(), channels, bottleneck_));
  const BufferId partials =
      builder.Floats(name_ + ".conv1.dw_partials", BufferKind::kScratch,
                     kMaxChunks * channels * bottleneck_);
  builder.Add(name_ + ".conv1.backward", "backward 1x1 convolution",
              Join(norm1_.BackwardBuffers(),
                   {b, dy2, k, coefficients_, scratch, partials}),
              [this, b, dy2, k, scratch, partials, &builder](const Step& step) {
                Conv1x1Backward conv;
                conv.images = step.images;
                conv.pixels = features_.pixels();
                conv.c = norm1_.channels();
                conv.k = bottleneck_;
                conv.x = norm1_.BackwardRows(step);
                conv.w = w1_.value();
                conv.output.dy = step.Data<float>(dy2);
                conv.output.ld = bottleneck_;
                conv.output.y = step.Data<float>(b);
                conv.output.ldy = bottleneck_;
                conv.output.mean = At(step, kMean);
                conv.output.scale = At(step, kScale);
                conv.output.k1 = step.Data<float>(k);
                conv.output.k2 = conv.output.k1 + bottleneck_;
                conv.output.dropout = builder.DropoutOf(step, stream1_);
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
