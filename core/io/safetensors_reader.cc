#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/io/crc32c.h"
#include "core/io/safetensors.h"
#include "core/io/safetensors_format.h"

namespace densenet {
namespace {

using nlohmann::json;
using safetensors::FileType;
using safetensors::kBlankChecksum;
using safetensors::kChunkBytes;
using safetensors::kLengthBytes;
using safetensors::kMaxHeaderBytes;
using safetensors::kMetadataKey;

// {name: {...}} and {"shape": [...]}: nothing valid is deeper.
constexpr int kMaxDepth = 3;

Status Damaged(std::string_view path, std::string_view what) {
  return DataLoss(fmt::format("safetensors file {}: {}", path, what));
}

// The header as JSON. A key that appears twice is an error: parsers differ in
// which one they take.
StatusOr<json> ParseHeader(std::string_view path, std::string_view header) {
  std::set<std::string> keys[2];  // of the outer object, of the inner one
  std::string twice;
  bool deep = false;
  auto on_event = [&](int depth, json::parse_event_t event, json& value) {
    deep = deep || depth > kMaxDepth;
    if (event == json::parse_event_t::object_start && depth == 1) {
      keys[1].clear();
    }
    if (event == json::parse_event_t::key && (depth == 1 || depth == 2)) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys[depth - 1].insert(key).second) twice = key;
    }
    return !deep;
  };
  json parsed = json::parse(header.begin(), header.end(), on_event,
                            /*allow_exceptions=*/false);
  if (deep || parsed.is_discarded() || !parsed.is_object()) {
    return Damaged(path, "its header is not the JSON of a safetensors file");
  }
  if (!twice.empty()) {
    return Damaged(path, fmt::format("its header names \"{}\" twice", twice));
  }
  return parsed;
}

// False when `value` is not an array of non-negative int64.
bool ReadInts(const json& value, std::vector<int64_t>* out) {
  if (!value.is_array()) return false;
  for (const json& item : value) {
    if (!item.is_number_unsigned()) return false;
    const auto n = item.get<uint64_t>();
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return false;
    }
    out->push_back(static_cast<int64_t>(n));
  }
  return true;
}

// Elements of a shape; nothing when int64 cannot count their bits.
std::optional<int64_t> CountBits(const std::vector<int64_t>& shape, int bits) {
  int64_t count = bits;
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(count, d, &count)) return std::nullopt;
  }
  return count;
}

StatusOr<SafetensorsEntry> ReadEntry(const json& value) {
  constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
  const auto has = [&](std::string_view f) {
    return value.contains(std::string(f));
  };
  if (!value.is_object() || value.size() != std::size(kFields) ||
      !std::all_of(std::begin(kFields), std::end(kFields), has)) {
    return DataLoss("expected dtype, shape and data_offsets");
  }
  SafetensorsEntry entry;
  std::vector<int64_t> offsets;
  const json& dtype = value.at("dtype");
  if (!dtype.is_string()) return DataLoss("dtype is not a string");
  entry.dtype_name = dtype.get<std::string>();
  const FileType* type = safetensors::FindFileType(entry.dtype_name);
  if (type == nullptr) {
    return DataLoss(fmt::format("unknown dtype {}", entry.dtype_name));
  }
  entry.dtype = type->dtype;
  if (!ReadInts(value.at("shape"), &entry.shape)) {
    return DataLoss("shape is not a list of sizes");
  }
  if (!ReadInts(value.at("data_offsets"), &offsets) || offsets.size() != 2 ||
      offsets[0] > offsets[1]) {
    return DataLoss("data_offsets are not [begin, end]");
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const std::optional<int64_t> bits = CountBits(entry.shape, type->bits);
  if (!bits || *bits % 8 != 0 || *bits / 8 != entry.bytes()) {
    return DataLoss(fmt::format("{} does not take the {} bytes it has",
                                entry.ToString(), entry.bytes()));
  }
  return entry;
}

// Every byte of the data belongs to exactly one tensor.
Status CheckCoverage(std::string_view path,
                     const std::map<std::string, SafetensorsEntry>& tensors,
                     int64_t data_bytes) {
  using Item = std::pair<const std::string, SafetensorsEntry>;
  std::vector<const Item*> order;
  for (const Item& item : tensors) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const Item* a, const Item* b) {
    return std::pair(a->second.begin, a->second.end) <
           std::pair(b->second.begin, b->second.end);
  });
  int64_t expected = 0;
  for (const Item* item : order) {
    if (item->second.begin != expected) {
      return Damaged(path,
                     fmt::format("tensor {} begins at byte {} of the "
                                 "data, expected {}",
                                 item->first, item->second.begin, expected));
    }
    expected = item->second.end;
  }
  if (expected != data_bytes) {
    return Damaged(path,
                   fmt::format("its tensors take {} bytes, the file has {} "
                               "after the header{}",
                               expected, data_bytes,
                               expected > data_bytes ? ": it was cut" : ""));
  }
  return OkStatus();
}

