// tests/support/cuda_test.h
//
// Tests that need a card: they skip with the reason where there is none.

#ifndef DENSENET_TESTS_SUPPORT_CUDA_TEST_H_
#define DENSENET_TESTS_SUPPORT_CUDA_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/memory_resource.h"
#include "core/tensor.h"
#include "tests/support/test_tensor.h"

namespace densenet::testing {

// A TestTensor's copy on the card, with its strides and its poisoned gaps.
class DeviceTensor {
 public:
  DeviceTensor(const Context& ctx, MemoryResource& memory, TestTensor& host);

  TensorView view() const { return view_; }
  ConstTensorView const_view() const { return view_; }
  // Copies everything back into `host`, gaps too, and waits for it.
  void Read(const Context& ctx, TestTensor& host) const;

 private:
  Tensor storage_;
  TensorView view_;
};

// The first card that can be used: a Context and memory on it.
class CudaTest : public ::testing::Test {
 protected:
  CudaTest();
  ~CudaTest() override;

  void SetUp() override;

  Device device() const { return ctx_->device(); }
  Context& ctx() { return *ctx_; }
  MemoryResource& memory() { return *memory_; }
  DeviceTensor ToDevice(TestTensor& host) {
    return DeviceTensor(ctx(), memory(), host);
  }
  // Scratch of the test's card; the former one is gone with each call.
  absl::Span<char> Workspace(int64_t bytes);

 private:
  std::unique_ptr<MemoryResource> memory_;
  std::unique_ptr<Context> ctx_;
  Tensor workspace_;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_CUDA_TEST_H_
