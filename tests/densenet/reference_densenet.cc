#include "tests/densenet/reference_densenet.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "core/random.h"

namespace densenet::testing {
namespace {

struct Map {
  Map(int64_t images, int64_t height, int64_t width, int64_t channels)
      : n(images),
        h(height),
        w(width),
        c(channels),
        value(n * h * w * c, 0.0),
        gradient(value.size(), 0.0) {}

  int64_t Index(int64_t i, int64_t y, int64_t x, int64_t channel) const {
    return ((i * h + y) * w + x) * c + channel;
  }
  int64_t rows() const { return n * h * w; }

  int64_t n, h, w, c;
  std::vector<double> value;
  std::vector<double> gradient;
};
using MapPtr = std::shared_ptr<Map>;

MapPtr NewMap(int64_t n, int64_t h, int64_t w, int64_t c) {
  return std::make_shared<Map>(n, h, w, c);
}

class Reference {
 public:
  explicit Reference(const ReferenceInput& input) : in_(input) {
    for (const auto& [name, values] : in_.parameters) {
      out_.gradients[name].assign(values.size(), 0.0);
    }
  }

  ReferenceOutput Run();

 private:
  MapPtr Conv(const MapPtr& x, const std::string& name, int64_t side,
              int64_t stride, int64_t pad, int64_t k);
  MapPtr NormRelu(const MapPtr& x, const std::string& name);
  MapPtr Concat(const std::vector<MapPtr>& xs);
  MapPtr AveragePool(const MapPtr& x, int64_t window_h, int64_t window_w);
  MapPtr MaxPool3x3(const MapPtr& x);
  MapPtr Dropout(const MapPtr& x);
  MapPtr Linear(const MapPtr& x);
  void Loss(const MapPtr& logits);
  MapPtr Stem(const MapPtr& images);
  MapPtr Layer(const MapPtr& x, const std::string& name);

