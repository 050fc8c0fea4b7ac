// tests/densenet/photo_folder.h
//
// A folder of class folders with small random images of several sizes and
// kinds, and options that train the smallest DenseNet-BC on them.

#ifndef DENSENET_TESTS_DENSENET_PHOTO_FOLDER_H_
#define DENSENET_TESTS_DENSENET_PHOTO_FOLDER_H_

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "core/random.h"
#include "densenet/run_config.h"
#include "tests/support/image_files.h"
#include "tests/support/temp_dir.h"

namespace densenet::testing {

// JPEG and PNG in turn, between 20 and 51 pixels a side.
inline std::string RandomPhoto(uint64_t seed) {
  const auto side = [&](uint64_t i) {
    return 20 + static_cast<int>(RandomBits({.seed = seed}, i) % 32);
  };
  const int height = side(0), width = side(1);
  std::vector<uint8_t> pixels(static_cast<size_t>(height * width * 3));
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(RandomBits({.seed = seed}, 2 + i));
  }
  return seed % 2 == 0
             ? EncodeJpeg(pixels, height, width, {.tiff = ""})
             : EncodePng(pixels, height, width,
                         {.palette = {}, .palette_alpha = {}, .tiff = ""});
}

inline void WritePhotos(const TempDir& dir, std::string_view split,
                        std::string_view name, int count, uint64_t seed) {
  const std::string folder = fmt::format("{}/{}", split, name);
  std::filesystem::create_directories(dir.File(folder));
  for (int i = 0; i < count; ++i) {
    dir.Write(fmt::format("{}/{:03}.jpg", folder, i),
              RandomPhoto(seed + static_cast<uint64_t>(i)));
  }
}

// 20 training images of two classes and 7 to evaluate on.
inline void WritePhotoFolder(const TempDir& dir) {
  WritePhotos(dir, "train", "ants", 12, 100);
  WritePhotos(dir, "train", "bees", 8, 200);
  WritePhotos(dir, "val", "ants", 3, 300);
  WritePhotos(dir, "val", "bees", 4, 400);
}

inline RunOptions TinyPhotoRun(const TempDir& data, const std::string& out) {
  RunOptions options;
  options.depth = 10;
  options.growth = 4;
  options.bottleneck = true;
  options.dataset = "folder";
  options.data = data.path();
  options.image_size = 24;
  options.batch = "8";
  options.epochs = 2;
  options.strategy = "fused";
  options.threads = 1;
  options.workers = 2;
  options.checkpoint_minutes = 0;
  options.out = out;
  return options;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_PHOTO_FOLDER_H_
