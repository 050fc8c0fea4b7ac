#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/io/crc32c.h"
#include "core/io/safetensors.h"
#include "core/io/safetensors_format.h"

namespace densenet {
namespace {

using safetensors::kBlankChecksum;
using safetensors::kChunkBytes;
using safetensors::kHeaderAlignment;
using safetensors::kLengthBytes;
using safetensors::kMaxHeaderBytes;
using safetensors::kMetadataKey;

Status CheckItems(absl::Span<const SafetensorsItem> tensors) {
  std::set<std::string_view> names;
  for (const SafetensorsItem& item : tensors) {
    if (item.name.empty() || item.name == kMetadataKey) {
      return InvalidArgument(fmt::format(
          "safetensors: a tensor cannot be named \"{}\"", item.name));
    }
    if (!names.insert(item.name).second) {
      return InvalidArgument(
          fmt::format("safetensors: two tensors are named {}", item.name));
    }
    if (!item.view.device().is_cpu()) {
      return InvalidArgument(fmt::format(
          "safetensors: tensor {} is on {}: copy it to the host first",
          item.name, item.view.device().ToString()));
    }
    if (!item.view.IsPacked()) {
      return InvalidArgument(fmt::format(
          "safetensors: tensor {} {} has strides {}: only packed "
          "tensors are written",
          item.name, item.view.ToString(), item.view.strides().ToString()));
    }
  }
  return OkStatus();
}

// "" when `json` holds text that is not UTF-8.
std::string Dump(const nlohmann::ordered_json& json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::exception&) {
    return "";
  }
}

void StoreLittleEndian(uint64_t value, unsigned char out[8]) {
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<unsigned char>(value >> (8 * i));
  }
}

}  // namespace

StatusOr<SafetensorsLayout> LayOutSafetensors(
    absl::Span<const SafetensorsItem> tensors,
    const SafetensorsMetadata& metadata) {
  RETURN_IF_ERROR(CheckItems(tensors));
  SafetensorsLayout layout;
  layout.order.resize(tensors.size());
  std::iota(layout.order.begin(), layout.order.end(), 0);
  std::stable_sort(layout.order.begin(), layout.order.end(),
                   [&](int64_t a, int64_t b) {
                     return SizeOf(tensors[a].view.dtype()) >
                            SizeOf(tensors[b].view.dtype());
                   });
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  nlohmann::ordered_json& strings = json[std::string(kMetadataKey)];
  for (const auto& [key, value] : metadata) {
    if (key == kDataChecksumKey || key == kHeaderChecksumKey) {
      return InvalidArgument(fmt::format(
          "safetensors: metadata {} is the writer's to compute", key));
    }
    strings[key] = value;
  }
  strings[std::string(kDataChecksumKey)] = kBlankChecksum;
  strings[std::string(kHeaderChecksumKey)] = kBlankChecksum;

  layout.offsets.resize(tensors.size());
  for (int64_t i : layout.order) {
    const ConstTensorView& view = tensors[i].view;
    const int64_t begin = layout.data_bytes;
    layout.offsets[i] = begin;
    layout.data_bytes += view.bytes();
    nlohmann::ordered_json entry;
    entry["dtype"] = safetensors::FileTypeName(view.dtype());
    entry["shape"] = std::vector<int64_t>(view.shape().dims().begin(),
                                          view.shape().dims().end());
    entry["data_offsets"] = {begin, layout.data_bytes};
    // Names are distinct: no search for an equal one.
    json.push_back({tensors[i].name, std::move(entry)});
  }
  layout.header = Dump(json);
  if (layout.header.empty()) {
    return InvalidArgument(
        "safetensors: a tensor's name or the metadata is not UTF-8 text");
  }
  const size_t alignment = kHeaderAlignment;
  const size_t padded =
      (layout.header.size() + alignment - 1) / alignment * alignment;
  layout.header.resize(padded, ' ');
  if (layout.header.size() > static_cast<size_t>(kMaxHeaderBytes)) {
    return InvalidArgument(
        fmt::format("safetensors: names and metadata take {} bytes, at most "
                    "{} can be read back",
                    layout.header.size(), kMaxHeaderBytes));
  }
  return layout;
}

Status WriteSafetensors(const std::string& path,
                        absl::Span<const SafetensorsItem> tensors,
                        const SafetensorsMetadata& metadata) {
  StatusOr<SafetensorsLayout> layout = LayOutSafetensors(tensors, metadata);
  if (!layout.ok()) return Annotate(layout.status(), "write " + path);
  std::string& header = layout->header;
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  unsigned char length[kLengthBytes];
  StoreLittleEndian(header.size(), length);
  RETURN_IF_ERROR(file.Append(length, kLengthBytes));
  RETURN_IF_ERROR(file.Append(header));

  uint32_t crc = 0;
  for (int64_t i : layout->order) {
    const char* p = static_cast<const char*>(tensors[i].view.raw());
    for (int64_t left = tensors[i].view.bytes(); left > 0;) {
      const int64_t n = std::min(left, kChunkBytes);
      crc = ExtendCrc32c(crc, p, n);
      RETURN_IF_ERROR(file.Append(p, n));
      p += n;
      left -= n;
    }
  }
  CHECK_EQ(file.size(), kLengthBytes + static_cast<int64_t>(header.size()) +
                            layout->data_bytes);

  // The data's digits first: the header's checksum covers them.
  for (const std::string_view key : {kDataChecksumKey, kHeaderChecksumKey}) {
    if (key == kHeaderChecksumKey) crc = Crc32c(header);
    const size_t at = safetensors::FindHeaderChecksum(header, key);
    CHECK(at != header.npos);
    header.replace(at, kBlankChecksum.size(), Crc32cHex(crc));
  }
  RETURN_IF_ERROR(file.WriteAt(kLengthBytes, header.data(),
                               static_cast<int64_t>(header.size())));
  return file.Commit();
}

}  // namespace densenet
