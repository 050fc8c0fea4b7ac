#include "densenet/interchange/pickle_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace densenet::pickle {
namespace {

struct StorageType {
  std::string_view name;   // "torch FloatStorage"
  std::string_view dtype;  // as safetensors has it
};

constexpr StorageType kStorageTypes[] = {
    {"torch FloatStorage", "F32"},        {"torch DoubleStorage", "F64"},
    {"torch HalfStorage", "F16"},         {"torch BFloat16Storage", "BF16"},
    {"torch LongStorage", "I64"},         {"torch IntStorage", "I32"},
    {"torch ShortStorage", "I16"},        {"torch CharStorage", "I8"},
    {"torch ByteStorage", "U8"},          {"torch BoolStorage", "BOOL"},
    {"torch ComplexFloatStorage", "C64"},
};

std::string DTypeOf(const std::string& type) {
  for (const StorageType& known : kStorageTypes) {
    if (known.name == type) return std::string(known.dtype);
  }
  return type;
}

Status Strange(std::string_view what) {
  return DataLoss(
      fmt::format("{} that is not described as PyTorch does", what));
}

// False where it is no tuple or list of integers of 0 or more.
bool ReadSizes(const Pickle& pickle, const Node& node,
               std::vector<int64_t>* sizes) {
  if ((node.kind != Kind::kTuple && node.kind != Kind::kList) ||
      node.items.size() > kMaxTensorRank) {
    return false;
  }
  for (NodeId id : node.items) {
    const Node& item = pickle.node(id);
    if (item.kind != Kind::kInt || item.integer < 0) return false;
    sizes->push_back(item.integer);
  }
  return true;
}

// Whether every element lies inside a storage of so many, and they are no more
// than those: a tensor that repeats elements could have any number.
bool FitsStorage(const TensorLayout& tensor, int64_t storage_elems) {
  int64_t elems = 1;
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) return tensor.offset <= storage_elems;
  }
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(elems, tensor.shape[i], &elems) ||
        __builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i],
                               &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last < storage_elems && elems <= storage_elems;
}

}  // namespace

StatusOr<Storage> DescribeStorage(const Pickle& pickle, const Node& id) {
  constexpr size_t kFields = 5;
  const auto field = [&](size_t i) -> const Node& {
    return pickle.node(id.items[i]);
  };
  if (id.kind != Kind::kTuple || id.items.size() < kFields ||
      field(0).text != "storage" || field(1).kind != Kind::kGlobal ||
      field(2).kind != Kind::kText || field(2).text.size() > kMaxNameBytes ||
      field(4).kind != Kind::kInt || field(4).integer < 0) {
    return Strange("a storage");
  }
  // Files from before PyTorch 0.4 may describe a part of another storage.
  if (id.items.size() > kFields && field(kFields).kind != Kind::kNone) {
    return DataLoss(
        "a storage that is a part of another; load the file and save it again "
        "with a PyTorch of today");
  }
  return Storage{.key = field(2).text,
                 .dtype = DTypeOf(field(1).text),
                 .elems = field(4).integer};
}

StatusOr<TensorLayout> DescribeTensor(const Pickle& pickle,
                                      const Node& arguments) {
  constexpr size_t kFields = 4;
  const auto field = [&](size_t i) -> const Node& {
    return pickle.node(arguments.items[i]);
  };
  TensorLayout tensor;
  if (arguments.kind != Kind::kTuple || arguments.items.size() < kFields ||
      field(0).kind != Kind::kStorage || field(1).kind != Kind::kInt ||
      field(1).integer < 0 || !ReadSizes(pickle, field(2), &tensor.shape) ||
      !ReadSizes(pickle, field(3), &tensor.strides) ||
      tensor.shape.size() != tensor.strides.size()) {
    return Strange("a tensor");
  }
  tensor.storage = field(0).integer;
  tensor.offset = field(1).integer;
  const Storage& storage = pickle.storages[static_cast<size_t>(tensor.storage)];
  if (!FitsStorage(tensor, storage.elems)) {
    return DataLoss(fmt::format(
        "a tensor of ({}) with strides ({}) at element {} does not fit its "
        "storage of {}",
        fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "),
        tensor.offset, storage.elems));
  }
  return tensor;
}

Node ReadDecimal(std::string_view text) {
  if (text == "00" || text == "01") {
    return {.kind = Kind::kBool, .integer = text == "01"};
  }
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  return {.kind = Kind::kInt, .integer = value};
}

Node ReadLong(std::string_view digits) {
  if (digits.size() > sizeof(int64_t)) return {};
  const bool negative =
      !digits.empty() && (static_cast<uint8_t>(digits.back()) & 0x80) != 0;
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (size_t i = digits.size(); i-- > 0;) {
    value = value << 8 | static_cast<uint8_t>(digits[i]);
  }
  return {.kind = Kind::kInt, .integer = static_cast<int64_t>(value)};
}

}  // namespace densenet::pickle
