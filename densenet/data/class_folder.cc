#include "densenet/data/class_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

#include <algorithm>
#include <filesystem>

#include "core/io/crc32c.h"
#include "core/io/file.h"
#include "core/io/image.h"

namespace densenet {
namespace {

constexpr std::string_view kTestFolders[] = {"val", "validation", "valid",
                                             "test"};

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

StatusOr<std::string> SplitFolder(const std::string& folder, Split split) {
  if (folder.empty()) {
    return InvalidArgument(
        "data set folder: name the folder that holds train/ and val/ with "
        "--data DIR");
  }
  if (!IsFolder(folder)) {
    return NotFound(fmt::format("{}: there is no such folder", folder));
  }
  if (split == Split::kTrain) {
    if (IsFolder(folder + "/train")) return folder + "/train";
    return NotFound(fmt::format(
        "{} has no folder train/; expected train/<class>/<image files> and "
        "val/<class>/<image files>",
        folder));
  }
  for (std::string_view name : kTestFolders) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (IsFolder(path)) return path;
  }
  return NotFound(fmt::format(
      "{} has no images to evaluate on: expected one of the folders {} with "
      "the class folders of train/",
      folder, fmt::join(kTestFolders, ", ")));
}

}  // namespace

StatusOr<std::vector<std::string>> ClassFolderNames(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string train, SplitFolder(folder, Split::kTrain));
  ASSIGN_OR_RETURN(std::vector<std::string> names, FoldersIn(train));
  if (names.empty()) {
    return InvalidArgument(fmt::format(
        "{} has no class folders: expected {}/<class>/<image files>", train,
        train));
  }
  return names;
}

StatusOr<std::unique_ptr<ClassFolder>> ClassFolder::Open(
    const std::string& folder, Split split) {
  std::unique_ptr<ClassFolder> set(new ClassFolder);
  set->info_.name = "folder";
  set->info_.channels = 3;
  ASSIGN_OR_RETURN(set->info_.class_names, ClassFolderNames(folder));
  ASSIGN_OR_RETURN(set->split_folder_, SplitFolder(folder, split));
  const std::vector<std::string>& classes = set->info_.class_names;
  ASSIGN_OR_RETURN(const std::vector<std::string> present,
                   FoldersIn(set->split_folder_));
  for (const std::string& name : present) {
    const auto at = std::lower_bound(classes.begin(), classes.end(), name);
    if (at == classes.end() || *at != name) {
      return InvalidArgument(
          fmt::format("{}/{}: there is no such class in {}/train",
                      set->split_folder_, name, folder));
    }
    RETURN_IF_ERROR(set->AddClass(static_cast<int32_t>(at - classes.begin())));
  }
  if (set->entries_.empty()) {
    return InvalidArgument(fmt::format(
        "{}: no image files ({}) in its class folders {}", set->split_folder_,
        ImageExtensions(), fmt::join(present, ", ")));
  }
  set->names_.shrink_to_fit();
  set->entries_.shrink_to_fit();
  return set;
}

Status ClassFolder::AddClass(int32_t label) {
  const auto add = [&](const std::string& name, int64_t bytes) {
    entries_.push_back({static_cast<int64_t>(names_.size()),
                        static_cast<int32_t>(name.size()), label});
    names_ += name;
    max_bytes_ = std::max(max_bytes_, std::min(bytes, kMaxImageFileBytes));
    digest_ = ExtendCrc32c(digest_, name.data(),
                           static_cast<int64_t>(name.size()) + 1);
    digest_ = ExtendCrc32c(digest_, &bytes, sizeof(bytes));
  };
  return ForEachImage(split_folder_,
                      info_.class_names[static_cast<size_t>(label)], add,
                      &others_);
}

std::string ClassFolder::NameOf(int64_t i) const {
  CHECK(0 <= i && i < count());
  const Entry& entry = entries_[static_cast<size_t>(i)];
  return split_folder_ + "/" +
         names_.substr(static_cast<size_t>(entry.name),
                       static_cast<size_t>(entry.name_bytes));
}

StatusOr<int32_t> ClassFolder::Label(int64_t i) const {
  CHECK(0 <= i && i < count());
  return entries_[static_cast<size_t>(i)].label;
}

StatusOr<Example> ClassFolder::Read(int64_t i, absl::Span<char> scratch) const {
  const std::string path = NameOf(i);
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  if (file.size() > static_cast<int64_t>(scratch.size())) {
    return DataLoss(fmt::format(
        "{}: {} bytes; when the folder was listed no file had more than {}",
        path, file.size(), max_bytes_));
  }
  RETURN_IF_ERROR(file.ReadAt(0, scratch.data(), file.size()));
  return Example{.label = entries_[static_cast<size_t>(i)].label,
                 .pixels = nullptr,
                 .encoded = {scratch.data(), static_cast<size_t>(file.size())}};
}

}  // namespace densenet
