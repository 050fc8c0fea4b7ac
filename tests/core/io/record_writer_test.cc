#include "core/io/record_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/crc32c.h"
#include "core/io/record_reader.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::RandomBytes;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecordFile;
using ::testing::IsEmpty;

// Around the size of the writer's buffer.
std::vector<std::string> SomeRecords() {
  return {"",
          "a",
          RandomBytes(65'000, 1),
          RandomBytes(65'536, 2),
          RandomBytes(200'000, 3),
          RandomBytes(100, 4),
          std::string(5000, 'x')};
}

StatusOr<RecordWriter> WriteAll(const std::string& path, bool gzip) {
  ASSIGN_OR_RETURN(RecordWriter writer,
                   RecordWriter::Create(path, {.gzip = gzip}));
  for (const std::string& record : SomeRecords()) {
    RETURN_IF_ERROR(writer.Append(record));
  }
  RETURN_IF_ERROR(writer.Commit());
  return writer;
}

TEST(RecordWriterTest, WritesTheFormat) {
  TempDir dir;
  StatusOr<RecordWriter> writer = WriteAll(dir.File("x"), /*gzip=*/false);
  ASSERT_OK(writer);
  const std::string file = Slurp(dir.File("x"));
  EXPECT_TRUE(file == TfRecordFile(SomeRecords()));
  EXPECT_EQ(writer->records(), 7);
  EXPECT_EQ(writer->bytes(), static_cast<int64_t>(file.size()));
  EXPECT_EQ(writer->crc32c(), Crc32c(file));
}

TEST(RecordWriterTest, PacksTheSameBytesEveryTime) {
  TempDir dir;
  StatusOr<RecordWriter> writer = WriteAll(dir.File("x"), /*gzip=*/true);
  ASSERT_OK(writer);
  ASSERT_OK(WriteAll(dir.File("y"), /*gzip=*/true));
  const std::string file = Slurp(dir.File("x"));
  EXPECT_TRUE(file == Slurp(dir.File("y")));
  EXPECT_EQ(writer->bytes(), static_cast<int64_t>(file.size()));
  EXPECT_EQ(writer->crc32c(), Crc32c(file));
  StatusOr<std::unique_ptr<RecordReader>> reader =
      RecordReader::Open(dir.File("x"));
  ASSERT_OK(reader);
  EXPECT_TRUE((*reader)->compressed());
  for (const std::string& record : SomeRecords()) {
    StatusOr<std::optional<std::string_view>> read = (*reader)->Next();
    ASSERT_OK(read);
    ASSERT_TRUE(*read);
    EXPECT_TRUE(**read == record);
  }
}

TEST(RecordWriterTest, NoRecordsAreAFileToo) {
  TempDir dir;
  for (const bool gzip : {false, true}) {
    StatusOr<RecordWriter> writer =
        RecordWriter::Create(dir.File("x"), {.gzip = gzip});
    ASSERT_OK(writer);
    ASSERT_OK(writer->Commit());
    StatusOr<std::unique_ptr<RecordReader>> reader =
        RecordReader::Open(dir.File("x"));
    ASSERT_OK(reader);
    StatusOr<std::optional<std::string_view>> read = (*reader)->Next();
    ASSERT_OK(read);
    EXPECT_FALSE(*read);
  }
}

TEST(RecordWriterTest, WithoutCommitThereIsNothing) {
  TempDir dir;
  {
    StatusOr<RecordWriter> writer = RecordWriter::Create(dir.File("x"));
    ASSERT_OK(writer);
    ASSERT_OK(writer->Append(RandomBytes(100'000, 1)));
  }
  EXPECT_THAT(dir.Names(), IsEmpty());
}

TEST(RecordWriterTest, AFolderIsNoFile) {
  TempDir dir;
  EXPECT_THAT(RecordWriter::Create(dir.path()),
              Fails(StatusCode::kInvalidArgument, {"folder"}));
}

}  // namespace
}  // namespace densenet
