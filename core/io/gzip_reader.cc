#include "core/io/gzip_reader.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <zlib.h>

#include <algorithm>

namespace densenet {
namespace {

constexpr int64_t kInputBytes = 1 << 16;
// zlib: 15 bits of window, + 16 for the gzip wrapping alone.
constexpr int kGzipWindowBits = 15 + 16;
// deflate cannot do better than 1032:1.
constexpr int64_t kMaxRatio = 1032;
constexpr int64_t kMaxCall = int64_t{1} << 30;  // zlib counts in uInt

}  // namespace

// zlib keeps a pointer to the stream, so it must not move.
struct GzipReader::Inflate {
  z_stream stream{};
  bool at_end = false;  // of the last member
};

GzipReader::GzipReader(RandomAccessFile file)
    : file_(std::move(file)), input_(kInputBytes) {}

GzipReader::~GzipReader() {
  if (inflate_ != nullptr) inflateEnd(&inflate_->stream);
}

StatusOr<std::unique_ptr<GzipReader>> GzipReader::Open(
    const std::string& path) {
  ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  return Open(std::move(file), Packing::kDetect);
}

StatusOr<std::unique_ptr<GzipReader>> GzipReader::Open(RandomAccessFile file,
                                                       Packing packing,
                                                       int64_t offset) {
  CHECK(offset == 0 || packing == Packing::kPlain);
  std::unique_ptr<GzipReader> reader(new GzipReader(std::move(file)));
  reader->file_offset_ = offset;
  if (packing == Packing::kDetect) {
    unsigned char magic[2] = {};
    if (reader->file_.size() >= 2) {
      RETURN_IF_ERROR(reader->file_.ReadAt(0, magic, 2));
    }
    const bool packed = magic[0] == 0x1f && magic[1] == 0x8b;
    packing = packed ? Packing::kGzip : Packing::kPlain;
  }
  if (packing == Packing::kGzip) {
    auto inflate = std::make_unique<Inflate>();
    if (inflateInit2(&inflate->stream, kGzipWindowBits) != Z_OK) {
      return ResourceExhausted(
          fmt::format("read {}: zlib has no memory", reader->path()));
    }
    reader->inflate_ = std::move(inflate);
  }
  return reader;
}

int64_t GzipReader::MaxUnpackedBytes() const {
  return compressed() ? file_.size() * kMaxRatio : file_.size();
}

Status GzipReader::Damaged(const std::string& what) const {
  const int64_t unread = compressed() ? inflate_->stream.avail_in : 0;
  return DataLoss(fmt::format("read {}: {} at byte {} of {}", path(), what,
                              file_offset_ - unread, file_.size()));
}

StatusOr<int64_t> GzipReader::Read(void* out, int64_t bytes) {
  int64_t done = 0;
  RETURN_IF_ERROR(ReadInto(static_cast<char*>(out), bytes, &done));
  return done;
}

StatusOr<int64_t> GzipReader::ReadUntilDamage(void* out, int64_t bytes) {
  RETURN_IF_ERROR(damage_);
  int64_t done = 0;
  damage_ = ReadInto(static_cast<char*>(out), bytes, &done);
  if (done == 0) RETURN_IF_ERROR(damage_);
  return done;
}

Status GzipReader::ReadInto(char* out, int64_t bytes, int64_t* done) {
  const Status status = [&] {
    if (compressed()) return Unpack(out, bytes, done);
    const int64_t n = std::min(bytes, file_.size() - file_offset_);
    RETURN_IF_ERROR(file_.ReadAt(file_offset_, out, n));
    file_offset_ += n;
    *done = n;
    return OkStatus();
  }();
  position_ += *done;
  return status;
}

Status GzipReader::FillInput() {
  z_stream& stream = inflate_->stream;
  if (stream.avail_in > 0) return OkStatus();
  const int64_t n = std::min(kInputBytes, file_.size() - file_offset_);
  RETURN_IF_ERROR(file_.ReadAt(file_offset_, input_.data(), n));
  file_offset_ += n;
  stream.next_in = input_.data();
  stream.avail_in = static_cast<uInt>(n);
  return OkStatus();
}

Status GzipReader::Unpack(char* out, int64_t bytes, int64_t* done) {
  z_stream& stream = inflate_->stream;
  while (*done < bytes && !inflate_->at_end) {
    RETURN_IF_ERROR(FillInput());
    if (stream.avail_in == 0) return Damaged("the gzip stream is cut");
    const uInt room = static_cast<uInt>(std::min(bytes - *done, kMaxCall));
    stream.next_out = reinterpret_cast<Bytef*>(out + *done);
    stream.avail_out = room;
    const int result = inflate(&stream, Z_NO_FLUSH);
    *done += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      RETURN_IF_ERROR(NextMember());
    } else if (result == Z_MEM_ERROR) {
      return ResourceExhausted(
          fmt::format("read {}: zlib has no memory", path()));
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Damaged(
          fmt::format("the gzip stream is damaged ({})",
                      stream.msg != nullptr ? stream.msg : "unknown reason"));
    }
  }
  return OkStatus();
}

Status GzipReader::NextMember() {
  z_stream& stream = inflate_->stream;
  bool padded = false;
  for (;;) {
    RETURN_IF_ERROR(FillInput());
    if (stream.avail_in == 0) {
      inflate_->at_end = true;
      return OkStatus();
    }
    if (*stream.next_in != 0) break;
    padded = true;
    ++stream.next_in;
    --stream.avail_in;
  }
  if (padded || *stream.next_in != 0x1f) {
    return Damaged("bytes that are not gzip follow the gzip stream");
  }
  CHECK_EQ(inflateReset(&stream), Z_OK);
  return OkStatus();
}

Status GzipReader::ReadFully(void* out, int64_t bytes) {
  const int64_t begin = position_;
  ASSIGN_OR_RETURN(const int64_t n, Read(out, bytes));
  if (n < bytes) {
    return DataLoss(fmt::format(
        "read {}: it ends after {}{} bytes, expected at least {}", path(),
        position_, compressed() ? " unpacked" : "", begin + bytes));
  }
  return OkStatus();
}

Status GzipReader::ExpectEnd() {
  char extra;
  const int64_t expected = position_;
  ASSIGN_OR_RETURN(const int64_t n, Read(&extra, 1));
  if (n > 0) {
    return DataLoss(
        fmt::format("read {}: it has more than the {}{} bytes expected", path(),
                    expected, compressed() ? " unpacked" : ""));
  }
  return OkStatus();
}

}  // namespace densenet
