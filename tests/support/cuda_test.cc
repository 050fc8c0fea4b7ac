#include "tests/support/cuda_test.h"

#include <glog/logging.h>

#include <utility>

#include "core/cuda/cuda.h"
#include "tests/support/status_matchers.h"

namespace densenet::testing {
namespace {

// A test has nothing to say of a failed preparation but its message.
template <typename T>
T OrDie(StatusOr<T> value) {
  CHECK(value.ok()) << value.status();
  return std::move(*value);
}

// The first card that can be used, or why there is none.
StatusOr<Device> UsableCard() {
  ASSIGN_OR_RETURN(const auto cards, ListCudaDevices());
  std::string problems;
  for (const CudaDeviceInfo& card : cards) {
    if (card.problem.empty()) return Device::Cuda(card.index);
    problems += card.name + ": " + card.problem + "; ";
  }
  return Unavailable("no card can be used: " + problems);
}

}  // namespace

DeviceTensor::DeviceTensor(const Context& ctx, MemoryResource& memory,
                           TestTensor& host)
    : storage_(OrDie(
          Tensor::Empty(memory, DType::kFloat32, host.storage().shape()))) {
  const Status copied =
      CopyBetweenDevices(ctx, host.storage(), storage_.view());
  CHECK(copied.ok()) << copied;
  view_ = TensorView(storage_.view().raw(), DType::kFloat32, host.shape(),
                     host.const_view().strides(), ctx.device());
}

void DeviceTensor::Read(const Context& ctx, TestTensor& host) const {
  ASSERT_OK(CopyBetweenDevices(ctx, storage_.view(), host.storage()));
  ASSERT_OK(Synchronize(ctx));
}

CudaTest::CudaTest() = default;
CudaTest::~CudaTest() = default;

void CudaTest::SetUp() {
  const StatusOr<Device> card = UsableCard();
  if (!card.ok()) GTEST_SKIP() << "needs a GPU: " << card.status();
  // A fault is reported by the launch that caused it.
  ctx_ =
      OrDie(Context::Create({.device = *card, .synchronize_launches = true}));
  memory_ = OrDie(CreateCudaMemory(*card, 0));
}

absl::Span<char> CudaTest::Workspace(int64_t bytes) {
  workspace_ = OrDie(Tensor::Empty(memory(), DType::kUInt8, {bytes}));
  return absl::MakeSpan(static_cast<char*>(workspace_.view().raw()),
                        static_cast<size_t>(bytes));
}

}  // namespace densenet::testing
