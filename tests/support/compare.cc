#include "tests/support/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/tolerance.h"

namespace densenet::testing {
namespace {

// Calls fn(pointer to element) in row-major order.
template <typename Fn>
void ForEachElement(ConstTensorView view, Fn fn) {
  const int rank = view.rank();
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < view.elems(); ++i) {
    int64_t offset = 0;
    for (int axis = 0; axis < rank; ++axis) {
      offset += index[axis] * view.stride(axis);
    }
    fn(static_cast<const char*>(view.raw()) + offset * SizeOf(view.dtype()));
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (++index[axis] < view.dim(axis)) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

std::vector<double> ToVector(ConstTensorView view) {
  CHECK(view.dtype() == DType::kFloat32 || view.dtype() == DType::kFloat64);
  std::vector<double> values;
  values.reserve(view.elems());
  ForEachElement(view, [&](const char* p) {
    if (view.dtype() == DType::kFloat32) {
      float f;
      std::memcpy(&f, p, sizeof(f));
      values.push_back(f);
    } else {
      double d;
      std::memcpy(&d, p, sizeof(d));
      values.push_back(d);
    }
  });
  return values;
}

::testing::AssertionResult Near(ConstTensorView actual,
                                const std::vector<double>& expected,
                                int64_t terms) {
  const std::vector<double> values = ToVector(actual);
  if (values.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << values.size() << " elements, expected " << expected.size();
  }
  double magnitude = 0;
  for (double e : expected) magnitude = std::max(magnitude, std::abs(e));
  const double bound =
      RelativeTolerance(actual.dtype(), terms) * std::max(magnitude, 1e-30);
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(values[i] - expected[i]);
    if (!(error <= worst)) {  // also when NaN
      worst = error;
      where = i;
      if (std::isnan(error)) break;
    }
  }
  if (worst <= bound) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "element " << where << " of " << actual.ToString() << " is "
         << values[where] << ", expected " << expected[where] << ": "
         << worst / bound << " times the bound " << bound;
}

double RelativeNorm(const std::vector<double>& a,
                    const std::vector<double>& b) {
  CHECK_EQ(a.size(), b.size());
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  if (difference == 0) return 0;
  return std::sqrt(difference / norm);
}

::testing::AssertionResult BitwiseEqual(ConstTensorView a, ConstTensorView b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) {
    return ::testing::AssertionFailure()
           << a.ToString() << " against " << b.ToString();
  }
  std::vector<const char*> pa, pb;
  ForEachElement(a, [&](const char* p) { pa.push_back(p); });
  ForEachElement(b, [&](const char* p) { pb.push_back(p); });
  for (size_t i = 0; i < pa.size(); ++i) {
    if (std::memcmp(pa[i], pb[i], SizeOf(a.dtype())) != 0) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.ToString() << " differs";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace densenet::testing
