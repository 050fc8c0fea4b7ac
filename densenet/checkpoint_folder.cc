#include "densenet/checkpoint_folder.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "model.ckpt-";
constexpr std::string_view kSuffix = ".safetensors";

std::string FileName(int64_t step) {
  return fmt::format("{}{}{}", kPrefix, step, kSuffix);
}

// The step of a checkpoint's name; -1 for another name.
int64_t StepOf(std::string_view name) {
  if (name.size() <= kPrefix.size() + kSuffix.size() ||
      name.substr(0, kPrefix.size()) != kPrefix ||
      name.substr(name.size() - kSuffix.size()) != kSuffix) {
    return -1;
  }
  const char* first = name.data() + kPrefix.size();
  const char* last = name.data() + name.size() - kSuffix.size();
  int64_t step = 0;
  const auto [end, error] = std::from_chars(first, last, step);
  return error == std::errc() && end == last && step >= 0 ? step : -1;
}

std::vector<CheckpointFile> ListIn(const std::string& folder) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder, error)) {
    const int64_t step = StepOf(entry.path().filename().string());
    if (step >= 0) files.push_back({step, entry.path().string()});
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) {
              return a.step < b.step;
            });
  return files;
}

Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  return error ? FileError("remove", path, error.value()) : OkStatus();
}

// A link to the same bytes, or a copy where there are no links; complete under
// its name or not there.
Status LinkOrCopy(const std::string& from, const std::string& to) {
  std::error_code error;
  const std::string temporary = to + ".tmp";
  RETURN_IF_ERROR(Remove(temporary));
  // Renaming one link onto another of the same file would do nothing.
  if (fs::equivalent(from, to, error)) return OkStatus();
  error.clear();
  fs::create_hard_link(from, temporary, error);
  if (error) {
    error.clear();
    fs::copy_file(from, temporary, error);
  }
  if (error) return FileError("write", temporary, error.value());
  fs::rename(temporary, to, error);
  return error ? FileError("write", to, error.value()) : OkStatus();
}

// Whether another checkpoint may be used in place of the one that gave this.
bool IsDamage(const Status& status) {
  return status.code() == StatusCode::kDataLoss ||
         status.code() == StatusCode::kInvalidArgument;
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string folder, int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  CHECK_GE(keep, 1);
}

std::string CheckpointFolder::PathOf(int64_t step) const {
  return (fs::path(folder_) / FileName(step)).string();
}

std::string CheckpointFolder::BestFolder() const {
  return (fs::path(folder_) / "best").string();
}

std::vector<CheckpointFile> CheckpointFolder::List() const {
  return ListIn(folder_);
}

StatusOr<std::optional<CheckpointFolder::Opened>> CheckpointFolder::OpenNewest()
    const {
  std::vector<CheckpointFile> files = List();
  std::vector<Status> damaged;
  std::string reasons;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    StatusOr<Checkpoint> checkpoint = Checkpoint::Open(file->path);
    if (checkpoint.ok()) {
      return std::optional<Opened>(
          Opened{*std::move(checkpoint), std::move(damaged)});
    }
    if (!IsDamage(checkpoint.status())) return checkpoint.status();
    damaged.push_back(checkpoint.status());
    reasons += fmt::format("; {}", StdView(checkpoint.status().message()));
  }
  if (damaged.empty()) return std::optional<Opened>();
  return DataLoss(fmt::format(
      "{}: none of its {} checkpoints can be used{}. Move them away to train "
      "from the start",
      folder_, damaged.size(), reasons));
}

StatusOr<Checkpoint> CheckpointFolder::OpenBest() const {
  std::vector<CheckpointFile> files = ListIn(BestFolder());
  if (files.empty()) {
    return NotFound(fmt::format(
        "{} holds no best checkpoint: no epoch has been evaluated yet",
        folder_));
  }
  // Two only after a kill between writing the one and removing the other.
  return Checkpoint::Open(files.back().path);
}

Status CheckpointFolder::Save(
    const CheckpointInfo& info, ParameterStore& store,
    const std::vector<std::string>& slot_names) const {
  const int64_t step = info.progress.global_step;
  RETURN_IF_ERROR(SaveCheckpoint(PathOf(step), info, store, slot_names));
  std::vector<CheckpointFile> files = List();
  int64_t kept = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (++kept <= keep_) continue;
    if (keep_every_steps_ > 0 && file->step % keep_every_steps_ == 0) continue;
    RETURN_IF_ERROR(Remove(file->path));
  }
  return OkStatus();
}

Status CheckpointFolder::MarkBest(int64_t step) const {
  const std::string folder = BestFolder();
  std::error_code error;
  if (step >= 0) {
    fs::create_directory(folder, error);
    if (error) return FileError("create", folder, error.value());
    const std::string from = PathOf(step);
    const std::string to = (fs::path(folder) / FileName(step)).string();
    if (fs::exists(from, error)) {
      RETURN_IF_ERROR(LinkOrCopy(from, to));
    } else if (!fs::exists(to, error)) {
      return OkStatus();  // what is there is the best that there is
    }
  }
  for (const CheckpointFile& file : ListIn(folder)) {
    if (file.step != step) RETURN_IF_ERROR(Remove(file.path));
  }
  return OkStatus();
}

Status CheckpointFolder::SetAsideAfter(int64_t step) const {
  for (const CheckpointFile& file : List()) {
    if (file.step <= step) continue;
    std::error_code error;
    fs::rename(file.path, file.path + ".damaged", error);
    if (error) return FileError("rename", file.path, error.value());
  }
  return OkStatus();
}

StatusOr<Checkpoint> OpenCheckpoint(const std::string& path, bool best,
                                    std::vector<Status>* damaged) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (best) {
      return InvalidArgument(
          fmt::format("--best needs a run folder; {} is not a folder", path));
    }
    return Checkpoint::Open(path);
  }
  const CheckpointFolder folder(path, 1);
  if (best) return folder.OpenBest();
  ASSIGN_OR_RETURN(std::optional<CheckpointFolder::Opened> newest,
                   folder.OpenNewest());
  if (!newest) {
    return NotFound(fmt::format(
        "{} holds no checkpoint (model.ckpt-<step>.safetensors)", path));
  }
  damaged->insert(damaged->end(), newest->damaged.begin(),
                  newest->damaged.end());
  return std::move(newest->checkpoint);
}

}  // namespace densenet
