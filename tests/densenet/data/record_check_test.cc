#include "densenet/data/record_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/io/crc32c.h"
#include "core/io/record_reader.h"
#include "tests/support/gzip.h"
#include "tests/support/image_files.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::RandomBytes;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecord;
using ::densenet::testing::TfRecordFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "file: kind", for every fault.
std::vector<std::string> Check(const std::string& path,
                               const RecordCheckOptions& options = {}) {
  StatusOr<RecordSet> set = FindRecordSet(path);
  EXPECT_OK(set);
  if (!set.ok()) return {"no set"};
  StatusOr<std::vector<RecordFileReport>> reports =
      CheckRecordSet(*set, options);
  EXPECT_OK(reports);
  std::vector<std::string> faults;
  for (const RecordFileReport& report : *reports) {
    EXPECT_EQ(report.fault_count, static_cast<int64_t>(report.faults.size()));
    for (const RecordSetFault& fault : report.faults) {
      EXPECT_EQ(fault.file, report.path);
      EXPECT_THAT(fault.ToString(), HasSubstr(fault.kind));
      faults.push_back(fault.file.substr(fault.file.rfind('/') + 1) + ": " +
                       fault.kind);
    }
  }
  return faults;
}

// Two shards of three records with their manifest.
class RecordSetTest : public ::testing::TestWithParam<bool> {
 protected:
  RecordSetTest() {
    for (const std::string name : {"a.tfrecord", "b.tfrecord"}) {
      const std::string bytes =
          TfRecordFile({name, "", RandomBytes(40, name[0])});
      files_.push_back(GetParam() ? Gzip(bytes) : bytes);
      dir_.Write(name, files_.back());
      manifest_.shards.push_back({name, "train", 3,
                                  static_cast<int64_t>(files_.back().size()),
                                  Crc32cHex(Crc32c(files_.back()))});
    }
    EXPECT_OK(WriteRecordManifest(dir_.File("manifest.json"), manifest_));
  }
  std::string Pack(const std::string& bytes) const {
    return GetParam() ? Gzip(bytes) : bytes;
  }

  TempDir dir_;
  std::vector<std::string> files_;
  RecordManifest manifest_;
};

INSTANTIATE_TEST_SUITE_P(PlainAndGzip, RecordSetTest, ::testing::Bool(),
                         [](const auto& param) {
                           return param.param ? "gzip" : "plain";
                         });

TEST_P(RecordSetTest, AWholeSetHasNoFaults) {
  for (const int threads : {1, 3}) {
    EXPECT_THAT(Check(dir_.path(), {.threads = threads}), IsEmpty());
  }
  EXPECT_THAT(Check(dir_.File("b.tfrecord")), IsEmpty());
}

TEST_P(RecordSetTest, EveryChangedByteIsFound) {
  for (size_t byte = 0; byte < files_[1].size(); ++byte) {
    std::string damaged = files_[1];
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
    dir_.Overwrite(dir_.File("b.tfrecord"), damaged);
    EXPECT_FALSE(Check(dir_.path()).empty()) << byte;
  }
}

TEST_P(RecordSetTest, EveryCutIsFound) {
  for (size_t size = 0; size < files_[1].size(); ++size) {
    dir_.Write("b.tfrecord", files_[1].substr(0, size));
    EXPECT_FALSE(Check(dir_.path()).empty()) << size;
    EXPECT_FALSE(Check(dir_.File("b.tfrecord")).empty()) << size;
  }
}

TEST_P(RecordSetTest, ACutBetweenTwoRecordsIsFoundByTheManifest) {
  dir_.Write("b.tfrecord", Pack(TfRecordFile({"b.tfrecord", ""})));
  EXPECT_THAT(Check(dir_.path()), ElementsAre("b.tfrecord: missing records"));
  dir_.Write("b.tfrecord", Pack(TfRecordFile({"1", "2", "3", "4"})));
  EXPECT_THAT(Check(dir_.path()), ElementsAre("b.tfrecord: extra records"));
  dir_.Write("b.tfrecord", Pack(""));
  EXPECT_THAT(Check(dir_.path()), ElementsAre("b.tfrecord: missing records"));
}

