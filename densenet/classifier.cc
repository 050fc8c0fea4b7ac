#include "densenet/classifier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/ops/bias_add.h"
#include "core/ops/matmul.h"
#include "core/ops/sparse_softmax_cross_entropy.h"
#include "densenet/kernels/global_pool.h"

namespace densenet {
namespace {

absl::Span<char> Workspace(const Step& step, BufferId id, int64_t bytes) {
  return absl::MakeSpan(step.Data<char>(id), bytes);
}

TensorView Shaped(const Shape& shape) {
  return TensorView(nullptr, DType::kFloat32, shape);
}

TensorView Labels(const Step& step) {
  return TensorView(const_cast<int32_t*>(step.labels), DType::kInt32,
                    {step.images});
}

// How many classes stand before `label`, a lower number first among equals.
// Whatever is no number stands before everything.
int64_t Rank(const float* logits, int64_t classes, int64_t label) {
  const float of_label = logits[label];
  int64_t rank = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const bool behind =
        logits[c] < of_label || (logits[c] == of_label && c >= label);
    if (!behind) ++rank;
  }
  return rank;
}

}  // namespace

Classifier::Classifier(StepBuilder& builder, const BlockFeatures& features,
                       const std::string& norm_name)
    : features_(features),
      classes_(builder.config().classes),
      loss_params_(builder.loss_params()),
      class_weights_(builder.class_weights()),
      norm_(builder, features, features.pieces(), norm_name,
            /*last_reader=*/true),
      w_(builder.Parameter("classifier.weight")),
      b_(builder.Parameter("classifier.bias")) {}

TensorView Classifier::Rows(const Step& step, BufferId id,
                            int64_t columns) const {
  return TensorView(step.Data<float>(id), DType::kFloat32,
                    {step.images, columns});
}

TensorView Classifier::Weight(const float* data) const {
  return TensorView(const_cast<float*>(data), DType::kFloat32,
                    {norm_.channels(), classes_});
}

TensorView Classifier::Bias(const float* data) const {
  return TensorView(const_cast<float*>(data), DType::kFloat32, {classes_});
}

Status Classifier::AddForward(StepBuilder& builder) {
  norm_.AddForward(builder);
  AddPoolTask(builder);
  RETURN_IF_ERROR(AddLinearTask(builder));
  AddLossTask(builder);
  return OkStatus();
}

void Classifier::AddPoolTask(StepBuilder& builder) {
  const Context& ctx = builder.ctx();
  pooled_ = builder.Floats("classifier.pooled", BufferKind::kStored,
                           builder.max_batch() * norm_.channels());
  const BufferId scratch = builder.Scratch(
      "classifier.pool", GlobalPoolForwardScratchFloats(builder.threads()));
  builder.Add("classifier.pool", "forward head",
              Join(norm_.ForwardBuffers(), {pooled_, scratch}),
              [this, scratch, &ctx](const Step& step) {
                GlobalPoolForward pool;
                pool.images = step.images;
                pool.chunks = step.share.chunks;
                pool.pixels = features_.pixels();
                pool.c = norm_.channels();
                pool.x = norm_.ForwardRows(step);
                pool.pooled = step.Data<float>(pooled_);
                pool.scratch = step.Data<float>(scratch);
                Run(ctx, pool);
                return OkStatus();
              });
}

Status Classifier::AddLinearTask(StepBuilder& builder) {
  const Context& ctx = builder.ctx();
  const int64_t n = builder.max_batch();
  logits_ =
      builder.Floats("classifier.logits", BufferKind::kStored, n * classes_);
  ASSIGN_OR_RETURN(
      const int64_t bytes,
      MatMulWorkspaceBytes(ctx, Shaped({n, norm_.channels()}), Weight(nullptr),
                           {}, Shaped({n, classes_})));
  const BufferId workspace =
      builder.Bytes("classifier.workspace", BufferKind::kScratch, bytes);
  builder.Add(
      "classifier.linear", "forward head", {pooled_, logits_, workspace},
      [this, workspace, bytes, &ctx](const Step& step) {
        const TensorView logits = Rows(step, logits_, classes_);
        RETURN_IF_ERROR(MatMul(ctx, Rows(step, pooled_, norm_.channels()),
                               Weight(w_.value()), {}, logits,
                               Workspace(step, workspace, bytes)));
        last_logits_ = logits;
        return BiasAdd(ctx, logits, Bias(b_.value()), logits);
      });
  builder.SetOutputOfLast({logits_, 0, classes_}, /*pixels=*/1, classes_);
  return OkStatus();
}

void Classifier::AddLossTask(StepBuilder& builder) {
  const Context& ctx = builder.ctx();
  const BufferId losses = builder.Floats(
      "classifier.losses", BufferKind::kScratch, builder.max_batch());
  builder.Add(
      "classifier.loss", "forward head", {logits_, losses},
      [this, losses, &ctx](const Step& step) {
        result_ = BatchResult();
        result_.examples = step.images;
        if (step.labels == nullptr) return OkStatus();
        float* loss = step.Data<float>(losses);
        RETURN_IF_ERROR(SparseSoftmaxCrossEntropy(
            ctx, last_logits_, Labels(step),
            TensorView(loss, DType::kFloat32, {step.images}), loss_params_));
        const float* logits = step.Data<float>(logits_);
        for (int64_t n = 0; n < step.images; ++n) {
          result_.loss_sum += double{ExampleWeight(step.labels[n])} * loss[n];
          const float* row = logits + n * classes_;
          const int64_t rank = Rank(row, classes_, step.labels[n]);
          if (rank < 1) ++result_.correct;
          if (rank < 5) ++result_.correct_top5;
        }
        return OkStatus();
      });
}

