#include "core/io/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/gzip.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::Little;
using ::densenet::testing::NaiveMaskedCrc32c;
using ::densenet::testing::RandomBytes;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecord;
using ::densenet::testing::TfRecordFile;
using ::densenet::testing::TfRecordHeader;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Kind = RecordFaultKind;

// All that a reader finds in a file: whole records and faults.
struct Content {
  std::vector<std::string> records;
  std::vector<RecordFault> faults;
  int64_t dropped_bytes = 0;

  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const RecordFault& fault : faults) kinds.push_back(fault.kind);
    return kinds;
  }
};

Content ReadAll(const std::string& path,
                const RecordReader::Options& options = {}) {
  Content content;
  StatusOr<std::unique_ptr<RecordReader>> opened =
      RecordReader::Open(path, options);
  EXPECT_OK(opened);
  if (!opened.ok()) return content;
  RecordReader& reader = **opened;
  for (int64_t number = 0;; ++number) {
    StatusOr<std::optional<std::string_view>> record = reader.Next();
    if (record.ok() && !*record) break;
    EXPECT_EQ(record.ok(), !reader.fault());
    EXPECT_EQ(reader.record(), number);
    if (record.ok()) {
      content.records.emplace_back(**record);
    } else if (reader.fault()) {
      EXPECT_THAT(record,
                  Fails(StatusCode::kDataLoss, {reader.fault()->ToString()}));
      EXPECT_EQ(reader.fault()->path, path);
      EXPECT_EQ(reader.fault()->record, number);
      EXPECT_EQ(reader.fault()->offset, reader.offset());
      content.faults.push_back(*reader.fault());
    } else {
      ADD_FAILURE() << record.status();
      break;
    }
  }
  content.dropped_bytes = reader.dropped_bytes();
  return content;
}

// Every test of this fixture reads the same bytes plain and packed.
class RecordReaderTest : public ::testing::TestWithParam<bool> {
 protected:
  bool packed() const { return GetParam(); }
  std::string Write(const std::string& bytes) const {
    return dir_.Write("x", packed() ? Gzip(bytes) : bytes);
  }
  Content Read(const std::string& bytes) const { return ReadAll(Write(bytes)); }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(PlainAndGzip, RecordReaderTest, ::testing::Bool(),
                         [](const auto& param) {
                           return param.param ? "gzip" : "plain";
                         });

TEST_P(RecordReaderTest, ReadsWhatIsThere) {
  // Shorter and longer than the buffer, and many.
  std::vector<std::string> records = {"", "a", RandomBytes(1000, 1),
                                      RandomBytes(3'000'000, 2), ""};
  for (uint64_t i = 0; i < 2000; ++i) {
    records.push_back(RandomBytes(i * 7 % 1500, i));
  }
  const Content content = Read(TfRecordFile(records));
  EXPECT_TRUE(content.records == records);
  EXPECT_THAT(content.faults, IsEmpty());
  EXPECT_EQ(content.dropped_bytes, 0);
}

TEST_P(RecordReaderTest, AnEmptyFileHasNoRecords) {
  const Content content = Read("");
  EXPECT_THAT(content.records, IsEmpty());
  EXPECT_THAT(content.faults, IsEmpty());
}

TEST_P(RecordReaderTest, SaysWhereARecordBegins) {
  StatusOr<std::unique_ptr<RecordReader>> reader =
      RecordReader::Open(Write(TfRecordFile({"abc", "", "de"})));
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->compressed(), packed());
  for (const int64_t offset : {0, 19, 35}) {
    ASSERT_OK((*reader)->Next());
    EXPECT_EQ((*reader)->offset(), offset);
  }
}

