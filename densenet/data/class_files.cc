#include "densenet/data/class_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/io/file.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 16;  // below it a link leads in circles
constexpr std::string_view kImageExtensions[] = {
    ".jpg", ".jpeg", ".jpe",  ".jfif", ".png",  ".gif",
    ".bmp", ".tif",  ".tiff", ".webp", ".heic", ".avif"};

bool IsImageName(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  const std::string extension =
      absl::AsciiStrToLower(AbslView(std::string_view(name).substr(dot)));
  return std::find(std::begin(kImageExtensions), std::end(kImageExtensions),
                   extension) != std::end(kImageExtensions);
}

struct Entry {
  std::string name;
  bool folder = false;
};

// What a folder has, sorted; links are followed.
StatusOr<std::vector<Entry>> EntriesOf(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) return FileError("list", folder, error.value());
  std::vector<Entry> result;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) return FileError("list", folder, error.value());
    std::string name = entries->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;  // a link to nowhere is no folder
    result.push_back({std::move(name), entries->is_directory(ignored)});
  }
  std::sort(result.begin(), result.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return result;
}

// Adds the files below folder/relative.
Status AddFiles(const std::string& relative, int64_t label, int depth,
                ClassFiles* out) {
  const std::string folder = out->folder + "/" + relative;
  if (depth > kMaxDepth) {
    return FailedPrecondition(fmt::format(
        "{}: folders are {} deep here; does a link lead in circles?", folder,
        depth));
  }
  ASSIGN_OR_RETURN(const std::vector<Entry> entries, EntriesOf(folder));
  for (const Entry& entry : entries) {
    std::string name = relative + "/" + entry.name;
    if (entry.folder) {
      RETURN_IF_ERROR(AddFiles(name, label, depth + 1, out));
    } else if (IsImageName(entry.name)) {
      std::error_code error;  // what has no size fails when it is read
      const auto bytes = fs::file_size(out->folder + "/" + name, error);
      out->files.push_back(
          {std::move(name), label, error ? 0 : static_cast<int64_t>(bytes)});
    } else if (out->others++ == 0) {
      out->an_other = out->folder + "/" + name;
    }
  }
  return OkStatus();
}

}  // namespace

int64_t ClassFiles::bytes() const {
  int64_t sum = 0;
  for (const ClassFile& file : files) sum += file.bytes;
  return sum;
}

StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return NotFound(fmt::format("{}: there is no such folder", folder));
  }
  ASSIGN_OR_RETURN(std::vector<Entry> entries, EntriesOf(folder));
  std::vector<std::string> names;
  for (Entry& entry : entries) {
    if (entry.folder) names.push_back(std::move(entry.name));
  }
  return names;
}

StatusOr<ClassFiles> ListClassFiles(const std::string& folder,
                                    std::vector<std::string> class_names,
                                    bool every_class) {
  ClassFiles result;
  result.folder = folder;
  result.class_names = std::move(class_names);
  ASSIGN_OR_RETURN(const std::vector<std::string> present, FoldersIn(folder));
  if (present.empty()) {
    return FailedPrecondition(fmt::format(
        "{} has no class folders: expected {}/<class>/<image files>", folder,
        folder));
  }
  const std::vector<std::string>& classes = result.class_names;
  for (const std::string& name : present) {
    if (std::find(classes.begin(), classes.end(), name) == classes.end()) {
      return FailedPrecondition(
          fmt::format("{}/{}: its name is none of the {} classes {}", folder,
                      name, classes.size(), fmt::join(classes, ", ")));
    }
  }
  for (size_t label = 0; label < classes.size(); ++label) {
    const std::string& name = classes[label];
    if (std::binary_search(present.begin(), present.end(), name)) {
      RETURN_IF_ERROR(AddFiles(name, static_cast<int64_t>(label), 1, &result));
    } else if (every_class) {
      return FailedPrecondition(
          fmt::format("{}: there is no folder for class '{}'", folder, name));
    }
  }
  if (result.files.empty()) {
    return FailedPrecondition(
        fmt::format("{}: no image files (.jpg, .png) in its class folders {}",
                    folder, fmt::join(present, ", ")));
  }
  return result;
}

}  // namespace densenet
