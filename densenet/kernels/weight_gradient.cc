#include "densenet/kernels/weight_gradient.h"

#include <algorithm>

#include "core/chunks.h"

namespace densenet {

void ReduceWeightGradient(const Context& ctx, const float* partials,
                          int64_t chunks, int64_t elems, float* dw) {
  constexpr int64_t kElems = 4096;  // of a task: 16 KB stay in L1
  ForEachChunk(ctx.threads(), elems, kElems,
               [&](int64_t begin, int64_t end, int64_t) {
                 std::copy(partials + begin, partials + end, dw + begin);
                 for (int64_t i = 1; i < chunks; ++i) {
                   const float* part = partials + i * elems;
                   for (int64_t e = begin; e < end; ++e) dw[e] += part[e];
                 }
               });
}

void TransposeWeights(int64_t c, int64_t k, const float* w, float* wt) {
  for (int64_t i = 0; i < c; ++i) {
    for (int64_t j = 0; j < k; ++j) wt[j * c + i] = w[i * k + j];
  }
}

}  // namespace densenet
