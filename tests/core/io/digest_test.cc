#include "core/io/digest.h"

#include <gtest/gtest.h>

#include "tests/support/gzip.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::TempDir;

// The test vectors of RFC 1321 and RFC 3174.
TEST(Digest, AgreesWithTheStandards) {
  EXPECT_EQ(*DigestOf("md5", ""), "md5:d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(*DigestOf("md5", "message digest"),
            "md5:f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(*DigestOf("sha1", "abc"),
            "sha1:a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Digest, TakesBytesInPieces) {
  StatusOr<Digest> digest = Digest::Create("sha1:whatever");
  ASSERT_OK(digest);
  digest->Update("a", 1);
  digest->Update("", 0);
  digest->Update("bc", 2);
  EXPECT_EQ(digest->Finish(), "sha1:a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Digest, UnknownAlgorithmIsNamed) {
  EXPECT_THAT(DigestOf("crc", "x"),
              Fails(StatusCode::kInvalidArgument, {"'crc'", "md5 or sha1"}));
}

// Packing changes a file's digest, not its content's.
TEST(Digest, OfAFileAndOfItsContent) {
  TempDir dir;
  const std::string text(1'000'000, 'x');
  const std::string plain = dir.Write("plain", text);
  const std::string packed = dir.Write("packed", Gzip(text));
  const std::string expected = *DigestOf("md5", text);
  EXPECT_EQ(*DigestOfFile("md5", plain), expected);
  EXPECT_EQ(*DigestOfFile("md5", packed), *DigestOf("md5", Gzip(text)));
  for (const std::string& path : {plain, packed}) {
    StatusOr<ContentDigest> content = DigestOfContent(expected, path);
    ASSERT_OK(content);
    EXPECT_EQ(content->bytes, 1'000'000);
    EXPECT_EQ(content->digest, expected);
  }
  dir.Write("packed", Gzip(text).substr(0, 500));
  EXPECT_THAT(DigestOfContent("md5", packed),
              Fails(StatusCode::kDataLoss, {packed}));
  EXPECT_THAT(DigestOfFile("md5", dir.File("none")),
              Fails(StatusCode::kNotFound, {"none"}));
}

}  // namespace
}  // namespace densenet
