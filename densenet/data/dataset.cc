#include "densenet/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "densenet/data/cifar.h"
#include "densenet/data/idx.h"
#include "densenet/data/svhn.h"

namespace densenet {
namespace {

using Reader = StatusOr<Dataset> (*)(ImageDatasetInfo info,
                                     const std::string& folder, Split split,
                                     MemoryResource& resource);

struct KnownDataset {
  ImageDatasetInfo info;
  Reader read;
  std::string default_folder;
};

std::vector<std::string> Numbers(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

// In the order in which they are listed.
std::vector<KnownDataset> KnownDatasets() {
  return {
      {{"cifar10",
        32,
        32,
        3,
        {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
         "horse", "ship", "truck"}},
       ReadCifar10,
       ""},
      {{"cifar100", 32, 32, 3, Numbers(100)}, ReadCifar100, ""},
      {{"svhn", 32, 32, 3, Numbers(10)}, ReadSvhn, ""},
      {{"svhn-no-extra", 32, 32, 3, Numbers(10)}, ReadSvhn, ""},
      {{"mnist", 28, 28, 1, Numbers(10)}, ReadIdx, ""},
      {{"fashion-mnist",
        28,
        28,
        1,
        {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
         "Shirt", "Sneaker", "Bag", "Ankle boot"}},
       ReadIdx,
       "/usr/share/datasets/fashion-mnist"},
  };
}

StatusOr<KnownDataset> FindKnown(std::string_view name) {
  for (KnownDataset& known : KnownDatasets()) {
    if (known.info.name == name) return std::move(known);
  }
  return InvalidArgument(
      fmt::format("unknown data set '{}': expected one of {}", name,
                  fmt::join(DatasetNames(), ", ")));
}

}  // namespace

StatusOr<Dataset> Dataset::Create(ImageDatasetInfo info, int64_t count,
                                  MemoryResource& resource) {
  Dataset dataset;
  ASSIGN_OR_RETURN(dataset.images, Tensor::Empty(resource, DType::kUInt8,
                                                 {count, info.height,
                                                  info.width, info.channels}));
  ASSIGN_OR_RETURN(dataset.labels,
                   Tensor::Empty(resource, DType::kInt32, {count}));
  dataset.info = std::move(info);
  return dataset;
}

std::vector<std::string> DatasetNames() {
  std::vector<std::string> names;
  for (const KnownDataset& known : KnownDatasets()) {
    names.push_back(known.info.name);
  }
  return names;
}

StatusOr<ImageDatasetInfo> GetDatasetInfo(std::string_view name) {
  ASSIGN_OR_RETURN(KnownDataset known, FindKnown(name));
  return std::move(known.info);
}

std::string DefaultDataFolder(std::string_view name) {
  StatusOr<KnownDataset> known = FindKnown(name);
  return known.ok() ? known->default_folder : "";
}

StatusOr<Dataset> LoadDataset(std::string_view name, const std::string& folder,
                              Split split, MemoryResource& resource) {
  ASSIGN_OR_RETURN(KnownDataset known, FindKnown(name));
  const std::string& from = folder.empty() ? known.default_folder : folder;
  if (from.empty()) {
    return InvalidArgument(fmt::format(
        "data set {} has no default folder: name the one that holds its files "
        "with --data DIR",
        name));
  }
  return known.read(std::move(known.info), from, split, resource);
}

}  // namespace densenet
