#include "core/io/image_info.h"

#include <gtest/gtest.h>

#include "tests/support/image_files.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::EncodeJpeg;
using ::densenet::testing::EncodePng;
using ::densenet::testing::ExifTiff;
using ::densenet::testing::Fails;

const std::vector<uint8_t> kPixels(5 * 7 * 3, 100);

TEST(ImageInfoTest, TellsFormatAndStoredSize) {
  // Turned by 90 degrees when shown: stored it is 5 high all the same.
  for (const int orientation : {1, 6}) {
    StatusOr<ImageInfo> info = CheckImage(
        EncodeJpeg(kPixels, 5, 7, {.tiff = ExifTiff(orientation, true)}), "x");
    ASSERT_OK(info);
    EXPECT_EQ(info->format, "jpeg");
    EXPECT_EQ(info->height, 5);
    EXPECT_EQ(info->width, 7);
  }
  StatusOr<ImageInfo> info = CheckImage(EncodePng(kPixels, 5, 7, {}), "x");
  ASSERT_OK(info);
  EXPECT_EQ(info->format, "png");
  EXPECT_EQ(info->height, 5);
  EXPECT_EQ(info->width, 7);
}

TEST(ImageInfoTest, DamageIsSeen) {
  const std::string jpeg = EncodeJpeg(kPixels, 5, 7, {});
  EXPECT_THAT(CheckImage(jpeg.substr(0, jpeg.size() / 2), "a.jpg"),
              Fails(StatusCode::kDataLoss, {"a.jpg"}));
  const std::string png = EncodePng(kPixels, 5, 7, {});
  EXPECT_THAT(CheckImage(png.substr(0, png.size() - 20), "a.png"),
              Fails(StatusCode::kDataLoss, {"a.png"}));
  EXPECT_THAT(CheckImage("GIF89a", "a.gif"),
              Fails(StatusCode::kInvalidArgument, {"a.gif", "GIF", "JPEG"}));
}

}  // namespace
}  // namespace densenet
