// tests/densenet/kernels/kernel_case.h
//
// What the tests of the kernels share: the normalized input and the sink of a
// convolution with their float64 references, the dropout mask, poisoned
// scratch.

#ifndef DENSENET_TESTS_DENSENET_KERNELS_KERNEL_CASE_H_
#define DENSENET_TESTS_DENSENET_KERNELS_KERNEL_CASE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"
#include "tests/support/test_tensor.h"
#include "tests/support/test_workspace.h"

namespace densenet::testing {

using Doubles = std::vector<double>;

inline constexpr int kThreadCounts[] = {1, 2, 3};
// Around the widths of vectors and of the channel block.
inline constexpr int64_t kChannelCounts[] = {1, 5, 12, 16, 63, 64, 65, 130};

inline float* Data(TestTensor& tensor) { return tensor.view().data<float>(); }
inline const float* Data(const TestTensor& tensor) {
  return tensor.view().data<float>();
}

// The same bits everywhere, gaps too.
::testing::AssertionResult SameBits(const TestTensor& a, const TestTensor& b);
::testing::AssertionResult SameBits(const std::vector<double>& a,
                                    const std::vector<double>& b);

// `count` NaNs: a read before a write shows.
template <typename T>
std::vector<T> Poisoned(int64_t count) {
  return std::vector<T>(count, std::numeric_limits<T>::quiet_NaN());
}
TestTensor PoisonedTensor(const Shape& shape, int64_t gap = 0);

// Guarded scratch of so many floats.
class FloatScratch {
 public:
  explicit FloatScratch(int64_t floats)
      : workspace_(floats * int64_t{sizeof(float)}) {}
  float* data() { return reinterpret_cast<float*>(workspace_.span().data()); }
  bool Intact() const { return workspace_.Intact(); }

 private:
  TestWorkspace workspace_;
};

// x (rows, channels) and the coefficients of its batch norm; z = ReLU(x * scale
// + shift), as NormalizedRows of both kinds and in float64.
class NormalizedInput {
 public:
  NormalizedInput(int64_t rows, int64_t channels, uint64_t seed, int64_t gap);

  NormalizedRows Packed() const;
  NormalizedRows Stored() const;
  NormalizedRows Rows(bool stored) const {
    return stored ? Stored() : Packed();
  }

  const Doubles& z() const { return z_; }
  int64_t rows() const { return x_.shape()[0]; }
  int64_t channels() const { return x_.shape()[1]; }
  const TestTensor& x() const { return x_; }
  const TestTensor& scale() const { return scale_; }
  const TestTensor& shift() const { return shift_; }
  const TestTensor& mean() const { return mean_; }
  bool GapsUntouched() const {
    return x_.GapsUntouched() && stored_.GapsUntouched();
  }

 private:
  TestTensor x_;
  TestTensor scale_;
  TestTensor shift_;
  TestTensor mean_;
  TestTensor stored_;
  Doubles z_;
};

enum class SinkMode { kStore, kAccumulate, kOverwrite };
inline constexpr SinkMode kSinkModes[] = {
    SinkMode::kStore, SinkMode::kAccumulate, SinkMode::kOverwrite};

// A sink of `input`'s gradient and what it must hold afterwards.
class SinkCase {
 public:
  SinkCase(const NormalizedInput& input, SinkMode mode, int64_t gap);

  BatchNormSink sink();
  // Against the float64 gradient dz (rows, channels), each of `terms` summed
  // products. `chunks`: of the batch.
  ::testing::AssertionResult Matches(const Doubles& dz, int64_t chunks,
                                     int64_t terms) const;
  const TestTensor& target() const { return target_; }
  const std::vector<double>& partials() const { return partials_; }

 private:
  const NormalizedInput& input_;
  const SinkMode mode_;
  TestTensor initial_;
  TestTensor target_;
  std::vector<double> partials_;
};

// The factor of each element: 0 or 1 / (1 - rate).
Doubles DropoutFactors(const OutputDropout& dropout, int64_t elems);

// The gradient of a convolution's output (rows x channels), as it stands or
// finished through the batch norm behind it.
class OutputGradientCase {
 public:
  OutputGradientCase(int64_t rows, int64_t channels, int64_t gap,
                     const OutputDropout& dropout, bool finish);

  OutputGradient gradient() const;
  Doubles Expected() const;

 private:
  const int64_t channels_;
  const int64_t ld_;
  const OutputDropout dropout_;
  const bool finish_;
  TestTensor dy_, y_, mean_, scale_, k1_, k2_;
};
Doubles Multiply(Doubles a, const Doubles& b);

// Partial moments of y (images * pixels, channels) against its own mean and
// variance in float64.
::testing::AssertionResult MomentsMatch(const std::vector<double>& partials,
                                        int64_t images, const TestTensor& y);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_KERNELS_KERNEL_CASE_H_
