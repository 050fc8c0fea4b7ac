#include "densenet/towers.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "densenet/kernels/channel_statistics.h"
#include "parallel/batch_split.h"

namespace densenet {
namespace {

// Parameters whose gradients synchronized towers all have whole: those of
// batch norm, the only ones of rank 1 besides the classifier's bias.
std::vector<bool> WholeGradients(const ParameterStore& store, bool sync) {
  std::vector<bool> whole;
  for (const ParameterSpec& spec : store.parameters()) {
    whole.push_back(sync && spec.shape.rank() == 1 &&
                    spec.name != "classifier.bias");
  }
  return whole;
}

}  // namespace

Towers::Towers(int towers, ParameterStore& hosted)
    : hosted_(hosted), control_(towers), exchange_(towers) {}

Towers::~Towers() = default;

StatusOr<std::unique_ptr<Towers>> Towers::Create(MemoryResource& resource,
                                                 const ModelConfig& config,
                                                 const Options& options,
                                                 ParameterStore& hosted) {
  if (options.towers < 1) {
    return InvalidArgument(
        fmt::format("{} towers: expected 1 or more", options.towers));
  }
  std::unique_ptr<Towers> all(new Towers(options.towers, hosted));
  all->sync_batch_norm_ = options.sync_batch_norm;
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  std::vector<ParameterStore*> stores;
  for (int t = 0; t < options.towers; ++t) {
    auto tower = std::make_unique<Tower>();
    // Slices of the threads, and one where there are fewer than towers.
    const int begin = t * threads / options.towers;
    const int end = (t + 1) * threads / options.towers;
    ASSIGN_OR_RETURN(tower->ctx,
                     Context::Create({.threads = std::max(1, end - begin)}));
    ASSIGN_OR_RETURN(tower->store,
                     ParameterStore::CreateTower(resource, hosted));
    stores.push_back(tower->store.get());
    all->towers_.push_back(std::move(tower));
  }
  all->gradients_ = std::make_unique<TowerGradients>(
      hosted, std::move(stores),
      WholeGradients(hosted, options.sync_batch_norm));
  for (int t = 0; t < options.towers; ++t) {
    Tower& tower = *all->towers_[t];
    Network::Options network = options.network;
    network.max_batch =
        LargestShare(options.network.max_batch, kMaxChunks, options.towers);
    network.exchange =
        options.sync_batch_norm ? all->exchange_.member(t) : nullptr;
    network.listener = all->gradients_->listener(t);
    ASSIGN_OR_RETURN(tower.network, Network::Create(*tower.ctx, config, network,
                                                    *tower.store));
  }
  return all;
}

StatusOr<BatchResult> Towers::TrainStep(ConstTensorView images,
                                        absl::Span<const int32_t> labels,
                                        uint64_t seed, uint32_t step,
                                        TowerGradients::BucketDone done) {
  if (images.rank() != 4 || images.dim(0) < 1) {
    return InvalidArgument(fmt::format(
        "images are {}, expected (1 or more, H, W, C)", images.ToString()));
  }
  if (static_cast<int64_t>(labels.size()) != images.dim(0)) {
    return InvalidArgument(
        fmt::format("{} labels for {} images", labels.size(), images.dim(0)));
  }
  const std::vector<BatchShare> shares =
      SplitBatch(images.dim(0), kMaxChunks, count());
  const int active = static_cast<int>(shares.size());
  exchange_.Begin(active);
  gradients_->Begin(active, std::move(done));
  control_.ParallelFor(active, [&](int64_t t, int) {
    RunShare(static_cast<int>(t), shares[t], images, labels, seed, step);
  });
  BatchResult result;
  for (int t = 0; t < active; ++t) {
    const Tower& tower = *towers_[t];
    if (!tower.status.ok()) return tower.status;
    result.loss_sum += tower.result.loss_sum;
    result.correct += tower.result.correct;
    result.correct_top5 += tower.result.correct_top5;
    result.examples += tower.result.examples;
  }
  CHECK(gradients_->complete());
  AverageStatistics(shares);
  return result;
}

void Towers::RunShare(int t, const BatchShare& share, ConstTensorView images,
                      absl::Span<const int32_t> labels, uint64_t seed,
                      uint32_t step) {
  Tower& tower = *towers_[t];
  const absl::Span<float> shared = hosted_.statistics_values();
  std::copy(shared.begin(), shared.end(),
            tower.store->statistics_values().begin());
  const StatusOr<BatchResult> result = tower.network->TrainShare(
      images.Slice(0, share.first_image, share.first_image + share.images),
      labels.subspan(share.first_image, share.images), seed, step, share);
  tower.status = result.status();
  if (result.ok()) {
    tower.result = *result;
  } else {
    exchange_.Abort(result.status());
  }
}

void Towers::AverageStatistics(const std::vector<BatchShare>& shares) {
  const absl::Span<float> mean = hosted_.statistics_values();
  if (sync_batch_norm_ || shares.size() == 1) {
    const absl::Span<float> first = towers_[0]->store->statistics_values();
    std::copy(first.begin(), first.end(), mean.begin());
    return;
  }
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (size_t t = 0; t < shares.size(); ++t) {
      sum += static_cast<double>(shares[t].images) *
             towers_[t]->store->statistics_values()[i];
    }
    mean[i] =
        static_cast<float>(sum / static_cast<double>(shares[0].batch_images));
  }
}

}  // namespace densenet
