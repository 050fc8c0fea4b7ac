#include "densenet/local_norm.h"

#include <algorithm>

#include "densenet/kernels/batch_norm_fold.h"
#include "densenet/kernels/channel_statistics.h"

namespace densenet {

LocalNorm::LocalNorm(StepBuilder& builder, const std::string& name,
                     int64_t pixels, int64_t channels)
    : builder_(builder),
      name_(name),
      pixels_(pixels),
      channels_(channels),
      norm_(builder.Norm(name)),
      epsilon_(builder.config().batch_norm_epsilon),
      momentum_(builder.config().batch_norm_momentum),
      frozen_(!builder.batch_statistics()) {}

void LocalNorm::AddFoldTask(StepBuilder& builder, BufferId moments) {
  coefficients_ = builder.Floats(name_ + ".coefficients", BufferKind::kStored,
                                 kCount * channels_);
  if (frozen_) {
    builder.Add(name_ + ".fold", "forward fold", {coefficients_},
                [this](const Step& step) {
                  std::copy_n(norm_.running_mean(), channels_, At(step, kMean));
                  InverseDeviation(channels_, norm_.running_var(), epsilon_,
                                   At(step, kInvStd));
                  FoldRunningBatchNorm(channels_, norm_.gamma.value(),
                                       norm_.beta.value(), norm_.running_mean(),
                                       norm_.running_var(), epsilon_,
                                       At(step, kScale), At(step, kShift));
                  return OkStatus();
                });
    return;
  }
  builder.Add(
      name_ + ".fold", "forward statistics", {coefficients_, moments},
      [this, moments, &builder](const Step& step) {
        RETURN_IF_ERROR(builder.ExchangePartials(step, moments, channels_));
        MergeMoments(step.Data<double>(moments), builder.StatisticsImages(step),
                     pixels_, channels_, epsilon_,
                     {At(step, kMean), At(step, kInvStd), At(step, kVariance)});
        FoldBatchNorm(channels_, norm_.gamma.value(), norm_.beta.value(),
                      At(step, kMean), At(step, kInvStd), At(step, kScale),
                      At(step, kShift));
        UpdateRunning(channels_, At(step, kMean), momentum_,
                      norm_.running_mean());
        UpdateRunning(channels_, At(step, kVariance), momentum_,
                      norm_.running_var());
        return OkStatus();
      });
}

BufferId LocalNorm::AddNormalizeTask(StepBuilder& builder, bool forward,
                                     BufferId x) {
  const bool kept = builder.traits().keeps_normalized;
  const BufferId z =
      builder.Floats(name_ + (forward ? ".z" : ".z_again"),
                     kept ? BufferKind::kStored : BufferKind::kScratch,
                     builder.max_batch() * pixels_ * channels_);
  const Context& ctx = builder.ctx();
  builder.Add(name_ + ".normalize",
              forward ? "forward normalize" : "backward normalize",
              {x, coefficients_, z}, [this, x, z, &ctx](const Step& step) {
                NormalizePass(ctx, shape(step), Rows(step, x),
                              step.Data<float>(z), channels_);
                return OkStatus();
              });
  return z;
}

void LocalNorm::BeginBackward(StepBuilder& builder) {
  sums_ = builder.Bytes(name_ + ".gradient_sums", BufferKind::kScratch,
                        GradientSumsBytes(kMaxChunks, channels_));
  k_ = builder.Scratch(name_ + ".k", 2 * channels_);
}

BatchNormSink LocalNorm::Sink(const Step& step, BufferId x, BufferId dy) const {
  BatchNormSink sink;
  sink.channels = channels_;
  sink.x = step.Data<float>(x);
  sink.ldx = channels_;
  sink.scale = At(step, kScale);
  sink.shift = At(step, kShift);
  sink.mean = At(step, kMean);
  sink.dy = step.Data<float>(dy);
  sink.lddy = channels_;
  sink.partials = builder_.OwnPartials(step, sums_, channels_);
  return sink;
}

void LocalNorm::AddGradientTask(StepBuilder& builder) {
  builder.Add(
      name_ + ".gradient", "backward sums", {sums_, coefficients_, k_},
      [this, &builder](const Step& step) {
        RETURN_IF_ERROR(builder.ExchangePartials(step, sums_, channels_));
        const FixedChunks images = builder.StatisticsImages(step);
        float* d_gamma = norm_.gamma.gradient();
        float* d_beta = norm_.beta.gradient();
        ReduceGradientSums(step.Data<double>(sums_), images.count(), channels_,
                           At(step, kInvStd), d_gamma, d_beta);
        float* k1 = step.Data<float>(k_);
        if (frozen_) {
          std::fill(k1, k1 + 2 * channels_, 0.0f);
          return OkStatus();
        }
        InputGradientCoefficients(
            channels_, norm_.gamma.value(), At(step, kInvStd), d_gamma, d_beta,
            static_cast<double>(images.items() * pixels_), k1, k1 + channels_);
        return OkStatus();
      });
}

}  // namespace densenet