Status ReadMetadata(std::string_view path, const json& value,
                    SafetensorsMetadata* metadata) {
  if (!value.is_object()) return Damaged(path, "__metadata__ is no object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return Damaged(path, fmt::format("metadata \"{}\" is not a string", key));
    }
    (*metadata)[key] = text.get<std::string>();
  }
  return OkStatus();
}

// Takes the two checksums out of the metadata, checks the header's and
// returns the data's; "" for a file without.
StatusOr<std::string> TakeChecksums(std::string_view path, std::string header,
                                    SafetensorsMetadata* metadata) {
  const auto data = metadata->extract(std::string(kDataChecksumKey));
  const auto stored = metadata->extract(std::string(kHeaderChecksumKey));
  if (data.empty() && stored.empty()) return std::string();
  if (data.empty() || stored.empty()) {
    return Damaged(path, "it carries one of its two checksums");
  }
  const size_t at = safetensors::FindHeaderChecksum(header, kHeaderChecksumKey);
  if (at == header.npos || stored.mapped().size() != kBlankChecksum.size()) {
    return Damaged(path, "the checksum of its header cannot be found");
  }
  header.replace(at, kBlankChecksum.size(), kBlankChecksum);
  const std::string actual = Crc32cHex(Crc32c(header));
  if (actual != stored.mapped()) {
    return Damaged(path, fmt::format("its header has checksum {}, expected {}",
                                     actual, stored.mapped()));
  }
  return data.mapped();
}

}  // namespace

int64_t SafetensorsEntry::elems() const {
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  return count;
}

std::string SafetensorsEntry::ToString() const {
  return fmt::format("{} ({})", dtype_name, fmt::join(shape, ", "));
}

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path,
                                                const Options& options) {
  ASSIGN_OR_RETURN(RandomAccessFile raw, RandomAccessFile::Open(path));
  SafetensorsFile file(std::move(raw));
  RETURN_IF_ERROR(file.ReadHeader());
  if (options.verify_data && file.has_checksums()) {
    RETURN_IF_ERROR(file.VerifyData());
  }
  return file;
}

