// core/io/file.h
//
// Whole files in, whole files out: a file written here exists under its name
// complete or not at all.
//
// Memory    AtomicFile buffers nothing; ReadFile holds the file once, and no
//           more than its caller allows
// Errors    NotFound, PermissionDenied, ResourceExhausted (disk full), ...:
//           what the system said, with the path and what was being done
// Threads   const functions of RandomAccessFile are safe; AtomicFile is not

#ifndef DENSENET_CORE_IO_FILE_H_
#define DENSENET_CORE_IO_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"

namespace densenet {

// "read runs/a/x.bin: No such file or directory", with the code for `error`.
Status FileError(std::string_view verb, std::string_view path, int error);

// An open file descriptor that closes itself. Move-only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A file read at any offset, of the size it had when opened.
class RandomAccessFile {
 public:
  // Never waits for a writer of a pipe.
  // Errors  InvalidArgument  `path` is a folder, a pipe, a device
  static StatusOr<RandomAccessFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  // For reading a stream from its start; owned by this object.
  int fd() const { return fd_.get(); }
  // Fills `out` with the `bytes` bytes at `offset`.
  // Errors  DataLoss  the file ends before
  Status ReadAt(int64_t offset, void* out, int64_t bytes) const;

 private:
  std::string path_;
  UniqueFd fd_;
  int64_t size_ = 0;
};

// What ReadFile takes: settings, names and tables are far smaller.
inline constexpr int64_t kDefaultMaxFileBytes = int64_t{1} << 30;

// The bytes of a file; pipes and other streams are read to their end.
// Errors  InvalidArgument  more than `max_bytes`
StatusOr<std::string> ReadFile(const std::string& path,
                               int64_t max_bytes = kDefaultMaxFileBytes);

// All bytes to a descriptor; `path` is for the error.
Status WriteFully(int fd, std::string_view path, const char* data,
                  int64_t bytes);

// The names of what is in a folder, sorted byte by byte, without "." and "..".
StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);

// Writes `path` beside itself under a temporary name and gives it its name
// when complete. A reader, a full disk or a kill at any moment sees the old
// file or the new one.
//
//   ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
//   RETURN_IF_ERROR(file.Append(data, bytes));
//   return file.Commit();
//
// Without Commit() the destructor removes the temporary. A link is followed.
// What is no regular file (a pipe, /dev/stdout) is written in place: nothing
// there can be replaced.
class AtomicFile {
 public:
  // Errors  InvalidArgument  `path` is a folder or empty
  static StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  const std::string& path() const { return path_; }
  // Bytes appended so far.
  int64_t size() const { return size_; }
  Status Append(const void* data, int64_t bytes);
  Status Append(std::string_view text) {
    return Append(text.data(), static_cast<int64_t>(text.size()));
  }
  // Overwrites bytes already appended.
  Status WriteAt(int64_t offset, const void* data, int64_t bytes);
  // Syncs the file, gives it its name and syncs the folder. Once.
  Status Commit();

 private:
  AtomicFile() = default;
  void Discard();

  std::string path_;
  std::string temporary_;  // empty: written in place, or committed
  UniqueFd fd_;
  int64_t size_ = 0;
};

// Gives a complete file, or a folder of synced files, another name in the same
// file system: syncs it, renames it over what is there and syncs the folder of
// the new name.
Status RenameDurably(const std::string& from, const std::string& to);

Status WriteFileAtomically(const std::string& path, std::string_view text);

// Whether `name` is one that an AtomicFile writes under.
bool IsTemporaryName(std::string_view name);

// Removes what AtomicFiles of killed processes left in `folder`. Nobody may be
// writing there.
Status RemoveTemporaries(const std::string& folder);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_FILE_H_
