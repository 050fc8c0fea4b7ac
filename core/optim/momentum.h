// core/optim/momentum.h
//
// Gradient descent with momentum mu and velocity v, without dampening:
//     g = dw + weight_decay * w
//     v = mu * v + g
//     w = w - lr * v

#ifndef DENSENET_CORE_OPTIM_MOMENTUM_H_
#define DENSENET_CORE_OPTIM_MOMENTUM_H_

#include <memory>

#include "core/optim/optimizer.h"

namespace densenet {

std::unique_ptr<Optimizer> CreateMomentum(const OptimizerConfig& config);

}  // namespace densenet

#endif  // DENSENET_CORE_OPTIM_MOMENTUM_H_
