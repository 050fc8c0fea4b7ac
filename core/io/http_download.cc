#include "core/io/http_download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/time/clock.h"
#include "core/io/digest.h"
#include "core/io/file.h"
#include "core/io/http_transfer.h"

namespace densenet {
namespace {

// An attempt that got less is one that got nothing: servers that hand out a
// file by a few bytes a connection are not followed to its end.
constexpr int64_t kProgressBytes = 1 << 16;
constexpr absl::Duration kLongestDelay = absl::Minutes(1);
constexpr absl::Duration kStopInterval = absl::Milliseconds(50);

class Downloader {
 public:
  Downloader(const std::string& url, const std::string& path,
             const DownloadOptions& options)
      : url_(url), path_(path), options_(options) {}

  Status Run() {
    RETURN_IF_ERROR(Open());
    // The bytes of an earlier run may be those of another file.
    const bool continued = part_.bytes > 0;
    for (bool restarted = false;; restarted = true) {
      const Status completed = Complete();
      if (!completed.ok()) {
        if (part_.bytes == 0) ::unlink(part_.path.c_str());
        return completed;
      }
      const Status checked = Check();
      if (checked.ok()) break;
      // A file that is wrong a second time is wrong on the server, in however
      // many pieces it came.
      const bool doubtful = !restarted && (continued || part_.pieced);
      RETURN_IF_ERROR(part_.Clear());
      if (!doubtful) {
        ::unlink(part_.path.c_str());
        return checked;
      }
      Trouble(fmt::format(
          "{}; it was put together from several attempts, starting again",
          StdView(checked.message())));
    }
    return RenameDurably(part_.path, path_);
  }

 private:
  Status Open();
  Status Complete();
  Status Check() const;
  Status Pause(absl::Duration delay) const;
  void Trouble(const std::string& text) const {
    if (options_.trouble) options_.trouble(text);
  }
  std::string Kept() const {
    return part_.bytes == 0 ? ""
                            : fmt::format(
                                  "; {} bytes are kept in {}, the same "
                                  "command goes on from there",
                                  part_.bytes, part_.path);
  }

  const std::string& url_;
  const std::string& path_;
  const DownloadOptions& options_;
  UniqueFd fd_;
  PartFile part_;
};

Status Downloader::Open() {
  part_.path = path_ + ".part";
  fd_ =
      UniqueFd(::open(part_.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_.valid()) return FileError("write", part_.path, errno);
  part_.fd = fd_.get();
  if (::flock(part_.fd, LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition(fmt::format(
        "{} is being downloaded by another process; wait for it", path_));
  }
  struct stat info;
  if (::fstat(part_.fd, &info) != 0) {
    return FileError("stat", part_.path, errno);
  }
  part_.bytes = info.st_size;
  const int64_t most = options_.expected_bytes >= 0 ? options_.expected_bytes
                                                    : options_.max_bytes;
  return part_.bytes > most ? part_.Clear() : OkStatus();
}

// Attempts until all bytes are there.
Status Downloader::Complete() {
  int failures = 0;
  int64_t reached = part_.bytes;
  absl::Duration delay = options_.retry_delay;
  while (options_.expected_bytes < 0 || part_.bytes < options_.expected_bytes ||
         part_.bytes == 0) {
    const TransferResult result = Transfer(url_, options_, part_);
    if (result.end == TransferEnd::kComplete) return OkStatus();
    if (result.end == TransferEnd::kHopeless) {
      return MakeStatus(
          result.status.code(),
          fmt::format("{}{}", StdView(result.status.message()), Kept()));
    }
    if (part_.bytes >= reached + kProgressBytes) {
      reached = part_.bytes;
      failures = 0;
      delay = options_.retry_delay;
    }
    if (++failures >= options_.attempts) {
      return MakeStatus(
          result.status.code(),
          fmt::format("{}; gave up after {} attempts{}",
                      StdView(result.status.message()), failures, Kept()));
    }
    Trouble(fmt::format("{}; trying again in {}",
                        StdView(result.status.message()),
                        absl::FormatDuration(delay)));
    RETURN_IF_ERROR(Pause(delay));
    delay = std::min(2 * delay, kLongestDelay);
  }
  return OkStatus();
}

Status Downloader::Pause(absl::Duration delay) const {
  const absl::Time end = absl::Now() + delay;
  while (absl::Now() < end) {
    if (options_.should_stop && options_.should_stop()) {
      return Unavailable(fmt::format("{}: stopped{}", url_, Kept()));
    }
    absl::SleepFor(std::min(kStopInterval, end - absl::Now()));
  }
  return OkStatus();
}

Status Downloader::Check() const {
  if (options_.expected_digest.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const std::string digest,
                   DigestOfFile(options_.expected_digest, part_.path));
  if (digest == options_.expected_digest) return OkStatus();
  return DataLoss(
      fmt::format("{}: the digest of what the server sent is {}, expected {}",
                  url_, digest, options_.expected_digest));
}

}  // namespace

Status DownloadFile(const std::string& url, const std::string& path,
                    const DownloadOptions& options) {
  return Downloader(url, path, options).Run();
}

}  // namespace densenet
