#include "core/io/image_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/io/file.h"
#include "core/random.h"
#include "tests/support/image_files.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::EncodeJpeg;
using ::densenet::testing::EncodePng;
using ::densenet::testing::ExifTiff;
using ::densenet::testing::Fails;

// A turned image is resized in the other order of axes.
constexpr int kTurnedLevels = 1;

std::vector<uint8_t> RandomBytes(size_t size, uint64_t seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(RandomBits({.seed = seed}, i));
  }
  return bytes;
}

// The same by whole images: decode, cut, resize, cut again.
std::vector<uint8_t> Reference(const Image& image, const ImageCut& cut) {
  Image box{
      .height = cut.rows.length, .width = cut.columns.length, .pixels = {}};
  for (int64_t y = 0; y < box.height; ++y) {
    const auto row =
        image.pixels.begin() +
        ((cut.rows.begin + y) * image.width + cut.columns.begin) * 3;
    box.pixels.insert(box.pixels.end(), row, row + box.width * 3);
  }
  const Image scaled =
      *ResizeBilinear(box, cut.rows.scaled, cut.columns.scaled);
  std::vector<uint8_t> out;
  for (int64_t y = 0; y < cut.rows.out; ++y) {
    const auto row =
        scaled.pixels.begin() +
        ((cut.rows.out_begin + y) * scaled.width + cut.columns.out_begin) * 3;
    out.insert(out.end(), row, row + cut.columns.out * 3);
  }
  return out;
}

// A cut somewhere, of some size.
ImageCut RandomCut(int64_t height, int64_t width, uint64_t seed) {
  const auto axis = [&](int64_t size, uint64_t i) {
    const Philox4 bits = RandomBlock({.seed = seed}, i);
    const auto upto = [](uint32_t b, int64_t n) {
      return static_cast<int64_t>(UniformInt(b, static_cast<uint32_t>(n)));
    };
    ResizeAxis a;
    a.length = 1 + upto(bits.v[0], size);
    a.begin = upto(bits.v[1], size - a.length + 1);
    a.scaled = 1 + upto(bits.v[2], 40);
    a.out = 1 + upto(bits.v[3], a.scaled);
    a.out_begin = (a.scaled - a.out) / 2;
    return a;
  };
  return {axis(height, 0), axis(width, 1)};
}

std::vector<uint8_t> Decoded(const std::string& file, const ImageCut& cut,
                             ImageCutter& cutter) {
  std::vector<uint8_t> out(
      static_cast<size_t>(cut.rows.out * cut.columns.out * 3));
  EXPECT_OK(cutter.Decode(
      file, "x", [&](int64_t, int64_t) { return cut; }, out.data()));
  return out;
}

TEST(ImageCutTest, EqualsWholeImages) {
  const std::vector<uint8_t> pixels = RandomBytes(37 * 53 * 3, 1);
  std::vector<std::string> files;
  for (bool progressive : {false, true}) {
    files.push_back(
        EncodeJpeg(pixels, 37, 53, {.progressive = progressive, .tiff = ""}));
  }
  for (bool interlaced : {false, true}) {
    files.push_back(EncodePng(pixels, 37, 53,
                              {.interlaced = interlaced,
                               .palette = {},
                               .palette_alpha = {},
                               .tiff = ""}));
  }
  files.push_back(EncodeJpeg(RandomBytes(37 * 53 * 4, 2), 37, 53,
                             {.channels = 4, .tiff = ""}));
  files.push_back(
      EncodeJpeg(RandomBytes(37 * 53, 2), 37, 53, {.channels = 1, .tiff = ""}));
  ImageCutter cutter;
  for (const std::string& file : files) {
    const Image image = *DecodeImage(file, "x");
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const ImageCut cut = RandomCut(37, 53, seed);
      EXPECT_EQ(Decoded(file, cut, cutter), Reference(image, cut)) << seed;
    }
  }
}

TEST(ImageCutTest, SeesTheShownImage) {
  const std::vector<uint8_t> pixels = RandomBytes(20 * 31 * 3, 3);
  ImageCutter cutter;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string file = EncodePng(pixels, 20, 31,
                                       {.palette = {},
                                        .palette_alpha = {},
                                        .tiff = ExifTiff(orientation, true)});
    const Image image = *DecodeImage(file, "x");
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const ImageCut cut = RandomCut(image.height, image.width, seed);
      const std::vector<uint8_t> expected = Reference(image, cut);
      const std::vector<uint8_t> actual = Decoded(file, cut, cutter);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], kTurnedLevels) << orientation;
      }
    }
  }
}

