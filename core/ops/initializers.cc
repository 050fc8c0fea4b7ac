#include "core/ops/initializers.h"

#include <fmt/format.h>

#include <cmath>

#include "core/normal_quantile.h"
#include "core/ops/copy.h"
#include "core/ops/elementwise.h"
#include "core/ops/operands.h"
#include "core/ops/strided_loop.h"

namespace densenet {
namespace {

using Kind = Initializer::Kind;

constexpr std::string_view kName = "Initialize";

// (0, 1), 32 bits: the tails of a normal reach 6.3 deviations.
double OpenUniform(uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) / 4294967296.0;
}

// y[i] = fn(random bits i).
template <typename Fn>
void FillRandom(const Context& ctx, const RandomKey& key, TensorView y, Fn fn) {
  float* py = y.data<float>();
  const StridedLoop<1> loop(y.shape(), {y.strides()});
  loop.ForEachRun(
      ctx.threads(), [&](const auto& at, int64_t count, int64_t index) {
        float* to = py + at[0];
        for (int64_t i = 0; i < count;) {
          const Philox4 block =
              RandomBlock(key, static_cast<uint64_t>(index + i) / 4);
          for (int64_t k = (index + i) % 4; k < 4 && i < count; ++k, ++i) {
            to[i * loop.inner_stride(0)] = static_cast<float>(fn(block.v[k]));
          }
        }
      });
}

void FillNormal(const Context& ctx, const RandomKey& key, double mean,
                double deviation, TensorView y) {
  FillRandom(ctx, key, y, [=](uint32_t bits) {
    return mean + deviation * NormalQuantile(OpenUniform(bits));
  });
}

void FillTruncatedNormal(const Context& ctx, const RandomKey& key, double mean,
                         double deviation, TensorView y) {
  const double low = 0.5 * std::erfc(2.0 / std::sqrt(2.0));  // P(z < -2)
  FillRandom(ctx, key, y, [=](uint32_t bits) {
    const double p = low + (1.0 - 2.0 * low) * OpenUniform(bits);
    return mean + deviation * NormalQuantile(p);
  });
}

StatusOr<double> HeFanOutDeviation(std::string_view variable,
                                   const Shape& shape) {
  if ((shape.rank() != 4 && shape.rank() != 2) || shape.elems() == 0) {
    return InvalidArgument(fmt::format(
        "Initialize: HeFanOut of {} {}: expected filters (R, S, C, K) or "
        "weights (C, K)",
        variable, shape.ToString()));
  }
  const int64_t window = shape.rank() == 4 ? shape.dim(0) * shape.dim(1) : 1;
  return std::sqrt(2.0 / static_cast<double>(window * shape.dim(-1)));
}

Status CheckSettings(const Initializer& initializer,
                     std::string_view variable) {
  const double a = initializer.a;
  const double b = initializer.b;
  const bool normal = initializer.kind == Kind::kNormal ||
                      initializer.kind == Kind::kTruncatedNormal;
  if (!std::isfinite(a) || !std::isfinite(b) || (normal && b < 0.0)) {
    return InvalidArgument(fmt::format(
        "Initialize: {}: settings {} and {}: expected finite numbers and a "
        "deviation of at least 0",
        variable, a, b));
  }
  if (initializer.kind == Kind::kUniform && !(a <= b)) {
    return InvalidArgument(
        fmt::format("Initialize: {}: uniform in [{}, {}): expected low <= high",
                    variable, a, b));
  }
  return OkStatus();
}

}  // namespace

RandomKey VariableKey(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return {seed, static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(hash)};
}

Status Initialize(const Context& ctx, const Initializer& initializer,
                  uint64_t seed, std::string_view name, ConstTensorView source,
                  TensorView y) {
  RETURN_IF_ERROR(CheckOperands(ctx, kName, DType::kFloat32, {{name, y}}));
  RETURN_IF_ERROR(CheckCpu(ctx, kName));
  RETURN_IF_ERROR(CheckSettings(initializer, name));
  const RandomKey key = VariableKey(seed, name);
  const double a = initializer.a;
  const double b = initializer.b;
  switch (initializer.kind) {
    case Kind::kConstant:
      return Fill(ctx, static_cast<float>(a), y);
    case Kind::kUniform:
      FillRandom(ctx, key, y, [=](uint32_t bits) {
        return a + (b - a) * static_cast<double>(UniformFloat(bits));
      });
      return OkStatus();
    case Kind::kNormal:
      FillNormal(ctx, key, a, b, y);
      return OkStatus();
    case Kind::kTruncatedNormal:
      FillTruncatedNormal(ctx, key, a, b, y);
      return OkStatus();
    case Kind::kHeFanOut: {
      ASSIGN_OR_RETURN(const double deviation,
                       HeFanOutDeviation(name, y.shape()));
      FillNormal(ctx, key, 0.0, deviation, y);
      return OkStatus();
    }
    case Kind::kScaled:
      if (source.raw() == nullptr && y.elems() > 0) {
        return InvalidArgument(
            fmt::format("Initialize: {}: no source variable '{}'", name,
                        initializer.source));
      }
      RETURN_IF_ERROR(
          CheckShape(kName, {initializer.source, source}, y.shape()));
      return Scale(ctx, source, static_cast<float>(a), y);
  }
  return Internal("Initialize: unknown kind");
}

}  // namespace densenet
