#include "densenet/data/class_names.h"

#include <fmt/format.h>

#include <set>

#include "absl/strings/str_split.h"
#include "core/io/file.h"

namespace densenet {

StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    names.emplace_back(StdView(line));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) {
    return InvalidArgument(
        fmt::format("{}: expected the name of a class a line", path));
  }
  std::set<std::string> known;
  for (const std::string& name : names) {
    if (name.empty()) {
      return InvalidArgument(
          fmt::format("{}: line {} has no name, which would shift the classes "
                      "after it",
                      path, known.size() + 1));
    }
    if (!known.insert(name).second) {
      return InvalidArgument(
          fmt::format("{}: the class '{}' is there twice", path, name));
    }
  }
  return names;
}

}  // namespace densenet
