// densenet/kernels/batch_norm_fold.h
//
// The per-channel arithmetic of batch norm (Ioffe, Szegedy, 2015) around the
// row kernels: gamma and beta folded into scale and shift, running averages,
// and the coefficients of the input gradient. One thread: a few hundred
// channels at a time.
//
// The input gradient of y = gamma * xhat + beta, xhat = (x - mean) * r,
//   dx = gamma * r * dy - gamma * r / M * (sum dy + xhat * sum dy * xhat)
// is written scale * dy - (k1 + k2 * (x - mean)) with
//   k1 = r / M * p,  k2 = r^2 / M * q,
//   p = gamma * d_beta,  q = gamma * d_gamma.
// A feature channel read by several dense layers has one xhat for all, so the
// p and q of its readers add up, and the second term is applied once, by the
// layer that produced the channel (docs/memory-model.md).

#ifndef DENSENET_DENSENET_KERNELS_BATCH_NORM_FOLD_H_
#define DENSENET_DENSENET_KERNELS_BATCH_NORM_FOLD_H_

#include <cstdint>

namespace densenet {

// scale = gamma * inv_std, shift = beta - mean * scale.
void FoldBatchNorm(int64_t channels, const float* gamma, const float* beta,
                   const float* mean, const float* inv_std, float* scale,
                   float* shift);
// The same with running statistics: inv_std = 1 / sqrt(variance + epsilon).
void FoldRunningBatchNorm(int64_t channels, const float* gamma,
                          const float* beta, const float* running_mean,
                          const float* running_variance, double epsilon,
                          float* scale, float* shift);
// inv_std = 1 / sqrt(variance + epsilon).
void InverseDeviation(int64_t channels, const float* variance, double epsilon,
                      float* inv_std);
// running += momentum * (batch - running): `momentum` weighs the batch.
void UpdateRunning(int64_t channels, const float* batch, double momentum,
                   float* running);

constexpr int64_t GradientSumsBytes(int64_t chunks, int64_t channels) {
  return chunks * 2 * channels * int64_t{sizeof(double)};
}
// Adds up `chunks` partials (sum dy, sum dy * (x - mean)), 2 x channels each,
// in order: d_beta = sum dy, d_gamma = inv_std * sum dy * (x - mean).
void ReduceGradientSums(const double* partials, int64_t chunks,
                        int64_t channels, const float* inv_std, float* d_gamma,
                        float* d_beta);
// p (+)= gamma * d_beta, q (+)= gamma * d_gamma; `overwrite` for the first.
void AddCorrection(int64_t channels, const float* gamma, const float* d_gamma,
                   const float* d_beta, bool overwrite, double* p, double* q);
// k1 and k2 of p and q, for M values a channel.
void CorrectionCoefficients(int64_t channels, const float* inv_std,
                            const double* p, const double* q, double m,
                            float* k1, float* k2);
// k1 and k2 of a batch norm with one reader.
void InputGradientCoefficients(int64_t channels, const float* gamma,
                               const float* inv_std, const float* d_gamma,
                               const float* d_beta, double m, float* k1,
                               float* k2);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_BATCH_NORM_FOLD_H_
