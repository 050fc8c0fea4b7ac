// A network trained elsewhere: a DenseNet-BC-100-12 for CIFAR-10 whose logits
// another implementation computed in float64. DENSENET_TEST_DATA names the
// folder that holds pretrained/ and cifar-10-lossless/; without it the test is
// skipped.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "densenet/network.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"

namespace densenet {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kChannels = 3;
constexpr int64_t kRecordBytes = 1 + kChannels * kSide * kSide;

// Ours: "features.denseblock1.denselayer1.norm1.weight", filters (R, S, C, K).
// The file's: "block1.layer.0.bn1.weight", filters (K, C, R, S).
std::string ForeignName(std::string name) {
  auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  };
  replace("features.", "");
  int block = 0;
  int layer = 0;
  char rest[64];
  if (std::sscanf(name.c_str(), "denseblock%d.denselayer%d.%63s", &block,
                  &layer, rest) == 3) {
    name = fmt::format("block{}.layer.{}.{}", block, layer - 1, rest);
    replace("norm", "bn");
  }
  replace("transition", "trans");
  replace(".norm.", ".bn1.");
  replace(".conv.", ".conv1.");
  replace("norm4", "bn1");
  replace("conv0", "conv1");
  replace("classifier", "fc");
  return name;
}

// `from` in the file's order of axes: (K, C, R, S) or (K, C).
void CopyTransposed(ConstTensorView from, TensorView to) {
  const float* x = from.data<float>();
  float* y = to.data<float>();
  if (to.rank() == 4) {
    for (int64_t r = 0; r < to.dim(0); ++r) {
      for (int64_t s = 0; s < to.dim(1); ++s) {
        for (int64_t c = 0; c < to.dim(2); ++c) {
          for (int64_t k = 0; k < to.dim(3); ++k) {
            *y++ = x[((k * to.dim(2) + c) * to.dim(0) + r) * to.dim(1) + s];
          }
        }
      }
    }
  } else if (to.rank() == 2) {
    for (int64_t c = 0; c < to.dim(0); ++c) {
      for (int64_t k = 0; k < to.dim(1); ++k) *y++ = x[k * to.dim(0) + c];
    }
  } else {
    std::copy(x, x + to.elems(), y);
  }
}

class PretrainedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("DENSENET_TEST_DATA");
    if (root == nullptr) {
      GTEST_SKIP() << "DENSENET_TEST_DATA names no folder with pretrained/";
    }
    root_ = root;
    ctx_ = std::move(*Context::Create({.threads = 2}));
    config_ = *CifarConfig(100, 12, /*bottleneck=*/true, 0.5);
    store_ = std::move(*ParameterStore::Create(memory_, ParameterSpecs(config_),
                                               StatisticsSpecs(config_), 0));
    Load();
  }

  void Load() {
    auto file = SafetensorsFile::Open(
        root_ + "/pretrained/dice_cifar10_densenet100.safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    auto copy = [&](const std::string& name, TensorView to) {
      auto tensor = file->Read(ForeignName(name), memory_);
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      ASSERT_EQ(tensor->elems(), to.elems()) << name;
      CopyTransposed(tensor->const_view(), to);
    };
    for (size_t i = 0; i < store_->parameters().size(); ++i) {
      copy(store_->parameters()[i].name, store_->value(i));
    }
    for (size_t i = 0; i < store_->statistics().size(); ++i) {
      copy(store_->statistics()[i].name, store_->statistic(i));
    }
  }

  // The first `count` images, normalized as the network was trained.
  void ReadImages(int64_t count) {
    std::ifstream in(root_ + "/cifar-10-lossless/data_batch_1_first4000.bin",
                     std::ios::binary);
    ASSERT_TRUE(in) << "no lossless CIFAR-10 images";
    const double mean[] = {.4914, .4822, .4465};
    const double deviation[] = {.2023, .1994, .2010};
    pixels_.clear();
    labels_.clear();
    std::vector<char> record(kRecordBytes);
    for (int64_t n = 0; n < count; ++n) {
      ASSERT_TRUE(in.read(record.data(), kRecordBytes));
      labels_.push_back(record[0]);
      for (int64_t p = 0; p < kSide * kSide; ++p) {
        for (int64_t c = 0; c < kChannels; ++c) {
          const auto byte =
              static_cast<unsigned char>(record[1 + c * kSide * kSide + p]);
          pixels_.push_back(
              static_cast<float>((byte / 255.0 - mean[c]) / deviation[c]));
        }
      }
    }
  }

  StatusOr<BatchResult> Evaluate(int64_t count) {
    ASSIGN_OR_RETURN(
        network_,
        Network::Create(*ctx_, config_,
                        {.mode = Network::Mode::kEvaluate, .max_batch = count},
                        *store_));
    ASSIGN_OR_RETURN(Arena arena,
                     Arena::Create(memory_, network_->plan().arena_bytes()));
    network_->Bind(arena);
    ASSIGN_OR_RETURN(
        const BatchResult result,
        network_->Evaluate(ConstTensorView(pixels_.data(), DType::kFloat32,
                                           {count, kSide, kSide, kChannels}),
                           labels_));
    logits_ = testing::ToVector(network_->logits());
    return result;
  }

  std::string root_;
  HostMemory memory_;
  std::unique_ptr<Context> ctx_;
  ModelConfig config_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Network> network_;
  std::vector<float> pixels_;
  std::vector<int32_t> labels_;
  std::vector<double> logits_;
};

TEST_F(PretrainedTest, LogitsAreThoseOfTheOtherImplementation) {
  std::ifstream in(root_ + "/pretrained/dice_cifar10_densenet100.logits.json");
  const nlohmann::json expected = nlohmann::json::parse(in);
  std::vector<double> logits;
  for (const auto& row : expected["lossless_train_first8"]["logits"]) {
    for (double value : row) logits.push_back(value);
  }
  const int64_t images = static_cast<int64_t>(logits.size()) / 10;
  ReadImages(images);
  auto result = Evaluate(images);
  ASSERT_TRUE(result.ok()) << result.status();
  constexpr double kBound = 1e-5;  // 99 layers in float32 against float64
  EXPECT_LE(testing::RelativeNorm(logits_, logits), kBound);
}

TEST_F(PretrainedTest, ClassifiesTheImagesItWasTrainedOn) {
  constexpr int64_t kImages = 400;
  ReadImages(kImages);
  auto result = Evaluate(kImages);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->correct, kImages);
}

}  // namespace
}  // namespace densenet
