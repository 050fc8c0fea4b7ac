#include "densenet/class_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/io/file.h"

namespace densenet {
namespace {

bool ParseWeight(absl::string_view text, double* weight) {
  return absl::SimpleAtod(text, weight) && *weight >= 0 &&
         std::isfinite(*weight);
}

// Of "1,2.5,1"; nothing where that is something else.
std::optional<std::vector<double>> ParseList(absl::string_view text) {
  std::vector<double> weights;
  for (absl::string_view field : absl::StrSplit(text, ',')) {
    double weight = 0;
    if (!ParseWeight(field, &weight)) return std::nullopt;
    weights.push_back(weight);
  }
  return weights;
}

StatusOr<std::vector<double>> ReadWeights(
    const std::string& path, const std::vector<std::string>& class_names) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::optional<double>> weights(class_names.size());
  size_t next = 0;  // for lines without a name
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const auto error = [&](std::string_view what) {
      return InvalidArgument(fmt::format("{}: line {}: '{}': {}", path, number,
                                         StdView(line), what));
    };
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t space = line.find_last_of(" \t");
    const bool named = space != absl::string_view::npos;
    double weight = 0;
    if (!ParseWeight(named ? line.substr(space + 1) : line, &weight)) {
      return error("expected a weight of 0 or more, or a class and its weight");
    }
    size_t at = next++;
    if (named) {
      const absl::string_view name =
          absl::StripAsciiWhitespace(line.substr(0, space));
      at = static_cast<size_t>(
          std::find(class_names.begin(), class_names.end(), StdView(name)) -
          class_names.begin());
      if (at == class_names.size()) return error("there is no such class");
    } else if (at >= class_names.size()) {
      return error(fmt::format("there are only {} classes", weights.size()));
    }
    if (weights[at]) return error("the class has a weight already");
    weights[at] = weight;
  }
  std::vector<double> all;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i]) {
      return InvalidArgument(fmt::format("{}: no weight for class {} ({})",
                                         path, i, class_names[i]));
    }
    all.push_back(*weights[i]);
  }
  return all;
}

}  // namespace

StatusOr<std::string> ParseClassWeights(
    const std::string& text, const std::vector<std::string>& class_names) {
  if (text == kBalanced) return text;
  std::optional<std::vector<double>> weights = ParseList(text);
  if (!weights) {
    StatusOr<std::vector<double>> read = ReadWeights(text, class_names);
    if (!read.ok()) return Annotate(read.status(), "--class-weights");
    weights = *std::move(read);
  }
  if (weights->size() != class_names.size()) {
    return InvalidArgument(
        fmt::format("--class-weights {}: {} weights for {} classes", text,
                    weights->size(), class_names.size()));
  }
  if (*std::max_element(weights->begin(), weights->end()) == 0) {
    return InvalidArgument("--class-weights: no class has a weight over 0");
  }
  return fmt::format("{}", fmt::join(*weights, ","));
}

StatusOr<std::vector<float>> MakeClassWeights(const std::string& text,
                                              const BatchSource& train) {
  const auto classes = static_cast<size_t>(train.info().classes());
  std::vector<float> weights(classes);
  if (text != kBalanced) {
    const std::optional<std::vector<double>> given = ParseList(text);
    if (!given || given->size() != classes) {
      return InvalidArgument(fmt::format(
          "class weights '{}': expected {} numbers", text, classes));
    }
    std::transform(given->begin(), given->end(), weights.begin(),
                   [](double w) { return static_cast<float>(w); });
    return weights;
  }
  std::vector<int64_t> counts(classes);
  for (int64_t i = 0; i < train.examples(); ++i) {
    const StatusOr<int32_t> label =
        train.store().Label(train.ExampleAt(/*epoch=*/0, i));
    // Training says what it does about a bad example.
    if (!label.ok() && IsBadExample(label.status())) continue;
    RETURN_IF_ERROR(label.status());
    ++counts[static_cast<size_t>(*label)];
  }
  int64_t all = 0, occurring = 0;
  for (int64_t count : counts) {
    all += count;
    occurring += count > 0;
  }
  for (size_t c = 0; c < classes; ++c) {
    if (counts[c] == 0) continue;
    weights[c] = static_cast<float>(
        static_cast<double>(all) /
        (static_cast<double>(occurring) * static_cast<double>(counts[c])));
  }
  return weights;
}

}  // namespace densenet
