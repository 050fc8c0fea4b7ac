// core/io/record_writer.h
//
// Writes a TFRecord file (core/io/record_format.h), plain or packed by gzip,
// under a temporary name, and gives it its name when it is complete.
//
//   ASSIGN_OR_RETURN(RecordWriter writer, RecordWriter::Create(path));
//   RETURN_IF_ERROR(writer.Append(record));
//   return writer.Commit();
//
// Memory    64 KiB, 256 KiB more for gzip
// Errors    those of AtomicFile (core/io/file.h)
// Numerics  the same records give the same bytes, also packed
// Threads   one at a time

#ifndef DENSENET_CORE_IO_RECORD_WRITER_H_
#define DENSENET_CORE_IO_RECORD_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/io/file.h"
#include "core/status.h"

namespace densenet {

class RecordWriter {
 public:
  struct Options {
    bool gzip = false;
  };
  static StatusOr<RecordWriter> Create(const std::string& path,
                                       const Options& options);
  static StatusOr<RecordWriter> Create(const std::string& path) {
    return Create(path, Options());
  }
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) = delete;
  ~RecordWriter();

  const std::string& path() const { return file_.path(); }
  int64_t records() const { return records_; }

  Status Append(std::string_view record);
  // Nothing may follow but bytes() and crc32c().
  Status Commit();

  // Of the file, once it is committed.
  int64_t bytes() const { return file_.size(); }
  uint32_t crc32c() const { return crc32c_; }

 private:
  struct Deflate;

  explicit RecordWriter(AtomicFile file);
  Status Write(std::string_view bytes);
  Status Pack(std::string_view bytes, bool finish);
  Status Store(std::string_view bytes);
  Status Flush();

  AtomicFile file_;
  std::unique_ptr<Deflate> deflate_;  // with gzip
  std::string buffer_;
  int64_t records_ = 0;
  uint32_t crc32c_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_RECORD_WRITER_H_
