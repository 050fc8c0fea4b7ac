#include "core/io/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace densenet {
namespace {

// RFC 3720, B.4, and the usual check value.
TEST(Crc32cTest, PublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32cHex(0x0012abcdu), "0012abcd");
}

TEST(Crc32cTest, ExtendingEqualsOneCall) {
  std::string text(1000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 37);
  for (size_t cut : {0, 1, 7, 8, 500, 999, 1000}) {
    const uint32_t head = Crc32c(std::string_view(text).substr(0, cut));
    EXPECT_EQ(ExtendCrc32c(head, text.data() + cut,
                           static_cast<int64_t>(text.size() - cut)),
              Crc32c(text));
  }
}

}  // namespace
}  // namespace densenet
