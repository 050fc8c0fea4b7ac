#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/io/file.h"
#include "core/io/png_writer.h"
#include "densenet/cli/datasets.h"
#include "densenet/data/batch_source.h"
#include "densenet/data/contact_sheet.h"
#include "densenet/data/data_source.h"
#include "densenet/data/normalization.h"
#include "densenet/run_folder.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "datasets preview";
constexpr int64_t kMaxCount = 4096;
// Of all images together: the sheet is a picture of its own.
constexpr int64_t kMaxPixels = int64_t{1} << 26;
constexpr int64_t kPhotoSide = 224;
constexpr int64_t kEpoch = 0;

struct Options {
  DataQuery data;
  std::string out;
  std::string augment = "none";
  std::string split = "train";
  int64_t image_size = 0;
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

// As training takes them, one at a time.
StatusOr<BatchSource> MakeSource(const Options& options,
                                 const ExampleStore& store) {
  const bool photos = store.Info().height == 0;
  const int64_t side =
      options.image_size == 0 && photos ? kPhotoSide : options.image_size;
  BatchSource::Options source = {.batch_size = 1,
                                 .seed = options.seed,
                                 .shuffle = true,
                                 .height = side,
                                 .width = side};
  ASSIGN_OR_RETURN(const AugmentKind augment,
                   ParseAugmentKind(options.augment));
  if (augment == AugmentKind::kCifar) source.augment.emplace();
  if (augment == AugmentKind::kImageNet) source.photo.emplace();
  Normalization normalization = ImageNetNormalization();
  if (!photos) {
    ASSIGN_OR_RETURN(normalization, ComputeNormalization(store));
  }
  return BatchSource::Create(&store, normalization, source);
}

// The first images of the first epoch.
StatusOr<ContactSheet> MakeSheet(const Options& options,
                                 const ExampleStore& store) {
  ASSIGN_OR_RETURN(const BatchSource source, MakeSource(options, store));
  const ImageDatasetInfo& info = source.info();
  const int64_t count = std::min(options.count, source.batches());
  if (count * info.height * info.width > kMaxPixels) {
    return InvalidArgument(
        fmt::format("--count {}: images of {}x{} make a picture of more than "
                    "{} pixels; ask for fewer",
                    options.count, info.height, info.width, kMaxPixels));
  }
  ContactSheet sheet;
  sheet.title = fmt::format("{} {}, augment {}, seed {}", info.name,
                            options.split, options.augment, options.seed);
  std::vector<float> values(static_cast<size_t>(info.image_elems()));
  for (int64_t batch = 0; batch < count; ++batch) {
    int32_t label = 0;
    const Status filled = source.Fill(
        kEpoch, batch,
        TensorView(values.data(), DType::kFloat32,
                   Shape{1, info.height, info.width, info.channels}),
        TensorView(&label, DType::kInt32, Shape{1}));
    // The options are right, whatever is wrong with the file.
    if (!filled.ok()) return DataLoss(StdView(filled.message()));
    sheet.images.push_back(
        ToImage(values.data(), info, source.normalization()));
    sheet.labels.push_back(info.class_names[static_cast<size_t>(label)]);
  }
  return sheet;
}

StatusOr<int64_t> WriteSheet(const Options& options, const Environment& env) {
  RETURN_IF_ERROR(CheckDataSourceName(options.data.dataset));
  RETURN_IF_ERROR(CheckCanWriteFile(options.out));
  HostMemory memory;
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ExampleStore> store,
      OpenData(options.data,
               options.split == "test" ? Split::kTest : Split::kTrain, memory,
               &notes));
  for (const std::string& note : notes) env.out << note << '\n';
  ASSIGN_OR_RETURN(const ContactSheet sheet, MakeSheet(options, *store));
  if (sheet.images.empty()) {
    return InvalidArgument(
        fmt::format("{}: there are no images", options.data.dataset));
  }
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
  StatusOr<int64_t> images = WriteSheet(options, env);
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
  command->add_option("name", o->data.dataset, "the data set")
      ->type_name("NAME")
      ->required();
  command
      ->add_option("--data", o->data.folder,
                   "folder of its files (where the system keeps them)")
      ->type_name("DIR");
  AddOption(*command, "--image-key", o->data.image_key,
            "records: the feature that holds the image (image/encoded)",
            "NAME");
  AddOption(*command, "--label-key", o->data.label_key,
            "records: the feature that holds the label (image/class/label)",
            "NAME");
  AddOption(*command, "--label-offset", o->data.label_offset,
            "records: the label of the first class (0)", "N");
  command->add_option("--out", o->out, "the picture, a PNG file")
      ->type_name("FILE")
      ->required();
  command->add_option("--augment", o->augment, "as in training (none)")
      ->type_name("none|cifar|imagenet")
      ->check(CLI::IsMember({"none", "cifar", "imagenet"}));
  command
      ->add_option("--image-size", o->image_size,
                   "bring images to N x N (folder, records: 224; else as they "
                   "are)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
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
