#include "densenet/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "densenet/checkpoint_folder.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

// The folders to be created for `path` to exist, outermost first.
std::vector<fs::path> MissingFolders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path p = path; !p.empty() && !fs::exists(p, error);
       p = p.parent_path()) {
    missing.insert(missing.begin(), p);
  }
  return missing;
}

// Whether anything is in the folder besides what an interrupted save left.
bool HoldsOtherThings(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  return std::any_of(
      begin(entries), end(entries), [](const fs::directory_entry& entry) {
        return !IsTemporaryName(entry.path().filename().string());
      });
}

Status Unusable(const std::string& path, const Status& why) {
  return Annotate(why, fmt::format("the run folder '{}' cannot be used", path));
}

}  // namespace

StatusOr<RunFolder> RunFolder::Open(const std::string& path) {
  fs::path clean = fs::path(path).lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();  // "runs/a/"
  RunFolder folder(clean.string());
  const Status status = folder.Prepare();
  if (!status.ok()) return Unusable(path, status);
  return folder;
}

Status RunFolder::Prepare() {
  for (const fs::path& p : MissingFolders(path_)) {
    if (mkdir(p.c_str(), 0777) != 0) {
      return FileError("create folder", p.string(), errno);
    }
    created_.push_back(p.string());
  }
  lock_ = UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_.valid()) return FileError("open folder", path_, errno);
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileError("lock", path_, errno);
    return FailedPrecondition("another process is training in it");
  }
  // As root, permissions say little; writing does.
  ASSIGN_OR_RETURN(AtomicFile probe, AtomicFile::Create(File("probe")));
  RETURN_IF_ERROR(probe.Append("probe"));
  return OkStatus();
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      created_(std::exchange(other.created_, {})) {}

RunFolder::~RunFolder() { RemoveCreated(); }

void RunFolder::RemoveCreated() {
  // Innermost first; a folder that somebody put something into stays.
  for (auto p = created_.rbegin(); p != created_.rend(); ++p) {
    if (rmdir(p->c_str()) != 0) return;
  }
}

std::string RunFolder::File(std::string_view name) const {
  return (fs::path(path_) / name).string();
}

StatusOr<std::optional<Json>> RunFolder::ReadConfig() const {
  std::error_code error;
  const bool has_config = fs::exists(config_path(), error);
  if (!has_config && HoldsOtherThings(path_) &&
      CheckpointFolder(path_, 1).List().empty()) {
    return Unusable(path_, FailedPrecondition(
                               "it holds other things and no run; give a new "
                               "or empty folder as --out"));
  }
  RETURN_IF_ERROR(RemoveTemporaries(path_));
  if (!has_config) return std::optional<Json>();
  StatusOr<Json> config = ReadJsonObject(config_path());
  if (!config.ok()) return DataLoss(StdView(config.status().message()));
  return std::optional<Json>(*std::move(config));
}

Status RunFolder::WriteConfig(const Json& config) const {
  return WriteFileAtomically(config_path(), DumpJson(config, 2) + "\n");
}

StatusOr<Json> ReadJsonObject(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
  } catch (const nlohmann::json::parse_error& e) {
    return InvalidArgument(
        fmt::format("{}: no valid JSON at byte {}", path, e.byte));
  }
  return InvalidArgument(fmt::format("{}: expected a JSON object", path));
}

Status CheckCanWriteFile(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return FileError("write", path, EISDIR);
  }
  if (fs::exists(path, error)) {
    return access(path.c_str(), W_OK) == 0 ? OkStatus()
                                           : FileError("write", path, errno);
  }
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = (parent.empty() ? fs::path(".") : parent).string();
  if (!fs::is_directory(folder, error)) {
    return FileError("write", path,
                     fs::exists(folder, error) ? ENOTDIR : ENOENT);
  }
  return access(folder.c_str(), W_OK | X_OK) == 0
             ? OkStatus()
             : FileError("write", path, errno);
}

}  // namespace densenet
