// The kernels of a bottleneck layer at the shapes of DenseNet-BC-100-12's three
// blocks, batch 64, on one thread and on all: useful GFLOP/s of the fused
// convolutions, forward and backward. Before any is timed, the 1x1's output is
// held against a naive float64 sum at some places; tests/densenet/kernels hold
// all of them to references.

#include <benchmark/benchmark.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "core/context.h"
#include "core/random.h"
#include "core/tensor.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/conv1x1.h"
#include "densenet/kernels/conv3x3.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

constexpr int64_t kImages = 64;
constexpr int64_t kGrowth = 12;
constexpr int64_t kBottleneck = 4 * kGrowth;

// A layer in the middle of a block.
struct Block {
  int64_t side;
  int64_t channels;        // that the layer reads
  int64_t total_channels;  // leading dimension of the block's buffer
};
constexpr Block kBlocks[] = {{32, 120, 216}, {16, 204, 300}, {8, 246, 342}};

// An array in the memory that training uses, in [-1, 1).
class Floats {
 public:
  Floats(HostMemory& memory, int64_t elems, uint32_t stream) {
    auto tensor = Tensor::Empty(memory, DType::kFloat32, {elems});
    CHECK(tensor.ok()) << tensor.status();
    tensor_ = *std::move(tensor);
    for (int64_t i = 0; i < elems; ++i) {
      data()[i] = 2 * UniformFloat(RandomBits({1, 0, stream}, i)) - 1;
    }
  }
  float* data() { return tensor_.data<float>(); }
  const float* data() const { return tensor_.data<float>(); }
  int64_t size() const { return tensor_.elems(); }
  float operator[](int64_t i) const { return data()[i]; }

 private:
  Tensor tensor_;
};

// The operands of one layer; what is not timed is random too.
class Layer {
 public:
  Layer(const Block& block, int threads)
      : block_(block),
        rows_(kImages * block.side * block.side),
        x_(memory_, rows_ * block.total_channels, 0),
        g_(memory_, rows_ * block.total_channels, 1),
        b_(memory_, rows_ * kBottleneck, 2),
        db_(memory_, rows_ * kBottleneck, 3),
        w1_(memory_, block.channels * kBottleneck, 4),
        w2_(memory_, 9 * kBottleneck * kGrowth, 5),
        coefficients_(memory_, 4 * block.total_channels, 6),
        dw1_(memory_, w1_.size(), 7),
        dw2_(memory_, w2_.size(), 8),
        partials_(memory_, kMaxChunks * std::max(w1_.size(), w2_.size()), 9),
        moments_(kMaxChunks * 2 * block.total_channels),
        sums_(kMaxChunks * 2 * block.total_channels),
        scratch_(memory_, ScratchFloats(block, threads), 10) {
    auto ctx = Context::Create({.threads = threads});
    CHECK(ctx.ok()) << ctx.status();
    ctx_ = *std::move(ctx);
  }

  void Conv1Forward() {
    Conv1x1Forward conv;
    conv.images = kImages;
    conv.pixels = block_.side * block_.side;
    conv.c = block_.channels;
    conv.k = kBottleneck;
    conv.x = {x_.data(), block_.total_channels, scale(), shift()};
    conv.w = w1_.data();
    conv.y = b_.data();
    conv.ldy = kBottleneck;
    conv.moments = moments_.data();
    conv.scratch = scratch_.data();
    Run(*ctx_, conv);
  }
  void Conv1Backward() {
    Conv1x1Backward conv;
    conv.images = kImages;
    conv.pixels = block_.side * block_.side;
    conv.c = block_.channels;
    conv.k = kBottleneck;
    conv.x = {x_.data(), block_.total_channels, scale(), shift()};
    conv.w = w1_.data();
    conv.output.dy = db_.data();
    conv.output.ld = kBottleneck;
    conv.output.y = b_.data();
    conv.output.ldy = kBottleneck;
    conv.output.mean = mean();
    conv.output.scale = scale();
    conv.output.k1 = k();
    conv.output.k2 = k();
    conv.sink = Sink(block_.channels, x_.data(), block_.total_channels);
    conv.sink.g = g_.data();
    conv.sink.ldg = block_.total_channels;
    conv.dw_partials = partials_.data();
    conv.dw = dw1_.data();
    conv.scratch = scratch_.data();
    Run(*ctx_, conv);
  }
  void Conv2Forward() {
    Conv3x3Forward conv;
    conv.shape = Shape();
    conv.x = {b_.data(), kBottleneck, scale(), shift()};
    conv.w = w2_.data();
    conv.y = x_.data() + block_.channels;
    conv.ldy = block_.total_channels;
    conv.moments = moments_.data();
    conv.scratch = scratch_.data();
    Run(*ctx_, conv);
  }
  void Conv2Backward() {
    Conv3x3Backward conv;
    conv.shape = Shape();
    conv.x = {b_.data(), kBottleneck, scale(), shift()};
    conv.w = w2_.data();
    conv.output.dy = g_.data() + block_.channels;
    conv.output.ld = block_.total_channels;
    conv.output.y = x_.data() + block_.channels;
    conv.output.ldy = block_.total_channels;
    conv.output.mean = mean();
    conv.output.scale = scale();
    conv.output.k1 = k();
    conv.output.k2 = k();
    conv.sink = Sink(kBottleneck, b_.data(), kBottleneck);
    conv.sink.dy = db_.data();
    conv.sink.lddy = kBottleneck;
    conv.dw_partials = partials_.data();
    conv.dw = dw2_.data();
    conv.scratch = scratch_.data();
    Run(*ctx_, conv);
  }

