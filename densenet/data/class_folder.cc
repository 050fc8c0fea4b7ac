#include "densenet/data/class_folder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "core/io/crc32c.h"
#include "core/io/file.h"

namespace densenet {
namespace {

constexpr int kMaxDepth = 16;  // below it a link leads in circles
// No photograph is larger, and room for the largest is held all along.
constexpr int64_t kMaxEncodedBytes = int64_t{1} << 28;
constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".jpe", ".png"};
constexpr std::string_view kTestFolders[] = {"val", "validation", "valid",
                                             "test"};

bool IsImageName(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string extension =
      absl::AsciiStrToLower(AbslView(name.substr(dot)));
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
         std::end(kExtensions);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

// The names in a folder, sorted; those that begin with a dot are left out.
StatusOr<std::vector<std::string>> NamesIn(const std::string& path) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) return FileError("open", path, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return FileError("read", path, errno);
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
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

StatusOr<std::vector<std::string>> FoldersIn(const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(path));
  std::erase_if(names, [&](const std::string& name) {
    return !IsFolder(path + "/" + name);
  });
  return names;
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
        fmt::join(kExtensions, ", "), fmt::join(present, ", ")));
  }
  set->names_.shrink_to_fit();
  set->entries_.shrink_to_fit();
  return set;
}

Status ClassFolder::AddClass(int32_t label) {
  const std::string& name = info_.class_names[static_cast<size_t>(label)];
  std::vector<File> files;
  RETURN_IF_ERROR(List(name, 1, &files));
  for (const File& file : files) {
    entries_.push_back({static_cast<int64_t>(names_.size()),
                        static_cast<int32_t>(file.name.size()), label});
    names_ += file.name;
    max_bytes_ = std::max(max_bytes_, std::min(file.bytes, kMaxEncodedBytes));
    digest_ = ExtendCrc32c(digest_, file.name.data(),
                           static_cast<int64_t>(file.name.size()) + 1);
    digest_ = ExtendCrc32c(digest_, &file.bytes, sizeof(file.bytes));
  }
  return OkStatus();
}

Status ClassFolder::List(const std::string& relative, int depth,
                         std::vector<File>* files) {
  const std::string folder = split_folder_ + "/" + relative;
  if (depth > kMaxDepth) {
    return InvalidArgument(fmt::format(
        "{}: folders are {} deep here; does a link lead in circles?", folder,
        depth));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    std::string inner = relative + "/" + name;
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return FileError("open", path, errno);
    if (S_ISDIR(info.st_mode)) {
      RETURN_IF_ERROR(List(inner, depth + 1, files));
    } else if (S_ISREG(info.st_mode) && IsImageName(name)) {
      files->push_back({std::move(inner), int64_t{info.st_size}});
    } else if (others_++ == 0) {
      an_other_ = path;
    }
  }
  return OkStatus();
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
