#include "densenet/interchange/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/io/file.h"
#include "core/io/safetensors.h"
#include "densenet/interchange/pytorch_file.h"

namespace densenet {
namespace {

class SafetensorsTensorFile : public TensorFile {
 public:
  explicit SafetensorsTensorFile(SafetensorsFile file)
      : TensorFile(file.path()), file_(std::move(file)) {
    for (const auto& [name, entry] : file_.tensors()) {
      tensors_.push_back({.container = "",
                          .name = name,
                          .dtype = entry.dtype_name,
                          .shape = entry.shape});
    }
    std::sort(tensors_.begin(), tensors_.end(),
              [](const StoredTensor& a, const StoredTensor& b) {
                return NaturalLess(a.name, b.name);
              });
    values_ = file_.metadata();
  }

  std::string_view format() const override { return "safetensors"; }

  Status ForEachPiece(size_t index, const Visit& visit) override {
    constexpr int64_t kPieceElems = int64_t{1} << 17;
    const StoredTensor& tensor = tensors_[index];
    const int64_t bytes = ElementBytes(tensor.dtype);
    if (bytes == 0) return NoValues(tensor);
    const int64_t elems = tensor.elems();
    std::vector<double> piece(
        static_cast<size_t>(std::min(elems, kPieceElems)));
    std::vector<char> raw(piece.size() * static_cast<size_t>(bytes));
    for (int64_t at = 0; at < elems; at += kPieceElems) {
      const auto count = static_cast<size_t>(std::min(kPieceElems, elems - at));
      RETURN_IF_ERROR(file_.ReadBytes(
          tensor.name, at * bytes,
          absl::MakeSpan(raw.data(), count * static_cast<size_t>(bytes))));
      const absl::Span<double> values(piece.data(), count);
      DecodeElements(tensor.dtype, raw.data(), values);
      visit(values);
    }
    return OkStatus();
  }

 private:
  SafetensorsFile file_;
};

}  // namespace

Status TensorFile::NoValues(const StoredTensor& tensor) const {
  return Unimplemented(
      fmt::format("{}: tensor {} is of type {}, which is not "
                  "read",
                  path_, tensor.full_name(), tensor.dtype));
}

StatusOr<std::unique_ptr<TensorFile>> TensorFile::Open(
    const std::string& path) {
  ASSIGN_OR_RETURN(const bool pytorch, IsPytorchFile(path));
  if (pytorch) return OpenPytorchFile(path);
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) {
    if (file.status().code() != StatusCode::kDataLoss) return file.status();
    return Annotate(file.status(),
                    "neither a file of torch.save nor a sound safetensors one");
  }
  return std::unique_ptr<TensorFile>(
      std::make_unique<SafetensorsTensorFile>(*std::move(file)));
}

int64_t StoredTensor::elems() const {
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  return count;
}

std::string StoredTensor::full_name() const {
  return container.empty() ? name : container + "." + name;
}

std::string StoredTensor::ToString() const {
  return fmt::format("{} ({})", dtype, fmt::join(shape, ", "));
}

bool NaturalLess(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  // The digits at the front of `text`, without leading zeros.
  const auto take_number = [&](std::string_view* text) {
    size_t end = 0;
    while (end < text->size() && is_digit((*text)[end])) ++end;
    std::string_view number = text->substr(0, end);
    text->remove_prefix(end);
    number.remove_prefix(std::min(number.find_first_not_of('0'), end));
    return number;
  };
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view m = take_number(&a), n = take_number(&b);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

}  // namespace densenet
