#include "core/io/mat_structure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/io/file.h"
#include "core/io/mat_stretch.h"

namespace densenet {
namespace {

// The head of the file: a text, then version and byte order.
constexpr int64_t kHeadBytes = 128;
constexpr int64_t kVersionAt = 124;
constexpr uint32_t kVersion5 = 0x0100;
constexpr uint32_t kVersionHdf5 = 0x0200;
constexpr int64_t kAlign = 8;

// The types of elements that occur here.
enum : uint32_t {
  kTypeInt8 = 1,
  kTypeInt32 = 5,
  kTypeUInt32 = 6,
  kTypeMatrix = 14,
  kTypeCompressed = 15,
};

// Bytes of a number of each type; 0: not a type of numbers.
constexpr std::array<int64_t, 14> kNumberBytes = {0, 1, 1, 2, 2, 4, 4,
                                                  4, 0, 8, 0, 0, 8, 8};

// Bits of the array flags, and classes that hold other things than numbers.
constexpr uint32_t kComplexFlag = 0x0800;
constexpr std::array<std::string_view, 6> kOtherClasses = {
    "of class 0", "a cell array", "a struct",
    "an object",  "a text",       "a sparse matrix"};

constexpr int64_t kMaxNameBytes = 63;  // MATLAB's own limit
constexpr int64_t kMaxRank = 32;

class Reader {
 public:
  explicit Reader(const RandomAccessFile& file) : file_(file) {}

  StatusOr<std::vector<MatVariable>> ReadAll();

 private:
  struct Tag {
    uint32_t type = 0;
    int64_t bytes = 0;
    // Up to four bytes of data lie in the tag itself.
    bool packed = false;
    std::array<unsigned char, 4> data{};
  };

  uint32_t Word(const unsigned char* p) const {
    uint32_t word;
    std::memcpy(&word, p, sizeof(word));
    return swapped_ ? __builtin_bswap32(word) : word;
  }
  static int64_t Padded(int64_t bytes) {
    return (bytes + kAlign - 1) / kAlign * kAlign;
  }
  // The bytes of an element with its tag.
  static int64_t Whole(const Tag& tag) {
    return tag.packed ? kAlign : kAlign + Padded(tag.bytes);
  }

  Status ReadHead();
  StatusOr<Tag> ReadTag(MatStretch& from) const;
  // A tag of `type`, and its data as `bytes` bytes at most.
  StatusOr<std::vector<unsigned char>> ReadSmall(MatStretch& from,
                                                 uint32_t type,
                                                 int64_t max_bytes,
                                                 std::string_view what,
                                                 int64_t* left) const;
  StatusOr<MatVariable> ReadMatrix(MatStretch& from, int64_t bytes) const;
  Status ReadExtents(MatStretch& from, int64_t* left,
                     MatVariable* variable) const;
  Status CheckData(MatStretch& from, const MatVariable& variable,
                   int64_t left) const;

