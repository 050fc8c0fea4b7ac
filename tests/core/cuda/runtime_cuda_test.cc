// Streams, events, handles, memory, copies and the launch path on a card.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "core/cuda/cuda.h"
#include "core/cuda/cuda_state.h"
#include "core/cuda/launch.h"
#include "core/cuda/unique_handles.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_test.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::CudaTest;
using ::densenet::testing::DeviceTensor;
using ::densenet::testing::Fails;
using ::densenet::testing::TestTensor;

using RuntimeCudaTest = CudaTest;

TEST_F(RuntimeCudaTest, HandlesAreCreatedOnce) {
  CudaState& cuda = ctx().cuda();
  EXPECT_EQ(cuda.device(), device());
  EXPECT_GT(cuda.multiprocessors(), 0);
  const StatusOr<cublasLtHandle_t> lt = cuda.cublas_lt();
  ASSERT_OK(lt);
  EXPECT_EQ(*cuda.cublas_lt(), *lt);
  const StatusOr<cudnnHandle_t> cudnn = cuda.cudnn();
  ASSERT_OK(cudnn);
  EXPECT_EQ(*cuda.cudnn(), *cudnn);
  EXPECT_OK(Synchronize(ctx()));
}

TEST_F(RuntimeCudaTest, HandlesMove) {
  StatusOr<UniqueEvent> event = CreateEvent(EventTiming::kOn);
  ASSERT_OK(event);
  ASSERT_OK(ToStatus(cudaEventRecord(event->get(), ctx().cuda().stream()),
                     "cudaEventRecord"));
  const UniqueEvent moved = std::move(*event);
  EXPECT_OK(ToStatus(cudaEventSynchronize(moved.get()), "synchronize"));
}

TEST_F(RuntimeCudaTest, MemoryCountsAndRefuses) {
  const auto memory = CreateCudaMemory(device(), 1 << 20);
  ASSERT_OK(memory);
  const StatusOr<void*> block = (*memory)->Allocate(1000);
  ASSERT_OK(block);
  EXPECT_EQ((*memory)->stats().active_bytes, 1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(*block) % kAlignmentBytes, 0u);
  EXPECT_THAT((*memory)->Allocate(1 << 20),
              Fails(StatusCode::kResourceExhausted,
                    {device().ToString(), "active 1000", "limit 1048576"}));
  (*memory)->Deallocate(*block, 1000);
  EXPECT_EQ((*memory)->stats().active_bytes, 0);
}

TEST_F(RuntimeCudaTest, ACardWithoutRoomSaysWhatItHasAndGoesOn) {
  EXPECT_THAT(memory().Allocate(int64_t{1} << 50),
              Fails(StatusCode::kResourceExhausted,
                    {"requested 1125899906842624", "the card has"}));
  const StatusOr<void*> block = memory().Allocate(100);
  ASSERT_OK(block);
  memory().Deallocate(*block, 100);
}

TEST_F(RuntimeCudaTest, CopiesStridedRowsBothWays) {
  TestTensor a = TestTensor::Random({3, 5, 7}, 1, 4);
  TestTensor poisoned({3, 5, 7}, 9);
  const DeviceTensor card = ToDevice(poisoned);
  ASSERT_OK(CopyBetweenDevices(ctx(), a.const_view(), card.view()));
  TestTensor back({3, 5, 7}, 2);
  ASSERT_OK(CopyBetweenDevices(ctx(), card.const_view(), back.view()));
  ASSERT_OK(Synchronize(ctx()));
  EXPECT_TRUE(BitwiseEqual(a.const_view(), back.const_view()));
  EXPECT_TRUE(back.GapsUntouched());
  card.Read(ctx(), poisoned);
  EXPECT_TRUE(poisoned.GapsUntouched());
}

TEST_F(RuntimeCudaTest, CopyErrorsNameBothSides) {
  TestTensor a({4});
  TestTensor b({5});
  const DeviceTensor card = ToDevice(b);
  EXPECT_THAT(CopyBetweenDevices(ctx(), a.const_view(), card.view()),
              Fails(StatusCode::kInvalidArgument, {"(4)", "(5)"}));
  EXPECT_THAT(CopyBetweenDevices(ctx(), a.const_view(), a.view()),
              Fails(StatusCode::kInvalidArgument, {"x is on cpu, y on cpu"}));
}

TEST_F(RuntimeCudaTest, PinnedMemoryIsTheHosts) {
  const auto pinned = CreatePinnedMemory(device(), 0);
  ASSERT_OK(pinned);
  EXPECT_EQ((*pinned)->device(), Device::Cpu());
  StatusOr<Tensor> host = Tensor::Zeros(**pinned, DType::kFloat32, {100});
  ASSERT_OK(host);
  TestTensor a = TestTensor::Random({100}, 1);
  const DeviceTensor card = ToDevice(a);
  ASSERT_OK(CopyBetweenDevices(ctx(), card.const_view(), host->view()));
  ASSERT_OK(Synchronize(ctx()));
  EXPECT_TRUE(BitwiseEqual(host->const_view(), a.const_view()));
}

TEST_F(RuntimeCudaTest, QueriesWhatIsFree) {
  const auto info = QueryCudaMemory(device());
  ASSERT_OK(info);
  EXPECT_GT(info->free_bytes, 0);
  EXPECT_LE(info->free_bytes, info->total_bytes);
}

// No kernel of ours can be launched with such a block.
TEST_F(RuntimeCudaTest, AFailedLaunchNamesOpAndGrid) {
  void* no_args[] = {nullptr};
  const int not_a_kernel = 0;
  EXPECT_THAT(
      LaunchKernel(ctx(), {.op = "NoSuchOp", .grid = dim3(3), .block = 32},
                   &not_a_kernel, no_args),
      Fails(StatusCode::kInternal,
            {"cudaLaunchKernel(NoSuchOp", "grid=(3, 1, 1)", "block=32"}));
  EXPECT_OK(LaunchKernel(ctx(),
                         {.op = "NoSuchOp", .grid = dim3(0), .block = 32},
                         &not_a_kernel, no_args));
  EXPECT_OK(Synchronize(ctx()));
}

}  // namespace
}  // namespace densenet
