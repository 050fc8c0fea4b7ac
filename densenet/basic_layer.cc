#include "densenet/dense_layer.h"
#include "densenet/feature_norm.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/conv3x3.h"

namespace densenet {
namespace {

class BasicLayer : public DenseLayer {
 public:
  BasicLayer(StepBuilder& builder, const BlockFeatures& features, int64_t layer,
             const std::string& name)
      : features_(features),
        output_(layer + 1),
        name_(name),
        norm_(builder, features, layer + 1, name + ".norm1",
              /*last_reader=*/false),
        w_(builder.Parameter(name + ".conv1.weight")),
        stream_(builder.NextDropoutStream()) {}

  void AddForward(StepBuilder& builder) override;
  void AddBackward(StepBuilder& builder) override;

 private:
  Conv3x3Shape ShapeOf(int64_t images) const {
    const Extent extent = features_.extent();
    return {images, extent.height, extent.width, norm_.channels(),
            features_.piece_channels(output_)};
  }

  const BlockFeatures& features_;
  const int64_t output_;  // the piece that this layer makes
  const std::string name_;
  FeatureNorm norm_;
  const ParameterRef w_;
  const uint32_t stream_;
};

void BasicLayer::AddForward(StepBuilder& builder) {
  norm_.AddForward(builder);
  const RowsRef y = features_.Piece(output_);
  const Conv3x3Shape shape = ShapeOf(builder.max_batch());
  const BufferId scratch = builder.Scratch(
      name_ + ".conv1", Conv3x3ForwardScratchFloats(builder.threads(), shape));
  BufferId moments;
  std::vector<BufferId> buffers =
      Join(norm_.ForwardBuffers(), {y.buffer, scratch});
  if (builder.batch_statistics()) {
    moments = builder.Bytes(name_ + ".conv1.moments", BufferKind::kScratch,
                            MomentsBytes(shape.k));
    buffers.push_back(moments);
  }
  builder.Add(name_ + ".conv1", "forward 3x3 convolution", buffers,
              [this, y, scratch, moments, &builder](const Step& step) {
                Conv3x3Forward conv;
                conv.shape = ShapeOf(step.images);
                conv.shape.chunks = step.share.chunks;
                conv.x = norm_.ForwardRows(step);
                conv.w = w_.value();
                conv.y = y.At(step);
                conv.ldy = y.ld;
                conv.dropout =
                    builder.DropoutOf(step, stream_, features_.pixels());
                conv.moments = builder.OwnPartials(step, moments, conv.shape.k);
                conv.scratch = step.Data<float>(scratch);
                Run(builder.ctx(), conv);
                return OkStatus();
              });
  builder.SetOutputOfLast(y, features_.pixels(), shape.k);
  features_.AddStatisticsTask(builder, output_, moments);
}

void BasicLayer::AddBackward(StepBuilder& builder) {
  const BufferId correction = features_.AddCorrectionTask(builder, output_);
  norm_.BeginBackward(builder);
  const Conv3x3Shape shape = ShapeOf(builder.max_batch());
  const BufferId scratch =
      builder.Scratch(name_ + ".conv1.backward",
                      Conv3x3BackwardScratchFloats(builder.threads(), shape));
  const BufferId partials =
      builder.Floats(name_ + ".conv1.dw_partials", BufferKind::kScratch,
                     kMaxChunks * 9 * shape.c * shape.k);
  builder.Add(
      name_ + ".conv1.backward", "backward 3x3 convolution",
      Join(Join(norm_.BackwardBuffers(), {scratch, partials}),
           features_.OutputGradientBuffers(output_, correction)),
      [this, correction, scratch, partials, &builder](const Step& step) {
        Conv3x3Backward conv;
        conv.shape = ShapeOf(step.images);
        conv.shape.chunks = step.share.chunks;
        conv.x = norm_.BackwardRows(step);
        conv.w = w_.value();
        conv.output = features_.OutputGradientOf(step, output_, correction);
        conv.output.dropout =
            builder.DropoutOf(step, stream_, features_.pixels());
        conv.sink = norm_.Sink(step);
        conv.dw_partials = step.Data<float>(partials);
        conv.dw = w_.gradient();
        conv.scratch = step.Data<float>(scratch);
        Run(builder.ctx(), conv);
        return OkStatus();
      });
  norm_.EndBackward(builder);
}

}  // namespace

std::unique_ptr<DenseLayer> MakeBasicLayer(StepBuilder& builder,
                                           const BlockFeatures& features,
                                           int64_t layer,
                                           const std::string& name) {
  return std::make_unique<BasicLayer>(builder, features, layer, name);
}

}  // namespace densenet
