#include "densenet/interchange/network_export.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/io/file.h"
#include "core/random.h"
#include "densenet/interchange/network_import.h"
#include "densenet/network.h"
#include "memory/host_memory.h"
#include "tests/densenet/interchange/pytorch_writer.h"
#include "tests/support/compare.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

struct Case {
  std::string name;
  ModelConfig model;
};

ModelConfig SmallImageNet() {
  ModelConfig model;
  model.block_config = {2, 3, 2, 2};
  model.growth_rate = 6;
  model.stem = Stem::kImageNet;
  model.stem_channels = 12;
  model.image_height = 67;  // odd: borders of strides and pools
  model.image_width = 70;
  model.classes = 7;
  return model;
}

// Plain layers, one channel, an odd size.
ModelConfig SmallGray() {
  ModelConfig model = *CifarConfig(13, 5, /*bottleneck=*/false, 1.0);
  model.image_height = 29;
  model.image_width = 30;
  model.image_channels = 1;
  model.batch_norm_epsilon = 1e-3;
  return model;
}

class NetworkExportTest : public ::testing::TestWithParam<Case> {
 protected:
  NetworkExportTest() : context_(*Context::Create({.threads = 1})) {
    info_.model = GetParam().model;
    info_.data.dataset = "cifar10";
    for (int64_t i = 0; i < info_.model.classes; ++i) {
      info_.data.class_names.push_back(fmt::format("\"{}\"", i));
    }
    for (int64_t c = 0; c < info_.model.image_channels; ++c) {
      info_.data.normalization.mean.push_back(0.4 + 0.05 * c);
      info_.data.normalization.std.push_back(1.0 / (4 + c));
    }
    store_ = MakeStore();
    store_->Initialize(*context_, 3);
    // Statistics and affine parameters that differ between channels.
    Vary(store_->statistics_values(), 1);
    for (size_t i = 0; i < store_->parameters().size(); ++i) {
      if (store_->parameters()[i].shape.rank() != 1) continue;
      TensorView view = store_->value(static_cast<int64_t>(i));
      Vary({view.data<float>(), static_cast<size_t>(view.elems())},
           static_cast<uint32_t>(2 + i));
    }
  }

  std::unique_ptr<ParameterStore> MakeStore() {
    return *ParameterStore::Create(memory_, ParameterSpecs(info_.model),
                                   StatisticsSpecs(info_.model), 0);
  }
  static void Vary(absl::Span<float> values, uint32_t stream) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Philox4 random =
          RandomBlock({.seed = 9, .step = stream}, static_cast<uint64_t>(i));
      values[i] = 0.5f + static_cast<float>(random.v[0] % 1000) / 1000;
    }
  }

  // Ours, of images (n, H, W, C) in [0, 1].
  std::vector<double> Logits(const std::vector<float>& pixels, int64_t n) {
    std::vector<float> input = pixels;
    const size_t channels = info_.data.normalization.mean.size();
    for (size_t i = 0; i < input.size(); ++i) {
      const size_t c = i % channels;
      input[i] =
          static_cast<float>((pixels[i] - info_.data.normalization.mean[c]) /
                             info_.data.normalization.std[c]);
    }
    const std::unique_ptr<Network> network = *Network::Create(
        *context_, info_.model,
        {.mode = Network::Mode::kEvaluate, .max_batch = n}, *store_);
    Arena arena = *Arena::Create(memory_, network->plan().arena_bytes());
    network->Bind(arena);
    const ModelConfig& m = info_.model;
    EXPECT_OK(network->Evaluate(
        ConstTensorView(input.data(), DType::kFloat32,
                        {n, m.image_height, m.image_width, m.image_channels}),
        {}));
    return testing::ToVector(network->logits());
  }

  testing::TempDir dir_;
  HostMemory memory_;
  std::unique_ptr<Context> context_;
  CheckpointInfo info_;
  std::unique_ptr<ParameterStore> store_;
};

INSTANTIATE_TEST_SUITE_P(
    Networks, NetworkExportTest,
    ::testing::Values(Case{"Cifar",
                           *CifarConfig(16, 6, /*bottleneck=*/true, 0.5)},
                      Case{"ImageNet", SmallImageNet()},
                      Case{"Gray", SmallGray()}),
    [](const auto& param) { return param.param.name; });

TEST_P(NetworkExportTest, ImportGivesTheSameBits) {
  const std::string path = dir_.File("x.safetensors");
  ASSERT_OK(ExportSafetensors(path, info_, *store_));
  const std::unique_ptr<TensorFile> file = *TensorFile::Open(path);
  const std::unique_ptr<ParameterStore> again = MakeStore();
  const StatusOr<ImportReport> report =
      ImportNetwork(*file, info_.model, {}, *again);
  ASSERT_OK(report);
  EXPECT_EQ(report->naming, "torchvision");
  EXPECT_TRUE(report->complete());
  EXPECT_TRUE(report->unused.empty());
  EXPECT_EQ(again->values(), store_->values());
  EXPECT_EQ(again->statistics_values(), store_->statistics_values());
  EXPECT_EQ(file->values().at("format"), "pt");
}

bool PythonHasOnnx() {
  return std::system("python3 -c 'import onnx, onnxruntime' >/dev/null 2>&1") ==
         0;
}

TEST_P(NetworkExportTest, OnnxRuntimeComputesTheSameLogits) {
  if (!PythonHasOnnx()) {
    GTEST_SKIP() << "python3 has no packages onnx and onnxruntime (pip install "
                    "onnx onnxruntime)";
  }
  constexpr int64_t kImages = 3;
  constexpr int64_t kBatch = 2;  // so that batches of 2 and of 1 are run
  const ModelConfig& m = info_.model;
  const int64_t area = m.image_height * m.image_width;
  std::vector<float> pixels(
      static_cast<size_t>(kImages * area * m.image_channels));
  Vary(absl::MakeSpan(pixels), 1000);
  for (float& p : pixels) p -= 0.5f;  // in [0, 1)
  std::vector<float> planes;          // (n, C, H, W)
  for (int64_t n = 0; n < kImages; ++n) {
    for (int64_t c = 0; c < m.image_channels; ++c) {
      for (int64_t p = 0; p < area; ++p) {
        planes.push_back(
            pixels[static_cast<size_t>((n * area + p) * m.image_channels + c)]);
      }
    }
  }
  ASSERT_OK(ExportOnnx(dir_.File("x.onnx"), info_, *store_));
  ASSERT_OK(WriteFileAtomically(dir_.File("in"), testing::BytesOf(planes)));
  const std::string command = fmt::format(
      "python3 '{}/tests/densenet/interchange/onnx_logits.py' '{}' '{}' {} "
      "'{}' > '{}' 2>&1",
      DENSENET_SOURCE_DIR, dir_.File("x.onnx"), dir_.File("in"), kBatch,
      dir_.File("out"), dir_.File("log"));
  ASSERT_EQ(std::system(command.c_str()), 0)
      << testing::Slurp(dir_.File("log"));
  const std::string bytes = testing::Slurp(dir_.File("out"));
  const std::vector<double> ours = Logits(pixels, kImages);
  ASSERT_EQ(bytes.size(), ours.size() * sizeof(float));
  for (size_t i = 0; i < ours.size(); ++i) {
    float theirs = 0;
    std::memcpy(&theirs, bytes.data() + i * sizeof(float), sizeof(float));
    EXPECT_NEAR(theirs, ours[i], 1e-4) << i;
  }
}

}  // namespace
}  // namespace densenet
