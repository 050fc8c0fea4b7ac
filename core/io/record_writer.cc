#include "core/io/record_writer.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "core/io/crc32c.h"
#include "core/io/record_format.h"

namespace densenet {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr size_t kPackBytes = 1 << 14;
// zlib: 15 bits of window, + 16 for the gzip wrapping (without name or time).
constexpr int kGzipWindowBits = 15 + 16;
constexpr int kMemoryLevel = 8;        // zlib's default
constexpr size_t kMaxCall = 1u << 30;  // zlib counts in uInt

}  // namespace

// zlib keeps a pointer to the stream, so it must not move.
struct RecordWriter::Deflate {
  z_stream stream{};
  ~Deflate() { deflateEnd(&stream); }
};

RecordWriter::RecordWriter(AtomicFile file) : file_(std::move(file)) {}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

StatusOr<RecordWriter> RecordWriter::Create(const std::string& path,
                                            const Options& options) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RecordWriter writer(std::move(file));
  writer.buffer_.reserve(kBufferBytes);
  if (options.gzip) {
    writer.deflate_ = std::make_unique<Deflate>();
    if (deflateInit2(&writer.deflate_->stream, Z_DEFAULT_COMPRESSION,
                     Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      return ResourceExhausted(
          fmt::format("write {}: zlib has no memory", path));
    }
  }
  return writer;
}

Status RecordWriter::Append(std::string_view record) {
  RETURN_IF_ERROR(Write(RecordHeader(record)));
  RETURN_IF_ERROR(Write(record));
  RETURN_IF_ERROR(Write(RecordFooter(record)));
  ++records_;
  return OkStatus();
}

Status RecordWriter::Commit() {
  if (deflate_ != nullptr) RETURN_IF_ERROR(Pack({}, /*finish=*/true));
  RETURN_IF_ERROR(Flush());
  return file_.Commit();
}

Status RecordWriter::Write(std::string_view bytes) {
  return deflate_ != nullptr ? Pack(bytes, /*finish=*/false) : Store(bytes);
}

Status RecordWriter::Pack(std::string_view bytes, bool finish) {
  z_stream& stream = deflate_->stream;
  char packed[kPackBytes];
  do {
    const size_t part = std::min(bytes.size(), kMaxCall);
    // zlib does not write through its pointer to non-const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(part);
    bytes.remove_prefix(part);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(packed);
      stream.avail_out = kPackBytes;
      const int result = deflate(&stream, finish ? Z_FINISH : Z_NO_FLUSH);
      CHECK_NE(result, Z_STREAM_ERROR);
      RETURN_IF_ERROR(Store({packed, kPackBytes - stream.avail_out}));
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
  return OkStatus();
}

Status RecordWriter::Store(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    RETURN_IF_ERROR(Flush());
    if (bytes.size() >= kBufferBytes) {
      crc32c_ = ExtendCrc32c(crc32c_, bytes.data(),
                             static_cast<int64_t>(bytes.size()));
      return file_.Append(bytes);
    }
  }
  buffer_.append(bytes);
  return OkStatus();
}

Status RecordWriter::Flush() {
  crc32c_ = ExtendCrc32c(crc32c_, buffer_.data(),
                         static_cast<int64_t>(buffer_.size()));
  const Status status = file_.Append(buffer_);
  buffer_.clear();
  return status;
}

}  // namespace densenet
