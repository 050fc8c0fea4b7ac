#include "tests/densenet/kernels/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/random.h"
#include "densenet/kernels/batch_norm_fold.h"
#include "densenet/kernels/channel_statistics.h"
#include "tests/support/compare.h"
#include "tests/support/reference_batch_norm.h"

namespace densenet::testing {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

AssertionResult SameBits(const TestTensor& a, const TestTensor& b) {
  TestTensor left = a;
  TestTensor right = b;
  return BitwiseEqual(left.storage(), right.storage());
}

AssertionResult SameBits(const std::vector<double>& a,
                         const std::vector<double>& b) {
  if (a.size() != b.size()) return AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(double)) != 0) {
      return AssertionFailure()
             << "element " << i << ": " << a[i] << " against " << b[i];
    }
  }
  return AssertionSuccess();
}

TestTensor PoisonedTensor(const Shape& shape, int64_t gap) {
  TestTensor tensor(shape, gap);
  for (int64_t i = 0; i < tensor.elems(); ++i) {
    tensor.at(i) = std::numeric_limits<float>::quiet_NaN();
  }
  return tensor;
}

NormalizedInput::NormalizedInput(int64_t rows, int64_t channels, uint64_t seed,
                                 int64_t gap)
    : x_(TestTensor::Random({rows, channels}, seed, gap)),
      scale_(TestTensor::Random({channels}, seed + 1)),
      shift_(TestTensor::Random({channels}, seed + 2)),
      mean_(TestTensor::Random({channels}, seed + 3)),
      stored_({rows, channels}, gap + 1),
      z_(rows * channels) {
  AffineReluRows(rows, channels, Data(x_), channels + gap, Data(scale_),
                 Data(shift_), Data(stored_), channels + gap + 1);
  for (int64_t i = 0; i < rows * channels; ++i) {
    const int64_t c = i % channels;
    const double y = double{x_.at(i)} * scale_.at(c) + shift_.at(c);
    z_[i] = std::max(y, 0.0);
  }
}

NormalizedRows NormalizedInput::Packed() const {
  return {Data(x_), x_.view().stride(0), Data(scale_), Data(shift_)};
}

NormalizedRows NormalizedInput::Stored() const {
  return {Data(stored_), stored_.view().stride(0), nullptr, nullptr};
}

SinkCase::SinkCase(const NormalizedInput& input, SinkMode mode, int64_t gap)
    : input_(input),
      mode_(mode),
      initial_(
          mode == SinkMode::kAccumulate
              ? TestTensor::Random({input.rows(), input.channels()}, 77, gap)
              : PoisonedTensor({input.rows(), input.channels()}, gap)),
      target_(initial_),
      partials_(Poisoned<double>(kMaxChunks * 2 * input.channels())) {}

BatchNormSink SinkCase::sink() {
  BatchNormSink sink;
  sink.channels = input_.channels();
  sink.x = Data(input_.x());
  sink.ldx = input_.x().view().stride(0);
  sink.scale = Data(input_.scale());
  sink.shift = Data(input_.shift());
  sink.mean = Data(input_.mean());
  if (mode_ == SinkMode::kStore) {
    sink.dy = Data(target_);
    sink.lddy = target_.view().stride(0);
  } else {
    sink.g = Data(target_);
    sink.ldg = target_.view().stride(0);
    sink.overwrite_g = mode_ == SinkMode::kOverwrite;
  }
  sink.partials = partials_.data();
  return sink;
}

AssertionResult SinkCase::Matches(const Doubles& dz, int64_t chunks,
                                  int64_t terms) const {
  const int64_t channels = input_.channels();
  Doubles expected(dz.size());
  Doubles sum_dy(channels, 0.0);
  Doubles sum_dyx(channels, 0.0);
  for (size_t i = 0; i < dz.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) % channels;
    const double dy = input_.z()[i] > 0 ? dz[i] : 0;
    sum_dy[c] += dy;
    sum_dyx[c] += dy * (double{input_.x().at(i)} - input_.mean().at(c));
    expected[i] = mode_ == SinkMode::kStore ? dy : dy * input_.scale().at(c);
    if (mode_ == SinkMode::kAccumulate) expected[i] += initial_.at(i);
  }
  const TestTensor ones =
      TestTensor::FromVector({channels}, Doubles(channels, 1.0));
  TestTensor d_gamma({channels});
  TestTensor d_beta({channels});
  ReduceGradientSums(partials_.data(), chunks, channels, Data(ones),
                     Data(d_gamma), Data(d_beta));
  const int64_t sum_terms = terms + input_.rows();
  if (auto near = Near(target_.view(), expected, terms); !near) {
    return near << " (gradient)";
  }
  if (auto near = Near(d_beta.const_view(), sum_dy, sum_terms); !near) {
    return near << " (sum dy)";
  }
  if (auto near = Near(d_gamma.const_view(), sum_dyx, sum_terms); !near) {
    return near << " (sum dy * (x - mean))";
  }
  if (!target_.GapsUntouched()) return AssertionFailure() << "gap written";
  return AssertionSuccess();
}

