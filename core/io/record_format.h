// core/io/record_format.h
//
// TFRecord files, as TensorFlow writes them: records one after the other, each
//
//   uint64  length            little endian
//   uint32  of the length     masked CRC-32C
//   bytes   data              `length` of them
//   uint32  of the data       masked CRC-32C
//
// either plain or the whole of it packed by gzip. There is no header, no count
// and no end: a file cut between two records is a whole one with fewer.
//
// What can be wrong with a record is a RecordFault.
//
// Threads   safe

#ifndef DENSENET_CORE_IO_RECORD_FORMAT_H_
#define DENSENET_CORE_IO_RECORD_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/io/file.h"
#include "core/status.h"

namespace densenet {

inline constexpr int64_t kRecordHeaderBytes = 12;
inline constexpr int64_t kRecordFooterBytes = 4;
// A record that claims more is damaged unless the caller knows better.
inline constexpr int64_t kDefaultMaxRecordBytes = int64_t{1} << 30;

// The checksum as records store it: a CRC of data that hold their own CRC is
// weak, so it is rotated and moved.
uint32_t MaskCrc(uint32_t crc);

// The 12 bytes before `data`, and the 4 after it.
std::string RecordHeader(std::string_view data);
std::string RecordFooter(std::string_view data);

// The length in a header of 12 bytes; nothing when its checksum is another or
// the length has no int64_t.
std::optional<int64_t> ParseRecordHeader(const char* header);
// Whether the 4 bytes at `footer` are the checksum of `data`.
bool RecordFooterMatches(std::string_view data, const char* footer);

enum class RecordFaultKind {
  kCutHeader,       // the file ends inside the 12 bytes
  kLengthChecksum,  // of a damaged length, or something that is no record
  kTooLong,         // longer than the caller takes
  kCutData,         // the file ends inside the data or its checksum
  kDataChecksum,
  kGzip,           // the gzip stream is damaged or cut
  kSearchGivenUp,  // too much looked like records (core/io/record_reader.h)
};

// "cut header", "length checksum", "too long", "cut data", "data checksum",
// "gzip stream", "search given up".
std::string_view Name(RecordFaultKind kind);

struct RecordFault {
  RecordFaultKind kind = RecordFaultKind::kCutHeader;
  std::string path = "";
  // From 0: the whole records and the damaged ones before it. What was lost
  // where no record could be made out counts as one.
  int64_t record = 0;
  // Where the record begins; of a gzip file, in what it unpacks to.
  int64_t offset = 0;
  std::string detail;  // "it says 7340033 bytes, the file has 120 more"

  // "PATH: record 3, byte 4096: data checksum: <detail>"
  std::string ToString() const;
  Status ToStatus() const { return DataLoss(ToString()); }
};

// Whether the file is packed: it begins as gzip does and not as a record does
// (a record of 35,615 bytes begins with the same two bytes).
StatusOr<bool> IsGzipRecordFile(const RandomAccessFile& file);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_RECORD_FORMAT_H_
