#include "densenet/interchange/network_import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/io/safetensors.h"
#include "densenet/interchange/tensor_names.h"
#include "memory/host_memory.h"
#include "tests/densenet/interchange/pytorch_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::BytesOf;
using ::densenet::testing::Fails;
using ::densenet::testing::PickleWriter;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tensor as another program has it.
struct Foreign {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using ForeignTensors = std::map<std::string, Foreign>;

class NetworkImportTest : public ::testing::Test {
 protected:
  NetworkImportTest()
      : model_(*CifarConfig(16, 3, /*bottleneck=*/true, 0.5)),
        store_(MakeStore()),
        context_(*Context::Create({.threads = 1})) {
    store_->Initialize(*context_, 5);
    float next = 0.25f;
    for (float& v : store_->statistics_values()) v = next += 0.125f;
  }

  std::unique_ptr<ParameterStore> MakeStore() {
    return *ParameterStore::Create(memory_, ParameterSpecs(model_),
                                   StatisticsSpecs(model_), 0);
  }

  // The network of store_ as `naming` has it. Where its channels come in
  // another order, each is put where theirs is.
  ForeignTensors Theirs(const Naming& naming) {
    ForeignTensors all;
    const auto add = [&](const ParameterSpec& spec, TensorView view) {
      Foreign foreign{ForeignShape(spec.shape),
                      std::vector<float>(static_cast<size_t>(view.elems()))};
      ToForeign({view.data<float>(), foreign.values.size()}, spec.shape,
                absl::MakeSpan(foreign.values));
      const std::vector<int64_t> channels =
          InputChannels(naming, model_, spec.name);
      if (!channels.empty()) Permute(channels, foreign);
      all[ForeignName(naming, spec.name)] = std::move(foreign);
    };
    for (size_t i = 0; i < store_->parameters().size(); ++i) {
      add(store_->parameters()[i], store_->value(static_cast<int64_t>(i)));
    }
    for (size_t i = 0; i < store_->statistics().size(); ++i) {
      add(store_->statistics()[i], store_->statistic(static_cast<int64_t>(i)));
    }
    return all;
  }
  static void Permute(const std::vector<int64_t>& channels, Foreign& foreign) {
    const Foreign before = foreign;
    const size_t count = channels.size();
    const size_t outputs =
        foreign.shape.size() == 1 ? 1 : static_cast<size_t>(foreign.shape[0]);
    const size_t taps = foreign.values.size() / count / outputs;
    for (size_t k = 0; k < outputs; ++k) {
      for (size_t c = 0; c < count; ++c) {
        for (size_t tap = 0; tap < taps; ++tap) {
          const auto theirs = static_cast<size_t>(channels[c]);
          foreign.values[(k * count + theirs) * taps + tap] =
              before.values[(k * count + c) * taps + tap];
        }
      }
    }
  }

  std::unique_ptr<TensorFile> Safetensors(const ForeignTensors& tensors,
                                          const std::string& prefix = "") {
    std::vector<SafetensorsItem> items;
    for (const auto& [name, t] : tensors) {
      items.push_back({prefix + name,
                       ConstTensorView(t.values.data(), DType::kFloat32,
                                       Shape(absl::MakeConstSpan(t.shape)))});
    }
    EXPECT_OK(WriteSafetensors(dir_.File("f"), items, {}));
    return *TensorFile::Open(dir_.File("f"));
  }

  StatusOr<ImportReport> Import(TensorFile& file,
                                const std::optional<std::string>& key = {}) {
    imported_ = MakeStore();
    return ImportNetwork(file, model_, key, *imported_);
  }
  void ExpectSameNetwork() {
    EXPECT_EQ(imported_->values(), store_->values());
    EXPECT_EQ(imported_->statistics_values(), store_->statistics_values());
  }

