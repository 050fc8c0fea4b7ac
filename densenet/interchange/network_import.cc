#include "densenet/interchange/network_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "densenet/interchange/tensor_names.h"

namespace densenet {
namespace {

// A tensor of ours, and where it goes.
struct Wanted {
  const ParameterSpec* spec = nullptr;
  TensorView view;
};

std::vector<Wanted> AllOf(ParameterStore& store) {
  std::vector<Wanted> all;
  for (size_t i = 0; i < store.parameters().size(); ++i) {
    all.push_back(
        {&store.parameters()[i], store.value(static_cast<int64_t>(i))});
  }
  for (size_t i = 0; i < store.statistics().size(); ++i) {
    all.push_back(
        {&store.statistics()[i], store.statistic(static_cast<int64_t>(i))});
  }
  return all;
}

// Plain names of what one container holds, with indices of file.tensors().
using Names = std::map<std::string, size_t>;

StatusOr<std::map<std::string, Names>> NamesByContainer(
    const TensorFile& file, const std::optional<std::string>& only) {
  std::map<std::string, Names> containers;
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const StoredTensor& tensor = file.tensors()[i];
    if (only && tensor.container != *only) continue;
    const auto [at, inserted] =
        containers[tensor.container].emplace(PlainName(tensor.name), i);
    if (!inserted) {
      return InvalidArgument(fmt::format(
          "{}: {} and {} are the same but for what wraps them", file.path(),
          file.tensors()[at->second].full_name(), tensor.full_name()));
    }
  }
  if (containers.empty()) {
    std::set<std::string> known;
    for (const StoredTensor& t : file.tensors()) known.insert(t.container);
    return InvalidArgument(
        fmt::format("{}: no tensors are in '{}', but in '{}'", file.path(),
                    *only, fmt::join(known, "', '")));
  }
  return containers;
}

// A container and a convention under which it has tensors of ours.
struct Match {
  std::string container;
  const Naming* naming = nullptr;
  int64_t found = 0;
};

StatusOr<Match> FindBestMatch(const TensorFile& file,
                              const std::map<std::string, Names>& containers,
                              const std::vector<Wanted>& wanted) {
  Match best;
  std::string rival;
  for (const auto& [container, names] : containers) {
    Match match{.container = container};
    for (const Naming& naming : Namings()) {
      const auto found =
          std::count_if(wanted.begin(), wanted.end(), [&](const Wanted& w) {
            return names.count(ForeignName(naming, w.spec->name)) > 0;
          });
      if (found > match.found) {
        match.naming = &naming;
        match.found = found;
      }
    }
    if (match.found > best.found) {
      best = match;
      rival.clear();
    } else if (match.found == best.found && best.found > 0) {
      rival = container;
    }
  }
  if (best.found == 0) {
    const StoredTensor& any = file.tensors().front();
    return InvalidArgument(fmt::format(
        "{}: not one of its {} tensors ({}, ...) has a name that is known for "
        "a DenseNet, such as {}",
        file.path(), file.tensors().size(), any.full_name(),
        ForeignName(Namings()[0], wanted.front().spec->name)));
  }
  if (!rival.empty()) {
    return InvalidArgument(
        fmt::format("{}: both '{}' and '{}' hold a network: choose with --key",
                    file.path(), best.container, rival));
  }
  return best;
}

Status CopyTensor(TensorFile& file, size_t index, const Wanted& wanted,
                  const std::vector<int64_t>& channels) {
  const StoredTensor& tensor = file.tensors()[index];
  std::vector<float> values;
  values.reserve(static_cast<size_t>(tensor.elems()));
  bool finite = true;
  RETURN_IF_ERROR(file.ForEachPiece(index, [&](absl::Span<const double> piece) {
    for (double value : piece) {
      values.push_back(static_cast<float>(value));
      finite = finite && std::isfinite(values.back());
    }
  }));
  if (!finite) {
    return DataLoss(
        fmt::format("{}: tensor {} has a value that is no finite "
                    "float32",
                    file.path(), tensor.full_name()));
  }
  FromForeign(values, wanted.spec->shape, channels,
              absl::MakeSpan(wanted.view.data<float>(), values.size()));
  return OkStatus();
}

}  // namespace

StatusOr<ImportReport> ImportNetwork(
    TensorFile& file, const ModelConfig& model,
    const std::optional<std::string>& container, ParameterStore& store) {
  const std::vector<Wanted> wanted = AllOf(store);
  ASSIGN_OR_RETURN(const auto containers, NamesByContainer(file, container));
  ASSIGN_OR_RETURN(const Match match, FindBestMatch(file, containers, wanted));
  const Names& names = containers.at(match.container);
  ImportReport report;
  report.naming = match.naming->name;
  report.container = match.container;
  std::vector<size_t> sources;  // of wanted
  for (const Wanted& w : wanted) {
    const std::string theirs = ForeignName(*match.naming, w.spec->name);
    const auto found = names.find(theirs);
    if (found == names.end()) {
      report.missing.push_back(theirs);
      continue;
    }
    const StoredTensor& tensor = file.tensors()[found->second];
    const std::vector<int64_t> shape = ForeignShape(w.spec->shape);
    if (tensor.shape != shape) {
      report.other_shape.push_back(fmt::format("{} is {}, expected ({})",
                                               tensor.name, tensor.ToString(),
                                               fmt::join(shape, ", ")));
    }
    if (tensor.dtype != "F32") ++report.converted[tensor.dtype];
    sources.push_back(found->second);
  }
  const std::set<size_t> used(sources.begin(), sources.end());
  for (const auto& [name, index] : names) {
    if (used.count(index) == 0) {
      report.unused.push_back(file.tensors()[index].name);
    }
  }
  std::sort(report.unused.begin(), report.unused.end(), NaturalLess);
  if (!report.complete()) return report;
  for (size_t i = 0; i < wanted.size(); ++i) {
    RETURN_IF_ERROR(
        CopyTensor(file, sources[i], wanted[i],
                   InputChannels(*match.naming, model, wanted[i].spec->name)));
  }
  return report;
}

}  // namespace densenet
