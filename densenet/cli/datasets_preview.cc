#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/io/file.h"
#include "core/io/png_writer.h"
#include "densenet/cli/datasets.h"
#include "densenet/data/augment.h"
#include "densenet/data/contact_sheet.h"
#include "densenet/data/dataset.h"
#include "densenet/data/normalization.h"
#include "densenet/data/shuffle.h"
#include "densenet/run_folder.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "datasets preview";
constexpr int64_t kMaxCount = 4096;
constexpr int64_t kEpoch = 0;

struct Options {
  std::string dataset;
  std::string data;
  std::string out;
  std::string augment = "none";
  std::string split = "train";
  int64_t count = 64;
  uint64_t seed = 1;
  std::optional<std::string> json;
};

// What the network gets, as pixels again.
Image ToImage(const float* values, const ImageDatasetInfo& info,
              const Normalization& normalization) {
  Image image;
  image.height = info.height;
  image.width = info.width;
  image.pixels.reserve(static_cast<size_t>(info.height * info.width * 3));
  for (int64_t p = 0; p < info.height * info.width; ++p) {
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t channel = std::min(c, info.channels - 1);  // gray
      const double value =
          values[p * info.channels + channel] * normalization.std[channel] +
          normalization.mean[channel];
      image.pixels.push_back(static_cast<uint8_t>(
          std::lround(std::clamp(value * 255.0, 0.0, 255.0))));
    }
  }
  return image;
}

// The first images of the first epoch.
StatusOr<ContactSheet> MakeSheet(const Options& options, const Dataset& data) {
  const ImageDatasetInfo& info = data.info;
  ASSIGN_OR_RETURN(const Normalization normalization,
                   ComputeNormalization(data));
  ASSIGN_OR_RETURN(const PixelTable table, PixelTable::Create(normalization));
  ContactSheet sheet;
  sheet.title = fmt::format("{} {}, augment {}, seed {}", info.name,
                            options.split, options.augment, options.seed);
  const Permutation order = EpochOrder(data.count(), options.seed, kEpoch);
  const int64_t count = std::min(options.count, data.count());
  std::vector<float> values(static_cast<size_t>(info.image_elems()));
  for (int64_t position = 0; position < count; ++position) {
    const int64_t i = order[position];
    if (options.augment == "cifar") {
      const AugmentOptions augment;
      AugmentImage(table, data.image(i), info.height, info.width, augment.pad,
                   DrawAugmentation(augment, options.seed, kEpoch, i),
                   values.data());
    } else {
      table.Normalize(data.image(i), info.height * info.width, values.data());
    }
    sheet.images.push_back(ToImage(values.data(), info, normalization));
    sheet.labels.push_back(info.class_names[data.label(i)]);
  }
  return sheet;
}

StatusOr<int64_t> WriteSheet(const Options& options) {
  RETURN_IF_ERROR(CheckCanWriteFile(options.out));
  HostMemory memory;
  ASSIGN_OR_RETURN(
      const Dataset data,
      LoadDataset(options.dataset, options.data,
                  options.split == "test" ? Split::kTest : Split::kTrain,
                  memory));
  ASSIGN_OR_RETURN(const ContactSheet sheet, MakeSheet(options, data));
  const Image image = DrawContactSheet(sheet);
  ASSIGN_OR_RETURN(
      const std::string png,
      EncodePng(image.pixels.data(), image.height, image.width, 3));
  RETURN_IF_ERROR(WriteFileAtomically(options.out, png));
  return static_cast<int64_t>(sheet.images.size());
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  StatusOr<int64_t> images = WriteSheet(options);
  if (!images.ok()) {
    return Report(env, kName, images.status(), ExitCodeOf(images.status()));
  }
  env.out << fmt::format("{}: {} images\n", options.out, *images);
  status = WriteJsonOption(options.json,
                           Json{{"out", options.out}, {"images", *images}});
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddDatasetsPreview(CLI::App& group, const Environment& env,
                        Command* selected) {
  CLI::App* command = group.add_subcommand(
      "preview", "a picture of images as training gets them, with labels");
  auto o = std::make_shared<Options>();
  command->add_option("name", o->dataset, "the data set")
      ->type_name("NAME")
      ->required();
  command
      ->add_option("--data", o->data,
                   "folder of its files (where the system keeps them)")
      ->type_name("DIR");
  command->add_option("--out", o->out, "the picture, a PNG file")
      ->type_name("FILE")
      ->required();
  command->add_option("--augment", o->augment, "none or cifar (none)")
      ->type_name("")
      ->check(CLI::IsMember({"none", "cifar"}));
  command->add_option("--split", o->split, "train or test (train)")
      ->type_name("")
      ->check(CLI::IsMember({"train", "test"}));
  command->add_option("--count", o->count, "images (64)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, kMaxCount));
  command
      ->add_option("--seed", o->seed, "of the choice and the augmentation (1)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  AddOption(*command, "--json", o->json, "write the result", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
