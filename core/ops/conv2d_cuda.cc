#include "core/ops/conv2d_cuda.h"

#include <cudnn.h>
#include <fmt/format.h>

#include <limits>
#include <string_view>
#include <utility>

#include "core/cuda/cuda_state.h"
#include "core/cuda/devices.h"
#include "core/cuda/image_window.h"
#include "core/cuda/status_cuda.h"
#include "core/cuda/unique_handles.h"
#include "core/ops/checks.h"

namespace densenet {
namespace {

constexpr int64_t kMaxLibraryBytes = int64_t{256} << 20;
constexpr int kMaxAlgorithms = 16;
constexpr float kOne = 1;
constexpr float kZero = 0;

int64_t AlignUp(int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// Deals out the workspace in order; without one, only counts.
class Scratch {
 public:
  explicit Scratch(char* base) : base_(base) {}
  float* Take(int64_t bytes) {
    char* taken = base_ == nullptr ? nullptr : base_ + bytes_;
    bytes_ += AlignUp(bytes);
    return reinterpret_cast<float*>(taken);
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* base_;
  int64_t bytes_ = 0;
};

// Images as cuDNN gets them: the view itself, or a packed copy.
struct Staged {
  ImageWindow window;
  bool copied = false;
  float* packed = nullptr;  // the copy; null while only counting
};

Staged Stage(Scratch& scratch, ConstTensorView view, const ImageWindow& border,
             bool needs_border) {
  Staged staged{.window = border};
  staged.window.n = view.dim(0);
  staged.window.h = view.dim(1);
  staged.window.w = view.dim(2);
  staged.window.c = view.dim(3);
  staged.window.row_stride = view.row_stride();
  staged.copied = needs_border || !view.IsPacked();
  if (staged.copied) {
    staged.packed =
        scratch.Take(staged.window.packed_elems() * SizeOf(view.dtype()));
  }
  return staged;
}

// Everything about a convolution but the pointers of its operands.
struct Plan {
  std::string_view op;
  Staged x;                 // or dx
  Staged y;                 // or dy
  int64_t filter_rows = 0;  // R * S * C
  int64_t k = 0;
  float* filter = nullptr;  // (K, R, S, C)
  void* library = nullptr;
  size_t library_bytes = 0;
  int64_t bytes = 0;

  UniqueTensorDesc x_desc;
  UniqueTensorDesc y_desc;
  UniqueFilterDesc filter_desc;
  UniqueConvolutionDesc conv_desc;
};

Status Describe(const Staged& staged, std::string_view op,
                UniqueTensorDesc& out) {
  const ImageWindow& window = staged.window;
  if (window.packed_elems() > std::numeric_limits<int32_t>::max()) {
    return Unimplemented(fmt::format(
        "{}: {} elements, more than the 2^31 - 1 that cuDNN counts: use a "
        "smaller batch",
        op, window.packed_elems()));
  }
  cudnnTensorDescriptor_t desc = nullptr;
  RETURN_IF_ERROR(ToStatus(cudnnCreateTensorDescriptor(&desc),
                           "cudnnCreateTensorDescriptor"));
  out.reset(desc);
  return ToStatus(
      cudnnSetTensor4dDescriptor(
          desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, static_cast<int>(window.n),
          static_cast<int>(window.c), static_cast<int>(window.packed_h()),
          static_cast<int>(window.packed_w())),
      "cudnnSetTensor4dDescriptor", "N=", window.n, ", C=", window.c,
      ", H=", window.packed_h(), ", W=", window.packed_w());
}

Status DescribeFilter(const Conv2dProblem& p, UniqueFilterDesc& out) {
  cudnnFilterDescriptor_t desc = nullptr;
  RETURN_IF_ERROR(ToStatus(cudnnCreateFilterDescriptor(&desc),
                           "cudnnCreateFilterDescriptor"));
  out.reset(desc);
  return ToStatus(
      cudnnSetFilter4dDescriptor(desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC,
                                 static_cast<int>(p.k), static_cast<int>(p.c),
                                 static_cast<int>(p.r), static_cast<int>(p.s)),
      "cudnnSetFilter4dDescriptor", "K=", p.k, ", C=", p.c, ", R=", p.r,
      ", S=", p.s);
}

Status DescribeConvolution(const Conv2dProblem& p, bool border_is_staged,
                           UniqueConvolutionDesc& out) {
  cudnnConvolutionDescriptor_t desc = nullptr;
  RETURN_IF_ERROR(ToStatus(cudnnCreateConvolutionDescriptor(&desc),
                           "cudnnCreateConvolutionDescriptor"));
  out.reset(desc);
  const int pad_h = border_is_staged ? 0 : static_cast<int>(p.top);
  const int pad_w = border_is_staged ? 0 : static_cast<int>(p.left);
  RETURN_IF_ERROR(
      ToStatus(cudnnSetConvolution2dDescriptor(
                   desc, pad_h, pad_w, static_cast<int>(p.stride_h),
                   static_cast<int>(p.stride_w), /*dilation_h=*/1,
                   /*dilation_w=*/1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
               "cudnnSetConvolution2dDescriptor", "pad=", pad_h, ",", pad_w,
               ", stride=", p.stride_h, ",", p.stride_w));
  // The default would permit TF32.
  return ToStatus(cudnnSetConvolutionMathType(desc, CUDNN_FMA_MATH),
                  "cudnnSetConvolutionMathType", "CUDNN_FMA_MATH");
}

// Stages and describes; the library's own scratch is added by Choose.
StatusOr<Plan> MakePlan(std::string_view op, const Conv2dProblem& p,
                        ConstTensorView x, ConstTensorView y,
                        Scratch& scratch) {
  Plan plan;
  plan.op = op;
  const bool uneven = p.top != p.bottom || p.left != p.right;
  ImageWindow border;
  if (uneven) {
    border = {
        .top = p.top, .bottom = p.bottom, .left = p.left, .right = p.right};
  }
  plan.x = Stage(scratch, x, border, uneven);
  plan.y = Stage(scratch, y, ImageWindow(), false);
  plan.filter_rows = p.r * p.s * p.c;
  plan.k = p.k;
  plan.filter = scratch.Take(plan.filter_rows * p.k * SizeOf(x.dtype()));
  RETURN_IF_ERROR(Describe(plan.x, op, plan.x_desc));
  RETURN_IF_ERROR(Describe(plan.y, op, plan.y_desc));
  RETURN_IF_ERROR(DescribeFilter(p, plan.filter_desc));
  RETURN_IF_ERROR(DescribeConvolution(p, uneven, plan.conv_desc));
  return plan;
}

// The first of cuDNN's ranking that keeps our promises.
template <typename Perf>
StatusOr<Perf> Choose(const Context& ctx, const Perf* ranking, int count,
                      Scratch& scratch, Plan& plan) {
  for (int i = 0; i < count; ++i) {
    const Perf& perf = ranking[i];
    if (perf.status != CUDNN_STATUS_SUCCESS) continue;
    // These ask for tensor cores, which round the factors (TF32).
    if (perf.mathType == CUDNN_TENSOR_OP_MATH ||
        perf.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) {
      continue;
    }
    if (ctx.deterministic() && perf.determinism != CUDNN_DETERMINISTIC) {
      continue;
    }
    if (perf.memory > static_cast<size_t>(kMaxLibraryBytes)) continue;
    plan.library_bytes = perf.memory;
    plan.library = scratch.Take(static_cast<int64_t>(perf.memory));
    plan.bytes = scratch.bytes();
    return perf;
  }
  return Unimplemented(fmt::format(
      "{}: cuDNN offers no float32 {}algorithm within {} bytes of scratch",
      plan.op, ctx.deterministic() ? "deterministic " : "", kMaxLibraryBytes));
}

StatusOr<cudnnConvolutionFwdAlgo_t> ChooseForward(const Context& ctx,
                                                  Scratch& scratch,
                                                  Plan& plan) {
  ASSIGN_OR_RETURN(const cudnnHandle_t cudnn, ctx.cuda().cudnn());
  cudnnConvolutionFwdAlgoPerf_t ranking[kMaxAlgorithms];
  int count = 0;
  RETURN_IF_ERROR(ToStatus(cudnnGetConvolutionForwardAlgorithm_v7(
                               cudnn, plan.x_desc.get(), plan.filter_desc.get(),
                               plan.conv_desc.get(), plan.y_desc.get(),
                               kMaxAlgorithms, &count, ranking),
                           "cudnnGetConvolutionForwardAlgorithm_v7",
                           AbslView(plan.op)));
  ASSIGN_OR_RETURN(const auto perf, Choose(ctx, ranking, count, scratch, plan));
  return perf.algo;
}

StatusOr<cudnnConvolutionBwdDataAlgo_t> ChooseBackwardData(const Context& ctx,
                                                           Scratch& scratch,
                                                           Plan& plan) {
  ASSIGN_OR_RETURN(const cudnnHandle_t cudnn, ctx.cuda().cudnn());
  cudnnConvolutionBwdDataAlgoPerf_t ranking[kMaxAlgorithms];
  int count = 0;
  RETURN_IF_ERROR(ToStatus(cudnnGetConvolutionBackwardDataAlgorithm_v7(
                               cudnn, plan.filter_desc.get(), plan.y_desc.get(),
                               plan.conv_desc.get(), plan.x_desc.get(),
                               kMaxAlgorithms, &count, ranking),
                           "cudnnGetConvolutionBackwardDataAlgorithm_v7",
                           AbslView(plan.op)));
  ASSIGN_OR_RETURN(const auto perf, Choose(ctx, ranking, count, scratch, plan));
  return perf.algo;
}

StatusOr<cudnnConvolutionBwdFilterAlgo_t> ChooseBackwardFilter(
    const Context& ctx, Scratch& scratch, Plan& plan) {
  ASSIGN_OR_RETURN(const cudnnHandle_t cudnn, ctx.cuda().cudnn());
  cudnnConvolutionBwdFilterAlgoPerf_t ranking[kMaxAlgorithms];
  int count = 0;
  RETURN_IF_ERROR(ToStatus(
      cudnnGetConvolutionBackwardFilterAlgorithm_v7(
          cudnn, plan.x_desc.get(), plan.y_desc.get(), plan.conv_desc.get(),
          plan.filter_desc.get(), kMaxAlgorithms, &count, ranking),
      "cudnnGetConvolutionBackwardFilterAlgorithm_v7", AbslView(plan.op)));
  ASSIGN_OR_RETURN(const auto perf, Choose(ctx, ranking, count, scratch, plan));
  return perf.algo;
}

// An input as cuDNN reads it.
StatusOr<const float*> Packed(const Context& ctx, const Staged& staged,
                              ConstTensorView view) {
  if (!staged.copied) return view.data<float>();
  RETURN_IF_ERROR(
      PackImages(ctx, staged.window, view.data<float>(), staged.packed));
  return staged.packed;
}

// Where cuDNN writes an output, and what follows.
float* Target(const Staged& staged, TensorView view) {
  return staged.copied ? staged.packed : view.data<float>();
}
Status Finish(const Context& ctx, const Staged& staged, TensorView view) {
  if (!staged.copied) return OkStatus();
  return UnpackImages(ctx, staged.window, staged.packed, view.data<float>());
}

// After a library call: its error, or that of what it enqueued.
Status Enqueued(const Context& ctx, cudnnStatus_t code, const char* call,
                const char* op) {
  CudaState& cuda = ctx.cuda();
  cuda.set_last_op(op);
  if (!Succeeded(code)) return ToStatus(code, call, cuda.Where(op));
  return ctx.synchronize_launches() ? cuda.Synchronize() : OkStatus();
}

constexpr char kForward[] = "Conv2dForward";
constexpr char kData[] = "Conv2dBackwardData";
constexpr char kFilter[] = "Conv2dBackwardFilter";

}  // namespace

StatusOr<int64_t> Conv2dForwardWorkspaceBytesCuda(const Context& ctx,
                                                  const Conv2dProblem& problem,
                                                  ConstTensorView x,
                                                  ConstTensorView y) {
  Scratch scratch(nullptr);
  ASSIGN_OR_RETURN(Plan plan, MakePlan(kForward, problem, x, y, scratch));
  RETURN_IF_ERROR(ChooseForward(ctx, scratch, plan).status());
  return plan.bytes;
}

Status Conv2dForwardCuda(const Context& ctx, const Conv2dProblem& problem,
                         ConstTensorView x, ConstTensorView w, TensorView y,
                         absl::Span<char> workspace) {
  Scratch scratch(workspace.data());
  ASSIGN_OR_RETURN(Plan plan, MakePlan(kForward, problem, x, y, scratch));
  ASSIGN_OR_RETURN(const auto algorithm, ChooseForward(ctx, scratch, plan));
  RETURN_IF_ERROR(CheckWorkspace(kForward, workspace, plan.bytes));
  ASSIGN_OR_RETURN(const cudnnHandle_t cudnn, ctx.cuda().cudnn());
  ASSIGN_OR_RETURN(const float* packed_x, Packed(ctx, plan.x, x));
  RETURN_IF_ERROR(TransposeMatrix(ctx, w.data<float>(), plan.filter_rows,
                                  plan.k, plan.filter));
  RETURN_IF_ERROR(Enqueued(
      ctx,
      cudnnConvolutionForward(
          cudnn, &kOne, plan.x_desc.get(), packed_x, plan.filter_desc.get(),
          plan.filter, plan.conv_desc.get(), algorithm, plan.library,
          plan.library_bytes, &kZero, plan.y_desc.get(), Target(plan.y, y)),
      "cudnnConvolutionForward", kForward));
  return Finish(ctx, plan.y, y);
}

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytesCuda(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView dy,
    ConstTensorView dx) {
  Scratch scratch(nullptr);
  ASSIGN_OR_RETURN(Plan plan, MakePlan(kData, problem, dx, dy, scratch));
  RETURN_IF_ERROR(ChooseBackwardData(ctx, scratch, plan).status());
  return plan.bytes;
}

Status Conv2dBackwardDataCuda(const Context& ctx, const Conv2dProblem& problem,
                              ConstTensorView dy, ConstTensorView w,
                              TensorView dx, absl::Span<char> workspace) {
  Scratch scratch(workspace.data());
  ASSIGN_OR_RETURN(Plan plan, MakePlan(kData, problem, dx, dy, scratch));
  ASSIGN_OR_RETURN(const auto algorithm,
                   ChooseBackwardData(ctx, scratch, plan));
  RETURN_IF_ERROR(CheckWorkspace(kData, workspace, plan.bytes));
  ASSIGN_OR_RETURN(const cudnnHandle_t cudnn, ctx.cuda().cudnn());
  ASSIGN_OR_RETURN(const float* packed_dy, Packed(ctx, plan.y, dy));
  RETURN_IF_ERROR(TransposeMatrix(ctx, w.data<float>(), plan.filter_rows,
                                  plan.k, plan.filter));
  RETURN_IF_ERROR(Enqueued(
      ctx,
      cudnnConvolutionBackwardData(
          cudnn, &kOne, plan.filter_desc.get(), plan.filter, plan.y_desc.get(),
          packed_dy, plan.conv_desc.get(), algorithm, plan.library,
          plan.library_bytes, &kZero, plan.x_desc.get(), Target(plan.x, dx)),
      "cudnnConvolutionBackwardData", kData));
  return Finish(ctx, plan.x, dx);
}

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytesCuda(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView x,
    ConstTensorView dy) {
  Scratch scratch(nullptr);
  ASSIGN_OR_RETURN(Plan plan, MakePlan(kFilter, problem, x, dy, scratch));
  RETURN_IF_ERROR(ChooseBackwardFilter(ctx, scratch, plan).status());
  return plan.bytes;
}

Status Conv2dBackwardFilterCuda(const Context& ctx,
                                const Conv2dProblem& problem, ConstTensorView x,
                                ConstTensorView dy, TensorView dw,
                                absl::Span<char> workspace) {
  Scratch scratch(workspace.data());
  ASSIGN_OR_RETURN(Plan plan, MakePlan(kFilter, problem, x, dy, scratch));
  ASSIGN_OR_RETURN(const auto algorithm,
                   ChooseBackwardFilter(ctx, scratch, plan));
  RETURN_IF_ERROR(CheckWorkspace(kFilter, workspace, plan.bytes));
  ASSIGN_OR_RETURN(const cudnnHandle_t cudnn, ctx.cuda().cudnn());
  ASSIGN_OR_RETURN(const float* packed_x, Packed(ctx, plan.x, x));
  ASSIGN_OR_RETURN(const float* packed_dy, Packed(ctx, plan.y, dy));
  RETURN_IF_ERROR(Enqueued(
      ctx,
      cudnnConvolutionBackwardFilter(
          cudnn, &kOne, plan.x_desc.get(), packed_x, plan.y_desc.get(),
          packed_dy, plan.conv_desc.get(), algorithm, plan.library,
          plan.library_bytes, &kZero, plan.filter_desc.get(), plan.filter),
      "cudnnConvolutionBackwardFilter", kFilter));
  // (K, R, S, C) -> (R, S, C, K)
  return TransposeMatrix(ctx, plan.filter, plan.k, plan.filter_rows,
                         dw.data<float>());
}

}  // namespace densenet
