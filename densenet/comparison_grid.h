// densenet/comparison_grid.h
//
// The rates of a comparison: each optimizer is trained at several on a part of
// the training images and judged by its error on the others at the end of
// training. Test images decide nothing. Automatic rates are extended while the
// best is at their edge, a few times.
//
// Errors   those of densenet/comparison.h
// Threads  one thread of control

#ifndef DENSENET_DENSENET_COMPARISON_GRID_H_
#define DENSENET_DENSENET_COMPARISON_GRID_H_

#include "core/status.h"
#include "densenet/comparison.h"

namespace densenet {

// Of the comparison's folder: where the grid's runs are.
inline constexpr char kGridFolder[] = "grid";

// Images held out for a grid when nothing is said.
int64_t DefaultGridValidation(int64_t train_images);

// Fills in grid_recipe and, as far as it gets, grid; true when that is whole,
// false when somebody stopped it. Needs comparison->train_images.
StatusOr<bool> RunGrid(const ComparisonOutput& output, Comparison* comparison);

}  // namespace densenet

#endif  // DENSENET_DENSENET_COMPARISON_GRID_H_
