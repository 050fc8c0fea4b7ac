#include "densenet/transition.h"

#include "densenet/kernels/channel_statistics.h"

namespace densenet {

Transition::Transition(StepBuilder& builder, const BlockFeatures& from,
                       const BlockFeatures& to, const std::string& name)
    : from_(from),
      to_(to),
      name_(name),
      norm_(builder, from, from.pieces(), name + ".norm", /*last_reader=*/true),
      w_(builder.Parameter(name + ".conv.weight")),
      stream_(builder.NextDropoutStream()) {}

void Transition::AddForward(StepBuilder& builder) {
  norm_.AddForward(builder);
  const RowsRef y = to_.Piece(0);
  const PoolConv1x1Shape shape = ShapeOf(builder.max_batch());
  const BufferId scratch = builder.Scratch(
      name_ + ".conv",
      PoolConv1x1ForwardScratchFloats(builder.threads(), shape));
  std::vector<BufferId> buffers =
      Join(norm_.ForwardBuffers(), {y.buffer, scratch});
  BufferId moments;
  if (builder.batch_statistics()) {
    moments = builder.Bytes(name_ + ".conv.moments", BufferKind::kScratch,
                            MomentsBytes(shape.k));
    buffers.push_back(moments);
  }
  builder.Add(name_ + ".conv", "forward transition", buffers,
              [this, y, scratch, moments, &builder](const Step& step) {
                PoolConv1x1Forward conv;
                conv.shape = ShapeOf(step.images);
                conv.shape.chunks = step.share.chunks;
                conv.x = norm_.ForwardRows(step);
                conv.w = w_.value();
                conv.y = y.At(step);
                conv.ldy = y.ld;
                conv.dropout = builder.DropoutOf(step, stream_, to_.pixels());
                conv.moments = builder.OwnPartials(step, moments, conv.shape.k);
                conv.scratch = step.Data<float>(scratch);
                Run(builder.ctx(), conv);
                return OkStatus();
              });
  builder.SetOutputOfLast(y, to_.pixels(), shape.k);
  to_.AddStatisticsTask(builder, 0, moments);
}

void Transition::AddBackward(StepBuilder& builder) {
  to_.AddFinishGradientTask(builder, 0);
  norm_.BeginBackward(builder);
  const RowsRef dy = to_.PieceGradient(0);
  const PoolConv1x1Shape shape = ShapeOf(builder.max_batch());
  const BufferId scratch = builder.Scratch(
      name_ + ".conv.backward",
      PoolConv1x1BackwardScratchFloats(builder.threads(), shape));
  const BufferId partials =
      builder.Floats(name_ + ".conv.dw_partials", BufferKind::kScratch,
                     shape.dw_partial_floats());
  builder.Add(name_ + ".conv.backward", "backward transition",
              Join(norm_.BackwardBuffers(), {dy.buffer, scratch, partials}),
              [this, dy, scratch, partials, &builder](const Step& step) {
                PoolConv1x1Backward conv;
                conv.shape = ShapeOf(step.images);
                conv.shape.chunks = step.share.chunks;
                conv.x = norm_.BackwardRows(step);
                conv.w = w_.value();
                conv.dy = dy.At(step);
                conv.lddy = dy.ld;
                conv.dropout = builder.DropoutOf(step, stream_, to_.pixels());
                conv.sink = norm_.Sink(step);
                conv.dw_partials = step.Data<float>(partials);
                conv.dw = w_.gradient();
                conv.scratch = step.Data<float>(scratch);
                Run(builder.ctx(), conv);
                return OkStatus();
              });
  norm_.EndBackward(builder);
}

}  // namespace densenet
