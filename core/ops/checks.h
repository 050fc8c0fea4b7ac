// core/ops/checks.h
//
// The checks that the operations share, so that every one words its errors the
// same way: "Conv2dForward: w is float64, must be float32".
//
// Errors  InvalidArgument, but Unimplemented from NoCudaKernel

#ifndef DENSENET_CORE_OPS_CHECKS_H_
#define DENSENET_CORE_OPS_CHECKS_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

// What a CUDA context gets from an operation without a CUDA kernel.
Status NoCudaKernel(std::string_view op);

// `view` lives on ctx.device(), holds float32, is row-strided and has no axis
// of extent 0. `name` is its name in the messages.
Status CheckFloatRows(std::string_view op, std::string_view name,
                      const Context& ctx, ConstTensorView view);
// The same with a rank.
Status CheckFloatRows(std::string_view op, std::string_view name,
                      const Context& ctx, ConstTensorView view, int rank);
// `view` has exactly this shape; the message gives both.
Status CheckShape(std::string_view op, std::string_view name,
                  ConstTensorView view, const Shape& expected);
// `view` is a packed float32 vector of `channels` elements on ctx.device().
Status CheckChannelVector(std::string_view op, std::string_view name,
                          const Context& ctx, ConstTensorView view,
                          int64_t channels);
// `workspace` has needed_bytes and, if any are needed, starts at a multiple of
// kAlignmentBytes.
Status CheckWorkspace(std::string_view op, absl::Span<char> workspace,
                      int64_t needed_bytes);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_CHECKS_H_