Status SafetensorsFile::ReadHeader() {
  unsigned char length[kLengthBytes];
  if (file_.size() < kLengthBytes) {
    return Damaged(path(),
                   fmt::format("{} bytes are too short for one", file_.size()));
  }
  RETURN_IF_ERROR(file_.ReadAt(0, length, kLengthBytes));
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | length[i];
  const int64_t available = file_.size() - kLengthBytes;
  if (header_bytes > static_cast<uint64_t>(kMaxHeaderBytes) ||
      header_bytes > static_cast<uint64_t>(available)) {
    return Damaged(path(), fmt::format("a header of {} bytes in a file of {}",
                                       header_bytes, file_.size()));
  }
  std::string header(header_bytes, '\0');
  RETURN_IF_ERROR(file_.ReadAt(kLengthBytes, header.data(),
                               static_cast<int64_t>(header_bytes)));
  data_begin_ = kLengthBytes + static_cast<int64_t>(header_bytes);

  if (!header.starts_with('{')) {
    return Damaged(path(), "its header does not start with '{'");
  }
  ASSIGN_OR_RETURN(const json parsed, ParseHeader(path(), header));
  for (const auto& [name, value] : parsed.items()) {
    if (name == kMetadataKey) {
      RETURN_IF_ERROR(ReadMetadata(path(), value, &metadata_));
      continue;
    }
    StatusOr<SafetensorsEntry> entry = ReadEntry(value);
    if (!entry.ok()) {
      return Damaged(path(), fmt::format("tensor {}: {}", name,
                                         StdView(entry.status().message())));
    }
    tensors_.emplace(name, *std::move(entry));
  }
  ASSIGN_OR_RETURN(data_checksum_,
                   TakeChecksums(path(), std::move(header), &metadata_));
  return CheckCoverage(path(), tensors_, file_.size() - data_begin_);
}

Status SafetensorsFile::VerifyData() const {
  const auto buffer = std::make_unique<char[]>(kChunkBytes);
  uint32_t crc = 0;
  for (int64_t at = data_begin_; at < file_.size();) {
    const int64_t n = std::min(kChunkBytes, file_.size() - at);
    RETURN_IF_ERROR(file_.ReadAt(at, buffer.get(), n));
    crc = ExtendCrc32c(crc, buffer.get(), n);
    at += n;
  }
  if (Crc32cHex(crc) != data_checksum_) {
    return Damaged(path(), fmt::format("its data has checksum {}, expected {}",
                                       Crc32cHex(crc), data_checksum_));
  }
  return OkStatus();
}

StatusOr<const SafetensorsEntry*> SafetensorsFile::Find(
    const std::string& name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) {
    return NotFound(
        fmt::format("safetensors file {} has no tensor {}", path(), name));
  }
  return &it->second;
}

Status SafetensorsFile::Read(const std::string& name, TensorView out) const {
  ASSIGN_OR_RETURN(const SafetensorsEntry* entry, Find(name));
  const absl::Span<const int64_t> wanted = out.shape().dims();
  if (entry->dtype != out.dtype() ||
      absl::MakeConstSpan(entry->shape) != wanted) {
    return InvalidArgument(
        fmt::format("safetensors file {}: tensor {} is {}, expected {}", path(),
                    name, entry->ToString(), out.ToString()));
  }
  if (!out.device().is_cpu() || !out.IsPacked()) {
    return InvalidArgument(fmt::format(
        "safetensors file {}: tensor {} can only be read into packed host "
        "memory",
        path(), name));
  }
  return file_.ReadAt(data_begin_ + entry->begin, out.raw(), entry->bytes());
}

Status SafetensorsFile::ReadBytes(const std::string& name, int64_t offset,
                                  absl::Span<char> out) const {
  ASSIGN_OR_RETURN(const SafetensorsEntry* entry, Find(name));
  const auto bytes = static_cast<int64_t>(out.size());
  CHECK(0 <= offset && offset <= entry->bytes() - bytes) << name;
  return file_.ReadAt(data_begin_ + entry->begin + offset, out.data(), bytes);
}

StatusOr<Tensor> SafetensorsFile::Read(const std::string& name,
                                       MemoryResource& resource) const {
  ASSIGN_OR_RETURN(const SafetensorsEntry* entry, Find(name));
  if (!entry->dtype.has_value() || entry->shape.size() > kMaxRank) {
    return InvalidArgument(
        fmt::format("safetensors file {}: tensor {} is {}, which no tensor "
                    "here can hold",
                    path(), name, entry->ToString()));
  }
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Empty(resource, *entry->dtype,
                                 Shape(absl::MakeConstSpan(entry->shape))));
  RETURN_IF_ERROR(Read(name, tensor.view()));
  return tensor;
}

}  // namespace densenet
