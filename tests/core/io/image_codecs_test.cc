// What the decoders refuse so that a small file cannot take much memory or
// time.

#include "core/io/image_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "core/io/image.h"
#include "tests/support/image_files.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::EncodeJpeg;
using ::densenet::testing::EncodePng;
using ::densenet::testing::Fails;

// Big endian, as both formats have it.
void Put(std::string& bytes, size_t at, uint32_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes[at + i] = static_cast<char>(value >> (8 * (count - 1 - i)));
  }
}

// Of a few bytes that promise 8192 x 8193 pixels, just too many to hold.
TEST(ImageTest, WhatMustBeHeldWholeHasALimitOfItsOwn) {
  const std::vector<uint8_t> pixels(8 * 8 * 3, 99);
  for (const bool progressive : {true, false}) {
    std::string jpeg =
        EncodeJpeg(pixels, 8, 8, {.progressive = progressive, .tiff = ""});
    const size_t frame = jpeg.find(progressive ? "\xff\xc2" : "\xff\xc0");
    ASSERT_NE(frame, std::string::npos);
    Put(jpeg, frame + 5, 8192, 2);
    Put(jpeg, frame + 7, 8193, 2);
    if (progressive) {
      EXPECT_THAT(DecodeImage(jpeg, "x.jpg"),
                  Fails(StatusCode::kInvalidArgument,
                        {"x.jpg", "8192x8193", "67108864", "progressive"}));
    } else {
      EXPECT_THAT(DecodeImage(jpeg, "x.jpg"),
                  Fails(StatusCode::kDataLoss, {"x.jpg", "damaged"}));
    }
  }
  for (const bool interlaced : {true, false}) {
    std::string png = EncodePng(pixels, 8, 8,
                                {.interlaced = interlaced,
                                 .palette = {},
                                 .palette_alpha = {},
                                 .tiff = ""});
    Put(png, 16, 8193, 4);
    Put(png, 20, 8192, 4);
    const auto* header = reinterpret_cast<const Bytef*>(png.data() + 12);
    Put(png, 29, static_cast<uint32_t>(crc32(0, header, 17)), 4);
    if (interlaced) {
      EXPECT_THAT(DecodeImage(png, "x.png"),
                  Fails(StatusCode::kInvalidArgument,
                        {"x.png", "8192x8193", "67108864", "interlaced"}));
    } else {
      EXPECT_THAT(DecodeImage(png, "x.png"),
                  Fails(StatusCode::kDataLoss, {"x.png", "damaged"}));
    }
  }
}

// A file of a few kB can ask for passes over an image without end: one for
// every copy of its first scan, which says all of the constant values.
std::string WithScans(int side, int more) {
  const std::vector<uint8_t> pixels(static_cast<size_t>(side) * side, 99);
  std::string jpeg = EncodeJpeg(
      pixels, side, side, {.channels = 1, .progressive = true, .tiff = ""});
  const size_t begin = jpeg.find("\xff\xda");
  std::string scan = jpeg.substr(begin, jpeg.find("\xff\xc4", begin) - begin);
  scan[9] = 0;  // its values to the last bit
  jpeg.resize(jpeg.size() - 2);
  for (int i = 0; i < more; ++i) jpeg += scan;
  return jpeg + "\xff\xd9";
}

TEST(ImageTest, ScansHaveALimit) {
  EXPECT_OK(DecodeImage(WithScans(8, 100), "x.jpg"));
  EXPECT_THAT(DecodeImage(WithScans(8, 200), "x.jpg"),
              Fails(StatusCode::kDataLoss, {"x.jpg", "more than 200 scans"}));
  // Of a larger image each takes longer.
  EXPECT_THAT(DecodeImage(WithScans(4096, 130), "x.jpg"),
              Fails(StatusCode::kDataLoss, {"x.jpg", "more than 128 scans"}));
}

}  // namespace
}  // namespace densenet
