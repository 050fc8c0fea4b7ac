#include "tests/structure/source_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace densenet::testing {
namespace {

namespace fs = std::filesystem;

// From left to right: a folder may include itself and what stands before it.
constexpr std::array<std::string_view, 4> kLayers = {"core", "memory",
                                                     "parallel", "densenet"};
constexpr std::array<std::string_view, 2> kOnTop = {"benchmarks", "tests"};
constexpr int kTop = kLayers.size();
constexpr int kForeign = -1;

std::string_view TopFolder(std::string_view path) {
  return path.substr(0, path.find('/'));
}

// The place in the order of folders; kForeign for what is not ours.
int Layer(std::string_view path) {
  const std::string_view folder = TopFolder(path);
  if (folder.size() == path.size()) return kForeign;
  if (std::ranges::find(kOnTop, folder) != kOnTop.end()) return kTop;
  const auto layer = std::ranges::find(kLayers, folder);
  return layer == kLayers.end() ? kForeign
                                : static_cast<int>(layer - kLayers.begin());
}

bool IsHeader(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cuh");
}

bool IsSource(std::string_view path) {
  return IsHeader(path) || path.ends_with(".cc") || path.ends_with(".cu");
}

// "core/ops/relu_cpu.cc" without "_cpu.cc" is "core/ops/relu"; empty when the
// path does not end so.
std::string Stem(std::string_view path, std::string_view suffix) {
  if (!path.ends_with(suffix)) return "";
  return std::string(path.substr(0, path.size() - suffix.size()));
}

std::set<std::string> Paths(const SourceTree& tree) {
  std::set<std::string> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  return paths;
}

std::vector<Include> FindIncludes(const std::string& text) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*["<]([^">]+)[">])re");
  std::vector<Include> includes;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) {
      includes.push_back({number, match[1]});
    }
  }
  return includes;
}

// Depth-first over the includes among our files; trail_ is the way from the
// start of the search.
class CycleSearch {
 public:
  explicit CycleSearch(const SourceTree& tree) {
    for (const SourceFile& file : tree) files_[file.path] = &file;
  }

  Violations Run() {
    for (const auto& [path, file] : files_) Visit(path);
    return std::move(violations_);
  }

 private:
  void Visit(const std::string& path) {
    const auto file = files_.find(path);
    if (file == files_.end() || finished_.contains(path)) return;
    const auto seen = std::ranges::find(trail_, path);
    if (seen != trail_.end()) {
      std::string cycle;
      for (auto it = seen; it != trail_.end(); ++it) cycle += *it + " -> ";
      violations_.push_back(fmt::format(
          "{}{}: a cycle of includes; move what both need into a header below",
          cycle, path));
      return;
    }
    trail_.push_back(path);
    for (const Include& include : file->second->includes) {
      Visit(include.target);
    }
    trail_.pop_back();
    finished_.insert(path);
  }

  std::map<std::string, const SourceFile*> files_;
  std::set<std::string> finished_;
  std::vector<std::string> trail_;
  Violations violations_;
};

bool IsCudaHeader(std::string_view target) {
  constexpr std::array<std::string_view, 11> kPrefixes = {"cub/",
                                                          "cublas",
                                                          "cuda",
                                                          "cudnn",
                                                          "cupti",
                                                          "curand",
                                                          "mma.h",
                                                          "nccl",
                                                          "nvtx3",
                                                          "thrust/",
                                                          "cooperative_groups"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return target.starts_with(prefix);
  });
}

bool MayIncludeCuda(std::string_view path) {
  return path.starts_with("core/cuda/") || path.ends_with(".cu") ||
         path.ends_with(".cuh") || path.ends_with("_cuda.h") ||
         path.ends_with("_cuda.cc") || path.ends_with("_cuda_test.cc");
}

std::string ExpectedGuard(std::string_view path) {
  std::string guard = "DENSENET_";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    guard += std::isalnum(byte) ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return guard + "_";
}

// Headers that Highway includes once per instruction set have its own guards.
bool IsPerTarget(std::string_view path) { return path.ends_with("-inl.h"); }

// The comment that opens a header gives the shapes of its arguments.
bool ContractGivesShapes(const SourceFile& file) {
  std::istringstream lines(file.text);
  std::string line;
  while (std::getline(lines, line) && line.starts_with("//")) {
    if (line.starts_with("// Shapes ")) return true;
  }
  return false;
}

}  // namespace

