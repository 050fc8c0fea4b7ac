// densenet/interchange/tensor_file.h
//
// The named tensors of a file that some other program may have written:
// safetensors, or what torch.save writes (.pth, .pt, .pth.tar; the zip files
// of today and the older ones). Pickles in it are read as data, never run
// (pickle_machine.h).
//
// Memory   what describes the tensors, and one tensor at a time
// Errors   InvalidArgument  neither format
//          DataLoss         damaged: names the file
//          others           those of the system and of pickle_machine.h
// Threads  one at a time

#ifndef DENSENET_DENSENET_INTERCHANGE_TENSOR_FILE_H_
#define DENSENET_DENSENET_INTERCHANGE_TENSOR_FILE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"

namespace densenet {

struct StoredTensor {
  // What holds it, "state_dict" or "optimizer.state.0"; "" at the top.
  std::string container;
  std::string name;   // there
  std::string dtype;  // as safetensors spells it: "F32"
  std::vector<int64_t> shape;

  int64_t elems() const;
  std::string full_name() const;
  std::string ToString() const;  // "F32 (48, 24, 1, 1)"
};

class TensorFile {
 public:
  static StatusOr<std::unique_ptr<TensorFile>> Open(const std::string& path);
  virtual ~TensorFile() = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  virtual std::string_view format() const = 0;  // "safetensors", "PyTorch"
  const std::string& path() const { return path_; }
  // By name, numbers in names by value.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // Texts and numbers beside the tensors.
  const std::map<std::string, std::string>& values() const { return values_; }

  // The elements of tensors()[index] in row-major order, in pieces. Integers
  // beyond 2^53 are rounded, all else is exact.
  // Errors  Unimplemented  a type without a value here: float8, complex
  using Visit = std::function<void(absl::Span<const double>)>;
  virtual Status ForEachPiece(size_t index, const Visit& visit) = 0;

 protected:
  explicit TensorFile(std::string path) : path_(std::move(path)) {}
  Status NoValues(const StoredTensor& tensor) const;

  std::string path_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> values_;
};

// Bytes of an element; 0 for a type without a value here.
int64_t ElementBytes(std::string_view dtype);

// `bytes` holds out.size() elements, little-endian. CHECKs that the type has
// values.
void DecodeElements(std::string_view dtype, const char* bytes,
                    absl::Span<double> out);

// Whether `a` is before `b` where runs of digits count as numbers.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INTERCHANGE_TENSOR_FILE_H_
