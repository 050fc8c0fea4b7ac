#include "core/io/record_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/gzip.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::RandomBytes;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecord;
using ::densenet::testing::TfRecordFile;
using ::testing::ElementsAre;

std::vector<std::string> ReadAll(const RecordIndex& index) {
  std::vector<std::string> records(static_cast<size_t>(index.size()));
  // Backwards: in any order.
  for (int64_t i = index.size() - 1; i >= 0; --i) {
    EXPECT_OK(index.Read(i, &records[static_cast<size_t>(i)]));
  }
  return records;
}

TEST(RecordIndexTest, FindsEveryRecord) {
  TempDir dir;
  // Near to each other, then far, then near again.
  std::vector<std::string> records;
  for (uint64_t i = 0; i < 3000; ++i) {
    const bool far = i >= 1000 && i < 1020;
    records.push_back(RandomBytes(far ? 100'000 : i * 7 % 200, i));
  }
  StatusOr<RecordIndex> index =
      RecordIndex::Open(dir.Write("x", TfRecordFile(records)));
  ASSERT_OK(index);
  ASSERT_EQ(index->size(), 3000);
  EXPECT_TRUE(ReadAll(*index) == records);
  EXPECT_EQ(index->offset(0), 0);
  EXPECT_EQ(index->offset(2), 16 + 16 + 7);
}

TEST(RecordIndexTest, AnEmptyFileHasNoRecords) {
  TempDir dir;
  StatusOr<RecordIndex> index = RecordIndex::Open(dir.Write("x", ""));
  ASSERT_OK(index);
  EXPECT_EQ(index->size(), 0);
}

TEST(RecordIndexTest, TheFirstFaultIsTheErrorUnlessTheyAreWanted) {
  TempDir dir;
  std::string bytes = TfRecordFile({"one", RandomBytes(100, 1), "three", "4"});
  bytes[TfRecord("one").size()] ^= 1;  // the second's length
  bytes.resize(bytes.size() - 1);      // the fourth's checksum
  const std::string path = dir.Write("x", bytes);
  EXPECT_THAT(RecordIndex::Open(path),
              Fails(StatusCode::kDataLoss,
                    {path, "record 1, byte 19", "length checksum"}));
  std::vector<RecordFault> faults;
  StatusOr<RecordIndex> index = RecordIndex::Open(path, {}, &faults);
  ASSERT_OK(index);
  EXPECT_THAT(ReadAll(*index), ElementsAre("one", "three"));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].kind, RecordFaultKind::kLengthChecksum);
  EXPECT_EQ(faults[0].record, 1);
  EXPECT_EQ(faults[1].kind, RecordFaultKind::kCutData);
  EXPECT_EQ(faults[1].record, 3);
  EXPECT_EQ(faults[1].offset, 19 + 116 + 21);
}

TEST(RecordIndexTest, DamageInBetweenMakesNoRecordLarger) {
  TempDir dir;
  const std::string path =
      dir.Write("x", TfRecord("one") + TfRecord(RandomBytes(5000, 1)) +
                         TfRecord("three") + RandomBytes(700, 2));
  std::vector<RecordFault> faults;
  StatusOr<RecordIndex> index =
      RecordIndex::Open(path, {.max_record_bytes = 100}, &faults);
  ASSERT_OK(index);
  EXPECT_THAT(ReadAll(*index), ElementsAre("one", "three"));
  EXPECT_LE(index->record_bytes(0), 16 + 5);
  EXPECT_LE(index->record_bytes(1), 16 + 5);
  std::string room(static_cast<size_t>(index->record_bytes(1)), '\0');
  const StatusOr<std::string_view> last = index->Read(1, absl::MakeSpan(room));
  ASSERT_OK(last);
  EXPECT_EQ(*last, "three");
}

TEST(RecordIndexTest, WithoutFaultsThereIsNoSearch) {
  TempDir dir;
  const std::string path = dir.Write("x", TfRecord("one") + "no record");
  // A hole that would take a search minutes.
  std::filesystem::resize_file(path, uintmax_t{1} << 36);
  EXPECT_THAT(RecordIndex::Open(path),
              Fails(StatusCode::kDataLoss, {path, "record 1, byte 19"}));
}

TEST(RecordIndexTest, EndsWithOneFaultMoreThanAreWanted) {
  TempDir dir;
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += "junk between" + TfRecord("one");
  const std::string path = dir.Write("x", bytes);
  std::vector<RecordFault> faults;
  StatusOr<RecordIndex> index =
      RecordIndex::Open(path, {.max_faults = 2}, &faults);
  ASSERT_OK(index);
  EXPECT_EQ(index->size(), 2);
  EXPECT_EQ(index->fault_count(), 3);
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[2].record, 4);
  faults.clear();
  index = RecordIndex::Open(path, {.max_faults = 5}, &faults);
  ASSERT_OK(index);
  EXPECT_EQ(index->size(), 5);
  EXPECT_EQ(index->fault_count(), 5);
}

TEST(RecordIndexTest, StopsWhenAsked) {
  TempDir dir;
  const std::string path = dir.Write("x", TfRecord("one"));
  EXPECT_THAT(RecordIndex::Open(path, {.should_stop = [] { return true; }}),
              Fails(StatusCode::kUnavailable, {"stopped"}));
}

TEST(RecordIndexTest, CutsAreFaults) {
  TempDir dir;
  const std::string bytes = TfRecordFile({"first", "second"});
  for (size_t size = 22; size < bytes.size(); ++size) {
    const std::string path = dir.Write("x", bytes.substr(0, size));
    EXPECT_THAT(RecordIndex::Open(path),
                Fails(StatusCode::kDataLoss,
                      {size < 21 + 12 ? "cut header" : "cut data"}));
  }
}

TEST(RecordIndexTest, DamagedDataIsFoundWhenRead) {
  TempDir dir;
  std::string bytes = TfRecordFile({"one", "two"});
  bytes[19 + 12] ^= 1;
  const std::string path = dir.Write("x", bytes);
  StatusOr<RecordIndex> index = RecordIndex::Open(path);
  ASSERT_OK(index);
  std::string data;
  EXPECT_OK(index->Read(0, &data));
  EXPECT_EQ(data, "one");
  std::optional<RecordFault> fault;
  EXPECT_THAT(index->Read(1, &data, &fault),
              Fails(StatusCode::kDataLoss,
                    {path, "record 1, byte 19", "data checksum"}));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, RecordFaultKind::kDataChecksum);
}

TEST(RecordIndexTest, PackedFilesHaveNone) {
  TempDir dir;
  const std::string path = dir.Write("x", testing::Gzip(TfRecord("a")));
  EXPECT_THAT(RecordIndex::Open(path),
              Fails(StatusCode::kInvalidArgument, {path, "gzip"}));
  EXPECT_THAT(RecordIndex::Open(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone"}));
}

}  // namespace
}  // namespace densenet
