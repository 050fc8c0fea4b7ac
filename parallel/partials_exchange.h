// parallel/partials_exchange.h
//
// What synchronized batch norm needs of other towers: their partial sums, in
// the one order of the whole batch, so that every tower merges the same numbers
// in the same order and gets the same bits.

#ifndef DENSENET_PARALLEL_PARTIALS_EXCHANGE_H_
#define DENSENET_PARALLEL_PARTIALS_EXCHANGE_H_

#include <cstdint>

#include "core/status.h"

namespace densenet {

class PartialsExchange {
 public:
  virtual ~PartialsExchange() = default;

  // `values` are `total` rows of `row` numbers, one for each chunk of images of
  // the batch. This tower has written rows [first, first + count); the others
  // are filled in. All towers of a step call it in the same order.
  // Errors  the first of any tower, so that none waits for one that gave up
  virtual Status AllGather(double* values, int64_t row, int64_t first,
                           int64_t count, int64_t total) = 0;
};

}  // namespace densenet

#endif  // DENSENET_PARALLEL_PARTIALS_EXCHANGE_H_
