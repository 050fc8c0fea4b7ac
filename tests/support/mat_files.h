// tests/support/mat_files.h
//
// Writes small MATLAB 5 files with matio, as MATLAB itself would.

#ifndef DENSENET_TESTS_SUPPORT_MAT_FILES_H_
#define DENSENET_TESTS_SUPPORT_MAT_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace densenet::testing {

struct MatArray {
  std::string name;
  int mat_class = 6;  // the format's code: 6 double, 9 uint8, ...
  std::vector<int64_t> extents;
  std::vector<double> values;  // the first index fastest
};

void WriteMatFile(const std::string& path, const std::vector<MatArray>& arrays,
                  bool compressed);

// The value of channel c at row y and column x of image i.
uint8_t SvhnPixel(int64_t i, int64_t y, int64_t x, int64_t c, uint64_t seed);

// X and y of SVHN's cropped digits; `labels` as the file has them, 1 to 10.
// Labels are float64 or uint8.
void WriteSvhnFile(const std::string& path, const std::vector<int>& labels,
                   uint64_t seed, bool compressed = true, int label_class = 6);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_MAT_FILES_H_
