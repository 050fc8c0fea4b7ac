#include "core/io/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdlib>
#include <filesystem>

#include "core/random.h"
#include "tests/support/image_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::EncodeJpeg;
using ::densenet::testing::EncodePng;
using ::densenet::testing::ExifTiff;
using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;

// JPEG at quality 100 rounds in two transforms of colour and of frequency.
constexpr int kJpegLevels = 3;

std::vector<uint8_t> RandomBytes(size_t size, uint64_t seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(RandomBits({.seed = seed}, i));
  }
  return bytes;
}

// Smooth, so that JPEG keeps it.
std::vector<uint8_t> Gradient(int height, int width, int channels) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels.push_back(static_cast<uint8_t>(20 + 3 * y + 2 * x + 40 * c));
      }
    }
  }
  return pixels;
}

void ExpectClose(const std::vector<uint8_t>& actual,
                 const std::vector<uint8_t>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], kJpegLevels) << i;
  }
}

TEST(ImageTest, JpegColourAndGray) {
  for (bool progressive : {false, true}) {
    const std::vector<uint8_t> pixels = Gradient(13, 21, 3);
    StatusOr<Image> image = DecodeImage(
        EncodeJpeg(pixels, 13, 21, {.progressive = progressive, .tiff = ""}),
        "x.jpg");
    ASSERT_OK(image);
    EXPECT_EQ(image->height, 13);
    EXPECT_EQ(image->width, 21);
    ExpectClose(image->pixels, pixels);
  }
  const std::vector<uint8_t> gray = Gradient(13, 21, 1);
  StatusOr<Image> image = DecodeImage(
      EncodeJpeg(gray, 13, 21, {.channels = 1, .tiff = ""}), "x.jpg");
  ASSERT_OK(image);
  std::vector<uint8_t> tripled;
  for (uint8_t v : gray) tripled.insert(tripled.end(), 3, v);
  ExpectClose(image->pixels, tripled);
}

TEST(ImageTest, CmykIsInkOnWhite) {
  for (bool adobe : {true, false}) {
    std::vector<uint8_t> ink, expected;
    for (int i = 0; i < 256; ++i) {
      // One colour: two inks, and some black.
      const int c = 200, m = 90, y = 0, k = 51;
      for (int v : {c, m, y, k}) {
        ink.push_back(static_cast<uint8_t>(adobe ? 255 - v : v));
      }
      for (int v : {c, m, y}) {
        expected.push_back(static_cast<uint8_t>((255 - v) * (255 - k) / 255));
      }
    }
    StatusOr<Image> image = DecodeImage(
        EncodeJpeg(ink, 16, 16, {.channels = 4, .adobe = adobe, .tiff = ""}),
        "x.jpg");
    ASSERT_OK(image);
    ExpectClose(image->pixels, expected);
  }
}

// Where EXIF says row 0 and column 0 of the stored image are, as seen.
struct Sides {
  bool swapped;   // row 0 is at the left or right
  bool row0_far;  // bottom or right
  bool column0_far;
};
constexpr Sides kSides[] = {{false, false, false}, {false, false, true},
                            {false, true, true},   {false, true, false},
                            {true, false, false},  {true, true, false},
                            {true, true, true},    {true, false, true}};

TEST(ImageTest, IsTurnedAsExifSays) {
  constexpr int kHeight = 2, kWidth = 3;
  const std::vector<uint8_t> stored = RandomBytes(kHeight * kWidth * 3, 1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (bool little : {false, true}) {
      StatusOr<Image> shown =
          DecodeImage(EncodePng(stored, kHeight, kWidth,
                                {.palette = {},
                                 .palette_alpha = {},
                                 .tiff = ExifTiff(orientation, little)}),
                      "x.png");
      ASSERT_OK(shown);
      const Sides& sides = kSides[orientation - 1];
      ASSERT_EQ(shown->height, sides.swapped ? kWidth : kHeight);
      ASSERT_EQ(shown->width, sides.swapped ? kHeight : kWidth);
      for (int r = 0; r < kHeight; ++r) {
        for (int c = 0; c < kWidth; ++c) {
          const int row = sides.row0_far ? kHeight - 1 - r : r;
          const int column = sides.column0_far ? kWidth - 1 - c : c;
          const int64_t y = sides.swapped ? column : row;
          const int64_t x = sides.swapped ? row : column;
          for (int k = 0; k < 3; ++k) {
            EXPECT_EQ(shown->pixels[(y * shown->width + x) * 3 + k],
                      stored[(r * kWidth + c) * 3 + k])
                << orientation;
          }
        }
      }
    }
  }
}

