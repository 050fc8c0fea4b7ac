// core/io/mat_structure.h
//
// What a MATLAB 5 file holds, read without trust: every size is checked
// against what surrounds it, every compressed variable is unpacked to its end
// and its checksum compared. matio, which reads the values, does neither: it
// returns rubbish for a cut or damaged file and says that all is well.
//
// Memory    128 KiB and zlib's window
// Errors    NotFound, ...    from opening the file
//           InvalidArgument  no MATLAB 5 file, or one with anything but
//                            arrays of real numbers
//           DataLoss         cut or damaged: names file, byte and variable
// Threads   safe

#ifndef DENSENET_CORE_IO_MAT_STRUCTURE_H_
#define DENSENET_CORE_IO_MAT_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace densenet {

// The types of numbers, with the codes that the format gives them.
enum class MatClass : uint8_t {
  kDouble = 6,
  kSingle = 7,
  kInt8 = 8,
  kUInt8 = 9,
  kInt16 = 10,
  kUInt16 = 11,
  kInt32 = 12,
  kUInt32 = 13,
  kInt64 = 14,
  kUInt64 = 15,
};

// "uint8"
std::string Name(MatClass type);

struct MatVariable {
  std::string name;
  MatClass type = MatClass::kDouble;
  // The first index varies fastest in memory.
  std::vector<int64_t> extents;

  int64_t elems() const {
    int64_t product = 1;
    for (int64_t extent : extents) product *= extent;
    return product;
  }
  // "uint8 32x32x3x26032"
  std::string ToString() const;
};

StatusOr<std::vector<MatVariable>> ReadMatStructure(const std::string& path);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_MAT_STRUCTURE_H_
