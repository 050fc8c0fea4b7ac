// densenet/block_features.h
//
// The features of one dense block, their batch statistics and their gradient.
// The block's channels come in pieces: its input, then `growth_rate` of each
// layer. With shared storage all pieces are columns of ONE buffer
// (N, H, W, C_total) and nothing is ever concatenated; the naive strategy
// gives each piece a tensor of its own, as frameworks do.
//
// Batch mean and inverse deviation belong to the channel, not to the reader:
// the producer of a piece computes them once for every later layer.

#ifndef DENSENET_DENSENET_BLOCK_FEATURES_H_
#define DENSENET_DENSENET_BLOCK_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "densenet/kernels/normalized_rows.h"
#include "densenet/model_config.h"
#include "densenet/step_builder.h"

namespace densenet {

// Tasks refer to the object: it must stay where it is while they run.
class BlockFeatures {
 public:
  BlockFeatures(const BlockFeatures&) = delete;
  BlockFeatures& operator=(const BlockFeatures&) = delete;
  // Declares the buffers; `pieces` are channel counts.
  BlockFeatures(StepBuilder& builder, const std::string& name, Extent extent,
                const std::vector<int64_t>& pieces);

  Extent extent() const { return extent_; }
  int64_t pixels() const { return extent_.height * extent_.width; }
  int64_t pieces() const { return static_cast<int64_t>(ends_.size()); }
  int64_t piece_begin(int64_t piece) const {
    return piece == 0 ? 0 : ends_[piece - 1];
  }
  int64_t piece_channels(int64_t piece) const {
    return ends_[piece] - piece_begin(piece);
  }
  // Channels of the first `pieces` pieces.
  int64_t prefix_channels(int64_t pieces) const { return ends_[pieces - 1]; }

  RowsRef Piece(int64_t piece) const { return values_[piece]; }
  RowsRef PieceGradient(int64_t piece) const { return gradients_[piece]; }

  // Shape (C_total) float32 each; none where statistics are frozen.
  BufferId mean() const { return mean_; }
  BufferId inv_std() const { return inv_std_; }
  BufferId variance() const { return variance_; }
  // Shape (C_total) float64 each: sums over the readers of gamma * d_beta and
  // gamma * d_gamma, where the correction is deferred.
  BufferId p() const { return p_; }
  BufferId q() const { return q_; }

  // Training: merges the moments that the producer of a piece gathered.
  void AddStatisticsTask(StepBuilder& builder, int64_t piece,
                         BufferId moments) const;
  // Training: gathers and merges the moments of a piece that already stands,
  // for producers that cannot gather them on the way.
  void AddGatherStatisticsTasks(StepBuilder& builder, int64_t piece) const;

  // The gradient of a piece, all of whose readers are done, is complete where
  // readers correct themselves; else it is g - (k1 + k2 * (x - mean)).
  // AddCorrectionTask computes k1 and k2 where they are needed (else the
  // buffer is invalid), for a kernel that finishes the gradient on the way;
  // AddFinishGradientTask finishes it where it stands.
  BufferId AddCorrectionTask(StepBuilder& builder, int64_t piece) const;
  void AddFinishGradientTask(StepBuilder& builder, int64_t piece) const;
  std::vector<BufferId> OutputGradientBuffers(int64_t piece,
                                              BufferId correction) const;
  OutputGradient OutputGradientOf(const Step& step, int64_t piece,
                                  BufferId correction) const;

 private:
  std::string name_;
  Extent extent_;
  std::vector<int64_t> ends_;
  std::vector<RowsRef> values_;
  std::vector<RowsRef> gradients_;
  BufferId mean_, inv_std_, variance_;
  BufferId p_, q_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_BLOCK_FEATURES_H_
