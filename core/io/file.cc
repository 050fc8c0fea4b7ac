#include "core/io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <glog/logging.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

namespace densenet {
namespace {

namespace fs = std::filesystem;

// The mark of a temporary: "<name>.tmp-<8 hexadecimal digits>".
constexpr std::string_view kTemporaryMark = ".tmp-";
constexpr size_t kTemporaryDigits = 8;
constexpr int kTemporaryAttempts = 100;

constexpr size_t kReadBytes = 16384;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

// The folder's entry of a new name must reach the disk too. Some file systems
// cannot sync a folder and say so with EINVAL; there is nothing more to do.
Status SyncFolder(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FileError("open", folder, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return FileError("sync", folder, errno);
  }
  return OkStatus();
}

}  // namespace

Status FileError(std::string_view verb, std::string_view path, int error) {
  const std::string reason = std::generic_category().message(error);
  // A link that leads to itself is a wrong name; Abseil has no code for it.
  const StatusCode code = error == ELOOP
                              ? StatusCode::kInvalidArgument
                              : absl::ErrnoToStatus(error, "").code();
  return MakeStatus(code, fmt::format("{} {}: {}", verb, path, reason));
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) ::close(fd_);
}

StatusOr<RandomAccessFile> RandomAccessFile::Open(const std::string& path) {
  RandomAccessFile file;
  file.path_ = path;
  // Of a regular file reading never blocks; opening a pipe would.
  file.fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_.valid()) return FileError("open", path, errno);
  struct stat info;
  if (::fstat(file.fd_.get(), &info) != 0) {
    return FileError("stat", path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument(fmt::format(
        "open {}: it is a {}, expected a file", path,
        S_ISDIR(info.st_mode) ? "folder" : "pipe, a socket or a device"));
  }
  file.size_ = info.st_size;
  return file;
}

Status RandomAccessFile::ReadAt(int64_t offset, void* out,
                                int64_t bytes) const {
  char* p = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_.get(), p, static_cast<size_t>(bytes), offset);
    if (n < 0) {
      if (errno == EINTR) continue;
      return FileError("read", path_, errno);
    }
    if (n == 0) {
      return DataLoss(fmt::format(
          "read {}: the file ends at byte {}, {} more bytes were expected",
          path_, offset, bytes));
    }
    p += n;
    offset += n;
    bytes -= n;
  }
  return OkStatus();
}

StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError("open", path, errno);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return FileError("stat", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return InvalidArgument(
        fmt::format("open {}: it is a folder, expected a file", path));
  }
  std::string text;
  if (info.st_size <= max_bytes) {
    text.reserve(static_cast<size_t>(info.st_size));
  }
  char buffer[kReadBytes];
  for (;;) {
    // Told by what is read: the size of a stream is not known.
    if (std::max<int64_t>(info.st_size, static_cast<int64_t>(text.size())) >
        max_bytes) {
      return InvalidArgument(
          fmt::format("read {}: more than {} bytes, which "
                      "is the most that is read",
                      path, max_bytes));
    }
    const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", path, errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  const std::unique_ptr<DIR, CloseFolder> entries(::opendir(folder.c_str()));
  if (entries == nullptr) return FileError("open", folder, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr && errno != 0) return FileError("list", folder, errno);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  if (path.empty()) return InvalidArgument("write: the file has no name");
  AtomicFile file;
  file.path_ = path;
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    const fs::path target = fs::canonical(path, error);
    if (!error) file.path_ = target.string();
  }
  struct stat info;
  if (::stat(file.path_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return InvalidArgument(
          fmt::format("write {}: it is a folder, expected a file", path));
    }
    if (!S_ISREG(info.st_mode)) {
      file.fd_ = UniqueFd(::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC));
      if (!file.fd_.valid()) return FileError("write", path, errno);
      return file;
    }
  }
  for (int attempt = 0; attempt < kTemporaryAttempts; ++attempt) {
    uint32_t bits = 0;
    if (::getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) continue;
    std::string name =
        fmt::format("{}{}{:08x}", file.path_, kTemporaryMark, bits);
    file.fd_ = UniqueFd(
        ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.fd_.valid()) {
      file.temporary_ = std::move(name);
      return file;
    }
    if (errno != EEXIST) break;
  }
  return FileError("write", path, errno);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      fd_(std::move(other.fd_)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (temporary_.empty()) return;
  if (::unlink(temporary_.c_str()) != 0) {
    LOG(WARNING) << FileError("remove", temporary_, errno).message();
  }
  temporary_.clear();
}

Status AtomicFile::Append(const void* data, int64_t bytes) {
  CHECK(fd_.valid()) << path_ << " was committed";
  RETURN_IF_ERROR(
      WriteFully(fd_.get(), path_, static_cast<const char*>(data), bytes));
  size_ += bytes;
  return OkStatus();
}

Status AtomicFile::WriteAt(int64_t offset, const void* data, int64_t bytes) {
  CHECK(fd_.valid()) << path_ << " was committed";
  CHECK(0 <= offset && 0 <= bytes && bytes <= size_ - offset);
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n =
        ::pwrite(fd_.get(), p, static_cast<size_t>(bytes), offset);
    if (n < 0) {
      if (errno == EINTR) continue;
      return FileError("write", path_, errno);
    }
    p += n;
    offset += n;
    bytes -= n;
  }
  return OkStatus();
}

Status AtomicFile::Commit() {
  CHECK(fd_.valid()) << path_ << " was committed";
  if (!temporary_.empty() && ::fsync(fd_.get()) != 0) {
    return FileError("sync", path_, errno);
  }
  if (::close(fd_.release()) != 0) return FileError("close", path_, errno);
  if (temporary_.empty()) return OkStatus();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return FileError("rename to", path_, errno);
  }
  temporary_.clear();
  return SyncFolder(path_);
}

Status RenameDurably(const std::string& from, const std::string& to) {
  const UniqueFd fd(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError("open", from, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return FileError("sync", from, errno);  // as in SyncFolder
  }
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return FileError("rename to", to, errno);
  }
  return SyncFolder(to);
}

Status WriteFileAtomically(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(text));
  return file.Commit();
}

bool IsTemporaryName(std::string_view name) {
  if (name.size() < kTemporaryMark.size() + kTemporaryDigits) return false;
  const size_t digits = name.size() - kTemporaryDigits;
  if (name.find_first_not_of("0123456789abcdef", digits) != name.npos) {
    return false;
  }
  return name.substr(0, digits).ends_with(kTemporaryMark);
}

Status WriteFully(int fd, std::string_view path, const char* data,
                  int64_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::write(fd, data, static_cast<size_t>(bytes));
    if (n < 0) {
      if (errno == EINTR) continue;
      return FileError("write", path, errno);
    }
    data += n;
    bytes -= n;
  }
  return OkStatus();
}

Status RemoveTemporaries(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    if (!IsTemporaryName(name)) continue;
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    if (!fs::remove(path, error) && error) {
      return FileError("remove", path.string(), error.value());
    }
  }
  return OkStatus();
}

}  // namespace densenet