TEST_P(RecordSetTest, OtherWholeRecordsAreFoundByTheManifest) {
  dir_.Write("b.tfrecord", files_[0]);
  EXPECT_THAT(Check(dir_.path()), ElementsAre("b.tfrecord: other bytes"));
  dir_.Write("b.tfrecord", Pack(TfRecordFile({"1", "2", "3"})));
  EXPECT_THAT(Check(dir_.path()), ElementsAre("b.tfrecord: other bytes"));
}

TEST_P(RecordSetTest, MissingAndExtraFilesAreFound) {
  dir_.Write("c.tfrecord", files_[0]);
  std::filesystem::remove(dir_.File("a.tfrecord"));
  EXPECT_THAT(Check(dir_.path()), ElementsAre("a.tfrecord: missing file",
                                              "c.tfrecord: extra file"));
}

TEST_P(RecordSetTest, AFileThatCannotBeReadIsAFaultOfItsOwn) {
  std::filesystem::remove(dir_.File("a.tfrecord"));
  std::filesystem::create_directory(dir_.File("a.tfrecord"));
  EXPECT_THAT(Check(dir_.path()), ElementsAre("a.tfrecord: unreadable file"));
}

TEST(RecordCheckTest, FaultsSayRecordAndByte) {
  TempDir dir;
  std::string bytes = TfRecordFile({"one", "two", "three", "four"});
  bytes[19 + 12] ^= 1;
  bytes[19 + 19 + 21 + 12] ^= 1;
  StatusOr<RecordSet> set = FindRecordSet(dir.Write("x", bytes));
  ASSERT_OK(set);
  StatusOr<std::vector<RecordFileReport>> reports = CheckRecordSet(*set, {});
  ASSERT_OK(reports);
  ASSERT_EQ(reports->size(), 1u);
  EXPECT_EQ((*reports)[0].records, 2);
  ASSERT_EQ((*reports)[0].faults.size(), 2u);
  EXPECT_THAT((*reports)[0].faults[0].ToString(),
              HasSubstr("/x: record 1, byte 19: data checksum: "));
  EXPECT_THAT((*reports)[0].faults[1].ToString(),
              HasSubstr("/x: record 3, byte 59: data checksum: "));
}

std::string ImageRecord(const std::string& encoded, int64_t label) {
  return TfRecord(SerializeImageExample({.encoded = encoded, .label = label}));
}

TEST(RecordCheckTest, ImagesAndLabelsAreLookedAtOnRequest) {
  TempDir dir;
  const std::string png =
      testing::EncodePng(std::vector<uint8_t>(3, 9), 1, 1, {});
  const std::string path = dir.Write(
      "x", ImageRecord(png, 5) + TfRecord("text") + ImageRecord("GIF8", 1) +
               TfRecord(SerializeTfExample({})));
  EXPECT_THAT(Check(path), IsEmpty());
  const RecordCheckOptions options = {.images = ExampleSchema()};
  EXPECT_THAT(Check(path, options),
              ElementsAre("x: example", "x: image", "x: example"));
  StatusOr<RecordSet> set = FindRecordSet(path);
  StatusOr<std::vector<RecordFileReport>> reports =
      CheckRecordSet(*set, options);
  ASSERT_OK(reports);
  const RecordFileReport& report = (*reports)[0];
  EXPECT_EQ(report.labels.min, 1);
  EXPECT_EQ(report.labels.max, 5);
  EXPECT_THAT(report.faults[1].ToString(), HasSubstr("record 2, byte"));
  EXPECT_THAT(report.faults[1].detail, HasSubstr("a GIF image"));
  RecordCheckOptions five = options;
  five.classes = 5;
  EXPECT_THAT(Check(path, five),
              ElementsAre("x: label", "x: example", "x: image", "x: example"));
  five.classes = 6;
  EXPECT_THAT(Check(path, five), SizeIs(3));
  EXPECT_THAT(LabelsFromOneNote(report.labels, {}),
              HasSubstr("--label-offset 1"));
  EXPECT_EQ(LabelsFromOneNote({0, 5}, {}), "");
  EXPECT_EQ(LabelsFromOneNote({}, {}), "");
}

