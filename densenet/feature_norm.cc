#include "densenet/feature_norm.h"

#include <algorithm>
#include <utility>

#include "densenet/kernels/batch_norm_fold.h"
#include "densenet/kernels/batch_norm_passes.h"
#include "densenet/kernels/channel_statistics.h"

namespace densenet {

FeatureNorm::FeatureNorm(StepBuilder& builder, const BlockFeatures& features,
                         int64_t pieces, const std::string& name,
                         bool last_reader)
    : builder_(builder),
      features_(features),
      pieces_(pieces),
      channels_(features.prefix_channels(pieces)),
      name_(name),
      last_reader_(last_reader),
      traits_(builder.traits()),
      frozen_(builder.training() && !builder.batch_statistics()),
      norm_(builder.Norm(name)),
      x_(features.Piece(0)) {}

void FeatureNorm::AddForward(StepBuilder& builder) {
  if (traits_.copies_concatenation && pieces_ > 1) AddConcatenateTask(builder);
  forward_ = AddFoldTask(builder, /*forward=*/true);
  if (!traits_.materializes_normalized) return;
  const int64_t rows = builder.max_batch() * features_.pixels();
  forward_z_ = builder.Floats(
      name_ + ".z",
      traits_.keeps_normalized ? BufferKind::kStored : BufferKind::kScratch,
      rows * channels_);
  AddNormalizeTask(builder, "forward normalize", forward_, forward_z_);
}

void FeatureNorm::AddConcatenateTask(StepBuilder& builder) {
  const int64_t rows = builder.max_batch() * features_.pixels();
  const BufferId concat =
      builder.Floats(name_ + ".concat", BufferKind::kStored, rows * channels_);
  x_ = {concat, 0, channels_};
  std::vector<BufferId> buffers = {concat};
  for (int64_t i = 0; i < pieces_; ++i) {
    buffers.push_back(features_.Piece(i).buffer);
  }
  const Context& ctx = builder.ctx();
  builder.Add(name_ + ".concat", "forward concatenate", buffers,
              [this, &ctx](const Step& step) {
                for (int64_t i = 0; i < pieces_; ++i) {
                  const RowsRef piece = features_.Piece(i);
                  CopyPass(ctx,
                           {step.images, features_.pixels(),
                            features_.piece_channels(i)},
                           piece.At(step), piece.ld,
                           x_.At(step) + features_.piece_begin(i), x_.ld,
                           /*add=*/false);
                }
                return OkStatus();
              });
}

std::vector<BufferId> FeatureNorm::WithStatistics(
    std::vector<BufferId> buffers) const {
  if (frozen_) return buffers;
  return Join(std::move(buffers), {features_.mean(), features_.inv_std()});
}

FeatureNorm::Folded FeatureNorm::AddFoldTask(StepBuilder& builder,
                                             bool forward) {
  const std::string name = name_ + (forward ? ".fold" : ".fold_again");
  const Folded folded = {
      builder.Floats(name + ".scale", BufferKind::kScratch, channels_),
      builder.Floats(name + ".shift", BufferKind::kScratch, channels_)};
  const char* phase = forward ? "forward fold" : "backward fold";
  if (!builder.batch_statistics()) {
    const double epsilon = builder.config().batch_norm_epsilon;
    builder.Add(name, phase, {folded.scale, folded.shift},
                [this, folded, epsilon](const Step& step) {
                  FoldRunningBatchNorm(channels_, norm_.gamma.value(),
                                       norm_.beta.value(), norm_.running_mean(),
                                       norm_.running_var(), epsilon,
                                       step.Data<float>(folded.scale),
                                       step.Data<float>(folded.shift));
                  return OkStatus();
                });
    return folded;
  }
  const double momentum = builder.config().batch_norm_momentum;
  const std::vector<BufferId> buffers = {folded.scale, folded.shift,
                                         features_.mean(), features_.inv_std(),
                                         features_.variance()};
  builder.Add(
      name, phase, buffers,
      [this, folded, forward, momentum](const Step& step) {
        const float* mean = step.Data<float>(features_.mean());
        FoldBatchNorm(channels_, norm_.gamma.value(), norm_.beta.value(), mean,
                      step.Data<float>(features_.inv_std()),
                      step.Data<float>(folded.scale),
                      step.Data<float>(folded.shift));
        // Once a step, whatever is computed again later.
        if (forward) {
          UpdateRunning(channels_, mean, momentum, norm_.running_mean());
          UpdateRunning(channels_, step.Data<float>(features_.variance()),
                        momentum, norm_.running_var());
        }
        return OkStatus();
      });
  return folded;
}

void FeatureNorm::AddNormalizeTask(StepBuilder& builder, const char* phase,
                                   const Folded& folded, BufferId z) {
  const Context& ctx = builder.ctx();
  builder.Add(
      name_ + ".normalize", phase, {x_.buffer, folded.scale, folded.shift, z},
      [this, &ctx, folded, z](const Step& step) {
        NormalizePass(ctx, {step.images, features_.pixels(), channels_},
                      {x_.At(step), x_.ld, step.Data<float>(folded.scale),
                       step.Data<float>(folded.shift)},
                      step.Data<float>(z), channels_);
        return OkStatus();
      });
}

NormalizedRows FeatureNorm::Rows(const Step& step, const Folded& folded,
                                 BufferId z) const {
  if (z.valid()) return {step.Data<float>(z), channels_, nullptr, nullptr};
  return {x_.At(step), x_.ld, step.Data<float>(folded.scale),
          step.Data<float>(folded.shift)};
}

std::vector<BufferId> FeatureNorm::RowBuffers(const Folded& folded,
                                              BufferId z) const {
  if (z.valid()) return {z};
  return {x_.buffer, folded.scale, folded.shift};
}

std::vector<BufferId> FeatureNorm::ForwardBuffers() const {
  return RowBuffers(forward_, forward_z_);
}

NormalizedRows FeatureNorm::ForwardRows(const Step& step) const {
  return Rows(step, forward_, forward_z_);
}

void FeatureNorm::BeginBackward(StepBuilder& builder) {
  const int64_t rows = builder.max_batch() * features_.pixels();
  backward_ = AddFoldTask(builder, /*forward=*/false);
  if (traits_.keeps_normalized) {
    backward_z_ = forward_z_;
  } else if (traits_.materializes_normalized) {
    backward_z_ = builder.Floats(name_ + ".z_again", BufferKind::kScratch,
                                 rows * channels_);
    AddNormalizeTask(builder, "backward normalize", backward_, backward_z_);
  }
  partials_ = builder.Bytes(name_ + ".gradient_sums", BufferKind::kScratch,
                            GradientSumsBytes(kMaxChunks, channels_));
  if (!traits_.defers_correction) {
    dy_ =
        builder.Floats(name_ + ".dy", BufferKind::kGradients, rows * channels_);
  }
}

std::vector<BufferId> FeatureNorm::BackwardBuffers() const {
  std::vector<BufferId> buffers = RowBuffers(backward_, backward_z_);
  buffers = WithStatistics(
      Join(buffers, {x_.buffer, backward_.scale, backward_.shift, partials_}));
  buffers.push_back(
      traits_.defers_correction ? features_.PieceGradient(0).buffer : dy_);
  return buffers;
}

NormalizedRows FeatureNorm::BackwardRows(const Step& step) const {
  return Rows(step, backward_, backward_z_);
}

BatchNormSink FeatureNorm::Sink(const Step& step) const {
  BatchNormSink sink;
  sink.channels = channels_;
  sink.x = x_.At(step);
  sink.ldx = x_.ld;
  sink.scale = step.Data<float>(backward_.scale);
  sink.shift = step.Data<float>(backward_.shift);
  sink.mean = Mean(step);
  sink.partials = builder_.OwnPartials(step, partials_, channels_);
  if (traits_.defers_correction) {
    const RowsRef g = features_.PieceGradient(0);
    sink.g = g.At(step);
    sink.ldg = g.ld;
    sink.overwrite_g = last_reader_;
  } else {
    sink.dy = step.Data<float>(dy_);
    sink.lddy = channels_;
  }
  return sink;
}

void FeatureNorm::EndBackward(StepBuilder& builder) {
  if (!traits_.defers_correction) {
    coefficients_ = builder.Scratch(name_ + ".coefficients", 2 * channels_);
  }
  AddGradientSumsTask(builder);
  if (traits_.defers_correction) return;
  if (traits_.copies_concatenation && pieces_ > 1) {
    const int64_t rows = builder.max_batch() * features_.pixels();
    concat_gradient_ = builder.Floats(name_ + ".concat.gradient",
                                      BufferKind::kGradients, rows * channels_);
  }
  AddInputGradientTask(builder);
  if (concat_gradient_.valid()) AddSplitTask(builder);
}

void FeatureNorm::AddGradientSumsTask(StepBuilder& builder) {
  const bool correct = traits_.defers_correction && !frozen_;
  std::vector<BufferId> buffers = WithStatistics({partials_});
  if (frozen_) {
    frozen_inv_std_ = builder.Scratch(name_ + ".frozen", channels_);
    buffers.push_back(frozen_inv_std_);
  }
  if (correct) buffers = Join(buffers, {features_.p(), features_.q()});
  if (coefficients_.valid()) buffers.push_back(coefficients_);
  const double epsilon = builder.config().batch_norm_epsilon;
  builder.Add(
      name_ + ".gradient", "backward sums", buffers,
      [this, correct, epsilon](const Step& step) {
        RETURN_IF_ERROR(builder_.ExchangePartials(step, partials_, channels_));
        const FixedChunks images = builder_.StatisticsImages(step);
        float* inv_std =
            step.Data<float>(frozen_ ? frozen_inv_std_ : features_.inv_std());
        if (frozen_) {
          InverseDeviation(channels_, norm_.running_var(), epsilon, inv_std);
        }
        const float* gamma = norm_.gamma.value();
        float* d_gamma = norm_.gamma.gradient();
        float* d_beta = norm_.beta.gradient();
        ReduceGradientSums(step.Data<double>(partials_), images.count(),
                           channels_, inv_std, d_gamma, d_beta);
        if (correct) {
          AddCorrection(channels_, gamma, d_gamma, d_beta, last_reader_,
                        step.Data<double>(features_.p()),
                        step.Data<double>(features_.q()));
        }
        if (!coefficients_.valid()) return OkStatus();
        float* k1 = step.Data<float>(coefficients_);
        if (frozen_) {
          std::fill(k1, k1 + 2 * channels_, 0.0f);
        } else {
          InputGradientCoefficients(
              channels_, gamma, inv_std, d_gamma, d_beta,
              static_cast<double>(images.items() * features_.pixels()), k1,
              k1 + channels_);
        }
        return OkStatus();
      });
}

void FeatureNorm::AddInputGradientTask(StepBuilder& builder) {
  const bool split = concat_gradient_.valid();
  const RowsRef dx = split ? RowsRef{concat_gradient_, 0, channels_}
                           : features_.PieceGradient(0);
  const bool add = !split && !last_reader_;
  const Context& ctx = builder.ctx();
  builder.Add(name_ + ".input_gradient", "backward input gradient",
              WithStatistics(
                  {x_.buffer, backward_.scale, coefficients_, dy_, dx.buffer}),
              [this, dx, add, &ctx](const Step& step) {
                InputGradientPass pass;
                pass.shape = {step.images, features_.pixels(), channels_};
                pass.x = x_.At(step);
                pass.ldx = x_.ld;
                pass.mean = Mean(step);
                pass.scale = step.Data<float>(backward_.scale);
                pass.k1 = step.Data<float>(coefficients_);
                pass.k2 = pass.k1 + channels_;
                pass.dy = step.Data<float>(dy_);
                pass.lddy = channels_;
                pass.dx = dx.At(step);
                pass.lddx = dx.ld;
                pass.add = add;
                Run(ctx, pass);
                return OkStatus();
              });
}

void FeatureNorm::AddSplitTask(StepBuilder& builder) {
  std::vector<BufferId> buffers = {concat_gradient_};
  for (int64_t i = 0; i < pieces_; ++i) {
    buffers.push_back(features_.PieceGradient(i).buffer);
  }
  const Context& ctx = builder.ctx();
  builder.Add(
      name_ + ".split", "backward split", buffers,
      [this, &ctx](const Step& step) {
        for (int64_t i = 0; i < pieces_; ++i) {
          const RowsRef g = features_.PieceGradient(i);
          CopyPass(
              ctx,
              {step.images, features_.pixels(), features_.piece_channels(i)},
              step.Data<float>(concat_gradient_) + features_.piece_begin(i),
              channels_, g.At(step), g.ld, /*add=*/!last_reader_);
        }
        return OkStatus();
      });
}

}  // namespace densenet
