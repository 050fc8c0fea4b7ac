// densenet/model_config.h
//
// Every configuration of "Densely Connected Convolutional Networks" (Huang,
// Liu, van der Maaten, Weinberger, CVPR 2017): what the network is, and the
// list of its parameters that follows from it.

#ifndef DENSENET_DENSENET_MODEL_CONFIG_H_
#define DENSENET_DENSENET_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "parallel/parameter_store.h"

namespace densenet {

enum class Stem {
  kCifar,     // 3x3 convolution
  kImageNet,  // 7x7/2 convolution, BN, ReLU, 3x3/2 max pooling
};

// "cifar", "imagenet".
std::string_view Name(Stem stem);
// Errors  InvalidArgument  unknown name
StatusOr<Stem> ParseStem(std::string_view name);

struct ModelConfig {
  std::vector<int64_t> block_config = {16, 16, 16};  // layers of each block
  int64_t growth_rate = 12;
  bool bottleneck = true;    // 1x1 convolution to 4 * growth_rate first
  double compression = 0.5;  // of the channels, at each transition
  double dropout = 0.0;      // after every convolution but the first
  Stem stem = Stem::kCifar;
  int64_t stem_channels = 24;
  int64_t image_height = 32;
  int64_t image_width = 32;
  int64_t image_channels = 3;
  int64_t classes = 10;
  double batch_norm_epsilon = 1e-5;
  // The weight of the new batch statistic in a running average.
  double batch_norm_momentum = 0.1;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;

  int64_t bottleneck_channels() const { return 4 * growth_rate; }
};

// What the paper uses where nothing else is said: half of the channels with
// bottleneck (BC), else all.
double DefaultCompression(bool bottleneck);
// 2 * growth_rate with bottleneck and compression (BC) and on ImageNet, else
// 16. Follows from all other fields.
int64_t DefaultStemChannels(const ModelConfig& config);

// Three blocks of equal length for a CIFAR-sized input, `depth` as the paper
// counts it: depth = 3 * layers * (bottleneck ? 2 : 1) + 4, with the default
// stem channels. Other fields are the defaults above.
// Errors  InvalidArgument  impossible depth; the message has the nearest ones
StatusOr<ModelConfig> CifarConfig(int64_t depth, int64_t growth_rate,
                                  bool bottleneck, double compression);

// Layers with weights on a path through the network, as the paper counts depth.
int64_t DepthOf(const ModelConfig& config);

// Everything a network needs to hold of its configuration.
// Errors  InvalidArgument  names the field, its value and what is possible
Status ValidateModelConfig(const ModelConfig& config);

// Channels entering block `block`, and leaving its last layer.
int64_t BlockInputChannels(const ModelConfig& config, int64_t block);
int64_t BlockOutputChannels(const ModelConfig& config, int64_t block);
// floor(compression * channels), as the authors' code.
int64_t TransitionChannels(const ModelConfig& config, int64_t channels);

// Image extents inside block `block`.
struct Extent {
  int64_t height = 0;
  int64_t width = 0;
};
Extent BlockExtent(const ModelConfig& config, int64_t block);

// Parameters in the order of the forward pass, named as torchvision names them
// ("features.denseblock1.denselayer1.conv1.weight"), filters (R, S, C, K), the
// classifier's weight (C, classes). Running statistics likewise
// ("....norm1.running_mean"), listed apart: they are not parameters.
std::vector<ParameterSpec> ParameterSpecs(const ModelConfig& config);
std::vector<ParameterSpec> StatisticsSpecs(const ModelConfig& config);
int64_t ParameterCount(const ModelConfig& config);
// Whether a parameter is of the last, linear layer. They come last.
bool IsOfClassifier(std::string_view parameter);

// Multiply-adds of the convolutions in one image's forward pass of the
// published network (the transition's 1x1 convolution before its pooling, as
// published): BC-100-12 has 287,926,272 on CIFAR.
int64_t MultiplyAdds(const ModelConfig& config);

}  // namespace densenet

#endif  // DENSENET_DENSENET_MODEL_CONFIG_H_
