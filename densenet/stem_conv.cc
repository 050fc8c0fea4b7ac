#include "densenet/stem_conv.h"

namespace densenet {
namespace {

constexpr char kName[] = "features.conv0";

absl::Span<char> Workspace(const Step& step, BufferId id, int64_t bytes) {
  return absl::MakeSpan(step.Data<char>(id), bytes);
}

}  // namespace

StemConv::StemConv(StepBuilder& builder, int64_t side,
                   const Conv2dParams& params, Extent out)
    : in_{builder.config().image_height, builder.config().image_width},
      out_(out),
      image_channels_(builder.config().image_channels),
      channels_(builder.config().stem_channels),
      side_(side),
      params_(params),
      w_(builder.Parameter(std::string(kName) + ".weight")) {}

TensorView StemConv::Images(const float* data, int64_t images) const {
  return ImagesView(const_cast<float*>(data), images, in_, image_channels_,
                    image_channels_);
}

TensorView StemConv::Filter(const float* data) const {
  return TensorView(const_cast<float*>(data), DType::kFloat32,
                    {side_, side_, image_channels_, channels_});
}

Status StemConv::AddForward(StepBuilder& builder, RowsRef y) {
  const Context& ctx = builder.ctx();
  const int64_t n = builder.max_batch();
  ASSIGN_OR_RETURN(
      const int64_t bytes,
      Conv2dForwardWorkspaceBytes(ctx, Images(nullptr, n), Filter(nullptr),
                                  params_, Output(nullptr, n, y.ld)));
  const BufferId workspace = builder.Bytes(std::string(kName) + ".workspace",
                                           BufferKind::kScratch, bytes);
  builder.Add(kName, "forward stem", {y.buffer, workspace},
              [this, y, workspace, bytes, &ctx](const Step& step) {
                return Conv2dForward(ctx, Images(step.input, step.images),
                                     Filter(w_.value()), params_,
                                     Output(y.At(step), step.images, y.ld),
                                     Workspace(step, workspace, bytes));
              });
  builder.SetOutputOfLast(y, out_.height * out_.width, channels_);
  return OkStatus();
}

Status StemConv::AddBackward(StepBuilder& builder, RowsRef dy) {
  const Context& ctx = builder.ctx();
  const int64_t n = builder.max_batch();
  ASSIGN_OR_RETURN(const int64_t bytes,
                   Conv2dBackwardFilterWorkspaceBytes(
                       ctx, Images(nullptr, n), Output(nullptr, n, dy.ld),
                       params_, Filter(nullptr)));
  const BufferId workspace = builder.Bytes(
      std::string(kName) + ".backward.workspace", BufferKind::kScratch, bytes);
  builder.Add(std::string(kName) + ".backward", "backward stem",
              {dy.buffer, workspace},
              [this, dy, workspace, bytes, &ctx](const Step& step) {
                return Conv2dBackwardFilter(
                    ctx, Images(step.input, step.images),
                    Output(dy.At(step), step.images, dy.ld), params_,
                    Filter(w_.gradient()), Workspace(step, workspace, bytes));
              });
  return OkStatus();
}

}  // namespace densenet
