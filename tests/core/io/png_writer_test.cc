#include "core/io/png_writer.h"

#include <gtest/gtest.h>

#include "core/io/image.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

TEST(PngWriterTest, DecodesToThePixels) {
  for (const int64_t channels : {1, 3}) {
    for (const auto& [height, width] :
         {std::pair<int64_t, int64_t>{1, 1}, {7, 5}, {32, 32}, {1, 300}}) {
      const std::string noise = testing::RandomBytes(
          static_cast<size_t>(height * width * channels), 1);
      const std::vector<uint8_t> pixels(noise.begin(), noise.end());
      StatusOr<std::string> file =
          EncodePng(pixels.data(), height, width, channels);
      ASSERT_OK(file);
      StatusOr<Image> image = DecodeImage(*file, "x");
      ASSERT_OK(image);
      EXPECT_EQ(image->height, height);
      EXPECT_EQ(image->width, width);
      if (channels == 3) {
        EXPECT_EQ(image->pixels, pixels);
      } else {
        EXPECT_EQ(ToGray(*image), pixels);
      }
    }
  }
}

}  // namespace
}  // namespace densenet