  const RandomAccessFile& file_;
  bool swapped_ = false;
};

Status Reader::ReadHead() {
  const std::string& path = file_.path();
  unsigned char head[kHeadBytes] = {};
  const int64_t n = std::min(file_.size(), kHeadBytes);
  RETURN_IF_ERROR(file_.ReadAt(0, head, n));
  const std::string_view order(reinterpret_cast<const char*>(head) + 126, 2);
  // Written as the number 'M' << 8 | 'I' of the writer's byte order.
  if (n < kHeadBytes || (order != "IM" && order != "MI")) {
    return InvalidArgument(fmt::format(
        "{} is no MATLAB 5 file: {}; save it with MATLAB's -v7 or -v6", path,
        n < kHeadBytes ? fmt::format("it has only {} bytes", n)
                       : "its head names no byte order"));
  }
  swapped_ = order == "MI";
  const uint32_t version = swapped_ ? head[kVersionAt] << 8 | head[125]
                                    : head[125] << 8 | head[kVersionAt];
  if (version == kVersionHdf5) {
    return InvalidArgument(
        fmt::format("{} is a MATLAB 7.3 (HDF5) file: save it with MATLAB's -v7 "
                    "or -v6",
                    path));
  }
  if (version != kVersion5) {
    return InvalidArgument(
        fmt::format("{} is no MATLAB 5 file: its version is {:#06x}, expected "
                    "{:#06x}",
                    path, version, kVersion5));
  }
  return OkStatus();
}

StatusOr<Reader::Tag> Reader::ReadTag(MatStretch& from) const {
  unsigned char bytes[kAlign];
  RETURN_IF_ERROR(from.Read(bytes, kAlign));
  const uint32_t first = Word(bytes);
  Tag tag;
  if (first >> 16 != 0) {
    tag.type = first & 0xffff;
    tag.bytes = first >> 16;
    tag.packed = true;
    std::copy_n(bytes + 4, 4, tag.data.begin());
    if (tag.bytes > 4) return from.Damaged("an element has an impossible size");
  } else {
    tag.type = first;
    tag.bytes = Word(bytes + 4);
  }
  return tag;
}

StatusOr<std::vector<unsigned char>> Reader::ReadSmall(MatStretch& from,
                                                       uint32_t type,
                                                       int64_t max_bytes,
                                                       std::string_view what,
                                                       int64_t* left) const {
  ASSIGN_OR_RETURN(const Tag tag, ReadTag(from));
  if (tag.type != type || tag.bytes > max_bytes || Whole(tag) > *left) {
    return from.Damaged(fmt::format("a variable's {} are impossible", what));
  }
  *left -= Whole(tag);
  std::vector<unsigned char> data(static_cast<size_t>(tag.bytes));
  if (tag.packed) {
    std::copy_n(tag.data.begin(), tag.bytes, data.begin());
    return data;
  }
  RETURN_IF_ERROR(from.Read(data.data(), tag.bytes));
  RETURN_IF_ERROR(from.Skip(Padded(tag.bytes) - tag.bytes));
  return data;
}

Status Reader::ReadExtents(MatStretch& from, int64_t* left,
                           MatVariable* variable) const {
  ASSIGN_OR_RETURN(const std::vector<unsigned char> data,
                   ReadSmall(from, kTypeInt32, 4 * kMaxRank, "extents", left));
  if (data.size() < 8 || data.size() % 4 != 0) {
    return from.Damaged("a variable's extents are impossible");
  }
  int64_t elems = 1;
  for (size_t i = 0; i < data.size(); i += 4) {
    const auto extent = static_cast<int32_t>(Word(data.data() + i));
    if (extent < 0 || __builtin_mul_overflow(elems, extent, &elems)) {
      return from.Damaged("a variable's extents are impossible");
    }
    variable->extents.push_back(extent);
  }
  return OkStatus();
}

Status Reader::CheckData(MatStretch& from, const MatVariable& variable,
                         int64_t left) const {
  ASSIGN_OR_RETURN(const Tag tag, ReadTag(from));
  const int64_t number =
      tag.type < kNumberBytes.size() ? kNumberBytes[tag.type] : 0;
  if (number == 0) {
    return from.Damaged(
        fmt::format("'{}' is stored as type {}, which is no type of numbers",
                    variable.name, tag.type));
  }
  // matio counts in int.
  const int64_t most = std::numeric_limits<int32_t>::max();
  if (tag.bytes / number != variable.elems() || tag.bytes % number != 0) {
    return from.Damaged(
        fmt::format("'{}' is {}, but has {} bytes for numbers of {}",
                    variable.name, variable.ToString(), tag.bytes, number));
  }
  if (tag.bytes > most) {
    return InvalidArgument(fmt::format(
        "{}: '{}' has {} bytes; at most {} can be read from one variable",
        file_.path(), variable.name, tag.bytes, most));
  }
  // Some writers leave the padding of the last element out.
  if (left != Whole(tag) && (tag.packed || left != kAlign + tag.bytes)) {
    return from.Damaged(fmt::format("'{}' has {} bytes of data, {} expected",
                                    variable.name, left, Whole(tag)));
  }
  return tag.packed ? OkStatus() : from.Skip(left - kAlign);
}

StatusOr<MatVariable> Reader::ReadMatrix(MatStretch& from,
                                         int64_t bytes) const {
  int64_t left = bytes;
  ASSIGN_OR_RETURN(const std::vector<unsigned char> flags,
                   ReadSmall(from, kTypeUInt32, 8, "flags", &left));
  if (flags.size() != 8) return from.Damaged("a variable has no flags");
  const uint32_t word = Word(flags.data());
  const uint32_t type = word & 0xff;
  MatVariable variable;
  RETURN_IF_ERROR(ReadExtents(from, &left, &variable));
  ASSIGN_OR_RETURN(
      const std::vector<unsigned char> name,
      ReadSmall(from, kTypeInt8, kMaxNameBytes, "name's letters", &left));
  variable.name.assign(name.begin(), name.end());
  const bool numbers = static_cast<uint32_t>(MatClass::kDouble) <= type &&
                       type <= static_cast<uint32_t>(MatClass::kUInt64);
  if (!numbers || (word & kComplexFlag) != 0) {
    return InvalidArgument(fmt::format(
        "{}: '{}' is {}, expected arrays of real numbers alone", file_.path(),
        variable.name,
        numbers                       ? "complex"
        : type < kOtherClasses.size() ? std::string(kOtherClasses[type])
                                      : fmt::format("of class {}", type)));
  }
  variable.type = static_cast<MatClass>(type);
  RETURN_IF_ERROR(CheckData(from, variable, left));
  return variable;
}

StatusOr<std::vector<MatVariable>> Reader::ReadAll() {
  RETURN_IF_ERROR(ReadHead());
  std::vector<MatVariable> variables;
  for (int64_t at = kHeadBytes; at < file_.size();) {
    MatStretch head(file_, at, std::min(kAlign, file_.size() - at));
    ASSIGN_OR_RETURN(const Tag tag, ReadTag(head));
    at += kAlign;
    if (tag.packed ||
        (tag.type != kTypeMatrix && tag.type != kTypeCompressed)) {
      return head.Damaged(fmt::format(
          "an element of type {} where a variable is expected", tag.type));
    }
    if (tag.bytes > file_.size() - at) {
      return DataLoss(fmt::format(
          "{} was cut: a variable has {} bytes from byte {} on, the file has "
          "{}",
          file_.path(), tag.bytes, at, file_.size()));
    }
    MatStretch body(file_, at, tag.bytes);
    int64_t bytes = tag.bytes;
    if (tag.type == kTypeCompressed) {
      RETURN_IF_ERROR(body.StartInflating());
      ASSIGN_OR_RETURN(const Tag inner, ReadTag(body));
      if (inner.packed || inner.type != kTypeMatrix) {
        return body.Damaged("no variable is in its compressed data");
      }
      bytes = inner.bytes;
    }
    ASSIGN_OR_RETURN(MatVariable variable, ReadMatrix(body, bytes));
    RETURN_IF_ERROR(body.ExpectEnd());
    variables.push_back(std::move(variable));
    at += tag.bytes;
  }
  return variables;
}

}  // namespace

std::string Name(MatClass type) {
  switch (type) {
    case MatClass::kDouble:
      return "double";
    case MatClass::kSingle:
      return "single";
    case MatClass::kInt8:
      return "int8";
    case MatClass::kUInt8:
      return "uint8";
    case MatClass::kInt16:
      return "int16";
    case MatClass::kUInt16:
      return "uint16";
    case MatClass::kInt32:
      return "int32";
    case MatClass::kUInt32:
      return "uint32";
    case MatClass::kInt64:
      return "int64";
    case MatClass::kUInt64:
      return "uint64";
  }
  return fmt::format("class {}", static_cast<int>(type));
}

std::string MatVariable::ToString() const {
  return fmt::format("{} {}", Name(type), fmt::join(extents, "x"));
}

StatusOr<std::vector<MatVariable>> ReadMatStructure(const std::string& path) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  return Reader(file).ReadAll();
}

}  // namespace densenet
