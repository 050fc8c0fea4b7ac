#include "core/io/mat_stretch.h"

#include <fmt/format.h>

#include <algorithm>

namespace densenet {
namespace {

constexpr int64_t kBufferBytes = 1 << 16;

}  // namespace

MatStretch::~MatStretch() {
  if (inflating_) inflateEnd(&stream_);
}

Status MatStretch::StartInflating() {
  input_.resize(kBufferBytes);
  if (inflateInit(&stream_) != Z_OK) {
    return ResourceExhausted(
        fmt::format("read {}: zlib has no memory", file_.path()));
  }
  inflating_ = true;
  return OkStatus();
}

Status MatStretch::Read(void* out, int64_t bytes) {
  if (inflating_) return Inflate(static_cast<unsigned char*>(out), bytes);
  if (bytes > end_ - at_) return Damaged("it ends too early");
  RETURN_IF_ERROR(file_.ReadAt(at_, out, bytes));
  at_ += bytes;
  return OkStatus();
}

Status MatStretch::Skip(int64_t bytes) {
  if (!inflating_) {
    if (bytes > end_ - at_) return Damaged("it ends too early");
    at_ += bytes;
    return OkStatus();
  }
  std::vector<unsigned char> scratch(
      static_cast<size_t>(std::min(bytes, kBufferBytes)));
  for (int64_t n; bytes > 0; bytes -= n) {
    n = std::min(bytes, kBufferBytes);
    RETURN_IF_ERROR(Inflate(scratch.data(), n));
  }
  return OkStatus();
}

Status MatStretch::ExpectEnd() {
  if (!inflating_) {
    return at_ == end_ ? OkStatus() : Damaged("it is longer than its parts");
  }
  unsigned char extra;
  stream_.next_out = &extra;
  stream_.avail_out = 1;
  int result = ended_ ? Z_STREAM_END : Z_OK;
  while (result == Z_OK && stream_.avail_out == 1) {
    RETURN_IF_ERROR(FillInput());
    result = inflate(&stream_, Z_NO_FLUSH);
  }
  if (stream_.avail_out == 0) return Damaged("it is longer than its parts");
  if (result != Z_STREAM_END) return DamagedStream(result);
  if (stream_.avail_in > 0 || at_ < end_) {
    return Damaged("bytes follow its compressed data");
  }
  return OkStatus();
}

Status MatStretch::Damaged(std::string_view what) const {
  return DataLoss(fmt::format("{} is damaged near byte {}: {}", file_.path(),
                              at_ - stream_.avail_in, what));
}

Status MatStretch::FillInput() {
  if (stream_.avail_in > 0 || at_ == end_) return OkStatus();
  const int64_t n = std::min(kBufferBytes, end_ - at_);
  RETURN_IF_ERROR(file_.ReadAt(at_, input_.data(), n));
  at_ += n;
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<uInt>(n);
  return OkStatus();
}

Status MatStretch::Inflate(unsigned char* out, int64_t bytes) {
  stream_.next_out = out;
  stream_.avail_out = static_cast<uInt>(bytes);
  while (stream_.avail_out > 0) {
    RETURN_IF_ERROR(FillInput());
    if (ended_ || stream_.avail_in == 0) {
      return Damaged("its compressed data end too early");
    }
    const int result = inflate(&stream_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    if (ended_ && stream_.avail_out > 0) return Damaged("it ends too early");
    if (ended_) break;
    if (result != Z_OK) return DamagedStream(result);
  }
  return OkStatus();
}

Status MatStretch::DamagedStream(int result) const {
  if (result == Z_OK || result == Z_BUF_ERROR) {
    return Damaged("its compressed data end too early");
  }
  return Damaged(
      fmt::format("its compressed data are damaged ({})",
                  stream_.msg != nullptr ? stream_.msg : zError(result)));
}

}  // namespace densenet