  testing::TempDir dir_;
  HostMemory memory_;
  ModelConfig model_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<ParameterStore> imported_;
};

TEST_F(NetworkImportTest, EveryConventionGivesTheNetworkBack) {
  for (const Naming& naming : Namings()) {
    SCOPED_TRACE(naming.name);
    for (const char* prefix : {"", "module.", "model.module."}) {
      const auto file = Safetensors(Theirs(naming), prefix);
      const StatusOr<ImportReport> report = Import(*file);
      ASSERT_OK(report);
      EXPECT_EQ(report->naming, naming.name);
      EXPECT_TRUE(report->complete());
      EXPECT_THAT(report->unused, IsEmpty());
      EXPECT_THAT(report->converted, IsEmpty());
      ExpectSameNetwork();
    }
  }
}

TEST_F(NetworkImportTest, TorchvisionsOldNames) {
  ForeignTensors old;
  for (const auto& [name, tensor] : Theirs(Namings()[0])) {
    std::string spelled = name;
    for (const char* kind : {"norm", "conv"}) {
      const size_t at = spelled.find(fmt::format(".{}", kind), 30);
      if (at != std::string::npos) spelled.insert(at + 5, ".");
    }
    old[spelled] = tensor;
  }
  ASSERT_EQ(old.count("features.denseblock1.denselayer1.norm.1.weight"), 1u);
  const auto file = Safetensors(old);
  ASSERT_OK(Import(*file));
  ExpectSameNetwork();
}

TEST_F(NetworkImportTest, WhatDoesNotFitIsNamed) {
  ForeignTensors tensors = Theirs(Namings()[1]);
  tensors.erase("block1.layer.0.bn1.bias");
  tensors["fc.weight"] = {{7, 2}, std::vector<float>(14)};
  tensors["block1.layer.0.bn1.num_batches_tracked"] = {{}, {5}};
  tensors["conv1.bias"] = {{6}, std::vector<float>(6)};
  const auto file = Safetensors(tensors);
  const StatusOr<ImportReport> report = Import(*file);
  ASSERT_OK(report);
  EXPECT_FALSE(report->complete());
  EXPECT_THAT(report->missing, ElementsAre("block1.layer.0.bn1.bias"));
  EXPECT_THAT(report->other_shape,
              ElementsAre(AllOf(HasSubstr("fc.weight is F32 (7, 2)"),
                                HasSubstr("expected (10, "))));
  EXPECT_THAT(
      report->unused,
      ElementsAre("block1.layer.0.bn1.num_batches_tracked", "conv1.bias"));
  for (float v : imported_->values()) ASSERT_EQ(v, 0);
}

TEST_F(NetworkImportTest, NamesThatSayNothing) {
  ForeignTensors other;
  other["encoder.x"] = Foreign{{1}, {1.0f}};
  const auto file = Safetensors(other);
  EXPECT_THAT(Import(*file), Fails(StatusCode::kInvalidArgument,
                                   {"not one of its 1 tensors", "encoder.x",
                                    "features.conv0.weight"}));
  ForeignTensors twice = Theirs(Namings()[0]);
  twice["module.classifier.bias"] = twice["classifier.bias"];
  const auto same = Safetensors(twice);
  EXPECT_THAT(Import(*same),
              Fails(StatusCode::kInvalidArgument, {"classifier.bias", "same"}));
}

TEST_F(NetworkImportTest, ValuesThatAreNoNumbers) {
  ForeignTensors tensors = Theirs(Namings()[0]);
  tensors["classifier.bias"].values[3] = std::numeric_limits<float>::infinity();
  const auto file = Safetensors(tensors);
  EXPECT_THAT(Import(*file),
              Fails(StatusCode::kDataLoss, {"classifier.bias", "finite"}));
}

// A .pth.tar as training scripts write it: two networks, double precision.
TEST_F(NetworkImportTest, NetworksInDictsOfPytorch) {
  PickleWriter pickle;
  std::map<std::string, std::string> storages;
  pickle.Raw("}(");
  for (const char* key : {"ema", "state_dict"}) {
    pickle.Text(key).Raw("}(");
    for (const auto& [name, t] : Theirs(Namings()[0])) {
      const std::string storage = std::to_string(storages.size());
      std::vector<double> values(t.values.begin(), t.values.end());
      if (key == std::string("ema")) {
        for (double& v : values) v *= 2;
      }
      std::vector<int64_t> strides(t.shape.size(), 1);
      for (size_t i = strides.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * t.shape[i];
      }
      pickle.Text("module." + name)
          .Tensor("DoubleStorage", storage, static_cast<int64_t>(values.size()),
                  0, t.shape, strides);
      storages[storage] = BytesOf(values);
    }
    pickle.Raw("u");
  }
  const std::string path = dir_.File("two.pth.tar");
  testing::WriteTorchZip(path, pickle.Raw("u").Stop(), storages);
  const std::unique_ptr<TensorFile> file = *TensorFile::Open(path);
  EXPECT_THAT(Import(*file), Fails(StatusCode::kInvalidArgument,
                                   {"'ema'", "'state_dict'", "--key"}));
  EXPECT_THAT(Import(*file, "model"),
              Fails(StatusCode::kInvalidArgument, {"'model'", "state_dict"}));
  const StatusOr<ImportReport> report = Import(*file, "state_dict");
  ASSERT_OK(report);
  EXPECT_EQ(report->container, "state_dict");
  EXPECT_EQ(report->converted.at("F64"),
            static_cast<int64_t>(store_->parameters().size() +
                                 store_->statistics().size()));
  ExpectSameNetwork();
  ASSERT_OK(Import(*file, "ema"));
  EXPECT_EQ(imported_->values()[0], 2 * store_->values()[0]);
}

}  // namespace
}  // namespace densenet
