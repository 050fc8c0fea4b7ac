#include "densenet/model_config.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace densenet {
namespace {

constexpr int64_t kCifarBlocks = 3;

// Far above any network, and small enough that no count of elements overflows.
constexpr int64_t kMaxChannels = int64_t{1} << 20;
constexpr int64_t kMaxPixels = int64_t{1} << 28;

// Layers counted by depth besides those of the blocks: the stem, a transition
// after each block but the last, the classifier.
constexpr int64_t kOtherLayers = 4;

constexpr double kPaperCompression = 0.5;
constexpr int64_t kPlainStemChannels = 16;

// Output extent of a stride-2 window with the usual padding: ceil(x / 2).
int64_t Halved(int64_t extent) { return (extent + 1) / 2; }

std::string LayerName(int64_t block, int64_t layer) {
  return fmt::format("features.denseblock{}.denselayer{}", block + 1,
                     layer + 1);
}

// Calls norm(name, channels), conv(name, R, C, K) and linear(name, C, K) for
// everything with parameters, in the order of the forward pass.
template <typename Norm, typename Conv, typename Linear>
void ForEachModule(const ModelConfig& config, Norm norm, Conv conv,
                   Linear linear) {
  const bool image_net = config.stem == Stem::kImageNet;
  conv("features.conv0", image_net ? 7 : 3, config.image_channels,
       config.stem_channels);
  if (image_net) norm("features.norm0", config.stem_channels);
  const int64_t blocks = static_cast<int64_t>(config.block_config.size());
  for (int64_t b = 0; b < blocks; ++b) {
    int64_t channels = BlockInputChannels(config, b);
    for (int64_t l = 0; l < config.block_config[b]; ++l) {
      const std::string name = LayerName(b, l);
      norm(name + ".norm1", channels);
      if (config.bottleneck) {
        conv(name + ".conv1", 1, channels, config.bottleneck_channels());
        norm(name + ".norm2", config.bottleneck_channels());
        conv(name + ".conv2", 3, config.bottleneck_channels(),
             config.growth_rate);
      } else {
        conv(name + ".conv1", 3, channels, config.growth_rate);
      }
      channels += config.growth_rate;
    }
    if (b + 1 < blocks) {
      const std::string name = fmt::format("features.transition{}", b + 1);
      norm(name + ".norm", channels);
      conv(name + ".conv", 1, channels, TransitionChannels(config, channels));
    } else {
      norm(fmt::format("features.norm{}", blocks + 1), channels);
      linear("classifier", channels, config.classes);
    }
  }
}

}  // namespace

std::string_view Name(Stem stem) {
  return stem == Stem::kImageNet ? "imagenet" : "cifar";
}

StatusOr<Stem> ParseStem(std::string_view name) {
  for (Stem stem : {Stem::kCifar, Stem::kImageNet}) {
    if (name == Name(stem)) return stem;
  }
  return InvalidArgument(
      fmt::format("unknown stem '{}': expected cifar or imagenet", name));
}

double DefaultCompression(bool bottleneck) {
  return bottleneck ? kPaperCompression : 1.0;
}

int64_t DefaultStemChannels(const ModelConfig& config) {
  const bool compressed = config.bottleneck && config.compression < 1;
  return config.stem == Stem::kImageNet || compressed ? 2 * config.growth_rate
                                                      : kPlainStemChannels;
}

StatusOr<ModelConfig> CifarConfig(int64_t depth, int64_t growth_rate,
                                  bool bottleneck, double compression) {
  const int64_t unit = kCifarBlocks * (bottleneck ? 2 : 1);
  const int64_t shallowest = kOtherLayers + unit;
  const bool shallow = depth < shallowest;
  const int64_t excess = shallow ? 0 : (depth - kOtherLayers) % unit;
  if (shallow || excess != 0) {
    // Unsigned: the depth above may be the first that int64 cannot hold.
    const uint64_t below = static_cast<uint64_t>(depth - excess);
    const std::string nearest =
        shallow ? fmt::format("nearest {}", shallowest)
                : fmt::format("nearest {} or {}", below,
                              below + static_cast<uint64_t>(unit));
    return InvalidArgument(fmt::format(
        "depth {} {} bottleneck: (depth - {}) must divide by {}; "
        "{}",
        depth, bottleneck ? "with" : "without", kOtherLayers, unit, nearest));
  }
  const int64_t layers = (depth - kOtherLayers) / unit;
  ModelConfig config;
  config.block_config = {layers, layers, layers};
  config.growth_rate = growth_rate;
  config.bottleneck = bottleneck;
  config.compression = compression;
  config.stem_channels = DefaultStemChannels(config);
  return config;
}

