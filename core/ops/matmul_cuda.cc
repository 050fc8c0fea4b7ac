#include "core/ops/matmul_cuda.h"

#include <cublasLt.h>

#include <algorithm>

#include "core/cuda/cuda_state.h"
#include "core/cuda/devices.h"
#include "core/cuda/status_cuda.h"
#include "core/cuda/unique_handles.h"

namespace densenet {
namespace {

// What cuBLAS recommends for Hopper; enough for split-K on the others.
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

// cuBLASLt counts down columns: what it sees in a row-major (rows x cols) view
// is the transpose, (cols x rows) with the row stride as leading dimension. So
// it is asked for y' = op(b)' * op(a)', the operands swapped.
StatusOr<UniqueMatrixLayout> Transposed(ConstTensorView m) {
  const int64_t ld = std::max(m.row_stride(), m.dim(1));
  cublasLtMatrixLayout_t layout = nullptr;
  RETURN_IF_ERROR(ToStatus(
      cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F,
                                 static_cast<uint64_t>(m.dim(1)),
                                 static_cast<uint64_t>(m.dim(0)), ld),
      "cublasLtMatrixLayoutCreate", m.dim(1), " x ", m.dim(0), ", ld=", ld));
  return UniqueMatrixLayout(layout);
}

Status SetTranspose(cublasLtMatmulDesc_t desc,
                    cublasLtMatmulDescAttributes_t attribute, bool transpose) {
  const cublasOperation_t op = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  return ToStatus(
      cublasLtMatmulDescSetAttribute(desc, attribute, &op, sizeof(op)),
      "cublasLtMatmulDescSetAttribute", "transpose=", transpose);
}

// Sums in float32 of float32 products: no TF32.
StatusOr<UniqueMatmulDesc> Describe(const MatMulParams& params) {
  cublasLtMatmulDesc_t desc = nullptr;
  RETURN_IF_ERROR(
      ToStatus(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate", "float32"));
  UniqueMatmulDesc owner(desc);
  RETURN_IF_ERROR(
      SetTranspose(desc, CUBLASLT_MATMUL_DESC_TRANSA, params.transpose_b));
  RETURN_IF_ERROR(
      SetTranspose(desc, CUBLASLT_MATMUL_DESC_TRANSB, params.transpose_a));
  return owner;
}

struct Problem {
  UniqueMatmulDesc desc;
  UniqueMatrixLayout a;
  UniqueMatrixLayout b;
  UniqueMatrixLayout y;
};

StatusOr<Problem> MakeProblem(ConstTensorView a, ConstTensorView b,
                              const MatMulParams& params, ConstTensorView y) {
  Problem problem;
  ASSIGN_OR_RETURN(problem.desc, Describe(params));
  ASSIGN_OR_RETURN(problem.a, Transposed(a));
  ASSIGN_OR_RETURN(problem.b, Transposed(b));
  ASSIGN_OR_RETURN(problem.y, Transposed(y));
  return problem;
}

// How far a pointer and its rows are aligned, up to the 256 bytes of an
// allocation: a column of a feature buffer may start at any float.
uint32_t Alignment(ConstTensorView m) {
  uint32_t bytes = 256;
  while (reinterpret_cast<uintptr_t>(m.raw()) % bytes != 0) bytes /= 2;
  return bytes;
}

Status SetPreference(cublasLtMatmulPreference_t preference,
                     cublasLtMatmulPreferenceAttributes_t attribute,
                     const void* value, size_t size) {
  return ToStatus(
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, size),
      "cublasLtMatmulPreferenceSetAttribute",
      "attribute=", static_cast<int>(attribute));
}

StatusOr<UniqueMatmulPreference> MakePreference(const Context& ctx,
                                                ConstTensorView a,
                                                ConstTensorView b,
                                                ConstTensorView y,
                                                uint64_t workspace_bytes) {
  cublasLtMatmulPreference_t preference = nullptr;
  RETURN_IF_ERROR(ToStatus(cublasLtMatmulPreferenceCreate(&preference),
                           "cublasLtMatmulPreferenceCreate"));
  UniqueMatmulPreference owner(preference);
  RETURN_IF_ERROR(SetPreference(preference,
                                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                &workspace_bytes, sizeof(workspace_bytes)));
  const uint32_t of_a = Alignment(a);
  const uint32_t of_b = Alignment(b);
  const uint32_t of_y = Alignment(y);
  RETURN_IF_ERROR(SetPreference(preference,
                                CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                &of_b, sizeof(of_b)));
  RETURN_IF_ERROR(SetPreference(preference,
                                CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                &of_a, sizeof(of_a)));
  RETURN_IF_ERROR(SetPreference(preference,
                                CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                &of_y, sizeof(of_y)));
  RETURN_IF_ERROR(SetPreference(preference,
                                CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                                &of_y, sizeof(of_y)));
  if (ctx.deterministic()) {
    // Split-K by atomics is what makes cuBLASLt's order of sums vary.
    const uint32_t schemes =
        CUBLASLT_REDUCTION_SCHEME_MASK & ~CUBLASLT_REDUCTION_SCHEME_INPLACE;
    RETURN_IF_ERROR(SetPreference(preference,
                                  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                  &schemes, sizeof(schemes)));
  }
  return owner;
}

}  // namespace

int64_t MatMulWorkspaceBytesCuda() { return kWorkspaceBytes; }

Status MatMulCuda(const Context& ctx, ConstTensorView a, ConstTensorView b,
                  const MatMulParams& params, TensorView y,
                  absl::Span<char> workspace) {
  CudaState& cuda = ctx.cuda();
  ASSIGN_OR_RETURN(const cublasLtHandle_t handle, cuda.cublas_lt());
  RETURN_IF_ERROR(MakeCurrent(cuda.device()));
  ASSIGN_OR_RETURN(const Problem problem, MakeProblem(a, b, params, y));
  // Not what the caller has but what was asked for: the choice of the
  // algorithm, and with it the order of sums, follows from the problem alone.
  ASSIGN_OR_RETURN(const UniqueMatmulPreference preference,
                   MakePreference(ctx, a, b, y, kWorkspaceBytes));
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  const cublasStatus_t search = cublasLtMatmulAlgoGetHeuristic(
      handle, problem.desc.get(), problem.b.get(), problem.a.get(),
      problem.y.get(), problem.y.get(), preference.get(), 1, &found, &count);
  const auto describe = [&] {
    return absl::StrCat(cuda.Where("MatMul"), ", a=", a.ToString(),
                        ", b=", b.ToString(), ", y=", y.ToString());
  };
  if (!Succeeded(search)) {
    return ToStatus(search, "cublasLtMatmulAlgoGetHeuristic", describe());
  }
  if (count == 0) {
    return Unimplemented(
        absl::StrCat("MatMul: cuBLASLt has no algorithm for ", describe()));
  }
  const float one = 1;
  const float beta = params.accumulate ? 1 : 0;
  cuda.set_last_op("MatMul");
  const cublasStatus_t run =
      cublasLtMatmul(handle, problem.desc.get(), &one, b.raw(), problem.b.get(),
                     a.raw(), problem.a.get(), &beta, y.raw(), problem.y.get(),
                     y.raw(), problem.y.get(), &found.algo, workspace.data(),
                     kWorkspaceBytes, cuda.stream());
  if (!Succeeded(run)) return ToStatus(run, "cublasLtMatmul", describe());
  return ctx.synchronize_launches() ? cuda.Synchronize() : OkStatus();
}

}  // namespace densenet