TEST_P(RecordReaderTest, ADamagedRecordIsPassedOver) {
  const std::vector<std::string> records = {"first", RandomBytes(500, 1),
                                            "third", "fourth"};
  std::string bytes = TfRecordFile(records);
  const size_t second = TfRecord(records[0]).size();
  bytes[second + 100] ^= 1;
  const Content content = Read(bytes);
  EXPECT_THAT(content.records, ElementsAre("first", "third", "fourth"));
  ASSERT_THAT(content.kinds(), ElementsAre(Kind::kDataChecksum));
  EXPECT_EQ(content.faults[0].record, 1);
  EXPECT_EQ(content.faults[0].offset, static_cast<int64_t>(second));
  EXPECT_EQ(content.dropped_bytes, 516);
}

TEST_P(RecordReaderTest, ADamagedLengthIsSearchedBeyond) {
  const std::vector<std::string> records = {"first", RandomBytes(2'000'000, 1),
                                            "third", RandomBytes(700'000, 2)};
  const size_t second = TfRecord(records[0]).size();
  for (size_t byte : {0, 1, 7, 8, 11}) {
    std::string bytes = TfRecordFile(records);
    bytes[second + byte] ^= 4;
    const Content content = Read(bytes);
    ASSERT_EQ(content.records.size(), 3u) << byte;
    EXPECT_EQ(content.records[1], "third");
    EXPECT_TRUE(content.records[2] == records[3]);
    ASSERT_THAT(content.kinds(), ElementsAre(Kind::kLengthChecksum)) << byte;
    EXPECT_EQ(content.faults[0].offset, static_cast<int64_t>(second));
    EXPECT_EQ(content.dropped_bytes, 2'000'016);
  }
}

TEST_P(RecordReaderTest, BytesLostWithinARecordCostItAlone) {
  const std::string third = RandomBytes(400, 2);
  const std::vector<std::string> records = {"first", RandomBytes(5000, 1),
                                            third, "fourth"};
  std::string bytes = TfRecordFile(records);
  bytes.erase(TfRecord(records[0]).size() + 1000, 300);
  const Content content = Read(bytes);
  EXPECT_THAT(content.records, ElementsAre("first", third, "fourth"));
  EXPECT_THAT(content.kinds(), ElementsAre(Kind::kDataChecksum));
}

TEST_P(RecordReaderTest, ForeignBytesBetweenRecordsAreOneFault) {
  const std::string bytes =
      TfRecord("one") + std::string(100'000, 'x') + TfRecord("two");
  const Content content = Read(bytes);
  EXPECT_THAT(content.records, ElementsAre("one", "two"));
  EXPECT_THAT(content.kinds(), ElementsAre(Kind::kLengthChecksum));
  EXPECT_EQ(content.dropped_bytes, 100'000);
}

TEST_P(RecordReaderTest, ACutFileSaysWhereItIsCut) {
  const std::vector<std::string> records = {"first", "second!", "third"};
  const std::string bytes = TfRecordFile(records);
  const size_t third = bytes.size() - TfRecord("third").size();
  for (size_t size = third; size < bytes.size(); ++size) {
    const Content content = Read(bytes.substr(0, size));
    EXPECT_THAT(content.records, ElementsAre("first", "second!"));
    if (size == third) {
      // Between two records: only a manifest can tell.
      EXPECT_THAT(content.kinds(), IsEmpty());
      continue;
    }
    EXPECT_THAT(
        content.kinds(),
        ElementsAre(size < third + 12 ? Kind::kCutHeader : Kind::kCutData))
        << size;
    EXPECT_EQ(content.faults[0].offset, static_cast<int64_t>(third));
    EXPECT_EQ(content.faults[0].record, 2);
    EXPECT_EQ(content.dropped_bytes, static_cast<int64_t>(size - third));
  }
}

TEST_P(RecordReaderTest, AHugeLengthTakesNoMemory) {
  // With the right checksum, as an attacker would.
  for (const uint64_t length :
       {uint64_t{1} << 20, uint64_t{1} << 40, (uint64_t{1} << 63) - 1}) {
    const std::string bytes =
        TfRecord("one") + TfRecordHeader(length) + TfRecord("two");
    const Content content = Read(bytes);
    EXPECT_THAT(content.records, ElementsAre("one", "two")) << length;
    EXPECT_EQ(content.faults.size(), 1u);
    EXPECT_THAT(content.faults[0].ToString(),
                HasSubstr(std::to_string(length)));
  }
}

TEST_P(RecordReaderTest, RecordsBeyondTheBoundAreFaults) {
  const std::vector<std::string> records = {"small", RandomBytes(1001, 1),
                                            std::string(1000, 'x'),
                                            RandomBytes(2'000'000, 1), "last"};
  const Content content =
      ReadAll(Write(TfRecordFile(records)), {.max_record_bytes = 1000});
  EXPECT_THAT(content.records,
              ElementsAre("small", std::string(1000, 'x'), "last"));
  EXPECT_THAT(content.kinds(), ElementsAre(Kind::kTooLong, Kind::kTooLong));
  EXPECT_THAT(content.faults[0].detail, HasSubstr("at most 1000"));
}

TEST_P(RecordReaderTest, WhatIsNoRecordFileIsOneFault) {
  for (const std::string& text :
       {std::string("plain text that is no record at all"),
        std::string(100, '\0'), RandomBytes(1'000'000, 3)}) {
    const Content content = Read(text);
    EXPECT_THAT(content.records, IsEmpty());
    EXPECT_THAT(content.kinds(), ElementsAre(Kind::kLengthChecksum));
    EXPECT_EQ(content.dropped_bytes, static_cast<int64_t>(text.size()));
  }
}

TEST_P(RecordReaderTest, AFileOfNothingButHeadersEndsSoon) {
  // Each promises what is left of the file: comparing every one would take the
  // square of the size.
  constexpr int64_t kHeaders = 200'000;
  std::string bytes;
  for (int64_t i = kHeaders; i > 0; --i) {
    bytes += Little(12 * i, 8);
    bytes += Little(NaiveMaskedCrc32c(bytes.substr(bytes.size() - 8)), 4);
  }
  bytes += std::string(64, 'x');
  const Content content = Read(bytes);
  EXPECT_THAT(content.records, IsEmpty());
  ASSERT_FALSE(content.faults.empty());
  EXPECT_EQ(content.kinds().back(), Kind::kSearchGivenUp);
}

TEST_P(RecordReaderTest, WholeRecordsCostTheSearchNothing) {
  // Every other record is found by a search: more bytes than the bound.
  std::string bytes;
  for (uint64_t i = 0; i < 20; ++i) {
    bytes += "junk between" + TfRecord(RandomBytes(1000, i));
  }
  const Content content = ReadAll(Write(bytes), {.max_searched_bytes = 1500});
  EXPECT_EQ(content.records.size(), 20u);
  EXPECT_EQ(content.faults.size(), 20u);
}

TEST_P(RecordReaderTest, ASearchGivenUpSaysSo) {
  // Two that look like records and are none, then a whole one.
  std::string torn = TfRecord(RandomBytes(1000, 1));
  torn.back() ^= 1;
  const std::string bytes =
      TfRecord("one") + "junk between" + torn + torn + TfRecord("two");
  const Content all = ReadAll(Write(bytes), {.max_searched_bytes = 2000});
  EXPECT_THAT(all.records, ElementsAre("one", "two"));
  EXPECT_THAT(all.kinds(), ElementsAre(Kind::kLengthChecksum));
  const Content some = ReadAll(Write(bytes), {.max_searched_bytes = 1999});
  EXPECT_THAT(some.records, ElementsAre("one"));
  ASSERT_THAT(some.kinds(),
              ElementsAre(Kind::kLengthChecksum, Kind::kSearchGivenUp));
  EXPECT_THAT(some.faults[1].ToString(),
              HasSubstr("search given up: more than 1999 bytes"));
  EXPECT_EQ(some.faults[1].offset, 19 + 12 + 1016 + 12);
  EXPECT_EQ(some.dropped_bytes, static_cast<int64_t>(bytes.size()) - 19);
}

TEST(RecordReaderGzipTest, ACutStreamGivesWhatCameBefore) {
  TempDir dir;
  std::vector<std::string> records;
  for (uint64_t i = 0; i < 200; ++i) records.push_back(RandomBytes(5000, i));
  const std::string packed = Gzip(TfRecordFile(records));
  for (const size_t keep : {packed.size() / 2, packed.size() - 1}) {
    const std::string path = dir.Write("x", packed.substr(0, keep));
    const Content content = ReadAll(path);
    EXPECT_GE(content.records.size(), keep == packed.size() / 2 ? 90u : 200u);
    for (size_t i = 0; i < content.records.size(); ++i) {
      EXPECT_TRUE(content.records[i] == records[i]) << i;
    }
    ASSERT_THAT(content.kinds(), ElementsAre(Kind::kGzip));
    EXPECT_THAT(content.faults[0].ToString(), HasSubstr("cut"));
  }
}

TEST(RecordReaderGzipTest, EveryDamagedBitIsFoundOrHarmless) {
  TempDir dir;
  const std::vector<std::string> records = {"", "ab", std::string(99, 'x')};
  const std::string packed = Gzip(TfRecordFile(records));
  const std::string path = dir.Write("x", packed);
  int64_t found = 0;
  // What follows the 10 bytes of gzip's header. A few bits of a deflate stream
  // mean nothing: those that fill its last byte, codes that are not used.
  for (size_t bit = 80; bit < 8 * packed.size(); ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    dir.Overwrite(path, damaged);
    const Content content = ReadAll(path);
    EXPECT_TRUE(!content.faults.empty() || content.records == records) << bit;
    found += !content.faults.empty();
  }
  EXPECT_GT(found, static_cast<int64_t>(8 * packed.size() * 9 / 10 - 80));
}

TEST(RecordReaderGzipTest, MembersAreOneFile) {
  TempDir dir;
  const std::string bytes = TfRecordFile({"one", "two", "three"});
  const std::string path = dir.Write(
      "x", Gzip(bytes.substr(0, 25)) + Gzip("") + Gzip(bytes.substr(25)));
  EXPECT_THAT(ReadAll(path).records, ElementsAre("one", "two", "three"));
}

TEST(RecordReaderPlainTest, BeginsWhereItIsTold) {
  TempDir dir;
  const std::string bytes = TfRecordFile({"one", "two", "three"});
  const std::string path = dir.Write("x", bytes);
  EXPECT_THAT(ReadAll(path, {.offset = 19}).records,
              ElementsAre("two", "three"));
  StatusOr<std::unique_ptr<RecordReader>> reader =
      RecordReader::Open(path, {.offset = 19});
  ASSERT_OK(reader);
  ASSERT_OK((*reader)->Next());
  EXPECT_EQ((*reader)->offset(), 19);
  EXPECT_THAT(
      ReadAll(path, {.offset = static_cast<int64_t>(bytes.size())}).records,
      IsEmpty());
  EXPECT_THAT(RecordReader::Open(path, {.offset = 1000}),
              Fails(StatusCode::kInvalidArgument, {path, "1000"}));
  const std::string packed = dir.Write("z", Gzip(bytes));
  EXPECT_THAT(RecordReader::Open(packed, {.offset = 19}),
              Fails(StatusCode::kInvalidArgument, {packed, "gzip"}));
}

TEST(RecordReaderPlainTest, EveryFlippedBitIsFound) {
  TempDir dir;
  const std::vector<std::string> records = {"", "ab", RandomBytes(20, 1)};
  const std::string bytes = TfRecordFile(records);
  const std::string path = dir.Write("x", bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    dir.Overwrite(path, damaged);
    const Content content = ReadAll(path);
    EXPECT_EQ(content.faults.size(), 1u) << bit;
    EXPECT_EQ(content.records.size(), 2u) << bit;
  }
}

TEST(RecordReaderPlainTest, OpeningFailsClearly) {
  TempDir dir;
  EXPECT_THAT(RecordReader::Open(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone"}));
  EXPECT_THAT(RecordReader::Open(dir.path()),
              Fails(StatusCode::kInvalidArgument, {"folder"}));
}

}  // namespace
}  // namespace densenet
