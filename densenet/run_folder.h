// densenet/run_folder.h
//
// The folder of a training run: config.json, metrics.csv, log.txt, checkpoints
// and best/. One process at a time holds it. A folder created here disappears
// again unless Commit() is called, so that a failure before training leaves
// nothing behind.
//
// Errors   FailedPrecondition  another process is training there; the folder
//                              holds other things and no run
//          others              it cannot be created or written
// Threads  one thread of control

#ifndef DENSENET_DENSENET_RUN_FOLDER_H_
#define DENSENET_DENSENET_RUN_FOLDER_H_

#include <optional>
#include <string>
#include <vector>

#include "core/io/file.h"
#include "core/status.h"
#include "densenet/run_config.h"

namespace densenet {

class RunFolder {
 public:
  // Creates what is missing of `path`, takes the folder and makes sure that it
  // can be written.
  static StatusOr<RunFolder> Open(const std::string& path);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const;
  std::string config_path() const { return File("config.json"); }
  std::string metrics_path() const { return File("metrics.csv"); }
  std::string log_path() const { return File("log.txt"); }

  // config.json, or nothing where there is none yet.
  // Errors  DataLoss  it is no JSON object
  StatusOr<std::optional<Json>> ReadConfig() const;
  Status WriteConfig(const Json& config) const;

  // Keeps the folder.
  void Commit() { created_.clear(); }

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  Status Prepare();
  void RemoveCreated();

  std::string path_;
  UniqueFd lock_;
  std::vector<std::string> created_;  // outermost first
};

// A JSON object from a file.
// Errors  InvalidArgument  says where it stops being JSON
StatusOr<Json> ReadJsonObject(const std::string& path);

// Whether `path` can be written as a file: its folder exists and may be
// written, and it is no folder itself. For results that come hours later.
Status CheckCanWriteFile(const std::string& path);

}  // namespace densenet

#endif  // DENSENET_DENSENET_RUN_FOLDER_H_
