#include "densenet/block_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "densenet/kernels/batch_norm_fold.h"
#include "densenet/kernels/batch_norm_passes.h"
#include "densenet/kernels/channel_statistics.h"

namespace densenet {

BlockFeatures::BlockFeatures(StepBuilder& builder, const std::string& name,
                             Extent extent, const std::vector<int64_t>& pieces)
    : name_(name), extent_(extent) {
  int64_t total = 0;
  for (int64_t channels : pieces) ends_.push_back(total += channels);
  const int64_t rows = builder.max_batch() * pixels();
  const bool split = builder.traits().copies_concatenation;
  BufferId values;
  BufferId gradients;
  if (!split) {
    values =
        builder.Floats(name + ".features", BufferKind::kFeatures, rows * total);
    if (builder.training()) {
      gradients = builder.Floats(name + ".features.gradient",
                                 BufferKind::kGradients, rows * total);
    }
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (split) {
      const std::string piece = fmt::format("{}.piece{}", name, i);
      values = builder.Floats(piece, BufferKind::kFeatures, rows * pieces[i]);
      gradients = builder.Floats(piece + ".gradient", BufferKind::kGradients,
                                 rows * pieces[i]);
    }
    const int64_t offset = split ? 0 : piece_begin(static_cast<int64_t>(i));
    const int64_t ld = split ? pieces[i] : total;
    values_.push_back({values, offset, ld});
    gradients_.push_back({gradients, offset, ld});
  }
  if (!builder.batch_statistics()) return;
  auto per_channel = [&](const char* what) {
    return builder.Floats(name + what, BufferKind::kStored, total);
  };
  mean_ = per_channel(".mean");
  inv_std_ = per_channel(".inv_std");
  variance_ = per_channel(".variance");
  if (builder.traits().defers_correction) {
    const int64_t bytes = total * int64_t{sizeof(double)};
    p_ = builder.Bytes(name + ".p", BufferKind::kGradients, bytes);
    q_ = builder.Bytes(name + ".q", BufferKind::kGradients, bytes);
  }
}

void BlockFeatures::AddStatisticsTask(StepBuilder& builder, int64_t piece,
                                      BufferId moments) const {
  if (!builder.batch_statistics()) return;
  const int64_t begin = piece_begin(piece);
  const int64_t channels = piece_channels(piece);
  const double epsilon = builder.config().batch_norm_epsilon;
  builder.Add(
      fmt::format("{}.piece{}.statistics", name_, piece), "forward statistics",
      {moments, mean_, inv_std_, variance_},
      [=, this, &builder](const Step& step) {
        RETURN_IF_ERROR(builder.ExchangePartials(step, moments, channels));
        MergeMoments(step.Data<double>(moments), builder.StatisticsImages(step),
                     pixels(), channels, epsilon,
                     {step.Data<float>(mean_) + begin,
                      step.Data<float>(inv_std_) + begin,
                      step.Data<float>(variance_) + begin});
        return OkStatus();
      });
}

void BlockFeatures::AddGatherStatisticsTasks(StepBuilder& builder,
                                             int64_t piece) const {
  if (!builder.batch_statistics()) return;
  const int64_t channels = piece_channels(piece);
  const std::string name = fmt::format("{}.piece{}.moments", name_, piece);
  const RowsRef x = Piece(piece);
  const BufferId moments =
      builder.Bytes(name, BufferKind::kScratch, MomentsBytes(channels));
  const BufferId scratch =
      builder.Scratch(name, builder.threads() * MomentsScratchFloats(channels));
  const Context& ctx = builder.ctx();
  builder.Add(name, "forward statistics", {x.buffer, moments, scratch},
              [=, this, &ctx, &builder](const Step& step) {
                GatherMoments(ctx, ImageChunks(step.images, step.share.chunks),
                              pixels(), channels, x.At(step), x.ld,
                              builder.OwnPartials(step, moments, channels),
                              step.Data<float>(scratch));
                return OkStatus();
              });
  AddStatisticsTask(builder, piece, moments);
}

BufferId BlockFeatures::AddCorrectionTask(StepBuilder& builder,
                                          int64_t piece) const {
  // Frozen statistics are constants: there is no correction.
  if (!builder.traits().defers_correction || !builder.batch_statistics()) {
    return BufferId();
  }
  const int64_t begin = piece_begin(piece);
  const int64_t channels = piece_channels(piece);
  const std::string name = fmt::format("{}.piece{}.correction", name_, piece);
  const BufferId correction = builder.Scratch(name, 3 * channels);
  builder.Add(name, "backward correction", {inv_std_, p_, q_, correction},
              [=, this, &builder](const Step& step) {
                float* k1 = step.Data<float>(correction);
                const int64_t images = builder.StatisticsImages(step).items();
                float* k2 = k1 + channels;
                float* ones = k2 + channels;
                CorrectionCoefficients(
                    channels, step.Data<float>(inv_std_) + begin,
                    step.Data<double>(p_) + begin,
                    step.Data<double>(q_) + begin,
                    static_cast<double>(images * pixels()), k1, k2);
                std::fill(ones, ones + channels, 1.0f);
                return OkStatus();
              });
  return correction;
}

std::vector<BufferId> BlockFeatures::OutputGradientBuffers(
    int64_t piece, BufferId correction) const {
  std::vector<BufferId> buffers = {PieceGradient(piece).buffer};
  if (!correction.valid()) return buffers;
  return Join(buffers, {Piece(piece).buffer, mean_, correction});
}

OutputGradient BlockFeatures::OutputGradientOf(const Step& step, int64_t piece,
                                               BufferId correction) const {
  const RowsRef g = PieceGradient(piece);
  OutputGradient gradient;
  gradient.dy = g.At(step);
  gradient.ld = g.ld;
  if (!correction.valid()) return gradient;
  const RowsRef x = Piece(piece);
  const int64_t channels = piece_channels(piece);
  gradient.y = x.At(step);
  gradient.ldy = x.ld;
  gradient.mean = step.Data<float>(mean_) + piece_begin(piece);
  gradient.k1 = step.Data<float>(correction);
  gradient.k2 = gradient.k1 + channels;
  gradient.scale = gradient.k2 + channels;
  return gradient;
}

void BlockFeatures::AddFinishGradientTask(StepBuilder& builder,
                                          int64_t piece) const {
  const BufferId correction = AddCorrectionTask(builder, piece);
  if (!correction.valid()) return;
  const Context& ctx = builder.ctx();
  builder.Add(fmt::format("{}.piece{}.finish", name_, piece),
              "backward correction", OutputGradientBuffers(piece, correction),
              [=, this, &ctx](const Step& step) {
                const OutputGradient gradient =
                    OutputGradientOf(step, piece, correction);
                InputGradientPass pass;
                pass.shape = {step.images, pixels(), piece_channels(piece)};
                pass.x = gradient.y;
                pass.ldx = gradient.ldy;
                pass.mean = gradient.mean;
                pass.scale = gradient.scale;
                pass.k1 = gradient.k1;
                pass.k2 = gradient.k2;
                pass.dy = gradient.dy;
                pass.dx = PieceGradient(piece).At(step);
                pass.lddy = pass.lddx = gradient.ld;
                Run(ctx, pass);
                return OkStatus();
              });
}

}  // namespace densenet
