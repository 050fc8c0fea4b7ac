#include "core/layers/layers.h"

#include <fmt/format.h>

#include <cmath>

#include "core/autograd/shaping.h"
#include "core/ops/dropout.h"

namespace densenet::layers {
namespace {

Var Fail(const Scope& scope, Var x, const Status& error) {
  return x.tape()->Fail(scope.name(), {x}, error);
}

// The variable of a layer on the tape of x, poisoned where the scope refuses.
Var OnTapeOf(Var x, const Scope& scope, std::string_view name,
             const Shape& shape, const Initializer& initializer) {
  StatusOr<Variable*> variable = scope.Get(name, shape, initializer);
  if (!variable.ok()) return Fail(scope, x, variable.status());
  return (*variable)->On(*x.tape());
}

}  // namespace

Var Conv2d(const Scope& scope, Var x, const Conv2dOptions& options) {
  if (!x.ok()) return x;
  if (x.shape().rank() != 4 || options.filters < 1 || options.window_h < 1 ||
      options.window_w < 1) {
    return Fail(scope, x,
                InvalidArgument(fmt::format(
                    "Conv2d of {} filters of {} x {}: expected x (N, H, W, C) "
                    "and at least 1 of each",
                    options.filters, options.window_h, options.window_w)));
  }
  const Var w = OnTapeOf(
      x, scope, "weight",
      {options.window_h, options.window_w, x.shape().dim(3), options.filters},
      options.initializer);
  const Var y = densenet::Conv2d(
      x, w, {.stride = options.stride, .padding = options.padding});
  if (!options.bias || !y.ok()) return y;
  return BiasAdd(y, OnTapeOf(y, scope, "bias", {options.filters},
                             Initializer::Constant(0.0)));
}

Var BatchNorm(const Scope& scope, Var x, const Pass& pass,
              const BatchNormParams& params) {
  if (!x.ok()) return x;
  if (x.shape().rank() < 2) {
    return Fail(scope, x, InvalidArgument("BatchNorm: expected x (..., C)"));
  }
  const Shape channels = {x.shape().dim(-1)};
  const Initializer zeros = Initializer::Constant(0.0);
  const Initializer ones = Initializer::Constant(1.0);
  const Var gamma = OnTapeOf(x, scope, "weight", channels, ones);
  const Var beta = OnTapeOf(x, scope, "bias", channels, zeros);
  StatusOr<Variable*> mean = scope.Get("running_mean", channels, zeros, false);
  if (!mean.ok()) return Fail(scope, x, mean.status());
  StatusOr<Variable*> var = scope.Get("running_var", channels, ones, false);
  if (!var.ok()) return Fail(scope, x, var.status());
  if (pass.training) {
    return BatchNormTrain(x, gamma, beta, params, (*mean)->value.view(),
                          (*var)->value.view());
  }
  return BatchNormEval(x, gamma, beta, params, (*mean)->value.const_view(),
                       (*var)->value.const_view());
}

Var Dense(const Scope& scope, Var x, const DenseOptions& options) {
  if (!x.ok()) return x;
  if (x.shape().rank() != 2 || x.shape().dim(1) < 1 || options.units < 1) {
    return Fail(scope, x,
                InvalidArgument(fmt::format(
                    "Dense of {} units: expected x (N, C), which Flatten or "
                    "GlobalAvgPool gives, and at least 1 unit",
                    options.units)));
  }
  const int64_t inputs = x.shape().dim(1);
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  const Var w = OnTapeOf(
      x, scope, "weight", {inputs, options.units},
      options.initializer.value_or(Initializer::Uniform(-bound, bound)));
  const Var y = MatMul(x, w);
  if (!options.bias || !y.ok()) return y;
  return BiasAdd(y, OnTapeOf(y, scope, "bias", {options.units},
                             Initializer::Constant(0.0)));
}

Var Dropout(const Scope& scope, Var x, double rate, const Pass& pass) {
  if (!x.ok()) return x;
  // A rate that training would refuse is refused in evaluation too.
  if (const Status status = CheckDropoutRate(rate); !status.ok()) {
    return Fail(scope, x, status);
  }
  if (!pass.training) return x;
  const uint32_t stream = VariableKey(pass.seed, scope.name()).stream;
  return densenet::Dropout(x, rate, {pass.seed, pass.step, stream});
}

Var Flatten(Var x) {
  if (!x.ok()) return x;
  if (x.shape().rank() < 1) {
    return x.tape()->Fail("Flatten", {x},
                          InvalidArgument("expected x (N, ...)"));
  }
  int64_t rest = 1;
  for (int axis = 1; axis < x.shape().rank(); ++axis)
    rest *= x.shape().dim(axis);
  return Reshape(x, {x.shape().dim(0), rest});
}

}  // namespace densenet::layers