TEST(ImageTest, JpegIsTurnedToo) {
  const std::vector<uint8_t> pixels = Gradient(8, 24, 3);
  StatusOr<Image> image = DecodeImage(
      EncodeJpeg(pixels, 8, 24, {.tiff = ExifTiff(6, true)}), "x.jpg");
  ASSERT_OK(image);
  EXPECT_EQ(image->height, 24);
  EXPECT_EQ(image->width, 8);
  // The stored first pixel is shown at the top right.
  ExpectClose({image->pixels.begin() + 21, image->pixels.begin() + 24},
              {pixels.begin(), pixels.begin() + 3});
}

// EXIF is written by many hands: what makes no sense is ignored.
TEST(ImageTest, DamagedExifIsIgnored) {
  const std::vector<uint8_t> pixels = RandomBytes(2 * 3 * 3, 1);
  const std::string good = ExifTiff(3, true);
  const auto decode = [&](const std::string& tiff) {
    const std::string jpeg =
        EncodeJpeg(Gradient(8, 24, 3), 8, 24, {.tiff = tiff});
    return DecodeImage(jpeg, "x.jpg");
  };
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_OK(decode(good.substr(0, size)));
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '\xff';
    EXPECT_OK(decode(bad)) << i;
  }
  for (int orientation : {0, 9, 65535}) {
    StatusOr<Image> image = decode(ExifTiff(orientation, true));
    ASSERT_OK(image);
    EXPECT_EQ(image->width, 24);
  }
}

TEST(ImageTest, PngIsExact) {
  const std::vector<uint8_t> rgb = RandomBytes(5 * 7 * 3, 2);
  for (bool interlaced : {false, true}) {
    StatusOr<Image> image = DecodeImage(EncodePng(rgb, 5, 7,
                                                  {.interlaced = interlaced,
                                                   .palette = {},
                                                   .palette_alpha = {},
                                                   .tiff = ""}),
                                        "x.png");
    ASSERT_OK(image);
    EXPECT_EQ(image->pixels, rgb);
  }
}

Image DecodePngOrDie(const std::vector<uint8_t>& rows, int height, int width,
                     int color_type, int bit_depth,
                     const std::vector<uint8_t>& palette = {},
                     const std::vector<uint8_t>& palette_alpha = {}) {
  StatusOr<Image> image = DecodeImage(EncodePng(rows, height, width,
                                                {.color_type = color_type,
                                                 .bit_depth = bit_depth,
                                                 .palette = palette,
                                                 .palette_alpha = palette_alpha,
                                                 .tiff = ""}),
                                      "x.png");
  EXPECT_OK(image);
  return *std::move(image);
}

