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
  enum class Packing { kDetect, kPlain, kGzip };

  static StatusOr<std::unique_ptr<GzipReader>> Open(const std::string& path);
  // From byte `offset`, which is 0 but for kPlain.
  static StatusOr<std::unique_ptr<GzipReader>> Open(RandomAccessFile file,
                                                    Packing packing,
                                                    int64_t offset = 0);
  ~GzipReader();

  const std::string& path() const { return file_.path(); }
  // Of the file as it is.
  int64_t file_bytes() const { return file_.size(); }
  bool compressed() const { return inflate_ != nullptr; }
  // Unpacked bytes handed out so far.
  int64_t position() const { return position_; }
  // The most bytes the file can unpack to: guards an allocation of a size
  // that the file itself claims.
  int64_t MaxUnpackedBytes() const;

  // Fills `out` and returns how many bytes it got; fewer only at the end.
  StatusOr<int64_t> Read(void* out, int64_t bytes);
  // As Read(), but what was unpacked before a damage is handed out first; the
  // next call then reports it. 0 only at the end.
  StatusOr<int64_t> ReadUntilDamage(void* out, int64_t bytes);
  // Errors  DataLoss  the file ends before `bytes`
  Status ReadFully(void* out, int64_t bytes);
  // Errors  DataLoss  there are more bytes
  Status ExpectEnd();

 private:
  struct Inflate;

  explicit GzipReader(RandomAccessFile file);
  // Adds to `done` what `out` got, also before an error.
  Status ReadInto(char* out, int64_t bytes, int64_t* done);
  Status FillInput();
  Status Unpack(char* out, int64_t bytes, int64_t* done);
  // Looks past the end of a gzip member.
  Status NextMember();
  Status Damaged(const std::string& what) const;

  RandomAccessFile file_;
  int64_t file_offset_ = 0;  // where FillInput() reads next
  int64_t position_ = 0;
  std::vector<unsigned char> input_;
  std::unique_ptr<Inflate> inflate_;
  Status damage_;  // kept by ReadUntilDamage()
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_GZIP_READER_H_