int64_t DepthOf(const ModelConfig& config) {
  int64_t layers = 0;
  for (int64_t l : config.block_config) layers += l;
  const int64_t convolutions = config.bottleneck ? 2 : 1;
  // Stem, a transition between two blocks, classifier.
  return layers * convolutions + 1 +
         static_cast<int64_t>(config.block_config.size());
}

namespace {

// Each field by itself.
Status ValidateFields(const ModelConfig& c) {
  if (c.block_config.empty()) return InvalidArgument("block list is empty");
  for (int64_t layers : c.block_config) {
    if (layers < 1) {
      return InvalidArgument(
          fmt::format("a block of {} layers: expected 1 or more", layers));
    }
  }
  if (c.growth_rate < 1) {
    return InvalidArgument(
        fmt::format("growth rate {}: expected 1 or more", c.growth_rate));
  }
  if (!(c.compression > 0 && c.compression <= 1)) {
    return InvalidArgument(
        fmt::format("compression {}: expected in (0, 1]", c.compression));
  }
  if (!(c.dropout >= 0 && c.dropout < 1)) {
    return InvalidArgument(
        fmt::format("dropout {}: expected in [0, 1)", c.dropout));
  }
  if (c.stem_channels < 1 || c.image_channels < 1) {
    return InvalidArgument(fmt::format(
        "stem of {} channels on images of {}: expected 1 or more of each",
        c.stem_channels, c.image_channels));
  }
  if (c.stem_channels > kMaxChannels || c.image_channels > kMaxChannels) {
    return InvalidArgument(fmt::format(
        "stem of {} channels on images of {}: expected at most {} of each",
        c.stem_channels, c.image_channels, kMaxChannels));
  }
  if (c.classes < 2 || c.classes > kMaxChannels) {
    return InvalidArgument(
        fmt::format("{} classes: expected 2..{}", c.classes, kMaxChannels));
  }
  if (!(c.batch_norm_epsilon > 0)) {
    return InvalidArgument(fmt::format(
        "batch norm epsilon {}: expected above 0", c.batch_norm_epsilon));
  }
  if (!(c.batch_norm_momentum > 0 && c.batch_norm_momentum <= 1)) {
    return InvalidArgument(fmt::format(
        "batch norm momentum {}: expected in (0, 1]", c.batch_norm_momentum));
  }
  if (c.image_height > kMaxPixels || c.image_width > kMaxPixels ||
      c.image_height * c.image_width > kMaxPixels) {
    return InvalidArgument(
        fmt::format("images of {} x {}: expected at most {} "
                    "pixels",
                    c.image_height, c.image_width, kMaxPixels));
  }
  return OkStatus();
}

}  // namespace

Status ValidateModelConfig(const ModelConfig& c) {
  RETURN_IF_ERROR(ValidateFields(c));
  const int64_t blocks = static_cast<int64_t>(c.block_config.size());
  int64_t channels = c.stem_channels;
  for (int64_t b = 0; b < blocks; ++b) {
    const Extent extent = BlockExtent(c, b);
    if (extent.height < 1 || extent.width < 1) {
      return InvalidArgument(
          fmt::format("images of {} x {} have no pixels left in block {} of {}",
                      c.image_height, c.image_width, b + 1, blocks));
    }
    // Divides: the product may not fit.
    if (c.block_config[b] > (kMaxChannels - channels) / c.growth_rate) {
      return InvalidArgument(fmt::format(
          "block {} of {} layers at growth rate {}: expected at most {} "
          "channels",
          b + 1, c.block_config[b], c.growth_rate, kMaxChannels));
    }
    channels += c.block_config[b] * c.growth_rate;
    if (b + 1 == blocks) break;
    if (TransitionChannels(c, channels) < 1) {
      return InvalidArgument(
          fmt::format("compression {} leaves no channel of {} after block {}",
                      c.compression, channels, b + 1));
    }
    channels = TransitionChannels(c, channels);
  }
  return OkStatus();
}