  const ReferenceInput& in_;
  ReferenceOutput out_;
  std::vector<std::function<void()>> backward_;
  uint32_t stream_ = 0;
};

MapPtr Reference::Conv(const MapPtr& x, const std::string& name, int64_t side,
                       int64_t stride, int64_t pad, int64_t k) {
  const std::vector<double>& w = in_.parameters.at(name + ".weight");
  std::vector<double>& dw = out_.gradients.at(name + ".weight");
  MapPtr y = NewMap(x->n, (x->h + 2 * pad - side) / stride + 1,
                    (x->w + 2 * pad - side) / stride + 1, k);
  // Calls fn(index into x, into w, into y) for every product.
  auto for_each_product = [=](auto fn) {
    for (int64_t i = 0; i < y->n; ++i) {
      for (int64_t p = 0; p < y->h; ++p) {
        for (int64_t q = 0; q < y->w; ++q) {
          for (int64_t r = 0; r < side; ++r) {
            for (int64_t s = 0; s < side; ++s) {
              const int64_t yy = p * stride + r - pad;
              const int64_t xx = q * stride + s - pad;
              if (yy < 0 || yy >= x->h || xx < 0 || xx >= x->w) continue;
              for (int64_t c = 0; c < x->c; ++c) {
                for (int64_t o = 0; o < k; ++o) {
                  fn(x->Index(i, yy, xx, c),
                     ((r * side + s) * x->c + c) * k + o, y->Index(i, p, q, o));
                }
              }
            }
          }
        }
      }
    }
  };
  for_each_product([&](int64_t xi, int64_t wi, int64_t yi) {
    y->value[yi] += x->value[xi] * w[wi];
  });
  backward_.push_back([=, &w, &dw] {
    for_each_product([&](int64_t xi, int64_t wi, int64_t yi) {
      x->gradient[xi] += y->gradient[yi] * w[wi];
      dw[wi] += y->gradient[yi] * x->value[xi];
    });
  });
  return y;
}

MapPtr Reference::NormRelu(const MapPtr& x, const std::string& name) {
  const std::vector<double>& gamma = in_.parameters.at(name + ".weight");
  const std::vector<double>& beta = in_.parameters.at(name + ".bias");
  std::vector<double>& d_gamma = out_.gradients.at(name + ".weight");
  std::vector<double>& d_beta = out_.gradients.at(name + ".bias");
  const int64_t c = x->c;
  const int64_t rows = x->rows();
  auto inv = std::make_shared<std::vector<double>>(c);
  auto xhat = std::make_shared<std::vector<double>>(x->value.size());
  auto mask = std::make_shared<std::vector<uint8_t>>(x->value.size());
  MapPtr z = NewMap(x->n, x->h, x->w, c);
  for (int64_t j = 0; j < c; ++j) {
    double mean = 0;
    for (int64_t r = 0; r < rows; ++r) mean += x->value[r * c + j] / rows;
    double variance = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const double e = x->value[r * c + j] - mean;
      variance += e * e / rows;
    }
    if (in_.frozen != nullptr) {
      mean = in_.frozen->at(name + ".running_mean")[j];
      variance = in_.frozen->at(name + ".running_var")[j];
    }
    (*inv)[j] = 1 / std::sqrt(variance + in_.config.batch_norm_epsilon);
    for (int64_t r = 0; r < rows; ++r) {
      (*xhat)[r * c + j] = (x->value[r * c + j] - mean) * (*inv)[j];
    }
  }
  const std::vector<uint8_t>* replay =
      in_.masks == nullptr ? nullptr : &in_.masks->at(name);
  if (replay != nullptr) CHECK_EQ(replay->size(), z->value.size()) << name;
  for (size_t i = 0; i < z->value.size(); ++i) {
    const double y = gamma[i % c] * (*xhat)[i] + beta[i % c];
    const bool own = y > 0;
    (*mask)[i] = replay == nullptr ? own : (*replay)[i];
    if (static_cast<bool>((*mask)[i]) != own) ++out_.flips;
    z->value[i] = (*mask)[i] ? y : 0;
  }
  out_.activations += static_cast<int64_t>(z->value.size());
  const bool frozen = in_.frozen != nullptr;
  backward_.push_back([=, &gamma, &d_gamma, &d_beta] {
    for (int64_t j = 0; j < c; ++j) {
      double sum = 0;
      double sum_xhat = 0;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t i = r * c + j;
        const double dy = (*mask)[i] ? z->gradient[i] : 0;
        sum += dy;
        sum_xhat += dy * (*xhat)[i];
      }
      d_beta[j] += sum;
      d_gamma[j] += sum_xhat;
      if (frozen) sum = sum_xhat = 0;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t i = r * c + j;
        const double dy = (*mask)[i] ? z->gradient[i] : 0;
        x->gradient[i] +=
            gamma[j] * (*inv)[j] * (dy - (sum + (*xhat)[i] * sum_xhat) / rows);
      }
    }
  });
  return z;
}

MapPtr Reference::Concat(const std::vector<MapPtr>& xs) {
  int64_t channels = 0;
  for (const MapPtr& x : xs) channels += x->c;
  MapPtr y = NewMap(xs[0]->n, xs[0]->h, xs[0]->w, channels);
  auto for_each = [=](auto fn) {
    int64_t first = 0;
    for (const MapPtr& x : xs) {
      for (int64_t r = 0; r < x->rows(); ++r) {
        for (int64_t c = 0; c < x->c; ++c) {
          fn(*x, r * x->c + c, r * channels + first + c);
        }
      }
      first += x->c;
    }
  };
  for_each([&](Map& x, int64_t xi, int64_t yi) { y->value[yi] = x.value[xi]; });
  backward_.push_back([=] {
    for_each([&](Map& x, int64_t xi, int64_t yi) {
      x.gradient[xi] += y->gradient[yi];
    });
  });
  return y;
}

