#include "densenet/data/class_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/io/file.h"

namespace densenet {
namespace {

constexpr int kMaxDepth = 16;  // below it a link leads in circles
constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".jpe", ".jfif",
                                            ".png"};

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

StatusOr<std::vector<std::string>> ShownNamesIn(const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(folder));
  std::erase_if(names,
                [](const std::string& name) { return name.starts_with('.'); });
  return names;
}

class Walk {
 public:
  Walk(const std::string& folder,
       absl::FunctionRef<void(std::string, int64_t)> fn, OtherFiles* others)
      : folder_(folder), fn_(fn), others_(others) {}

  Status Visit(const std::string& relative, int depth) {
    const std::string folder = folder_ + "/" + relative;
    if (depth > kMaxDepth) {
      return FailedPrecondition(fmt::format(
          "{}: folders are {} deep here; does a link lead in circles?", folder,
          depth));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     ShownNamesIn(folder));
    for (const std::string& name : names) {
      struct stat info;
      const bool there = ::stat((folder + "/" + name).c_str(), &info) == 0;
      std::string inner = relative + "/" + name;
      if (there && S_ISDIR(info.st_mode)) {
        RETURN_IF_ERROR(Visit(inner, depth + 1));
      } else if (IsImageName(name) && (!there || S_ISREG(info.st_mode))) {
        fn_(std::move(inner), there ? int64_t{info.st_size} : 0);
      } else {
        others_->Add(folder + "/" + name);
      }
    }
    return OkStatus();
  }

 private:
  const std::string& folder_;
  absl::FunctionRef<void(std::string, int64_t)> fn_;
  OtherFiles* others_;
};

}  // namespace

std::string ImageExtensions() {
  return fmt::format("{}", fmt::join(kExtensions, ", "));
}

void OtherFiles::Add(const std::string& path) {
  if (count++ == 0) first = path;
}

std::string OtherFiles::Note(std::string_view split) const {
  if (count == 0) return "";
  return fmt::format(
      "passed over in the {} images, not named as JPEG or PNG: {}{}", split,
      first, count > 1 ? fmt::format(" and {} more", count - 1) : "");
}

StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder) {
  if (!IsFolder(folder)) {
    return NotFound(fmt::format("{}: there is no such folder", folder));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> names, ShownNamesIn(folder));
  std::erase_if(names, [&](const std::string& name) {
    return !IsFolder(folder + "/" + name);
  });
  return names;
}

Status ForEachImage(const std::string& folder, const std::string& relative,
                    absl::FunctionRef<void(std::string name, int64_t bytes)> fn,
                    OtherFiles* others) {
  return Walk(folder, fn, others).Visit(relative, 1);
}

int64_t ClassFiles::bytes() const {
  int64_t sum = 0;
  for (const ClassFile& file : files) sum += file.bytes;
  return sum;
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
      const auto add = [&](std::string file, int64_t bytes) {
        result.files.push_back(
            {std::move(file), static_cast<int64_t>(label), bytes});
      };
      RETURN_IF_ERROR(ForEachImage(folder, name, add, &result.others));
    } else if (every_class) {
      return FailedPrecondition(
          fmt::format("{}: there is no folder for class '{}'", folder, name));
    }
  }
  if (result.files.empty()) {
    return FailedPrecondition(
        fmt::format("{}: no image files ({}) in its class folders {}", folder,
                    ImageExtensions(), fmt::join(present, ", ")));
  }
  return result;
}

}  // namespace densenet