TEST(ImageCutTest, PixelsInMemory) {
  const std::vector<uint8_t> pixels = RandomBytes(12 * 17 * 3, 4);
  const Image image{.height = 12, .width = 17, .pixels = pixels};
  ImageCutter cutter;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const ImageCut cut = RandomCut(12, 17, seed);
    std::vector<uint8_t> out(
        static_cast<size_t>(cut.rows.out * cut.columns.out * 3));
    cutter.Cut(pixels.data(), 12, 17, 3, cut, out.data());
    EXPECT_EQ(out, Reference(image, cut));
    // Gray is each of three equal channels.
    std::vector<uint8_t> gray, tripled;
    for (size_t i = 0; i < 12 * 17; ++i) {
      gray.push_back(pixels[i]);
      tripled.insert(tripled.end(), 3, pixels[i]);
    }
    std::vector<uint8_t> gray_out(
        static_cast<size_t>(cut.rows.out * cut.columns.out));
    cutter.Cut(gray.data(), 12, 17, 1, cut, gray_out.data());
    cutter.Cut(tripled.data(), 12, 17, 3, cut, out.data());
    for (size_t i = 0; i < gray_out.size(); ++i) {
      ASSERT_EQ(gray_out[i], out[3 * i]);
    }
  }
}

// A part of the file that the cut does not need is looked at too.
TEST(ImageCutTest, DamageOutsideTheCutIsSeen) {
  const std::vector<uint8_t> pixels = RandomBytes(64 * 64 * 3, 5);
  std::vector<uint8_t> out(4 * 4 * 3);
  ImageCutter cutter;
  const auto top = [](int64_t, int64_t width) {
    return ImageCut{{0, 4, 4, 0, 4}, {0, width, 4, 0, 4}};
  };
  for (const std::string& whole :
       {EncodeJpeg(pixels, 64, 64, {.tiff = ""}),
        EncodePng(pixels, 64, 64,
                  {.palette = {}, .palette_alpha = {}, .tiff = ""})}) {
    EXPECT_OK(cutter.Decode(whole, "x", top, out.data()));
    for (size_t left : {size_t{1}, whole.size() / 20, whole.size() / 2}) {
      EXPECT_THAT(cutter.Decode(whole.substr(0, whole.size() - left),
                                "dir/cut.x", top, out.data()),
                  Fails(StatusCode::kDataLoss, {"dir/cut.x"}))
          << left;
    }
  }
}

TEST(ImageCutTest, CenterCutCoversAndCuts) {
  // A photograph, as ImageNet is evaluated.
  EXPECT_EQ(CenterCut(375, 500, 224, 224, 256.0 / 224.0),
            (ImageCut{{0, 375, 256, 16, 224}, {0, 500, 341, 58, 224}}));
  EXPECT_EQ(CenterCut(10, 40, 5, 5, 1),
            (ImageCut{{0, 10, 5, 0, 5}, {0, 40, 20, 7, 5}}));
  EXPECT_EQ(CenterCut(32, 32, 32, 32, 1),
            (ImageCut{{0, 32, 32, 0, 32}, {0, 32, 32, 0, 32}}));
  for (int64_t height : {1, 7, 3000}) {
    for (int64_t width : {1, 13, 2999}) {
      for (double margin : {1.0, 1.1428}) {
        const ImageCut cut = CenterCut(height, width, 32, 16, margin);
        EXPECT_LE(cut.rows.out_begin + 32, cut.rows.scaled);
        EXPECT_LE(cut.columns.out_begin + 16, cut.columns.scaled);
      }
    }
  }
}

// Chroma is spread over pixels that were passed over: only photographs show
// whether that is noticed.
TEST(ImageCutTest, PhotographsEqualWholeImages) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  const auto folder = std::filesystem::path(root ? root : "") / "jpeg";
  if (root == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder with jpeg/";
  }
  ImageCutter cutter;
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    if (item.path().extension() != ".jpg") continue;
    const std::string file = *ReadFile(item.path().string());
    const StatusOr<Image> image = DecodeImage(file, "x");
    if (!image.ok()) continue;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const ImageCut cut = RandomCut(image->height, image->width, seed);
      const std::vector<uint8_t> expected = Reference(*image, cut);
      const std::vector<uint8_t> actual = Decoded(file, cut, cutter);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], kTurnedLevels) << item.path();
      }
    }
  }
}

}  // namespace
}  // namespace densenet
