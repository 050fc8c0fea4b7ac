#include "core/ops/checks.h"

#include <fmt/format.h>

#include <cstdint>

namespace densenet {

Status NoCudaKernel(std::string_view op) {
  return Unimplemented(fmt::format(
      "{}: no CUDA kernel in this build; use a Context of the CPU", op));
}

Status CheckFloatRows(std::string_view op, std::string_view name,
                      const Context& ctx, ConstTensorView view) {
  if (view.device() != ctx.device()) {
    return InvalidArgument(fmt::format("{}: {} is on {}, the context on {}", op,
                                       name, view.device().ToString(),
                                       ctx.device().ToString()));
  }
  if (view.dtype() != DType::kFloat32) {
    return InvalidArgument(fmt::format("{}: {} is {}, must be float32", op,
                                       name, Name(view.dtype())));
  }
  for (int64_t extent : view.shape().dims()) {
    if (extent < 1) {
      return InvalidArgument(
          fmt::format("{}: {} has shape {}; every extent must be at least 1",
                      op, name, view.shape().ToString()));
    }
  }
  if (!view.IsRowStrided()) {
    return InvalidArgument(fmt::format(
        "{}: {} of shape {} has strides {}; it must be rows of adjacent "
        "elements, equally spaced",
        op, name, view.shape().ToString(), view.strides().ToString()));
  }
  return OkStatus();
}

Status CheckFloatRows(std::string_view op, std::string_view name,
                      const Context& ctx, ConstTensorView view, int rank) {
  if (view.rank() != rank) {
    return InvalidArgument(fmt::format("{}: {} has shape {}, must have rank {}",
                                       op, name, view.shape().ToString(),
                                       rank));
  }
  return CheckFloatRows(op, name, ctx, view);
}

Status CheckShape(std::string_view op, std::string_view name,
                  ConstTensorView view, const Shape& expected) {
  if (view.shape() == expected) return OkStatus();
  return InvalidArgument(fmt::format("{}: {} has shape {}, must be {}", op,
                                     name, view.shape().ToString(),
                                     expected.ToString()));
}

Status CheckChannelVector(std::string_view op, std::string_view name,
                          const Context& ctx, ConstTensorView view,
                          int64_t channels) {
  RETURN_IF_ERROR(CheckFloatRows(op, name, ctx, view, 1));
  return CheckShape(op, name, view, Shape{channels});
}

Status CheckWorkspace(std::string_view op, absl::Span<char> workspace,
                      int64_t needed_bytes) {
  if (needed_bytes == 0) return OkStatus();
  const int64_t bytes = static_cast<int64_t>(workspace.size());
  if (bytes < needed_bytes) {
    return InvalidArgument(fmt::format(
        "{}: workspace of {} bytes, needs {} (ask the WorkspaceBytes function "
        "with the same arguments)",
        op, bytes, needed_bytes));
  }
  if (reinterpret_cast<uintptr_t>(workspace.data()) % kAlignmentBytes != 0) {
    return InvalidArgument(fmt::format(
        "{}: workspace is not aligned to {} bytes", op, kAlignmentBytes));
  }
  return OkStatus();
}

}  // namespace densenet