TEST(RecordCheckTest, StopsWhenAsked) {
  TempDir dir;
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += TfRecord("x");
  StatusOr<RecordSet> set = FindRecordSet(dir.Write("x", bytes));
  ASSERT_OK(set);
  EXPECT_THAT(CheckRecordSet(*set, {.should_stop = [] { return true; }}),
              Fails(StatusCode::kUnavailable, {"stopped"}));
}

TEST(CountRecordsTest, CountsPlainAndGzip) {
  TempDir dir;
  const std::string bytes = TfRecordFile({"a", "", "b"});
  for (const std::string& text : {bytes, Gzip(bytes)}) {
    StatusOr<int64_t> count = CountRecords(dir.Write("x", text));
    ASSERT_OK(count);
    EXPECT_EQ(*count, 3);
    EXPECT_THAT(CountRecords(dir.Write("x", text.substr(0, text.size() - 1))),
                Fails(StatusCode::kDataLoss, {dir.File("x"), "record"}));
  }
  StatusOr<int64_t> none = CountRecords(dir.Write("x", ""));
  ASSERT_OK(none);
  EXPECT_EQ(*none, 0);
}

TEST(CountRecordsTest, StopsWhenAsked) {
  TempDir dir;
  const std::string bytes = TfRecordFile({"a", "", "b"});
  for (const std::string& text : {bytes, Gzip(bytes)}) {
    EXPECT_THAT(CountRecords(dir.Write("x", text), [] { return true; }),
                Fails(StatusCode::kUnavailable, {"stopped"}));
  }
}

TEST(RepairTest, KeepsWhatIsWhole) {
  TempDir dir;
  const std::vector<std::string> records = {"one", RandomBytes(300, 1), "three",
                                            RandomBytes(300, 2), "five"};
  std::string bytes = TfRecordFile(records);
  bytes[19 + 5] ^= 1;               // the length of the second
  bytes[19 + 316 + 21 + 100] ^= 1;  // the data of the fourth
  bytes.resize(bytes.size() - 3);   // the end of the fifth
  for (const bool gzip : {false, true}) {
    const std::string from = dir.Write("x", gzip ? Gzip(bytes) : bytes);
    const std::string to = dir.File("y");
    StatusOr<RecordRepairReport> report = RepairRecordFile(from, to, {});
    ASSERT_OK(report);
    EXPECT_EQ(report->records, 2);
    EXPECT_EQ(report->faults.size(), 3u);
    EXPECT_EQ(report->dropped_bytes, 316 + 316 + 17);
    EXPECT_THAT(Check(to), IsEmpty());
    const std::string expected = TfRecordFile({"one", "three"});
    StatusOr<std::unique_ptr<RecordReader>> reader = RecordReader::Open(to);
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->compressed(), gzip);
    if (!gzip) {
      EXPECT_EQ(Slurp(to), expected);
    }
  }
}

TEST(RepairTest, CountsMoreFaultsThanItKeeps) {
  TempDir dir;
  std::string torn = TfRecord("x");
  torn.back() ^= 1;
  std::string bytes;
  for (int i = 0; i < 10'500; ++i) bytes += torn;
  StatusOr<RecordRepairReport> report =
      RepairRecordFile(dir.Write("x", bytes), dir.File("y"), {});
  ASSERT_OK(report);
  EXPECT_EQ(report->fault_count, 10'500);
  EXPECT_LT(report->faults.size(), 10'500u);
}

TEST(RepairTest, NeverTouchesItsInput) {
  TempDir dir;
  const std::string path = dir.Write("x", TfRecordFile({"one"}) + "junk");
  const std::string before = Slurp(path);
  std::filesystem::create_symlink(path, dir.File("link"));
  std::filesystem::create_hard_link(path, dir.File("twin"));
  for (const std::string& to :
       {path, dir.path() + "/./x", dir.File("link"), dir.File("twin")}) {
    EXPECT_THAT(RepairRecordFile(path, to, {}),
                Fails(StatusCode::kInvalidArgument, {"same file"}));
    EXPECT_EQ(Slurp(path), before);
  }
  EXPECT_THAT(RepairRecordFile(dir.File("gone"), dir.File("y"), {}),
              Fails(StatusCode::kNotFound, {"gone"}));
  EXPECT_THAT(RepairRecordFile(path, dir.File("y"), [] { return false; }).ok(),
              true);
}

}  // namespace
}  // namespace densenet
