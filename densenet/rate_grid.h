// densenet/rate_grid.h
//
// The choice of a learning rate by error on validation images: which rates to
// try, which was best, and where to look further.
//
// Threads  safe

#ifndef DENSENET_DENSENET_RATE_GRID_H_
#define DENSENET_DENSENET_RATE_GRID_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"

namespace densenet {

// A rate that was tried.
struct RatePoint {
  double rate = 0;
  // Means over the seeds at the end of training; nothing: it diverged.
  std::optional<double> error_percent = std::nullopt;
  double loss = 0;  // decides between equal errors
};

// Three neighbours of the series ..., 0.01, 0.03, 0.1, 0.3, 1, ... around a
// rate that usually suits the optimizer.
// Errors  InvalidArgument  none is known: --lrs has to say
StatusOr<std::vector<double>> UsualRates(std::string_view optimizer);

// Of points that are not empty, by rate, rising: the lowest error, of equal
// ones the lowest loss; 0 where all diverged.
size_t BestPoint(absl::Span<const RatePoint> points);

enum class GridEdge { kNone, kLowest, kHighest };

// Whether the best point is the first or last, so that beyond it might be a
// better one. Where all diverged a lower rate might.
GridEdge EdgeOf(absl::Span<const RatePoint> points);

// The neighbour in the series beyond that edge, which is not kNone.
double RateBeyond(absl::Span<const RatePoint> points, GridEdge edge);

}  // namespace densenet

#endif  // DENSENET_DENSENET_RATE_GRID_H_
