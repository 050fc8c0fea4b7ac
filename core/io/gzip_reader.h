// core/io/gzip_reader.h
//
// Reads a file from its start to its end: as it is, or unpacked when it begins
// with the magic bytes of gzip. Several gzip members one after the other are
// one text; zeros after the last are padding.
//
// Memory    64 KiB of compressed bytes and zlib's window
// Errors    NotFound, ...  from opening the file
//           DataLoss       damaged or cut; names the file and the byte
// Threads   one at a time

#ifndef DENSENET_CORE_IO_GZIP_READER_H_
#define DENSENET_CORE_IO_GZIP_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/io/file.h"
#include "core/status.h"

namespace densenet {

class GzipReader {
 public:
  static StatusOr<std::unique_ptr<GzipReader>> Open(const std::string& path);
  ~GzipReader();

  const std::string& path() const { return file_.path(); }
  bool compressed() const { return inflate_ != nullptr; }
  // Unpacked bytes handed out so far.
  int64_t position() const { return position_; }
  // The most bytes the file can unpack to: guards an allocation of a size
  // that the file itself claims.
  int64_t MaxUnpackedBytes() const;

  // Fills `out` and returns how many bytes it got; fewer only at the end.
  StatusOr<int64_t> Read(void* out, int64_t bytes);
  // Errors  DataLoss  the file ends before `bytes`
  Status ReadFully(void* out, int64_t bytes);
  // Errors  DataLoss  there are more bytes
  Status ExpectEnd();

 private:
  struct Inflate;

  explicit GzipReader(RandomAccessFile file);
  Status FillInput();
  StatusOr<int64_t> ReadPlain(void* out, int64_t bytes);
  StatusOr<int64_t> ReadGzip(void* out, int64_t bytes);
  // Looks past the end of a gzip member.
  Status NextMember();
  Status Damaged(const std::string& what) const;

  RandomAccessFile file_;
  int64_t file_offset_ = 0;  // where FillInput() reads next
  int64_t position_ = 0;
  std::vector<unsigned char> input_;
  std::unique_ptr<Inflate> inflate_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_GZIP_READER_H_
