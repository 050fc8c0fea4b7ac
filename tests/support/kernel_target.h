// tests/support/kernel_target.h
//
// Which instruction set a run of the kernel tests is meant for. CTest runs
// them as they are dispatched on this machine, and again with
// DENSENET_TEST_TARGET (and LIBXSMM_TARGET beside it) set:
// tests/CMakeLists.txt.

#ifndef DENSENET_TESTS_SUPPORT_KERNEL_TARGET_H_
#define DENSENET_TESTS_SUPPORT_KERNEL_TARGET_H_

#include <gtest/gtest.h>

namespace densenet::testing {

enum class KernelTarget {
  kBest,      // the best of this machine
  kAvx2,      // nothing above AVX2
  kPortable,  // no generated GEMM, vectors of 128 bits, no fused multiply-add
};

// Of the environment. CHECKs that its value is known.
KernelTarget ChosenKernelTarget();

// Restricts Highway's dispatch to the chosen target for the whole program.
// libxsmm reads its own variable.
class KernelTargetEnvironment : public ::testing::Environment {
 public:
  void SetUp() override;
};

// Whether hn::MulAdd rounds once on the dispatched target.
bool HasFusedMultiplyAdd();

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_KERNEL_TARGET_H_
