#include "densenet/data/published_content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/io/digest.h"
#include "densenet/data/dataset.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet {

StatusOr<std::vector<std::string>> FilesUnlikePublished(
    const std::string& dataset, const std::string& folder) {
  std::vector<std::string> unlike;
  const StatusOr<PublishedDataset> published = FindPublished(dataset);
  if (!published.ok()) return unlike;
  const std::string where =
      folder.empty() ? DefaultDataFolder(dataset) : folder;
  for (Split split : {Split::kTrain, Split::kTest}) {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     FindPublishedFiles(dataset, where, split));
    size_t at = 0;
    for (const PublishedFile& file : published->files) {
      if (file.split != split) continue;
      const std::string& path = paths[at++];
      ASSIGN_OR_RETURN(const ContentDigest content,
                       DigestOfContent(file.digest, path));
      if (content.bytes == file.bytes && content.digest == file.digest) {
        continue;
      }
      unlike.push_back(std::filesystem::path(path).filename().string());
    }
  }
  return unlike;
}

StatusOr<std::optional<std::string>> NoteUnlikePublished(
    const std::string& dataset, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> unlike,
                   FilesUnlikePublished(dataset, folder));
  if (unlike.empty()) return std::optional<std::string>();
  return std::optional<std::string>(fmt::format(
      "these are not the published {} files ({} differ in content): errors are "
      "not comparable with published ones",
      dataset, fmt::join(unlike, ", ")));
}

}  // namespace densenet
