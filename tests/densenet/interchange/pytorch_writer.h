// tests/densenet/interchange/pytorch_writer.h
//
// Pickles opcode by opcode, and files as torch.save writes them, without
// Python.

#ifndef DENSENET_TESTS_DENSENET_INTERCHANGE_PYTORCH_WRITER_H_
#define DENSENET_TESTS_DENSENET_INTERCHANGE_PYTORCH_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace densenet::testing {

class PickleWriter {
 public:
  PickleWriter() : text_("\x80\x02") {}

  const std::string& text() const { return text_; }
  PickleWriter& Raw(std::string_view opcodes) {
    text_ += opcodes;
    return *this;
  }
  PickleWriter& Text(std::string_view text);
  PickleWriter& Int(int32_t value);
  // ( ... t
  PickleWriter& Sizes(const std::vector<int64_t>& sizes);
  PickleWriter& Global(std::string_view module, std::string_view name);
  // type: "FloatStorage"
  PickleWriter& Storage(std::string_view type, std::string_view key,
                        int64_t elems);
  PickleWriter& Tensor(std::string_view type, std::string_view key,
                       int64_t elems, int64_t offset,
                       const std::vector<int64_t>& shape,
                       const std::vector<int64_t>& strides);
  std::string Stop() const { return text_ + '.'; }

 private:
  std::string text_;
};

// The bytes of values, as a storage holds them.
template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

// A zip file; CHECKs that it can be written.
struct ZipOptions {
  std::string folder = "archive/";
  bool compress = false;
  std::string byte_order = "little";
};
void WriteTorchZip(const std::string& path, const std::string& pickle,
                   const std::map<std::string, std::string>& storages,
                   const ZipOptions& options = {});

// The older container. Storages are in the order of their keys; `elems` of each
// follow from `element_bytes`.
std::string TorchLegacy(const std::string& pickle,
                        const std::map<std::string, std::string>& storages,
                        int64_t element_bytes);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_INTERCHANGE_PYTORCH_WRITER_H_
