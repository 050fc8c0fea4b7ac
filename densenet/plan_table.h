// densenet/plan_table.h
//
// The memory plan of a network as text, for people: every buffer with its
// bytes, the first and last task that uses it, and where it lies in the arena.

#ifndef DENSENET_DENSENET_PLAN_TABLE_H_
#define DENSENET_DENSENET_PLAN_TABLE_H_

#include <string>

#include "core/context.h"
#include "core/status.h"
#include "densenet/model_config.h"
#include "densenet/network.h"
#include "densenet/strategy.h"

namespace densenet {

// Lines of "bytes offset kind name first task - last task", in the order in
// which the buffers come to life; the last line sums up.
std::string PlanTable(const Network& network);

// Of a training step; allocates nothing of it.
// Errors  InvalidArgument  configuration or batch
StatusOr<std::string> PlanTable(const Context& ctx, const ModelConfig& model,
                                Strategy strategy, int64_t batch);

}  // namespace densenet

#endif  // DENSENET_DENSENET_PLAN_TABLE_H_
