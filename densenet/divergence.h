// densenet/divergence.h
//
// How a training run says that it has diverged, so that a comparison can count
// it as a result and tell it from failures of the machine.
//
// Threads  safe

#ifndef DENSENET_DENSENET_DIVERGENCE_H_
#define DENSENET_DENSENET_DIVERGENCE_H_

#include <string_view>

#include "core/status.h"

namespace densenet {

// Internal: the loss, or what was trained, is no finite number any more. The
// mark is lost when the status is annotated.
Status Diverged(std::string_view message);
bool IsDivergence(const Status& status);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DIVERGENCE_H_
