// core/io/mat_stretch.h
//
// A part of a file that core/io/mat_structure.h looks into. Not for others.

#ifndef DENSENET_CORE_IO_MAT_STRETCH_H_
#define DENSENET_CORE_IO_MAT_STRETCH_H_

#include <zlib.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/io/file.h"
#include "core/status.h"

namespace densenet {

// A stretch of a file, as it is or unpacked, read from its start.
//
// Errors  DataLoss  it ends too early, or its compressed data are damaged
class MatStretch {
 public:
  // `file` must outlive this.
  MatStretch(const RandomAccessFile& file, int64_t begin, int64_t bytes)
      : file_(file), at_(begin), end_(begin + bytes) {}
  ~MatStretch();
  MatStretch(const MatStretch&) = delete;
  MatStretch& operator=(const MatStretch&) = delete;

  // The stretch is a zlib stream; what is read is what it unpacks to.
  Status StartInflating();

  Status Read(void* out, int64_t bytes);
  Status Skip(int64_t bytes);
  // The stretch ends here, and what was unpacked has the checksum it should.
  Status ExpectEnd();

  Status Damaged(std::string_view what) const;

 private:
  Status FillInput();
  Status Inflate(unsigned char* out, int64_t bytes);
  Status DamagedStream(int result) const;

  const RandomAccessFile& file_;
  int64_t at_;
  const int64_t end_;
  bool inflating_ = false;
  bool ended_ = false;  // the compressed data
  z_stream stream_{};
  std::vector<unsigned char> input_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_MAT_STRETCH_H_
