#include "tests/support/free_densenet.h"

#include <fmt/format.h>

#include <cmath>

#include "core/autograd/nn.h"
#include "core/autograd/shaping.h"

namespace densenet::testing {
namespace {

constexpr int64_t kBottleneckFactor = 4;

std::string LayerName(size_t block, int64_t layer) {
  return fmt::format("features.denseblock{}.denselayer{}", block + 1,
                     layer + 1);
}

std::string TransitionName(size_t block) {
  return fmt::format("features.transition{}", block + 1);
}

// Builds the net from named parameters.
class Builder {
 public:
  Builder(const FreeDenseNet& net, const FreeDenseNet::Parameters& parameters,
          Tape& tape)
      : net_(net), parameters_(parameters), tape_(tape) {}

  Var Conv(const std::string& name, Var x) {
    return Conv2d(x, Parameter(name + ".weight"),
                  {.stride = {}, .padding = Padding::Same()});
  }

  Var NormRelu(const std::string& name, Var x) {
    return Relu(BatchNormTrain(x, Parameter(name + ".weight"),
                               Parameter(name + ".bias"), net_.batch_norm, {},
                               {}));
  }

  Var DenseLayer(const std::string& name, Var x) {
    Var y = Conv(name + ".conv1", NormRelu(name + ".norm1", x));
    if (net_.bottleneck) {
      y = Conv(name + ".conv2", NormRelu(name + ".norm2", y));
    }
    return Concat({x, y}, -1);
  }

  Var Transition(const std::string& name, Var x) {
    return AvgPool(Conv(name + ".conv", NormRelu(name + ".norm", x)),
                   {2, 2, {2, 2}, Padding::Valid()});
  }

  Var Classifier(Var x) {
    return BiasAdd(MatMul(GlobalAvgPool(x), Parameter("classifier.weight")),
                   Parameter("classifier.bias"));
  }

 private:
  Var Parameter(const std::string& name) {
    const auto found = parameters_.find(name);
    if (found == parameters_.end()) {
      return tape_.Fail(
          "FreeDenseNet", {},
          NotFound(fmt::format("no parameter '{}' was given", name)));
    }
    return tape_.Leaf(name, found->second);
  }

  const FreeDenseNet& net_;
  const FreeDenseNet::Parameters& parameters_;
  Tape& tape_;
};

}  // namespace

std::vector<std::pair<std::string, Shape>> FreeDenseNet::ParameterShapes()
    const {
  std::vector<std::pair<std::string, Shape>> shapes;
  const auto norm = [&](const std::string& name, int64_t channels) {
    shapes.emplace_back(name + ".weight", Shape{channels});
    shapes.emplace_back(name + ".bias", Shape{channels});
  };
  const auto conv = [&](const std::string& name, int64_t window, int64_t from,
                        int64_t to) {
    shapes.emplace_back(name + ".weight", Shape{window, window, from, to});
  };
  const int64_t inner = kBottleneckFactor * growth_rate;
  int64_t channels = stem_channels;
  conv("features.conv0", 3, image_channels, channels);
  for (size_t block = 0; block < block_config.size(); ++block) {
    for (int64_t layer = 0; layer < block_config[block]; ++layer) {
      const std::string name = LayerName(block, layer);
      norm(name + ".norm1", channels);
      conv(name + ".conv1", bottleneck ? 1 : 3, channels,
           bottleneck ? inner : growth_rate);
      if (bottleneck) {
        norm(name + ".norm2", inner);
        conv(name + ".conv2", 3, inner, growth_rate);
      }
      channels += growth_rate;
    }
    if (block + 1 == block_config.size()) break;
    const auto fewer = static_cast<int64_t>(
        std::floor(compression * static_cast<double>(channels)));
    norm(TransitionName(block) + ".norm", channels);
    conv(TransitionName(block) + ".conv", 1, channels, fewer);
    channels = fewer;
  }
  norm(fmt::format("features.norm{}", block_config.size() + 1), channels);
  shapes.emplace_back("classifier.weight", Shape{channels, classes});
  shapes.emplace_back("classifier.bias", Shape{classes});
  return shapes;
}

Var FreeDenseNet::Logits(const Parameters& parameters, Var images) const {
  if (!images.ok()) return images;
  Builder builder(*this, parameters, *images.tape());
  Var x = builder.Conv("features.conv0", images);
  for (size_t block = 0; block < block_config.size(); ++block) {
    for (int64_t layer = 0; layer < block_config[block]; ++layer) {
      x = builder.DenseLayer(LayerName(block, layer), x);
    }
    if (block + 1 < block_config.size()) {
      x = builder.Transition(TransitionName(block), x);
    }
  }
  x = builder.NormRelu(fmt::format("features.norm{}", block_config.size() + 1),
                       x);
  return builder.Classifier(x);
}

}  // namespace densenet::testing