TEST(ImageTest, PngOfEveryKind) {
  using Pixels = std::vector<uint8_t>;
  // Two palette colours; the second half transparent.
  EXPECT_EQ(DecodePngOrDie({0x40}, 1, 2, PNG_COLOR_TYPE_PALETTE, 1,
                           {10, 20, 30, 200, 100, 0}, {255, 51})
                .pixels,
            (Pixels{10, 20, 30, 244, 224, 204}));
  // Gray of 1 and of 16 bits, to the nearest of 8.
  EXPECT_EQ(DecodePngOrDie({0x40}, 1, 2, PNG_COLOR_TYPE_GRAY, 1).pixels,
            (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(DecodePngOrDie({0x12, 0x00, 0x12, 0xff, 0xff, 0xff}, 1, 3,
                           PNG_COLOR_TYPE_GRAY, 16)
                .pixels,
            (Pixels{0x12, 0x12, 0x12, 0x13, 0x13, 0x13, 0xff, 0xff, 0xff}));
  // Alpha over white: none, all, and a fifth of the colour.
  EXPECT_EQ(DecodePngOrDie({1, 2, 3, 0, 1, 2, 3, 255, 0, 50, 100, 51}, 1, 3,
                           PNG_COLOR_TYPE_RGB_ALPHA, 8)
                .pixels,
            (Pixels{255, 255, 255, 1, 2, 3, 204, 214, 224}));
  EXPECT_EQ(
      DecodePngOrDie({100, 255, 100, 0}, 1, 2, PNG_COLOR_TYPE_GRAY_ALPHA, 8)
          .pixels,
      (Pixels{100, 100, 100, 255, 255, 255}));
}

TEST(ImageTest, EveryTruncationIsDataLoss) {
  const std::vector<uint8_t> pixels = RandomBytes(16 * 16 * 3, 3);
  for (bool png : {false, true}) {
    const std::string whole =
        png ? EncodePng(pixels, 16, 16,
                        {.palette = {}, .palette_alpha = {}, .tiff = ""})
            : EncodeJpeg(pixels, 16, 16, {.tiff = ""});
    ASSERT_OK(DecodeImage(whole, "x"));
    for (size_t size = 8; size < whole.size(); ++size) {
      ASSERT_THAT(
          DecodeImage(whole.substr(0, size), "photos/cut"),
          Fails(StatusCode::kDataLoss, {"photos/cut", png ? "PNG" : "JPEG"}))
          << size << " of " << whole.size();
    }
  }
}

// Damage is found or harmless; it never harms the process.
TEST(ImageTest, RandomDamageDoesNoHarm) {
  const std::vector<uint8_t> pixels = Gradient(16, 16, 3);
  const RandomKey key = {.seed = 6};
  for (bool png : {false, true}) {
    const std::string whole =
        png ? EncodePng(pixels, 16, 16,
                        {.palette = {},
                         .palette_alpha = {},
                         .tiff = ExifTiff(6, true)})
            : EncodeJpeg(pixels, 16, 16, {.tiff = ExifTiff(6, true)});
    for (uint64_t round = 0; round < 2000; ++round) {
      std::string bad = whole;
      for (uint64_t f = 0; f < 1 + round % 5; ++f) {
        const uint32_t bits = RandomBits(key, 8 * round + f);
        bad[2 + UniformInt(bits, static_cast<uint32_t>(bad.size() - 2))] =
            static_cast<char>(bits);
      }
      StatusOr<Image> image = DecodeImage(bad, "bad");
      if (image.ok()) {
        EXPECT_EQ(static_cast<int64_t>(image->pixels.size()),
                  image->height * image->width * 3);
      } else {
        EXPECT_THAT(image, Fails(image.status().code(), {"bad: "}));
      }
    }
  }
}

TEST(ImageTest, PromisesAreNotBelieved) {
  std::string png = EncodePng({1, 2, 3}, 1, 1,
                              {.palette = {}, .palette_alpha = {}, .tiff = ""});
  std::string jpeg = EncodeJpeg({1, 2, 3}, 1, 1, {.tiff = ""});
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, jpeg.npos);
  for (size_t i = 5; i < 9; ++i) jpeg[frame + i] = '\xf0';  // 61680 x 61680
  EXPECT_THAT(DecodeImage(jpeg, "x.jpg"),
              Fails(StatusCode::kInvalidArgument, {"x.jpg", "61680x61680"}));
  png[16] = 0x7f;  // the width; the chunk's checksum no longer fits
  EXPECT_THAT(DecodeImage(png, "x.png"),
              Fails(StatusCode::kDataLoss, {"x.png"}));
}

TEST(ImageTest, OtherFilesAreNamed) {
  TempDir dir;
  EXPECT_THAT(ReadImage(dir.Write("a.gif", "GIF89a")),
              Fails(StatusCode::kInvalidArgument,
                    {dir.File("a.gif"), "GIF", "expected a JPEG or PNG"}));
  EXPECT_THAT(ReadImage(dir.Write("empty", "")),
              Fails(StatusCode::kInvalidArgument, {"empty file"}));
  EXPECT_THAT(ReadImage(dir.Write("text", "hello")),
              Fails(StatusCode::kInvalidArgument, {"unknown format"}));
  EXPECT_THAT(ReadImage(dir.File("gone")),
              Fails(StatusCode::kNotFound, {dir.File("gone")}));
}

TEST(ImageTest, GrayIsLuma) {
  const Image image = {
      .height = 1,
      .width = 4,
      .pixels = {255, 255, 255, 0, 0, 0, 255, 0, 0, 10, 20, 30}};
  EXPECT_EQ(ToGray(image), (std::vector<uint8_t>{255, 0, 76, 18}));
}

TEST(ImageTest, ReadsPhotographs) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  const auto folder = std::filesystem::path(root ? root : "") / "jpeg";
  if (root == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder with jpeg/";
  }
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    const std::string name = item.path().filename().string();
    if (item.path().extension() != ".jpg") continue;
    StatusOr<Image> image = ReadImage(item.path().string());
    if (name == "truncated_jpeg.jpg") {
      EXPECT_THAT(image, Fails(StatusCode::kDataLoss, {name}));
      continue;
    }
    ASSERT_OK(image) << name;
    if (name.starts_with("Landscape")) {
      EXPECT_GT(image->width, image->height) << name;
    }
    if (name.starts_with("Portrait")) {
      EXPECT_LT(image->width, image->height) << name;
    }
  }
}

}  // namespace
}  // namespace densenet
