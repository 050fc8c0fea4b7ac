// Needs CUDA's headers, but no card.
#include "core/cuda/status_cuda.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

TEST(StatusCudaTest, SuccessIsOk) {
  EXPECT_OK(ToStatus(cudaSuccess, "cudaFree"));
  EXPECT_OK(ToStatus(CUBLAS_STATUS_SUCCESS, "cublasLtMatmul"));
  EXPECT_OK(ToStatus(CUDNN_STATUS_SUCCESS, "cudnnCreate"));
}

TEST(StatusCudaTest, MessageNamesCallAndArguments) {
  EXPECT_THAT(
      ToStatus(cudaErrorInvalidValue, "cudaMemsetAsync", "bytes=", 64,
               ", device=", 1),
      Fails(StatusCode::kInternal, {"cudaMemsetAsync(bytes=64, device=1): ",
                                    "(cudaErrorInvalidValue)"}));
}

TEST(StatusCudaTest, CodesSayWhatToDo) {
  const auto code = [](auto c) { return ToStatus(c, "call").code(); };
  EXPECT_EQ(code(cudaErrorMemoryAllocation), StatusCode::kResourceExhausted);
  EXPECT_EQ(code(cudaErrorNoDevice), StatusCode::kUnavailable);
  EXPECT_EQ(code(cudaErrorInsufficientDriver), StatusCode::kUnavailable);
  EXPECT_EQ(code(cudaErrorInvalidDevice), StatusCode::kUnavailable);
  EXPECT_EQ(code(cudaErrorNoKernelImageForDevice), StatusCode::kUnimplemented);
  EXPECT_EQ(code(cudaErrorInvalidConfiguration), StatusCode::kInternal);

  EXPECT_EQ(code(CUBLAS_STATUS_ALLOC_FAILED), StatusCode::kResourceExhausted);
  EXPECT_EQ(code(CUBLAS_STATUS_NOT_SUPPORTED), StatusCode::kUnimplemented);
  EXPECT_EQ(code(CUBLAS_STATUS_INVALID_VALUE), StatusCode::kInternal);

  EXPECT_EQ(code(CUDNN_STATUS_NOT_SUPPORTED_SHAPE), StatusCode::kUnimplemented);
  EXPECT_EQ(code(CUDNN_STATUS_BAD_PARAM), StatusCode::kInternal);
  EXPECT_EQ(code(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED),
            StatusCode::kResourceExhausted);
}

TEST(StatusCudaDeathTest, StickyFaultsEndTheProcessWithTheCall) {
  EXPECT_TRUE(IsStickyFault(cudaErrorIllegalAddress));
  EXPECT_FALSE(IsStickyFault(cudaErrorMemoryAllocation));
  EXPECT_DEATH(static_cast<void>(ToStatus(cudaErrorIllegalAddress,
                                          "cudaStreamSynchronize",
                                          "last op AffineRelu, stream 0x1")),
               "last op AffineRelu, stream 0x1.*cudaErrorIllegalAddress");
}

}  // namespace
}  // namespace densenet