SourceFile::SourceFile(std::string file_path, std::string file_text)
    : path(std::move(file_path)),
      text(std::move(file_text)),
      includes(FindIncludes(text)) {}

SourceTree ReadSourceTree(const fs::path& root) {
  SourceTree tree;
  std::vector<std::string_view> folders(kLayers.begin(), kLayers.end());
  folders.insert(folders.end(), kOnTop.begin(), kOnTop.end());
  for (const std::string_view folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().lexically_relative(root).string();
      if (!entry.is_regular_file() || !IsSource(path)) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      if (!in) throw std::runtime_error("cannot read " + path);
      tree.emplace_back(path, std::string(std::istreambuf_iterator<char>(in),
                                          std::istreambuf_iterator<char>()));
    }
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

Violations WrongWayIncludes(const SourceTree& tree) {
  const std::set<std::string> paths = Paths(tree);
  Violations violations;
  for (const SourceFile& file : tree) {
    const int from = Layer(file.path);
    for (const Include& include : file.includes) {
      const int to = Layer(include.target);
      if (to == kForeign) continue;
      const std::string where = fmt::format("{}:{}", file.path, include.line);
      const bool same_folder =
          TopFolder(file.path) == TopFolder(include.target);
      if (to > from || (to == kTop && !same_folder)) {
        violations.push_back(fmt::format(
            "{}: {} may not include {}; the direction is core <- memory <- "
            "parallel <- densenet, and nothing includes benchmarks and tests",
            where, TopFolder(file.path), include.target));
      } else if (!paths.contains(include.target)) {
        violations.push_back(
            fmt::format("{}: there is no {}", where, include.target));
      }
    }
  }
  return violations;
}

Violations CyclicIncludes(const SourceTree& tree) {
  return CycleSearch(tree).Run();
}

Violations StrayCudaIncludes(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (MayIncludeCuda(file.path)) continue;
    for (const Include& include : file.includes) {
      if (!IsCudaHeader(include.target)) continue;
      violations.push_back(fmt::format(
          "{}:{}: includes {}; CUDA headers belong into core/cuda/ and "
          "*_cuda files",
          file.path, include.line, include.target));
    }
  }
  return violations;
}

Violations WrongHeaderGuards(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!IsHeader(file.path) || IsPerTarget(file.path)) continue;
    const std::string guard = ExpectedGuard(file.path);
    const std::string opening =
        fmt::format("#ifndef {}\n#define {}\n", guard, guard);
    const std::string closing = fmt::format("#endif  // {}\n", guard);
    if (file.text.find(opening) == std::string::npos ||
        !file.text.ends_with(closing)) {
      violations.push_back(
          fmt::format("{}: must be guarded by {}", file.path, guard));
    }
  }
  return violations;
}

Violations OwnHeaderNotFirst(const SourceTree& tree) {
  const std::set<std::string> paths = Paths(tree);
  Violations violations;
  for (const SourceFile& file : tree) {
    std::string own;
    if (file.path.ends_with("_cuda_test.cc")) continue;  // it tests x.h
    const std::string tested = Stem(file.path, "_test.cc");
    if (tested.starts_with("tests/")) {
      own = tested.substr(std::string_view("tests/").size()) + ".h";
    } else {
      own = Stem(file.path, ".cc") + ".h";
    }
    if (!paths.contains(own)) continue;
    if (file.includes.empty() || file.includes.front().target != own) {
      violations.push_back(
          fmt::format("{}: must include {} first", file.path, own));
    }
  }
  return violations;
}

Violations IncompleteOps(const SourceTree& tree) {
  const std::set<std::string> paths = Paths(tree);
  Violations violations;
  const auto require = [&](const std::string& needed, const std::string& by) {
    if (!paths.contains(needed)) {
      violations.push_back(fmt::format("{}: {} is missing", by, needed));
    }
  };
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("core/ops/") ||
        file.path.ends_with("/no_cuda.cc")) {
      continue;
    }
    const std::string op = Stem(file.path, ".h");
    if (!op.empty() && ContractGivesShapes(file)) {
      require(op + ".cc", file.path);
      require("tests/" + op + "_test.cc", file.path);
    }
    for (const std::string_view suffix : {"_cpu.cc", "_cuda.cc", "_cuda.cu"}) {
      const std::string backend_of = Stem(file.path, suffix);
      if (backend_of.empty()) continue;
      require(backend_of + ".h", file.path);
      require(backend_of + "_cpu.cc", file.path);
    }
  }
  return violations;
}

}  // namespace densenet::testing
