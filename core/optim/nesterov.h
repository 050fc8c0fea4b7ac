// core/optim/nesterov.h
//
// Nesterov's accelerated gradient, with momentum mu and velocity v:
//     g = dw + weight_decay * w
//     v = mu * v + g
//     w = w - lr * (g + mu * v)

#ifndef DENSENET_CORE_OPTIM_NESTEROV_H_
#define DENSENET_CORE_OPTIM_NESTEROV_H_

#include <memory>

#include "core/optim/optimizer.h"

namespace densenet {

std::unique_ptr<Optimizer> CreateNesterov(const OptimizerConfig& config);

}  // namespace densenet

#endif  // DENSENET_CORE_OPTIM_NESTEROV_H_
