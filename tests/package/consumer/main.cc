// A net of its own from the layers of the installed headers, trained on
// generated images: bright rows, bright columns, or noise alone. Fails unless
// the loss falls and images never trained on are told apart.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "core/autograd/losses.h"
#include "core/autograd/shaping.h"
#include "core/autograd/tape.h"
#include "core/autograd/variable_store.h"
#include "core/context.h"
#include "core/layers/layers.h"
#include "core/optim/variable_optimizer.h"
#include "core/random.h"
#include "memory/host_memory.h"

namespace {

using densenet::ConstTensorView;
using densenet::DType;
using densenet::Pass;
using densenet::Scope;
using densenet::Status;
using densenet::Var;

constexpr int64_t kBatch = 32;
constexpr int64_t kSize = 12;
constexpr int64_t kClasses = 3;
constexpr int kSteps = 60;
constexpr uint64_t kSeed = 1;

struct Batch {
  std::vector<float> images;
  std::vector<int32_t> labels;
};

Batch MakeBatch(uint32_t number) {
  Batch batch;
  const densenet::RandomKey key = {kSeed, number, /*stream=*/0};
  uint64_t drawn = 0;
  const auto random = [&] { return densenet::RandomBits(key, drawn++); };
  for (int64_t n = 0; n < kBatch; ++n) {
    const auto label =
        static_cast<int32_t>(densenet::UniformInt(random(), kClasses));
    const int64_t bright = densenet::UniformInt(random(), kSize);
    for (int64_t h = 0; h < kSize; ++h) {
      for (int64_t w = 0; w < kSize; ++w) {
        const bool on =
            (label == 0 && h == bright) || (label == 1 && w == bright);
        batch.images.push_back(densenet::UniformFloat(random()) +
                               (on ? 1.0f : 0.0f));
      }
    }
    batch.labels.push_back(label);
  }
  return batch;
}

// A small densely connected net: the second convolution reads the first one's
// features beside its input.
Var Net(const Scope& net, Var x, const Pass& pass) {
  namespace layers = densenet::layers;
  constexpr densenet::PoolParams kHalve = {2, 2, {2, 2}, {}};
  x = layers::Conv2d(net / "stem", x, {.filters = 8});
  Var y = Relu(layers::BatchNorm(net / "norm1", x, pass));
  y = layers::Conv2d(net / "conv", y, {.filters = 8});
  y = layers::Dropout(net / "dropout", y, 0.1, pass);
  x = MaxPool(densenet::Concat({x, y}, -1), kHalve);
  x = AvgPool(Relu(layers::BatchNorm(net / "norm2", x, pass)), kHalve);
  return layers::Dense(net / "dense", layers::Flatten(x), {.units = kClasses});
}

// The logits of a batch; the tape reads the batch by reference.
Var Logits(densenet::Tape& tape, const Scope& net, const Batch& batch,
           const Pass& pass) {
  const Var images =
      tape.Leaf("images", ConstTensorView(batch.images.data(), DType::kFloat32,
                                          {kBatch, kSize, kSize, 1}));
  return Net(net, images, pass);
}

Status TrainAndJudge() {
  ASSIGN_OR_RETURN(const auto ctx, densenet::Context::Create({.threads = 2}));
  densenet::HostMemory memory;
  densenet::VariableStore store(*ctx, memory, kSeed);
  densenet::Tape tape(*ctx, memory);
  ASSIGN_OR_RETURN(const auto optimizer,
                   densenet::VariableOptimizer::Create(
                       {.name = "nesterov", .weight_decay = 1e-4f}, store));
  float first_loss = 0;
  float loss_value = 0;
  for (int step = 0; step < kSteps; ++step) {
    tape.Reset();
    const Batch batch = MakeBatch(step);
    const Var labels = tape.Leaf(
        "labels",
        ConstTensorView(batch.labels.data(), DType::kInt32, {kBatch}));
    const Var loss = MeanSparseSoftmaxCrossEntropy(
        Logits(tape, store.scope(densenet::Reuse::kCreateOrReuse), batch,
               Pass::Train(kSeed, step)),
        labels);
    ASSIGN_OR_RETURN(loss_value, tape.Item(loss));
    if (step == 0) first_loss = loss_value;
    RETURN_IF_ERROR(optimizer->Minimize(tape, loss, 0.05f));
  }

  tape.Reset();
  const Batch unseen = MakeBatch(kSteps);
  ASSIGN_OR_RETURN(const ConstTensorView logits,
                   tape.Value(Logits(tape, store.scope(densenet::Reuse::kReuse),
                                     unseen, Pass::Evaluate())));
  int64_t correct = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const float* row = logits.data<float>() + n * kClasses;
    correct += std::max_element(row, row + kClasses) - row == unseen.labels[n];
  }
  std::printf("loss %.3f -> %.3f, %d of %d unseen images told right\n",
              first_loss, loss_value, static_cast<int>(correct),
              static_cast<int>(kBatch));
  if (!(loss_value < first_loss / 4)) {
    return densenet::Internal("the loss did not fall");
  }
  if (correct < kBatch * 9 / 10) {
    return densenet::Internal("unseen images are not told apart");
  }
  return densenet::OkStatus();
}

}  // namespace

int main() {
  const Status status = TrainAndJudge();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
