// densenet/checkpoint_folder.h
//
// The checkpoints of a run folder: model.ckpt-<global_step>.safetensors, the
// newest few, and best/, which holds the one with the lowest error under the
// same name (a hard link where the file system has them). A kill at any moment
// leaves them usable.
//
// Errors   DataLoss  every checkpoint is damaged; the message has each reason
//          others    what the system said
// Threads  one process at a time writes (RunFolder locks the folder)

#ifndef DENSENET_DENSENET_CHECKPOINT_FOLDER_H_
#define DENSENET_DENSENET_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/checkpoint.h"

namespace densenet {

struct CheckpointFile {
  int64_t step = 0;
  std::string path;
};

class CheckpointFolder {
 public:
  // Nothing is read or created yet. keep >= 1.
  CheckpointFolder(std::string folder, int64_t keep);
  // Those of multiples of `steps` stay for good; 0: none do.
  void KeepEvery(int64_t steps) { keep_every_steps_ = steps; }

  std::string PathOf(int64_t step) const;
  // By step, rising; empty when the folder is missing.
  std::vector<CheckpointFile> List() const;

  struct Opened {
    Checkpoint checkpoint;
    // Why newer ones could not be used.
    std::vector<Status> damaged;
  };
  // The newest that is sound; nothing where there is none at all.
  StatusOr<std::optional<Opened>> OpenNewest() const;
  // The best; NotFound when no evaluation has been done.
  StatusOr<Checkpoint> OpenBest() const;

  // Writes the checkpoint of info.progress.global_step, then removes those
  // before the last `keep` that are not kept for good.
  Status Save(const CheckpointInfo& info, ParameterStore& store,
              const std::vector<std::string>& slot_names) const;
  // Makes best/ hold the checkpoint of `step`, if that is still there, and
  // nothing else; a negative step empties it.
  Status MarkBest(int64_t step) const;
  // Renames the checkpoints after `step` to <name>.damaged: a run that goes on
  // from an older one must not meet them again.
  Status SetAsideAfter(int64_t step) const;

 private:
  std::string BestFolder() const;

  std::string folder_;
  int64_t keep_;
  int64_t keep_every_steps_ = 0;
};

// A checkpoint file, or the newest (`best`: the best) of a run folder. Damaged
// ones that were passed over are appended to `damaged`.
StatusOr<Checkpoint> OpenCheckpoint(const std::string& path, bool best,
                                    std::vector<Status>* damaged);

}  // namespace densenet

#endif  // DENSENET_DENSENET_CHECKPOINT_FOLDER_H_
