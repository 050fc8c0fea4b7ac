#include "densenet/data/data_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>

namespace densenet {
namespace {

namespace fs = std::filesystem;

struct Found {
  std::vector<std::string> paths;
  std::vector<std::string> missing;
};

Found LookIn(const fs::path& folder, absl::Span<const FileNames> files) {
  Found found;
  for (const FileNames& names : files) {
    std::optional<std::string> path;
    for (const std::string& name : names) {
      std::error_code error;
      if (!path && fs::exists(folder / name, error)) {
        path = (folder / name).string();
      }
    }
    if (path) {
      found.paths.push_back(*std::move(path));
    } else {
      found.missing.push_back(names.front());
    }
  }
  return found;
}

}  // namespace

StatusOr<std::vector<std::string>> FindDataFiles(const DataFilesQuery& query) {
  std::error_code error;
  if (!fs::is_directory(query.folder, error)) {
    return NotFound(fmt::format("{}: there is no folder {}; {}", query.dataset,
                                query.folder, query.source));
  }
  const fs::path root(query.folder);
  // What is nearest to complete explains best what is missing.
  Found best = LookIn(root, query.files);
  fs::path best_folder = root;
  for (const std::string& subfolder : query.subfolders) {
    if (best.missing.empty()) break;
    Found found = LookIn(root / subfolder, query.files);
    if (found.paths.size() > best.paths.size()) {
      best = std::move(found);
      best_folder = root / subfolder;
    }
  }
  if (best.missing.empty()) return std::move(best.paths);
  std::vector<std::string> expected;
  for (const FileNames& names : query.files) expected.push_back(names.front());
  return NotFound(fmt::format(
      "{}: {} not found in {}: expected {} there{}; {}", query.dataset,
      fmt::join(best.missing, ", "), best_folder.string(),
      fmt::join(expected, ", "),
      query.subfolders.empty()
          ? ""
          : fmt::format(" or in {}", fmt::join(query.subfolders, ", ")),
      query.source));
}

}  // namespace densenet
