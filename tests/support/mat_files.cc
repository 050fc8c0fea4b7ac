#include "tests/support/mat_files.h"

#include <glog/logging.h>
#include <matio.h>

#include <cstdio>

#include "core/random.h"

namespace densenet::testing {
namespace {

template <typename T>
void Append(mat_t* mat, const MatArray& array, matio_types type,
            bool compressed) {
  std::vector<size_t> extents(array.extents.begin(), array.extents.end());
  std::vector<T> values(array.values.begin(), array.values.end());
  matvar_t* variable = Mat_VarCreate(
      array.name.c_str(), static_cast<matio_classes>(array.mat_class), type,
      static_cast<int>(extents.size()), extents.data(), values.data(),
      MAT_F_DONT_COPY_DATA);
  CHECK(variable != nullptr);
  CHECK_EQ(
      Mat_VarWrite(mat, variable,
                   compressed ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE),
      0);
  Mat_VarFree(variable);
}

void AppendArray(mat_t* mat, const MatArray& array, bool compressed) {
  switch (array.mat_class) {
    case MAT_C_DOUBLE:
      return Append<double>(mat, array, MAT_T_DOUBLE, compressed);
    case MAT_C_SINGLE:
      return Append<float>(mat, array, MAT_T_SINGLE, compressed);
    case MAT_C_INT8:
      return Append<int8_t>(mat, array, MAT_T_INT8, compressed);
    case MAT_C_UINT8:
      return Append<uint8_t>(mat, array, MAT_T_UINT8, compressed);
    case MAT_C_INT16:
      return Append<int16_t>(mat, array, MAT_T_INT16, compressed);
    case MAT_C_UINT16:
      return Append<uint16_t>(mat, array, MAT_T_UINT16, compressed);
    case MAT_C_INT32:
      return Append<int32_t>(mat, array, MAT_T_INT32, compressed);
    case MAT_C_UINT32:
      return Append<uint32_t>(mat, array, MAT_T_UINT32, compressed);
    case MAT_C_INT64:
      return Append<int64_t>(mat, array, MAT_T_INT64, compressed);
    case MAT_C_UINT64:
      return Append<uint64_t>(mat, array, MAT_T_UINT64, compressed);
    default:
      LOG(FATAL) << "class " << array.mat_class;
  }
}

}  // namespace

void WriteMatFile(const std::string& path, const std::vector<MatArray>& arrays,
                  bool compressed) {
  // matio would add to a file that is there.
  std::remove(path.c_str());
  mat_t* mat = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  CHECK(mat != nullptr) << path;
  for (const MatArray& array : arrays) AppendArray(mat, array, compressed);
  CHECK_EQ(Mat_Close(mat), 0);
}

uint8_t SvhnPixel(int64_t i, int64_t y, int64_t x, int64_t c, uint64_t seed) {
  // Smooth, so that it compresses, and different for every argument.
  return static_cast<uint8_t>(
      3 * y + 2 * x + 60 * c +
      RandomBits({.seed = seed}, static_cast<uint64_t>(i)) % 64);
}

void WriteSvhnFile(const std::string& path, const std::vector<int>& labels,
                   uint64_t seed, bool compressed, int label_class) {
  const auto count = static_cast<int64_t>(labels.size());
  MatArray images = {
      .name = "X", .mat_class = 9, .extents = {32, 32, 3, count}, .values = {}};
  images.values.reserve(labels.size() * 3072);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t x = 0; x < 32; ++x) {
        for (int64_t y = 0; y < 32; ++y) {
          images.values.push_back(SvhnPixel(i, y, x, c, seed));
        }
      }
    }
  }
  WriteMatFile(path,
               {std::move(images),
                {.name = "y",
                 .mat_class = label_class,
                 .extents = {count, 1},
                 .values = {labels.begin(), labels.end()}}},
               compressed);
}

}  // namespace densenet::testing