Doubles DropoutFactors(const OutputDropout& dropout, int64_t elems) {
  Doubles factors(elems, 1.0);
  if (!dropout.active()) return factors;
  for (int64_t i = 0; i < elems; ++i) {
    const double u = std::ldexp(RandomBits(dropout.key, i), -32);
    factors[i] = u >= dropout.rate ? 1 / (1 - dropout.rate) : 0;
  }
  return factors;
}

Doubles Multiply(Doubles a, const Doubles& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  return a;
}

OutputGradientCase::OutputGradientCase(int64_t rows, int64_t channels,
                                       int64_t gap,
                                       const OutputDropout& dropout,
                                       bool finish)
    : channels_(channels),
      ld_(channels + gap),
      dropout_(dropout),
      finish_(finish),
      dy_(TestTensor::Random({rows, channels}, 20, gap)),
      y_(TestTensor::Random({rows, channels}, 21, gap)),
      mean_(TestTensor::Random({channels}, 22)),
      scale_(TestTensor::Random({channels}, 23)),
      k1_(TestTensor::Random({channels}, 24)),
      k2_(TestTensor::Random({channels}, 25)) {}

OutputGradient OutputGradientCase::gradient() const {
  OutputGradient o;
  o.dy = Data(dy_);
  o.ld = ld_;
  o.dropout = dropout_;
  if (!finish_) return o;
  o.y = Data(y_);
  o.ldy = ld_;
  o.mean = Data(mean_);
  o.scale = Data(scale_);
  o.k1 = Data(k1_);
  o.k2 = Data(k2_);
  return o;
}

Doubles OutputGradientCase::Expected() const {
  Doubles d = dy_.ToDoubles();
  for (size_t i = 0; finish_ && i < d.size(); ++i) {
    const int64_t k = static_cast<int64_t>(i) % channels_;
    d[i] = scale_.at(k) * d[i] -
           (k1_.at(k) + k2_.at(k) * (double{y_.at(i)} - mean_.at(k)));
  }
  return Multiply(d, DropoutFactors(dropout_, static_cast<int64_t>(d.size())));
}

AssertionResult MomentsMatch(const std::vector<double>& partials,
                             int64_t images, const TestTensor& y) {
  const int64_t rows = y.shape()[0];
  const int64_t channels = y.shape()[1];
  if (rows == 1) {  // has no variance
    const std::vector<double> mean(partials.begin(),
                                   partials.begin() + channels);
    return SameBits(mean, y.ToDoubles());
  }
  constexpr double kEpsilon = 1e-5;
  const ReferenceBatchNorm reference{rows, channels, kEpsilon};
  TestTensor mean({channels});
  TestTensor inv_std({channels});
  TestTensor variance({channels});
  MergeMoments(partials.data(), ImageChunks(images), rows / images, channels,
               kEpsilon, {Data(mean), Data(inv_std), Data(variance)});
  const Doubles x = y.ToDoubles();
  Doubles unbiased = reference.Variance(x);
  const Doubles expected_inv_std = reference.InverseStd(unbiased);
  for (double& v : unbiased) v *= rows / (rows - 1.0);
  if (auto near = Near(mean.const_view(), reference.Mean(x), rows); !near) {
    return near << " (mean)";
  }
  if (auto near = Near(variance.const_view(), unbiased, rows); !near) {
    return near << " (variance)";
  }
  if (auto near = Near(inv_std.const_view(), expected_inv_std, rows); !near) {
    return near << " (inverse deviation)";
  }
  return AssertionSuccess();
}

}  // namespace densenet::testing