MapPtr Reference::AveragePool(const MapPtr& x, int64_t window_h,
                              int64_t window_w) {
  MapPtr y = NewMap(x->n, x->h / window_h, x->w / window_w, x->c);
  const double share = 1.0 / static_cast<double>(window_h * window_w);
  auto for_each = [=](auto fn) {
    for (int64_t i = 0; i < y->n; ++i) {
      for (int64_t p = 0; p < y->h * window_h; ++p) {
        for (int64_t q = 0; q < y->w * window_w; ++q) {
          for (int64_t c = 0; c < y->c; ++c) {
            fn(x->Index(i, p, q, c),
               y->Index(i, p / window_h, q / window_w, c));
          }
        }
      }
    }
  };
  for_each(
      [&](int64_t xi, int64_t yi) { y->value[yi] += share * x->value[xi]; });
  backward_.push_back([=] {
    for_each([&](int64_t xi, int64_t yi) {
      x->gradient[xi] += share * y->gradient[yi];
    });
  });
  return y;
}

MapPtr Reference::MaxPool3x3(const MapPtr& x) {
  MapPtr y = NewMap(x->n, (x->h + 1) / 2, (x->w + 1) / 2, x->c);
  auto winner = std::make_shared<std::vector<int64_t>>(y->value.size(), -1);
  for (int64_t i = 0; i < y->n; ++i) {
    for (int64_t p = 0; p < y->h; ++p) {
      for (int64_t q = 0; q < y->w; ++q) {
        for (int64_t c = 0; c < y->c; ++c) {
          int64_t& best = (*winner)[y->Index(i, p, q, c)];
          for (int64_t yy = std::max<int64_t>(0, 2 * p - 1);
               yy < std::min(x->h, 2 * p + 2); ++yy) {
            for (int64_t xx = std::max<int64_t>(0, 2 * q - 1);
                 xx < std::min(x->w, 2 * q + 2); ++xx) {
              const int64_t xi = x->Index(i, yy, xx, c);
              if (best < 0 || x->value[xi] > x->value[best]) best = xi;
            }
          }
          y->value[y->Index(i, p, q, c)] = x->value[best];
        }
      }
    }
  }
  backward_.push_back([=] {
    for (size_t i = 0; i < winner->size(); ++i) {
      x->gradient[(*winner)[i]] += y->gradient[i];
    }
  });
  return y;
}

MapPtr Reference::Dropout(const MapPtr& x) {
  const uint32_t stream = stream_++;
  const double rate = in_.config.dropout;
  if (rate == 0) return x;
  MapPtr y = NewMap(x->n, x->h, x->w, x->c);
  auto factor = std::make_shared<std::vector<double>>(x->value.size());
  for (size_t i = 0; i < factor->size(); ++i) {
    const double u =
        std::ldexp(RandomBits({in_.seed, in_.step, stream}, i), -32);
    (*factor)[i] = u >= rate ? 1 / (1 - rate) : 0;
    y->value[i] = (*factor)[i] * x->value[i];
  }
  backward_.push_back([=] {
    for (size_t i = 0; i < factor->size(); ++i) {
      x->gradient[i] += (*factor)[i] * y->gradient[i];
    }
  });
  return y;
}

MapPtr Reference::Linear(const MapPtr& x) {
  const std::vector<double>& w = in_.parameters.at("classifier.weight");
  const std::vector<double>& b = in_.parameters.at("classifier.bias");
  std::vector<double>& dw = out_.gradients.at("classifier.weight");
  std::vector<double>& db = out_.gradients.at("classifier.bias");
  const int64_t k = in_.config.classes;
  MapPtr y = NewMap(x->n, 1, 1, k);
  for (int64_t i = 0; i < x->n; ++i) {
    for (int64_t o = 0; o < k; ++o) {
      y->value[i * k + o] = b[o];
      for (int64_t c = 0; c < x->c; ++c) {
        y->value[i * k + o] += x->value[i * x->c + c] * w[c * k + o];
      }
    }
  }
  backward_.push_back([=, &w, &dw, &db] {
    for (int64_t i = 0; i < x->n; ++i) {
      for (int64_t o = 0; o < k; ++o) {
        const double dy = y->gradient[i * k + o];
        db[o] += dy;
        for (int64_t c = 0; c < x->c; ++c) {
          x->gradient[i * x->c + c] += dy * w[c * k + o];
          dw[c * k + o] += dy * x->value[i * x->c + c];
        }
      }
    }
  });
  return y;
}

