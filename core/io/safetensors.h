// core/io/safetensors.h
//
// Tensors in a safetensors file: the length of a JSON header (8 bytes, little
// endian), the header (padded with spaces to a multiple of 8), the elements.
// Files written here open in Python's `safetensors`, which rejects holes,
// overlaps and trailing bytes; so does the reader here.
//
// Files written here carry two checksums among their metadata, CRC-32C as
// eight lower-case hexadecimal digits:
//   densenet.data_crc32c    of every byte after the header
//   densenet.header_crc32c  of the header, with the eight digits of this very
//                           value replaced by zeros
// A file with one of them and not the other is damaged; one with neither was
// written by another tool and is read without.
//
// Shapes    any of rank <= kMaxRank; an extent may be 0
// Types     every DType; the reader lists tensors of other types too
// Memory    the header, and 1 MiB to check the data; elements go straight
//           between views and the file
// Errors    InvalidArgument  a name, type or shape that cannot be had
//           NotFound         no such tensor (or file)
//           DataLoss         damaged: the message names file and tensor
// Threads   const functions are safe

#ifndef DENSENET_CORE_IO_SAFETENSORS_H_
#define DENSENET_CORE_IO_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/io/file.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

inline constexpr std::string_view kDataChecksumKey = "densenet.data_crc32c";
inline constexpr std::string_view kHeaderChecksumKey = "densenet.header_crc32c";

using SafetensorsMetadata = std::map<std::string, std::string>;

// A packed host tensor to be written.
struct SafetensorsItem {
  std::string name;
  ConstTensorView view;
};

// Writes `path` atomically (core/io/file.h). Larger elements come first, so
// every tensor is aligned to its element size; otherwise the given order.
// Errors  InvalidArgument  a name twice, empty or "__metadata__"; text that is
//                          not UTF-8; a checksum key among the metadata; a
//                          strided or device view
Status WriteSafetensors(const std::string& path,
                        absl::Span<const SafetensorsItem> tensors,
                        const SafetensorsMetadata& metadata);

// The header of the file that WriteSafetensors starts, with zeros for
// checksums, and where each of `tensors` goes: bytes from the header's end.
struct SafetensorsLayout {
  std::string header;            // padded, without the 8 length bytes
  std::vector<int64_t> order;    // indices of `tensors` as they are written
  std::vector<int64_t> offsets;  // of tensors[i]
  int64_t data_bytes = 0;
};
StatusOr<SafetensorsLayout> LayOutSafetensors(
    absl::Span<const SafetensorsItem> tensors,
    const SafetensorsMetadata& metadata);

// What the header says of one tensor.
struct SafetensorsEntry {
  std::string dtype_name;      // as the file spells it: "F32"
  std::optional<DType> dtype;  // of ours, if we have it
  std::vector<int64_t> shape;
  int64_t begin = 0;  // bytes from the header's end
  int64_t end = 0;

  int64_t bytes() const { return end - begin; }
  int64_t elems() const;
  std::string ToString() const;  // "F32 (16, 3, 3, 48)"
};

class SafetensorsFile {
 public:
  struct Options {
    // Read the whole file and compare its checksum. Without, only the header
    // is checked: enough to list a large file.
    bool verify_data = true;
  };
  static StatusOr<SafetensorsFile> Open(const std::string& path,
                                        const Options& options);
  static StatusOr<SafetensorsFile> Open(const std::string& path) {
    return Open(path, Options());
  }

  const std::string& path() const { return file_.path(); }
  // Without the checksums.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  bool has_checksums() const { return !data_checksum_.empty(); }
  const std::map<std::string, SafetensorsEntry>& tensors() const {
    return tensors_;
  }
  bool Contains(const std::string& name) const {
    return tensors_.count(name) > 0;
  }
  // NotFound names the file and the tensor.
  StatusOr<const SafetensorsEntry*> Find(const std::string& name) const;

  // Fills a packed host view of the same type and shape.
  Status Read(const std::string& name, TensorView out) const;
  // Bytes of its elements from `offset` on, whatever their type; CHECKs that
  // it has so many.
  Status ReadBytes(const std::string& name, int64_t offset,
                   absl::Span<char> out) const;
  // A tensor of the type and shape in the file; `resource` is a host one.
  StatusOr<Tensor> Read(const std::string& name,
                        MemoryResource& resource) const;

 private:
  explicit SafetensorsFile(RandomAccessFile file) : file_(std::move(file)) {}
  Status ReadHeader();
  Status VerifyData() const;

  RandomAccessFile file_;
  int64_t data_begin_ = 0;
  SafetensorsMetadata metadata_;
  std::string data_checksum_;
  std::map<std::string, SafetensorsEntry> tensors_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_SAFETENSORS_H_
