// core/io/tar_reader.h
//
// Unpacks a tar archive, plain or gzip, with suspicion: regular files and
// folders alone, nothing above or outside the folder it unpacks to, no more
// bytes than expected. Reads the formats ustar, GNU and pax as far as names of
// 255 bytes and sizes of 8 GiB go.
//
// Memory    256 KiB
// Errors    InvalidArgument  no tar archive; a link, device, absolute path or
//                            ".." in it; more bytes than max_bytes
//           DataLoss         cut or damaged
//           others           a file cannot be written
//           Messages name the archive and the entry.
// Threads   one at a time

#ifndef DENSENET_CORE_IO_TAR_READER_H_
#define DENSENET_CORE_IO_TAR_READER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/io/gzip_reader.h"
#include "core/status.h"

namespace densenet {

struct TarEntry {
  std::string path;  // relative, without "." and ".."
  bool is_folder = false;
  int64_t bytes = 0;
};

class TarReader {
 public:
  static StatusOr<TarReader> Open(const std::string& path);

  // The next entry, or nothing at the end. What is left of the last one's
  // bytes is passed over.
  StatusOr<std::optional<TarEntry>> Next();
  // The next bytes of the entry, at most `bytes`; 0 at its end.
  StatusOr<int64_t> Read(void* out, int64_t bytes);

 private:
  explicit TarReader(std::unique_ptr<GzipReader> reader)
      : reader_(std::move(reader)) {}
  Status PassOver(int64_t bytes);
  StatusOr<TarEntry> ParseEntry(const std::array<char, 512>& block) const;
  // A header with more about the next entry.
  Status CheckPax(int64_t bytes);
  Status Refuse(const std::string& what) const;

  std::unique_ptr<GzipReader> reader_;
  int64_t left_ = 0;     // of the entry
  int64_t padding_ = 0;  // after it
};

// Unpacks `archive` into `folder`, which exists. Each file is written under a
// temporary name first. Returns the paths of the files below `folder`.
StatusOr<std::vector<std::string>> UnpackTar(const std::string& archive,
                                             const std::string& folder,
                                             int64_t max_bytes);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_TAR_READER_H_