// Sets the gradient of the mean loss at the logits.
void Reference::Loss(const MapPtr& logits) {
  const int64_t k = logits->c;
  for (int64_t i = 0; i < logits->n; ++i) {
    const double* row = logits->value.data() + i * k;
    const double largest = *std::max_element(row, row + k);
    double sum = 0;
    for (int64_t o = 0; o < k; ++o) sum += std::exp(row[o] - largest);
    const int32_t label = in_.labels[i];
    const double weight =
        (in_.class_weights.empty() ? 1 : in_.class_weights[label]) / logits->n;
    for (int64_t o = 0; o < k; ++o) {
      const double target =
          (o == label) * (1 - in_.label_smoothing) + in_.label_smoothing / k;
      const double log_softmax = row[o] - largest - std::log(sum);
      out_.loss -= weight * target * log_softmax;
      logits->gradient[i * k + o] = weight * (std::exp(log_softmax) - target);
    }
  }
}

MapPtr Reference::Stem(const MapPtr& images) {
  const int64_t channels = in_.config.stem_channels;
  if (in_.config.stem == densenet::Stem::kCifar) {
    return Conv(images, "features.conv0", 3, 1, 1, channels);
  }
  return MaxPool3x3(NormRelu(Conv(images, "features.conv0", 7, 2, 3, channels),
                             "features.norm0"));
}

MapPtr Reference::Layer(const MapPtr& x, const std::string& name) {
  const int64_t growth = in_.config.growth_rate;
  const MapPtr z = NormRelu(x, name + ".norm1");
  if (!in_.config.bottleneck) {
    return Dropout(Conv(z, name + ".conv1", 3, 1, 1, growth));
  }
  const MapPtr b = Dropout(
      Conv(z, name + ".conv1", 1, 1, 0, in_.config.bottleneck_channels()));
  return Dropout(
      Conv(NormRelu(b, name + ".norm2"), name + ".conv2", 3, 1, 1, growth));
}

ReferenceOutput Reference::Run() {
  const ModelConfig& config = in_.config;
  MapPtr images = NewMap(in_.images, config.image_height, config.image_width,
                         config.image_channels);
  images->value = in_.pixels;
  MapPtr x = Stem(images);
  const size_t blocks = config.block_config.size();
  for (size_t b = 0; b < blocks; ++b) {
    for (int64_t l = 0; l < config.block_config[b]; ++l) {
      x = Concat({x, Layer(x, fmt::format("features.denseblock{}.denselayer{}",
                                          b + 1, l + 1))});
    }
    if (b + 1 < blocks) {
      const std::string name = fmt::format("features.transition{}", b + 1);
      const int64_t channels = TransitionChannels(config, x->c);
      // Dropout follows the pooled convolution: docs/decisions.
      x = Dropout(AveragePool(
          Conv(NormRelu(x, name + ".norm"), name + ".conv", 1, 1, 0, channels),
          2, 2));
    }
  }
  x = NormRelu(x, fmt::format("features.norm{}", blocks + 1));
  Loss(Linear(AveragePool(x, x->h, x->w)));
  // The last closure is the linear layer's.
  for (size_t i = backward_.size(); i-- > 0;) backward_[i]();
  return out_;
}

}  // namespace

ReferenceOutput ReferenceStep(const ReferenceInput& input) {
  return Reference(input).Run();
}

}  // namespace densenet::testing
