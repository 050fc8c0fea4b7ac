// core/optim/sgd.h
//
// Stochastic gradient descent, for value w, gradient dw, rate lr:
//     g = dw + weight_decay * w
//     w = w - lr * g

#ifndef DENSENET_CORE_OPTIM_SGD_H_
#define DENSENET_CORE_OPTIM_SGD_H_

#include <memory>

#include "core/optim/optimizer.h"

namespace densenet {

std::unique_ptr<Optimizer> CreateSgd(const OptimizerConfig& config);

}  // namespace densenet

#endif  // DENSENET_CORE_OPTIM_SGD_H_
