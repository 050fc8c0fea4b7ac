// densenet/verify.h
//
// Holds every memory strategy to `naive` on one training step of the user's own
// network and batch, and says how far rounding alone goes: the noise floor is
// `naive` against itself with the images of the batch in reverse order, which
// changes nothing but the order of sums.
//
// Memory   one strategy at a time, from `memory`
// Errors   ResourceExhausted  no room; InvalidArgument  configuration, images
// Threads  one thread of control; works on ctx.threads()

#ifndef DENSENET_DENSENET_VERIFY_H_
#define DENSENET_DENSENET_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"
#include "densenet/model_config.h"
#include "densenet/strategy.h"

namespace densenet {

struct VerifyRow {
  std::string strategy;  // or "noise floor"
  double dropout = 0;
  // Relative 2-norms of the difference from naive.
  double loss_error = 0;
  double gradient_error = 0;
  double statistics_error = 0;
  // ReLUs that pass in one run and not in the other. A strategy whose loss and
  // statistics equal naive's bit for bit has none; -1 where it is not known.
  int64_t mask_flips = 0;
  // Loss and statistics bitwise equal to naive's, gradients within
  // kVerifyGradientBound; the noise floor always passes.
  bool passed = true;
};

inline constexpr double kVerifyGradientBound = 1e-5;

// Rows of `strategies` for the configuration without dropout, the noise floor
// last, then with `dropout` where it is above 0. `images` (n, H, W, C),
// `labels` (n).
StatusOr<std::vector<VerifyRow>> VerifyStrategies(
    const Context& ctx, MemoryResource& memory, ModelConfig config,
    absl::Span<const Strategy> strategies, double dropout,
    ConstTensorView images, absl::Span<const int32_t> labels, uint64_t seed);

}  // namespace densenet

#endif  // DENSENET_DENSENET_VERIFY_H_