int64_t TransitionChannels(const ModelConfig& config, int64_t channels) {
  return static_cast<int64_t>(std::floor(config.compression * channels));
}

int64_t BlockInputChannels(const ModelConfig& config, int64_t block) {
  int64_t channels = config.stem_channels;
  for (int64_t b = 0; b < block; ++b) {
    channels = TransitionChannels(
        config, channels + config.block_config[b] * config.growth_rate);
  }
  return channels;
}

int64_t BlockOutputChannels(const ModelConfig& config, int64_t block) {
  return BlockInputChannels(config, block) +
         config.block_config[block] * config.growth_rate;
}

Extent BlockExtent(const ModelConfig& config, int64_t block) {
  Extent extent{config.image_height, config.image_width};
  if (config.stem == Stem::kImageNet) {
    extent = {Halved(Halved(extent.height)), Halved(Halved(extent.width))};
  }
  // 2x2 average pooling, stride 2, drops an odd last row or column.
  for (int64_t b = 0; b < block; ++b) {
    extent = {extent.height / 2, extent.width / 2};
  }
  return extent;
}

std::vector<ParameterSpec> ParameterSpecs(const ModelConfig& config) {
  std::vector<ParameterSpec> specs;
  ForEachModule(
      config,
      [&](const std::string& name, int64_t channels) {
        specs.push_back({name + ".weight", {channels}, InitialValue::kOnes});
        specs.push_back({name + ".bias", {channels}, InitialValue::kZeros});
      },
      [&](const std::string& name, int64_t r, int64_t c, int64_t k) {
        specs.push_back(
            {name + ".weight", {r, r, c, k}, InitialValue::kHeFanOut});
      },
      [&](const std::string& name, int64_t c, int64_t k) {
        specs.push_back(
            {name + ".weight", {c, k}, InitialValue::kLinearUniform});
        specs.push_back({name + ".bias", {k}, InitialValue::kZeros});
      });
  return specs;
}

std::vector<ParameterSpec> StatisticsSpecs(const ModelConfig& config) {
  std::vector<ParameterSpec> specs;
  ForEachModule(
      config,
      [&](const std::string& name, int64_t channels) {
        specs.push_back(
            {name + ".running_mean", {channels}, InitialValue::kZeros});
        specs.push_back(
            {name + ".running_var", {channels}, InitialValue::kOnes});
      },
      [](const std::string&, int64_t, int64_t, int64_t) {},
      [](const std::string&, int64_t, int64_t) {});
  return specs;
}

bool IsOfClassifier(std::string_view parameter) {
  return parameter.starts_with("classifier.");
}

int64_t ParameterCount(const ModelConfig& config) {
  int64_t count = 0;
  for (const ParameterSpec& spec : ParameterSpecs(config)) {
    count += spec.shape.elems();
  }
  return count;
}

int64_t MultiplyAdds(const ModelConfig& config) {
  const bool image_net = config.stem == Stem::kImageNet;
  const int64_t stem_pixels =
      image_net ? Halved(config.image_height) * Halved(config.image_width)
                : config.image_height * config.image_width;
  int64_t total = 0;
  auto conv = [&](const std::string& name, int64_t r, int64_t c, int64_t k) {
    int64_t pixels = stem_pixels;
    if (name != "features.conv0") {
      // "features.denseblock3..." or "features.transition3...": block 3
      const size_t digit = name.find_first_of("0123456789");
      const int64_t block = std::stoll(name.substr(digit)) - 1;
      const Extent extent = BlockExtent(config, block);
      pixels = extent.height * extent.width;
    }
    total += pixels * r * r * c * k;
  };
  ForEachModule(
      config, [](const std::string&, int64_t) {}, conv,
      [](const std::string&, int64_t, int64_t) {});
  return total;
}

}  // namespace densenet
