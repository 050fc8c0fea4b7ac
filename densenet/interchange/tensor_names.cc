#include "densenet/interchange/tensor_names.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace densenet {
namespace {

constexpr std::string_view kFeatures = "features.";

constexpr Naming kNamings[] = {
    {.name = "torchvision",
     .layer = "features.denseblock{0}.denselayer{1}",
     .norm = "norm",
     .transition = "features.transition{0}",
     .transition_norm = "norm",
     .transition_conv = "conv",
     .stem_conv = "features.conv0",
     .stem_norm = "features.norm0",
     .last_norm = "features.norm5",
     .classifier = "classifier"},
    {.name = "andreasveit",
     .layer = "block{0}.layer.{1}",
     .first_layer = 0,
     .norm = "bn",
     .transition = "trans{0}",
     .transition_norm = "bn1",
     .transition_conv = "conv1",
     .stem_conv = "conv1",
     .stem_norm = "norm0",
     .last_norm = "bn1",
     .classifier = "fc"},
    {.name = "bamos",
     .layer = "dense{0}.{1}",
     .first_layer = 0,
     .norm = "bn",
     .transition = "trans{0}",
     .transition_norm = "bn1",
     .transition_conv = "conv1",
     .stem_conv = "conv1",
     .stem_norm = "norm0",
     .last_norm = "bn1",
     .classifier = "fc"},
    {.name = "kuangliu",
     .layer = "dense{0}.{1}",
     .first_layer = 0,
     .norm = "bn",
     .transition = "trans{0}",
     .transition_norm = "bn",
     .transition_conv = "conv",
     .stem_conv = "conv1",
     .stem_norm = "norm0",
     .last_norm = "bn",
     .classifier = "linear",
     .newest_channels_first = true},
};

// A name of ours, taken apart.
struct Parts {
  enum class Module { kLayer, kTransition, kStem, kLastNorm, kClassifier };
  Module module = Module::kStem;
  int64_t block = 0;       // from 1
  int64_t layer = 0;       // from 1
  std::string_view kind;   // "norm1", "conv"; of stem and last norm "norm0"
  std::string_view field;  // "weight", "running_mean"
};

// Takes `prefix` and the number after it off the front of `text`.
std::optional<int64_t> TakeNumbered(std::string_view prefix,
                                    std::string_view* text) {
  if (!text->starts_with(prefix)) return std::nullopt;
  const char* first = text->data() + prefix.size();
  const char* last = text->data() + text->size();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

Parts TakeApart(std::string_view name) {
  Parts parts;
  const size_t dot = name.rfind('.');
  parts.field = name.substr(dot + 1);
  std::string_view module = name.substr(0, dot);
  if (module == "classifier") {
    parts.module = Parts::Module::kClassifier;
    return parts;
  }
  CHECK(module.starts_with(kFeatures)) << name;
  module.remove_prefix(kFeatures.size());
  if (const auto block = TakeNumbered("denseblock", &module)) {
    parts.module = Parts::Module::kLayer;
    parts.block = *block;
    parts.layer = TakeNumbered(".denselayer", &module).value_or(0);
    parts.kind = module.substr(1);
  } else if (const auto after = TakeNumbered("transition", &module)) {
    parts.module = Parts::Module::kTransition;
    parts.block = *after;
    parts.kind = module.substr(1);
  } else {
    parts.kind = module;
    parts.module = module == "conv0" || module == "norm0"
                       ? Parts::Module::kStem
                       : Parts::Module::kLastNorm;
  }
  return parts;
}

// "features.norm4", of whatever number of blocks.
bool IsLastNorm(std::string_view module) {
  if (module == "features.norm_final") return true;
  const auto number = TakeNumbered("features.norm", &module);
  return number && *number > 0 && module.empty();
}

}  // namespace

absl::Span<const Naming> Namings() { return kNamings; }

std::string ForeignName(const Naming& naming, std::string_view name) {
  const Parts parts = TakeApart(name);
  const bool norm = parts.kind.starts_with("norm");
  std::string module;
  switch (parts.module) {
    case Parts::Module::kLayer: {
      const std::string_view digit = parts.kind.substr(4);
      module = fmt::format(fmt::runtime(naming.layer), parts.block,
                           parts.layer - 1 + naming.first_layer);
      module += fmt::format(".{}{}", norm ? naming.norm : "conv", digit);
      break;
    }
    case Parts::Module::kTransition:
      module = fmt::format(fmt::runtime(naming.transition), parts.block);
      module += fmt::format(
          ".{}", norm ? naming.transition_norm : naming.transition_conv);
      break;
    case Parts::Module::kStem:
      module = norm ? naming.stem_norm : naming.stem_conv;
      break;
    case Parts::Module::kLastNorm:
      module = naming.last_norm;
      break;
    case Parts::Module::kClassifier:
      module = naming.classifier;
      break;
  }
  return fmt::format("{}.{}", module, parts.field);
}

std::string PlainName(std::string_view name) {
  constexpr std::string_view kWrappers[] = {
      "module.",   "model.",   "net.",      "network.",
      "backbone.", "encoder.", "densenet.", "_orig_mod."};
  for (bool again = true; again;) {
    again = false;
    for (std::string_view wrapper : kWrappers) {
      if (!name.starts_with(wrapper)) continue;
      name.remove_prefix(wrapper.size());
      again = true;
    }
  }
  const size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && IsLastNorm(name.substr(0, dot))) {
    return fmt::format("features.norm5{}", name.substr(dot));
  }
  std::string plain(name);
  // What torchvision called them before PyTorch refused dots in names.
  for (std::string_view old :
       {".norm.1.", ".norm.2.", ".conv.1.", ".conv.2."}) {
    const size_t at = plain.find(old);
    if (plain.find("denselayer") == std::string::npos ||
        at == std::string::npos) {
      continue;
    }
    plain.erase(at + 5, 1);
  }
  return plain;
}

