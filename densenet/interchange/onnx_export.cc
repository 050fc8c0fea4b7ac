#include <fmt/format.h>
#include <glog/logging.h>
#include <onnx.pb.h>

#include <limits>
#include <vector>

#include "core/io/file.h"
#include "densenet/interchange/network_export.h"
#include "densenet/interchange/tensor_names.h"

namespace densenet {
namespace {

constexpr int64_t kOpset = 13;
constexpr int64_t kIrVersion = 7;

// Appends operations; values are named by what computes them.
class GraphBuilder {
 public:
  GraphBuilder(const ModelConfig& model, ParameterStore& store,
               onnx::GraphProto& graph)
      : model_(model), store_(store), graph_(graph) {}

  void AddConstant(const std::string& name, const std::vector<int64_t>& shape,
                   absl::Span<const float> values);

  std::string Convolve(const std::string& module, const std::string& x,
                       int64_t stride, int64_t side);
  // Batch norm by running statistics, then ReLU.
  std::string Normalize(const std::string& module, const std::string& x);
  std::string Pool(const std::string& name, const char* kind,
                   const std::string& x, int64_t side, int64_t padding);
  std::string Concatenate(const std::string& name, const std::string& x,
                          const std::string& y);
  // Global average pooling and the linear layer, to "logits".
  void Classify(const std::string& x);
  std::string Apply(const char* op, const std::string& name,
                    const std::vector<std::string>& inputs) {
    Add(op, name, inputs);
    return name;
  }

 private:
  onnx::NodeProto& Add(const char* op, const std::string& name,
                       const std::vector<std::string>& inputs);
  // A tensor of the network, under torchvision's name, which it returns.
  std::string AddParameter(const std::string& name);
  std::string AddStatistic(const std::string& name);
  std::string AddTensor(const ParameterSpec& spec, TensorView view);

  static void Set(onnx::NodeProto& node, const char* name, int64_t value);
  static void Set(onnx::NodeProto& node, const char* name,
                  const std::vector<int64_t>& values);