  // Some elements of what Conv1Forward leaves, against a sum in float64.
  void CheckConv1() const {
    constexpr double kBound = 1e-4;
    for (int64_t row = 0; row < rows_; row += 1 + rows_ / 7) {
      const int64_t k = row % kBottleneck;
      double sum = 0;
      for (int64_t c = 0; c < block_.channels; ++c) {
        const double y = std::fma(x_[row * block_.total_channels + c],
                                  scale()[c], shift()[c]);
        sum += std::max(y, 0.0) * w1_[c * kBottleneck + k];
      }
      CHECK_NEAR(b_[row * kBottleneck + k], sum, kBound);
    }
  }

  double Conv1Flops() const {
    return 2.0 * static_cast<double>(rows_ * block_.channels * kBottleneck);
  }
  double Conv2Flops() const {
    return 2.0 * static_cast<double>(rows_ * 9 * kBottleneck * kGrowth);
  }

 private:
  static Conv3x3Shape ShapeOf(const Block& block) {
    return {kImages, block.side, block.side, kBottleneck, kGrowth};
  }
  Conv3x3Shape Shape() const { return ShapeOf(block_); }
  static int64_t ScratchFloats(const Block& block, int threads) {
    return std::max(
        {Conv1x1ForwardScratchFloats(threads, kBottleneck),
         Conv1x1BackwardScratchFloats(threads, block.channels, kBottleneck),
         Conv3x3ForwardScratchFloats(threads, ShapeOf(block)),
         Conv3x3BackwardScratchFloats(threads, ShapeOf(block))});
  }
  BatchNormSink Sink(int64_t channels, const float* x, int64_t ldx) {
    BatchNormSink sink;
    sink.channels = channels;
    sink.x = x;
    sink.ldx = ldx;
    sink.scale = scale();
    sink.shift = shift();
    sink.mean = mean();
    sink.partials = sums_.data();
    return sink;
  }
  const float* scale() const { return coefficients_.data(); }
  const float* shift() const { return scale() + block_.total_channels; }
  const float* mean() const { return shift() + block_.total_channels; }
  const float* k() const { return mean() + block_.total_channels; }

  const Block block_;
  const int64_t rows_;
  std::unique_ptr<Context> ctx_;
  HostMemory memory_;
  Floats x_, g_, b_, db_, w1_, w2_, coefficients_, dw1_, dw2_, partials_;
  std::vector<double> moments_, sums_;
  Floats scratch_;
};

using Kernel = void (Layer::*)();

void Time(benchmark::State& state, Kernel kernel,
          double (Layer::*flops)() const, double passes) {
  Layer layer(kBlocks[state.range(0)], static_cast<int>(state.range(1)));
  layer.Conv1Forward();
  layer.CheckConv1();
  for (auto _ : state) (layer.*kernel)();
  state.counters["GFLOP/s"] = benchmark::Counter(
      passes * (layer.*flops)() * static_cast<double>(state.iterations()) / 1e9,
      benchmark::Counter::kIsRate);
}

void Conv1Forward(benchmark::State& state) {
  Time(state, &Layer::Conv1Forward, &Layer::Conv1Flops, 1);
}
void Conv1Backward(benchmark::State& state) {
  Time(state, &Layer::Conv1Backward, &Layer::Conv1Flops, 2);
}
void Conv2Forward(benchmark::State& state) {
  Time(state, &Layer::Conv2Forward, &Layer::Conv2Flops, 1);
}
void Conv2Backward(benchmark::State& state) {
  Time(state, &Layer::Conv2Backward, &Layer::Conv2Flops, 2);
}

void Cases(benchmark::internal::Benchmark* cases) {
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  cases->ArgNames({"block", "threads"})->UseRealTime();
  for (int64_t threads : {int64_t{1}, cores}) {
    for (int64_t block : {0, 1, 2}) cases->Args({block, threads});
  }
}

BENCHMARK(Conv1Forward)->Apply(Cases);
BENCHMARK(Conv1Backward)->Apply(Cases);
BENCHMARK(Conv2Forward)->Apply(Cases);
BENCHMARK(Conv2Backward)->Apply(Cases);

}  // namespace
}  // namespace densenet
