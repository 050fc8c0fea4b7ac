#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "densenet/byte_size.h"
#include "densenet/cli/datasets.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "datasets list";

struct Options {
  std::optional<std::string> json;
};

Json FilesJson(const PublishedDataset& dataset) {
  Json files = Json::array();
  for (const PublishedFile& file : dataset.files) {
    files.push_back(
        {{"name", file.names.front()},
         {"other_names",
          std::vector<std::string>(file.names.begin() + 1, file.names.end())},
         {"split", Name(file.split)},
         {"bytes", file.bytes},
         {"digest", file.digest}});
  }
  return files;
}

Json DownloadsJson(const PublishedDataset& dataset) {
  Json downloads = Json::array();
  for (const PublishedDownload& download : dataset.downloads) {
    downloads.push_back({{"url", download.url + download.name},
                         {"bytes", download.bytes},
                         {"digest", download.digest}});
  }
  return downloads;
}

StatusOr<Json> RowOf(const PublishedDataset& dataset) {
  ASSIGN_OR_RETURN(const ImageDatasetInfo info, GetDatasetInfo(dataset.name));
  return Json{{"name", dataset.name},
              {"title", dataset.title},
              {"train_images", dataset.train_images},
              {"test_images", dataset.test_images},
              {"classes", info.classes()},
              {"height", info.height},
              {"width", info.width},
              {"channels", info.channels},
              {"homepage", dataset.homepage},
              {"download_bytes", dataset.download_bytes()},
              {"downloads", DownloadsJson(dataset)},
              {"files", FilesJson(dataset)},
              {"folders", dataset.subfolders},
              {"default_folder", DefaultDataFolder(dataset.name)},
              {"note", dataset.note}};
}

StatusOr<std::string> Describe(const PublishedDataset& dataset) {
  ASSIGN_OR_RETURN(const ImageDatasetInfo info, GetDatasetInfo(dataset.name));
  std::string text = fmt::format(
      "{:<14} {}\n"
      "  {} + {} images of {}x{}x{}, {} classes; {} to download\n"
      "  from {}\n",
      dataset.name, dataset.title, GroupDigits(dataset.train_images),
      GroupDigits(dataset.test_images), info.height, info.width, info.channels,
      info.classes(), FormatByteSize(dataset.download_bytes()),
      dataset.homepage);
  for (const PublishedFile& file : dataset.files) {
    const bool gzip = file.names.size() > 1;
    text += fmt::format("    {:<24} {:>13} bytes{}\n", file.names.front(),
                        GroupDigits(file.bytes), gzip ? ", or as .gz" : "");
  }
  if (!dataset.subfolders.empty()) {
    text += fmt::format("  in --data DIR, or below it in {}\n",
                        fmt::join(dataset.subfolders, ", "));
  }
  if (!dataset.note.empty()) text += fmt::format("  {}\n", dataset.note);
  return text;
}

// Data of the user's own.
struct OwnData {
  std::string_view name;
  std::string_view title;
  absl::Span<const std::string_view> files;
  std::string_view note;
};

constexpr std::string_view kFolderFiles[] = {"train/<class>/<image files>",
                                             "val/<class>/<image files>"};
constexpr std::string_view kRecordsFiles[] = {
    "train*.tfrecord, train-00000-of-00004, ...", "val*, test*",
    "manifest.json or labels.txt"};
constexpr OwnData kOwnData[] = {
    {"folder", "class folders of JPEG and PNG files of any size", kFolderFiles,
     "Also validation/, valid/ or test/. The class folders of train/, sorted, "
     "are the classes."},
    {"records",
     "TFRecord files of tf.train.Example with JPEG or PNG images of any size",
     kRecordsFiles,
     "Plain or .gz; folders train/ and val/ too. `densenet records build` "
     "writes them. --image-key, --label-key and --label-offset name other "
     "features."},
};

Json RowOf(const OwnData& data) {
  return Json{{"name", data.name},
              {"title", data.title},
              {"expects",
               std::vector<std::string>(data.files.begin(), data.files.end())},
              {"note", data.note}};
}

std::string Describe(const OwnData& data) {
  return fmt::format("{:<14} {}\n    in --data DIR: {}\n  {}\n", data.name,
                     data.title, fmt::join(data.files, "\n                   "),
                     data.note);
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  Json rows = Json::array();
  for (const PublishedDataset& dataset : PublishedDatasets()) {
    StatusOr<Json> row = RowOf(dataset);
    if (!row.ok()) return Report(env, kName, row.status(), kExitFailed);
    rows.push_back(*std::move(row));
    StatusOr<std::string> text = Describe(dataset);
    if (!text.ok()) return Report(env, kName, text.status(), kExitFailed);
    env.out << *text << '\n';
  }
  for (const OwnData& data : kOwnData) {
    rows.push_back(RowOf(data));
    env.out << Describe(data) << '\n';
  }
  status = WriteJsonOption(options.json, Json{{"rows", std::move(rows)}});
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddDatasetsList(CLI::App& group, const Environment& env,
                     Command* selected) {
  CLI::App* command = group.add_subcommand(
      "list", "the data sets with a name: images, files, where to get them");
  auto o = std::make_shared<Options>();
  AddOption(*command, "--json", o->json, "write {\"rows\": [...]}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
