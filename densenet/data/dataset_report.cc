#include "densenet/data/dataset_report.h"

#include <fmt/format.h>

#include <utility>

#include "core/io/digest.h"

namespace densenet {
namespace {

class Verifier {
 public:
  Verifier(PublishedDataset published, DatasetReport* report,
           MemoryResource& resource,
           const std::function<void(std::string_view)>& progress)
      : published_(std::move(published)),
        report_(*report),
        resource_(resource),
        progress_(progress) {}

  void Verify(Split split) {
    StatusOr<std::vector<std::string>> paths =
        FindPublishedFiles(published_.name, report_.folder, split);
    if (!paths.ok()) return Fault(paths.status());
    size_t at = 0;
    for (const PublishedFile& file : published_.files) {
      if (file.split == split) VerifyFile(file, (*paths)[at++]);
    }
    VerifySplit(split);
  }

 private:
  void Fault(std::string text) { report_.faults.push_back(std::move(text)); }
  void Fault(const Status& status) {
    Fault(std::string(StdView(status.message())));
  }
  void Progress(std::string_view text) {
    if (progress_) progress_(text);
  }

  void VerifyFile(const PublishedFile& file, const std::string& path) {
    Progress("digest of " + path);
    FileReport report;
    report.path = path;
    report.published = file;
    StatusOr<ContentDigest> content = DigestOfContent(file.digest, path);
    if (!content.ok()) {
      Fault(content.status());
    } else {
      report.bytes = content->bytes;
      report.digest = std::move(content->digest);
      report.ok = report.bytes == file.bytes && report.digest == file.digest;
      if (report.bytes != file.bytes) {
        Fault(fmt::format("{}: {} has {} bytes{}, published are {}",
                          published_.name, path, report.bytes,
                          path.ends_with(".gz") ? " unpacked" : "",
                          file.bytes));
      } else if (!report.ok) {
        Fault(fmt::format(
            "{}: {} has the published size but other content: its digest is "
            "{}, published is {}",
            published_.name, path, report.digest, file.digest));
      }
    }
    report_.files.push_back(std::move(report));
  }

  void VerifySplit(Split split) {
    Progress(fmt::format("{} images", Name(split)));
    StatusOr<Dataset> dataset =
        LoadDataset(published_.name, report_.folder, split, resource_);
    if (!dataset.ok()) return Fault(dataset.status());
    SplitReport report = {.split = split,
                          .images = dataset->count(),
                          .published_images = published_.images(split),
                          .of_class = std::vector<int64_t>(
                              static_cast<size_t>(dataset->info.classes())),
                          .channels = {}};
    for (int64_t i = 0; i < dataset->count(); ++i) {
      ++report.of_class[dataset->label(i)];
    }
    if (report.images != report.published_images) {
      Fault(fmt::format("{}: {} has {} images, published are {}",
                        published_.name, Name(split), report.images,
                        report.published_images));
    }
    const int64_t expected = published_.of_class(split);
    for (size_t label = 0; label < report.of_class.size(); ++label) {
      if (expected != 0 && report.of_class[label] != expected &&
          report.images == report.published_images) {
        Fault(fmt::format(
            "{}: {} has {} images of class {} ({}), published are {}",
            published_.name, Name(split), report.of_class[label], label,
            dataset->info.class_names[label], expected));
      }
    }
    StatusOr<Normalization> channels = ComputeNormalization(*dataset);
    if (!channels.ok()) return Fault(channels.status());
    report.channels = *std::move(channels);
    // cifar100 has its names beside the files.
    report_.info = dataset->info;
    report_.splits.push_back(std::move(report));
  }

  const PublishedDataset published_;
  DatasetReport& report_;
  MemoryResource& resource_;
  const std::function<void(std::string_view)>& progress_;
};

}  // namespace

StatusOr<DatasetReport> VerifyDataset(
    std::string_view name, const std::string& folder, MemoryResource& resource,
    const std::function<void(std::string_view)>& progress) {
  ASSIGN_OR_RETURN(PublishedDataset published, FindPublished(name));
  DatasetReport report;
  ASSIGN_OR_RETURN(report.info, GetDatasetInfo(name));
  report.folder = folder.empty() ? DefaultDataFolder(name) : folder;
  if (report.folder.empty()) {
    return InvalidArgument(
        fmt::format("data set {} has no default folder: name the one that "
                    "holds its files with --data DIR",
                    name));
  }
  Verifier verifier(std::move(published), &report, resource, progress);
  for (Split split : {Split::kTrain, Split::kTest}) verifier.Verify(split);
  return report;
}

}  // namespace densenet