std::vector<int64_t> ForeignShape(const Shape& ours) {
  if (ours.rank() == 4) return {ours[3], ours[2], ours[0], ours[1]};
  if (ours.rank() == 2) return {ours[1], ours[0]};
  return {ours.dims().begin(), ours.dims().end()};
}

void FromForeign(absl::Span<const float> theirs, const Shape& shape,
                 absl::Span<const int64_t> channels, absl::Span<float> ours) {
  const auto channel = [&](int64_t c) {
    return channels.empty() ? c : channels[static_cast<size_t>(c)];
  };
  const float* x = theirs.data();
  float* y = ours.data();
  if (shape.rank() == 1) {
    for (int64_t c = 0; c < shape[0]; ++c) *y++ = x[channel(c)];
    return;
  }
  const bool filter = shape.rank() == 4;
  const int64_t taps = filter ? shape[0] * shape[1] : 1;
  const int64_t inputs = shape[shape.rank() - 2];
  const int64_t outputs = shape[shape.rank() - 1];
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < inputs; ++c) {
      for (int64_t k = 0; k < outputs; ++k) {
        *y++ = x[(k * inputs + channel(c)) * taps + tap];
      }
    }
  }
}

void ToForeign(absl::Span<const float> ours, const Shape& shape,
               absl::Span<float> theirs) {
  if (shape.rank() == 1) {
    std::copy(ours.begin(), ours.end(), theirs.begin());
    return;
  }
  const bool filter = shape.rank() == 4;
  const int64_t taps = filter ? shape[0] * shape[1] : 1;
  const int64_t inputs = shape[shape.rank() - 2];
  const int64_t outputs = shape[shape.rank() - 1];
  float* y = theirs.data();
  for (int64_t k = 0; k < outputs; ++k) {
    for (int64_t c = 0; c < inputs; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        *y++ = ours[static_cast<size_t>((tap * inputs + c) * outputs + k)];
      }
    }
  }
}

std::vector<int64_t> InputChannels(const Naming& naming,
                                   const ModelConfig& config,
                                   std::string_view name) {
  if (!naming.newest_channels_first) return {};
  const Parts parts = TakeApart(name);
  const auto blocks = static_cast<int64_t>(config.block_config.size());
  int64_t block = blocks - 1;
  int64_t layers = 0;  // whose channels are read, besides the block's input
  switch (parts.module) {
    case Parts::Module::kStem:
      return {};
    case Parts::Module::kLayer:
      if (parts.kind == "norm2" || parts.kind == "conv2") return {};
      block = parts.block - 1;
      layers = parts.layer - 1;
      break;
    case Parts::Module::kTransition:
      block = parts.block - 1;
      layers = config.block_config[static_cast<size_t>(block)];
      break;
    case Parts::Module::kLastNorm:
    case Parts::Module::kClassifier:
      if (parts.module == Parts::Module::kClassifier && parts.field == "bias") {
        return {};
      }
      layers = config.block_config[static_cast<size_t>(block)];
      break;
  }
  const int64_t growth = config.growth_rate;
  const int64_t input = BlockInputChannels(config, block);
  std::vector<int64_t> channels;
  for (int64_t c = 0; c < input; ++c) channels.push_back(layers * growth + c);
  for (int64_t l = 0; l < layers; ++l) {
    for (int64_t g = 0; g < growth; ++g) {
      channels.push_back((layers - 1 - l) * growth + g);
    }
  }
  return channels;
}

}  // namespace densenet
