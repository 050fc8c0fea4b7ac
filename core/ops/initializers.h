// core/ops/initializers.h
//
// First values of variables. Element i (row-major) of a variable is a function
// of (seed, name of the variable, i): the order of creation, other variables
// and threads do not change it.
//
// Shapes    y any, any strides; HeFanOut: filters (R, S, C, K) or weights
//           (C, K)
// Types     float32
// Memory    scratch: 0 bytes
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  settings outside their range; HeFanOut of another
//                            rank; Scaled without a source of the shape of y
// Numerics  float64, rounded once
// Threads   safe for different Contexts; bitwise equal for every thread count

#ifndef DENSENET_CORE_OPS_INITIALIZERS_H_
#define DENSENET_CORE_OPS_INITIALIZERS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/context.h"
#include "core/random.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct Initializer {
  enum class Kind {
    kConstant,         // a
    kUniform,          // [a, b)
    kNormal,           // mean a, deviation b
    kTruncatedNormal,  // the same, of which |x - a| <= 2 b is kept
    kHeFanOut,         // normal, mean 0, deviation sqrt(2 / (R * S * K))
    kScaled,           // a * the variable called `source`
  };

  static Initializer Constant(double value) {
    return {Kind::kConstant, value, 0.0, {}};
  }
  static Initializer Uniform(double low, double high) {
    return {Kind::kUniform, low, high, {}};
  }
  static Initializer Normal(double mean, double deviation) {
    return {Kind::kNormal, mean, deviation, {}};
  }
  // `deviation` is that of the normal distribution before the cut.
  static Initializer TruncatedNormal(double mean, double deviation) {
    return {Kind::kTruncatedNormal, mean, deviation, {}};
  }
  static Initializer HeFanOut() { return {Kind::kHeFanOut, 0.0, 0.0, {}}; }
  static Initializer Scaled(std::string_view source, double factor) {
    return {Kind::kScaled, factor, 0.0, std::string(source)};
  }

  Kind kind = Kind::kConstant;
  double a = 0.0;
  double b = 0.0;
  std::string source;
};

// Fills y, the variable called `name`. `source` is the view of
// initializer.source; other kinds ignore it.
Status Initialize(const Context& ctx, const Initializer& initializer,
                  uint64_t seed, std::string_view name, ConstTensorView source,
                  TensorView y);

// The stream of random numbers that a variable of this name starts from.
RandomKey VariableKey(uint64_t seed, std::string_view name);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_INITIALIZERS_H_
