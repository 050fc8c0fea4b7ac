#include "core/io/record_format.h"

#include <fmt/format.h>

#include <limits>

#include "core/io/crc32c.h"

namespace densenet {
namespace {

constexpr int64_t kLengthBytes = 8;

uint32_t LoadLittle32(const char* p) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(p[i]);
  return value;
}

uint64_t LoadLittle64(const char* p) {
  return uint64_t{LoadLittle32(p + 4)} << 32 | LoadLittle32(p);
}

void AppendLittle32(uint32_t value, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(value >> 8 * i));
}

uint32_t MaskedCrc(const char* data, int64_t bytes) {
  return MaskCrc(ExtendCrc32c(0, data, bytes));
}

}  // namespace

uint32_t MaskCrc(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string RecordHeader(std::string_view data) {
  const uint64_t length = data.size();
  std::string header;
  header.reserve(kRecordHeaderBytes);
  AppendLittle32(static_cast<uint32_t>(length), &header);
  AppendLittle32(static_cast<uint32_t>(length >> 32), &header);
  AppendLittle32(MaskedCrc(header.data(), kLengthBytes), &header);
  return header;
}

std::string RecordFooter(std::string_view data) {
  std::string footer;
  AppendLittle32(MaskedCrc(data.data(), static_cast<int64_t>(data.size())),
                 &footer);
  return footer;
}

std::optional<int64_t> ParseRecordHeader(const char* header) {
  if (MaskedCrc(header, kLengthBytes) != LoadLittle32(header + kLengthBytes)) {
    return std::nullopt;
  }
  const uint64_t length = LoadLittle64(header);
  if (length > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return std::nullopt;
  }
  return static_cast<int64_t>(length);
}

bool RecordFooterMatches(std::string_view data, const char* footer) {
  return MaskedCrc(data.data(), static_cast<int64_t>(data.size())) ==
         LoadLittle32(footer);
}

std::string_view Name(RecordFaultKind kind) {
  switch (kind) {
    case RecordFaultKind::kCutHeader:
      return "cut header";
    case RecordFaultKind::kLengthChecksum:
      return "length checksum";
    case RecordFaultKind::kTooLong:
      return "too long";
    case RecordFaultKind::kCutData:
      return "cut data";
    case RecordFaultKind::kDataChecksum:
      return "data checksum";
    case RecordFaultKind::kGzip:
      return "gzip stream";
    case RecordFaultKind::kSearchGivenUp:
      return "search given up";
  }
  return "unknown";
}

std::string RecordFault::ToString() const {
  return fmt::format("{}: record {}, byte {}: {}: {}", path, record, offset,
                     Name(kind), detail);
}

StatusOr<bool> IsGzipRecordFile(const RandomAccessFile& file) {
  char begin[kRecordHeaderBytes] = {};
  if (file.size() >= kRecordHeaderBytes) {
    RETURN_IF_ERROR(file.ReadAt(0, begin, kRecordHeaderBytes));
    if (ParseRecordHeader(begin)) return false;
  } else if (file.size() >= 2) {
    RETURN_IF_ERROR(file.ReadAt(0, begin, 2));
  }
  return begin[0] == '\x1f' && begin[1] == '\x8b';
}

}  // namespace densenet