Status Classifier::AddBackward(StepBuilder& builder) {
  const Context& ctx = builder.ctx();
  const int64_t n = builder.max_batch();
  const BufferId d_logits = builder.Floats(
      "classifier.logits.gradient", BufferKind::kGradients, n * classes_);
  // One for all rows where classes count alike.
  const bool weighted = !class_weights_.empty();
  const BufferId share = builder.Floats("classifier.share",
                                        BufferKind::kScratch, weighted ? n : 1);
  builder.Add(
      "classifier.loss.backward", "backward head", {logits_, d_logits, share},
      [this, d_logits, share, weighted, &ctx](const Step& step) {
        // Each example's part of the mean.
        float* weight = step.Data<float>(share);
        const float part = 1.0f / static_cast<float>(step.share.batch_images);
        *weight = part;
        for (int64_t i = 0; weighted && i < step.images; ++i) {
          weight[i] = part * ExampleWeight(step.labels[i]);
        }
        return SparseSoftmaxCrossEntropyBackward(
            ctx, Rows(step, logits_, classes_), Labels(step),
            TensorView(weight, DType::kFloat32, {step.images},
                       {weighted ? 1 : 0}),
            Rows(step, d_logits, classes_), loss_params_);
      });
  if (!builder.training()) {
    return AddLinearBackwardTask(builder, d_logits, std::nullopt);
  }
  const BufferId d_pooled =
      builder.Floats("classifier.pooled.gradient", BufferKind::kGradients,
                     n * norm_.channels());
  RETURN_IF_ERROR(AddLinearBackwardTask(builder, d_logits, d_pooled));
  AddPoolBackwardTask(builder, d_pooled);
  return OkStatus();
}

void Classifier::AddPoolBackwardTask(StepBuilder& builder, BufferId d_pooled) {
  const Context& ctx = builder.ctx();
  norm_.BeginBackward(builder);
  const BufferId scratch = builder.Scratch(
      "classifier.pool.backward",
      GlobalPoolBackwardScratchFloats(builder.threads(), norm_.channels()));
  builder.Add("classifier.pool.backward", "backward head",
              Join(norm_.BackwardBuffers(), {d_pooled, scratch}),
              [this, d_pooled, scratch, &ctx](const Step& step) {
                GlobalPoolBackward pool;
                pool.images = step.images;
                pool.chunks = step.share.chunks;
                pool.pixels = features_.pixels();
                pool.c = norm_.channels();
                pool.d_pooled = step.Data<float>(d_pooled);
                pool.sink = norm_.Sink(step);
                pool.scratch = step.Data<float>(scratch);
                Run(ctx, pool);
                return OkStatus();
              });
  norm_.EndBackward(builder);
}

Status Classifier::AddLinearBackwardTask(StepBuilder& builder,
                                         BufferId d_logits,
                                         std::optional<BufferId> d_pooled) {
  const Context& ctx = builder.ctx();
  const int64_t n = builder.max_batch();
  const int64_t c = norm_.channels();
  const MatMulParams weight_product = {.transpose_a = true};
  const MatMulParams data_product = {.transpose_b = true};
  const TensorView logits_shape = Shaped({n, classes_});
  const TensorView pooled_shape = Shaped({n, c});
  ASSIGN_OR_RETURN(const int64_t weight_bytes,
                   MatMulWorkspaceBytes(ctx, pooled_shape, logits_shape,
                                        weight_product, Weight(nullptr)));
  ASSIGN_OR_RETURN(const int64_t data_bytes,
                   MatMulWorkspaceBytes(ctx, logits_shape, Weight(nullptr),
                                        data_product, pooled_shape));
  ASSIGN_OR_RETURN(const int64_t bias_bytes,
                   BiasAddBackwardWorkspaceBytes(ctx, logits_shape));
  const int64_t bytes = std::max({weight_bytes, data_bytes, bias_bytes});
  const BufferId workspace = builder.Bytes("classifier.backward.workspace",
                                           BufferKind::kScratch, bytes);
  std::vector<BufferId> buffers = {pooled_, d_logits, workspace};
  if (d_pooled) buffers.push_back(*d_pooled);
  builder.Add(
      "classifier.linear.backward", "backward head", std::move(buffers),
      [=, this, &ctx](const Step& step) {
        const absl::Span<char> scratch = Workspace(step, workspace, bytes);
        const TensorView dy = Rows(step, d_logits, classes_);
        RETURN_IF_ERROR(MatMul(ctx, Rows(step, pooled_, c), dy, weight_product,
                               Weight(w_.gradient()), scratch));
        RETURN_IF_ERROR(BiasAddBackward(ctx, dy, Bias(b_.gradient()), scratch));
        if (!d_pooled) return OkStatus();
        return MatMul(ctx, dy, Weight(w_.value()), data_product,
                      Rows(step, *d_pooled, c), scratch);
      });
  return OkStatus();
}

}  // namespace densenet