  const ModelConfig& model_;
  ParameterStore& store_;
  onnx::GraphProto& graph_;
};

onnx::NodeProto& GraphBuilder::Add(const char* op, const std::string& name,
                                   const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(name);
  return node;
}

void GraphBuilder::Set(onnx::NodeProto& node, const char* name, int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void GraphBuilder::Set(onnx::NodeProto& node, const char* name,
                       const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute.add_ints(value);
}

void GraphBuilder::AddConstant(const std::string& name,
                               const std::vector<int64_t>& shape,
                               absl::Span<const float> values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t d : shape) tensor.add_dims(d);
  // Little-endian, as this machine has it.
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
}

std::string GraphBuilder::AddTensor(const ParameterSpec& spec,
                                    TensorView view) {
  std::vector<float> values(static_cast<size_t>(view.elems()));
  ToForeign(absl::MakeConstSpan(view.data<float>(), values.size()), spec.shape,
            absl::MakeSpan(values));
  const std::string name = ForeignName(Namings()[0], spec.name);
  AddConstant(name, ForeignShape(spec.shape), values);
  return name;
}

std::string GraphBuilder::AddParameter(const std::string& name) {
  const int64_t i = store_.IndexOf(name);
  return AddTensor(store_.parameters()[static_cast<size_t>(i)],
                   store_.value(i));
}

std::string GraphBuilder::AddStatistic(const std::string& name) {
  const int64_t i = store_.StatisticIndexOf(name);
  return AddTensor(store_.statistics()[static_cast<size_t>(i)],
                   store_.statistic(i));
}

std::string GraphBuilder::Convolve(const std::string& module,
                                   const std::string& x, int64_t stride,
                                   int64_t side) {
  onnx::NodeProto& node =
      Add("Conv", module, {x, AddParameter(module + ".weight")});
  const int64_t pad = side / 2;
  Set(node, "kernel_shape", {side, side});
  Set(node, "strides", {stride, stride});
  Set(node, "pads", {pad, pad, pad, pad});
  return module;
}

std::string GraphBuilder::Normalize(const std::string& module,
                                    const std::string& x) {
  onnx::NodeProto& node =
      Add("BatchNormalization", module,
          {x, AddParameter(module + ".weight"), AddParameter(module + ".bias"),
           AddStatistic(module + ".running_mean"),
           AddStatistic(module + ".running_var")});
  onnx::AttributeProto& epsilon = *node.add_attribute();
  epsilon.set_name("epsilon");
  epsilon.set_type(onnx::AttributeProto::FLOAT);
  epsilon.set_f(static_cast<float>(model_.batch_norm_epsilon));
  return Apply("Relu", module + ".relu", {module});
}

std::string GraphBuilder::Pool(const std::string& name, const char* kind,
                               const std::string& x, int64_t side,
                               int64_t padding) {
  onnx::NodeProto& node = Add(kind, name, {x});
  Set(node, "kernel_shape", {side, side});
  Set(node, "strides", {2, 2});
  Set(node, "pads", {padding, padding, padding, padding});
  return name;
}

std::string GraphBuilder::Concatenate(const std::string& name,
                                      const std::string& x,
                                      const std::string& y) {
  Set(Add("Concat", name, {x, y}), "axis", 1);
  return name;
}

void GraphBuilder::Classify(const std::string& x) {
  Set(Add("Flatten", "flatten", {Apply("GlobalAveragePool", "pool", {x})}),
      "axis", 1);
  Set(Add("Gemm", "logits",
          {"flatten", AddParameter("classifier.weight"),
           AddParameter("classifier.bias")}),
      "transB", 1);
}

void AddImages(const CheckpointInfo& info, onnx::GraphProto& graph) {
  const ModelConfig& model = info.model;
  const auto describe = [](onnx::ValueInfoProto& value, const char* name,
                           const std::vector<int64_t>& dims) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("batch");
    for (int64_t d : dims) type.mutable_shape()->add_dim()->set_dim_value(d);
  };
  describe(*graph.add_input(), "images",
           {model.image_channels, model.image_height, model.image_width});
  describe(*graph.add_output(), "logits", {model.classes});
}

// The network on pixels in [0, 1].
void AddNetwork(const CheckpointInfo& info, GraphBuilder& build) {
  const ModelConfig& model = info.model;
  const Normalization& normalization = info.data.normalization;
  const std::vector<float> mean(normalization.mean.begin(),
                                normalization.mean.end());
  const std::vector<float> deviation(normalization.std.begin(),
                                     normalization.std.end());
  const std::vector<int64_t> channels = {1, model.image_channels, 1, 1};
  build.AddConstant("mean", channels, mean);
  build.AddConstant("std", channels, deviation);
  std::string x = build.Apply("Sub", "centered", {"images", "mean"});
  x = build.Apply("Div", "normalized", {x, "std"});
  if (model.stem == Stem::kImageNet) {
    x = build.Convolve("features.conv0", x, 2, 7);
    x = build.Normalize("features.norm0", x);
    x = build.Pool("features.pool0", "MaxPool", x, 3, 1);
  } else {
    x = build.Convolve("features.conv0", x, 1, 3);
  }
  const size_t blocks = model.block_config.size();
  for (size_t b = 0; b < blocks; ++b) {
    for (int64_t l = 0; l < model.block_config[b]; ++l) {
      const std::string layer =
          fmt::format("features.denseblock{}.denselayer{}", b + 1, l + 1);
      std::string y = build.Normalize(layer + ".norm1", x);
      if (model.bottleneck) {
        y = build.Convolve(layer + ".conv1", y, 1, 1);
        y = build.Normalize(layer + ".norm2", y);
        y = build.Convolve(layer + ".conv2", y, 1, 3);
      } else {
        y = build.Convolve(layer + ".conv1", y, 1, 3);
      }
      x = build.Concatenate(layer, x, y);
    }
    if (b + 1 == blocks) break;
    const std::string transition = fmt::format("features.transition{}", b + 1);
    x = build.Normalize(transition + ".norm", x);
    // Before the convolution, which commutes with it: a quarter of the work.
    x = build.Pool(transition + ".pool", "AveragePool", x, 2, 0);
    x = build.Convolve(transition + ".conv", x, 1, 1);
  }
  build.Classify(
      build.Normalize(fmt::format("features.norm{}", blocks + 1), x));
}

}  // namespace

Status ExportOnnx(const std::string& path, const CheckpointInfo& info,
                  ParameterStore& store) {
  const int64_t bytes =
      ParameterCount(info.model) * static_cast<int64_t>(sizeof(float));
  if (bytes > std::numeric_limits<int32_t>::max() / 2) {
    return ResourceExhausted(fmt::format(
        "{}: {} bytes of parameters: an ONNX file has at most 2 GiB", path,
        bytes));
  }
  onnx::ModelProto proto;
  proto.set_ir_version(kIrVersion);
  proto.set_producer_name("densenet");
  proto.set_producer_version(DENSENET_VERSION);
  onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpset);
  const auto add_text = [&](const char* key, const Json& value) {
    onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(DumpJson(value));
  };
  add_text(kModelMetadata, ToJson(info.model));
  add_text(kDataMetadata, ToJson(info.data));
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name("densenet");
  AddImages(info, graph);
  GraphBuilder build(info.model, store, graph);
  AddNetwork(info, build);
  std::string text;
  CHECK(proto.SerializeToString(&text));
  return WriteFileAtomically(path, text);
}

}  // namespace densenet
