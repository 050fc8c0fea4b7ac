#include "densenet/kernels/batch_norm_fold.h"

#include <cmath>

namespace densenet {
namespace {

// float32 results of float64 arithmetic, so that nothing is lost when |mean|
// is far above the deviation.
void Fold(float gamma, float beta, double mean, double inv_std, float* scale,
          float* shift) {
  *scale = static_cast<float>(gamma * inv_std);
  *shift = static_cast<float>(beta - mean * *scale);
}

}  // namespace

void FoldBatchNorm(int64_t channels, const float* gamma, const float* beta,
                   const float* mean, const float* inv_std, float* scale,
                   float* shift) {
  for (int64_t c = 0; c < channels; ++c) {
    Fold(gamma[c], beta[c], mean[c], inv_std[c], scale + c, shift + c);
  }
}

void FoldRunningBatchNorm(int64_t channels, const float* gamma,
                          const float* beta, const float* running_mean,
                          const float* running_variance, double epsilon,
                          float* scale, float* shift) {
  for (int64_t c = 0; c < channels; ++c) {
    const double inv_std = 1 / std::sqrt(running_variance[c] + epsilon);
    Fold(gamma[c], beta[c], running_mean[c], inv_std, scale + c, shift + c);
  }
}

void InverseDeviation(int64_t channels, const float* variance, double epsilon,
                      float* inv_std) {
  for (int64_t c = 0; c < channels; ++c) {
    inv_std[c] = static_cast<float>(1 / std::sqrt(variance[c] + epsilon));
  }
}

void UpdateRunning(int64_t channels, const float* batch, double momentum,
                   float* running) {
  for (int64_t c = 0; c < channels; ++c) {
    running[c] = static_cast<float>(running[c] +
                                    momentum * (double{batch[c]} - running[c]));
  }
}

void ReduceGradientSums(const double* partials, int64_t chunks,
                        int64_t channels, const float* inv_std, float* d_gamma,
                        float* d_beta) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum_dy = 0;
    double sum_dyx = 0;
    for (int64_t i = 0; i < chunks; ++i) {
      const double* part = partials + i * 2 * channels;
      sum_dy += part[c];
      sum_dyx += part[channels + c];
    }
    d_beta[c] = static_cast<float>(sum_dy);
    d_gamma[c] = static_cast<float>(sum_dyx * inv_std[c]);
  }
}

void AddCorrection(int64_t channels, const float* gamma, const float* d_gamma,
                   const float* d_beta, bool overwrite, double* p, double* q) {
  for (int64_t c = 0; c < channels; ++c) {
    const double g = gamma[c];
    p[c] = (overwrite ? 0 : p[c]) + g * d_beta[c];
    q[c] = (overwrite ? 0 : q[c]) + g * d_gamma[c];
  }
}

void CorrectionCoefficients(int64_t channels, const float* inv_std,
                            const double* p, const double* q, double m,
                            float* k1, float* k2) {
  for (int64_t c = 0; c < channels; ++c) {
    const double r = inv_std[c];
    k1[c] = static_cast<float>(r / m * p[c]);
    k2[c] = static_cast<float>(r * r / m * q[c]);
  }
}

void InputGradientCoefficients(int64_t channels, const float* gamma,
                               const float* inv_std, const float* d_gamma,
                               const float* d_beta, double m, float* k1,
                               float* k2) {
  for (int64_t c = 0; c < channels; ++c) {
    double p;
    double q;
    AddCorrection(1, gamma + c, d_gamma + c, d_beta + c, true, &p, &q);
    CorrectionCoefficients(1, inv_std + c, &p, &q, m, k1 + c, k2 + c);
  }
}

}  // namespace densenet
