#include "core/io/record_format.h"

#include <gtest/gtest.h>

#include "tests/support/gzip.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::RandomBytes;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecord;
using ::densenet::testing::TfRecordHeader;

TEST(RecordFormatTest, HeaderAndFooterAreTheNaiveOnes) {
  for (size_t size : {0, 1, 7, 8, 255, 256, 70000}) {
    const std::string data = RandomBytes(size, size);
    const std::string record = TfRecord(data);
    EXPECT_EQ(RecordHeader(data), record.substr(0, 12)) << size;
    EXPECT_EQ(RecordFooter(data), record.substr(12 + size)) << size;
    EXPECT_EQ(ParseRecordHeader(record.data()), static_cast<int64_t>(size));
    EXPECT_TRUE(RecordFooterMatches(data, record.data() + 12 + size));
  }
}

TEST(RecordFormatTest, EveryFlippedBitOfAHeaderIsSeen) {
  const std::string header = TfRecordHeader(300);
  for (size_t bit = 0; bit < 8 * header.size(); ++bit) {
    std::string damaged = header;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(ParseRecordHeader(damaged.data())) << bit;
  }
}

TEST(RecordFormatTest, ALengthBeyondInt64IsNone) {
  EXPECT_FALSE(ParseRecordHeader(TfRecordHeader(~uint64_t{0}).data()));
  EXPECT_FALSE(ParseRecordHeader(TfRecordHeader(uint64_t{1} << 63).data()));
  EXPECT_TRUE(
      ParseRecordHeader(TfRecordHeader((uint64_t{1} << 63) - 1).data()));
}

TEST(RecordFormatTest, ARecordThatBeginsAsGzipDoesIsPlain) {
  TempDir dir;
  const auto is_gzip = [&](const std::string& bytes) {
    StatusOr<RandomAccessFile> file =
        RandomAccessFile::Open(dir.Write("x", bytes));
    EXPECT_OK(file);
    StatusOr<bool> packed = IsGzipRecordFile(*file);
    EXPECT_OK(packed);
    return packed.ok() && *packed;
  };
  // The two bytes of gzip, read as a length.
  const std::string plain = TfRecord(std::string(0x8b1f, 'x'));
  EXPECT_EQ(plain.substr(0, 2), "\x1f\x8b");
  EXPECT_FALSE(is_gzip(plain));
  EXPECT_TRUE(is_gzip(testing::Gzip(plain)));
  EXPECT_TRUE(is_gzip("\x1f\x8b"));
  EXPECT_FALSE(is_gzip(""));
  EXPECT_FALSE(is_gzip("\x1f"));
  EXPECT_FALSE(is_gzip(TfRecord("a")));
}

TEST(RecordFormatTest, AFaultSaysWhatAndWhere) {
  const RecordFault fault = {.kind = RecordFaultKind::kDataChecksum,
                             .path = "a/b",
                             .record = 3,
                             .offset = 99,
                             .detail = "why"};
  EXPECT_EQ(fault.ToString(), "a/b: record 3, byte 99: data checksum: why");
  EXPECT_EQ(fault.ToStatus().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace densenet
