#include "core/io/gzip_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/random.h"
#include "tests/support/gzip.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::TempDir;

// Longer packed than the reader's buffer.
std::string RandomText(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>(RandomBits({.seed = 5}, i));
  }
  return text;
}

StatusOr<std::string> ReadAll(const std::string& path, int64_t step) {
  ASSIGN_OR_RETURN(std::unique_ptr<GzipReader> reader, GzipReader::Open(path));
  std::string text, part(static_cast<size_t>(step), '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const int64_t n, reader->Read(part.data(), step));
    text.append(part, 0, static_cast<size_t>(n));
    EXPECT_EQ(reader->position(), static_cast<int64_t>(text.size()));
    if (n < step) return text;
  }
}

TEST(GzipReaderTest, PlainAndGzipGiveTheSame) {
  TempDir dir;
  for (size_t size : {0, 1, 2, 1000, 200000}) {
    const std::string text = RandomText(size);
    for (const std::string& bytes :
         {text, Gzip(text), Gzip(text) + std::string(600, '\0')}) {
      const std::string path = dir.Write("x", bytes);
      for (int64_t step : {1, 7, 4096, 1 << 20}) {
        if (step == 1 && size > 1000) continue;
        StatusOr<std::string> read = ReadAll(path, step);
        ASSERT_OK(read);
        EXPECT_TRUE(*read == text) << size << " in steps of " << step;
      }
    }
  }
}

TEST(GzipReaderTest, MembersAreOneText) {
  TempDir dir;
  const std::string path =
      dir.Write("x", Gzip("one") + Gzip("") + Gzip(RandomText(100000)));
  StatusOr<std::string> read = ReadAll(path, 1000);
  ASSERT_OK(read);
  EXPECT_TRUE(*read == "one" + RandomText(100000));
}

TEST(GzipReaderTest, EveryTruncationIsDataLoss) {
  TempDir dir;
  const std::string bytes = Gzip(RandomText(300) + std::string(300, 'a'));
  const std::string path = dir.Write("cut", bytes);
  for (size_t size = bytes.size() - 1; size >= 2; --size) {
    std::filesystem::resize_file(path, size);
    ASSERT_THAT(ReadAll(path, 100),
                Fails(StatusCode::kDataLoss, {path, "at byte", "cut"}))
        << size;
  }
}

TEST(GzipReaderTest, DamageIsDataLossWithTheOffset) {
  TempDir dir;
  const std::string text = std::string(5000, 'a') + RandomText(100);
  const std::string bytes = Gzip(text);
  std::string bad = bytes;
  bad[bytes.size() - 6] = static_cast<char>(bad[bytes.size() - 6] ^ 1);  // CRC
  EXPECT_THAT(
      ReadAll(dir.Write("bad", bad), 100),
      Fails(StatusCode::kDataLoss, {"bad", "at byte", "incorrect data check"}));
  bad = bytes;
  bad[2] = 7;  // no such method
  EXPECT_THAT(
      ReadAll(dir.Write("bad", bad), 100),
      Fails(StatusCode::kDataLoss, {"bad", "unknown compression method"}));
  EXPECT_THAT(ReadAll(dir.Write("bad", bytes + "junk"), 100),
              Fails(StatusCode::kDataLoss, {"bad", "not gzip"}));
  const std::string path = dir.Write("flipped", bytes);
  for (size_t i = 10; i < bytes.size(); ++i) {
    bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    // A match may be found elsewhere and say the same.
    dir.Overwrite(path, bad);
    StatusOr<std::string> read = ReadAll(path, 1000);
    if (read.ok() && *read == text) continue;
    EXPECT_THAT(read, Fails(StatusCode::kDataLoss, {path})) << i;
  }
}

TEST(GzipReaderTest, EndIsWhereItIsExpected) {
  TempDir dir;
  for (const std::string& bytes :
       {std::string("0123456789"), Gzip("0123456789")}) {
    const std::string path = dir.Write("x", bytes);
    char out[20];
    auto reader = GzipReader::Open(path);
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->compressed(), bytes.size() != 10);
    ASSERT_OK((*reader)->ReadFully(out, 4));
    EXPECT_THAT((*reader)->ExpectEnd(),
                Fails(StatusCode::kDataLoss, {path, "more than the 4"}));
    reader = GzipReader::Open(path);
    ASSERT_OK(reader);
    EXPECT_THAT((*reader)->ReadFully(out, 11),
                Fails(StatusCode::kDataLoss, {path, "after 10", "least 11"}));
    EXPECT_OK((*reader)->ExpectEnd());
  }
  EXPECT_THAT(GzipReader::Open(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone"}));
}

}  // namespace
}  // namespace densenet
