#include "densenet/data/tf_example.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <tf_example.pb.h>

#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace densenet {
namespace {

// Of the features that a record has, in a message.
constexpr size_t kMaxListed = 20;

// A message is walked as it stands, with nothing made of it: parsed, a record
// of many parts takes fifty times its size, and every image is copied.
struct Field {
  uint32_t number = 0;
  std::optional<uint64_t> integer;        // a varint
  std::optional<std::string_view> bytes;  // what has a length
};

// Calls `fn` with each field of a message. False when the bytes are no message,
// or `fn` says so.
template <typename Fn>
bool ForEachField(std::string_view message, const Fn& fn) {
  const auto* data = reinterpret_cast<const uint8_t*>(message.data());
  google::protobuf::io::CodedInputStream in(data,
                                            static_cast<int>(message.size()));
  while (const uint32_t tag = in.ReadTag()) {
    Field field{.number = tag >> 3, .integer = {}, .bytes = {}};
    uint64_t number = 0;
    uint32_t word = 0;
    bool good = false;  // groups are not: nobody writes any
    switch (tag & 7) {  // how the value is written
      case 0:
        good = in.ReadVarint64(&number);
        field.integer = number;
        break;
      case 1:
        good = in.ReadLittleEndian64(&number);
        break;
      case 2:
        if (in.ReadVarint32(&word)) {
          const auto at = static_cast<size_t>(in.CurrentPosition());
          good = word <= message.size() - at && in.Skip(static_cast<int>(word));
          if (good) field.bytes = message.substr(at, word);
        }
        break;
      case 5:
        good = in.ReadLittleEndian32(&word);
        break;
    }
    if (!good || !fn(field)) return false;
  }
  return in.ConsumedEntireMessage();
}

// Calls `fn` with the bytes of each field `number` that has a length.
template <typename Fn>
bool ForEachPart(std::string_view message, uint32_t number, const Fn& fn) {
  return ForEachField(message, [&](const Field& field) {
    return field.number != number || !field.bytes || fn(*field.bytes);
  });
}

// The numbers of the format's fields (tf_example.proto).
constexpr uint32_t kFeatures = 1, kFeature = 1, kMapKey = 1, kMapValue = 2,
                   kBytesList = 1, kFloatList = 2, kInt64List = 3, kValue = 1;

// Calls `fn` with each feature's entry: its name and value.
template <typename Fn>
bool ForEachEntry(std::string_view record, const Fn& fn) {
  return ForEachPart(record, kFeatures, [&](std::string_view features) {
    return ForEachPart(features, kFeature, fn);
  });
}

// Counts features and values of bytes: parsed, each is an object of its own.
// Numbers take 8 bytes at most. False when the record is no Example.
bool CountParts(std::string_view record, int64_t* parts) {
  *parts = 0;
  const auto count_value = [&](std::string_view) {
    ++*parts;
    return true;
  };
  const auto in_feature = [&](std::string_view feature) {
    return ForEachPart(feature, kBytesList, [&](std::string_view list) {
      return ForEachPart(list, kValue, count_value);
    });
  };
  return ForEachEntry(record, [&](std::string_view entry) {
    ++*parts;
    return ForEachPart(entry, kMapValue, in_feature);
  });
}

// What a feature has, and the last of its values.
struct FeatureSummary {
  std::string_view kind = "nothing";
  int64_t count = 0;
  std::string_view bytes;
  int64_t integer = 0;

  // As parsing does: lists of one kind add up, another kind takes their place.
  void Begin(std::string_view next) {
    if (kind == next) return;
    *this = FeatureSummary();
    kind = next;
  }
  void AddInteger(uint64_t value) {
    ++count;
    integer = static_cast<int64_t>(value);
  }
};

bool AddPackedIntegers(std::string_view packed, FeatureSummary* summary) {
  const auto* data = reinterpret_cast<const uint8_t*>(packed.data());
  google::protobuf::io::CodedInputStream in(data,
                                            static_cast<int>(packed.size()));
  while (in.CurrentPosition() < static_cast<int>(packed.size())) {
    uint64_t value = 0;
    if (!in.ReadVarint64(&value)) return false;
    summary->AddInteger(value);
  }
  return true;
}

bool Summarize(std::string_view feature, FeatureSummary* summary) {
  return ForEachField(feature, [&](const Field& list) {
    if (!list.bytes) return true;
    switch (list.number) {
      case kBytesList:
        summary->Begin("bytes");
        return ForEachPart(*list.bytes, kValue, [&](std::string_view value) {
          ++summary->count;
          summary->bytes = value;
          return true;
        });
      case kFloatList:
        summary->Begin("floats");
        return ForEachField(*list.bytes, [&](const Field& value) {
          constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
          if (value.number != kValue || value.integer) return true;
          summary->count +=
              value.bytes
                  ? static_cast<int64_t>(value.bytes->size()) / kFloatBytes
                  : 1;
          return true;
        });
      case kInt64List:
        summary->Begin("integers");
        return ForEachField(*list.bytes, [&](const Field& value) {
          if (value.number != kValue) return true;
          if (value.integer) summary->AddInteger(*value.integer);
          return !value.bytes || AddPackedIntegers(*value.bytes, summary);
        });
      default:
        return true;
    }
  });
}

Status NoExample(std::string_view record, std::string_view name) {
  return InvalidArgument(fmt::format("{}: its {} bytes are no tf.train.Example",
                                     name, record.size()));
}

Status ParseProto(std::string_view record, std::string_view name,
                  proto::Example* example) {
  int64_t parts = 0;
  const bool whole = record.size() <= size_t{std::numeric_limits<int>::max()} &&
                     CountParts(record, &parts);
  if (whole && parts > kMaxExampleParts) {
    return InvalidArgument(fmt::format(
        "{}: its {} bytes have {} features and values of bytes, at most {} are "
        "read",
        name, record.size(), parts, kMaxExampleParts));
  }
  if (!whole || !example->ParseFromArray(record.data(),
                                         static_cast<int>(record.size()))) {
    return NoExample(record, name);
  }
  return OkStatus();
}

// The names of the features that a record has, sorted.
std::vector<std::string> FeatureNames(std::string_view record) {
  std::set<std::string> names;
  ForEachEntry(record, [&](std::string_view entry) {
    return ForEachPart(entry, kMapKey, [&](std::string_view key) {
      names.emplace(key);
      return names.size() <= kMaxListed;
    });
  });
  return {names.begin(), names.end()};
}

Status MissingFeature(std::string_view record, std::string_view name,
                      std::string_view key, std::string_view option) {
  std::vector<std::string> names = FeatureNames(record);
  const bool more = names.size() > kMaxListed;
  if (more) names.resize(kMaxListed);
  return InvalidArgument(fmt::format(
      "{}: there is no feature '{}': it has {}{}; name the right one with {}",
      name, key,
      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
      more ? ", ..." : "", option));
}

Status WrongFeature(const FeatureSummary& feature, std::string_view name,
                    std::string_view key, std::string_view expected,
                    std::string_view option) {
  return InvalidArgument(fmt::format(
      "{}: feature '{}' has {} {}, expected {}; name the right one with {}",
      name, key, feature.count, feature.kind, expected, option));
}

TfFeature FromProto(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList: {
      const auto& list = feature.bytes_list().value();
      return std::vector<std::string>(list.begin(), list.end());
    }
    case proto::Feature::kFloatList: {
      const auto& list = feature.float_list().value();
      return std::vector<float>(list.begin(), list.end());
    }
    case proto::Feature::kInt64List: {
      const auto& list = feature.int64_list().value();
      return std::vector<int64_t>(list.begin(), list.end());
    }
    case proto::Feature::KIND_NOT_SET:
      break;
  }
  return std::monostate();
}

struct ToProto {
  proto::Feature* feature;

  void operator()(std::monostate) const {}
  void operator()(const std::vector<std::string>& values) const {
    auto* list = feature->mutable_bytes_list();
    for (const std::string& value : values) list->add_value(value);
  }
  void operator()(const std::vector<float>& values) const {
    auto* list = feature->mutable_float_list()->mutable_value();
    list->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<int64_t>& values) const {
    auto* list = feature->mutable_int64_list()->mutable_value();
    list->Add(values.begin(), values.end());
  }
};

// With the names in order: a map of protobuf has none of its own.
std::string Serialize(const proto::Example& example) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    CHECK(example.SerializeToCodedStream(&out));
  }
  return bytes;
}

void AddBytes(std::string_view value, proto::Feature& feature) {
  feature.mutable_bytes_list()->add_value(value.data(), value.size());
}

void AddInteger(int64_t value, proto::Feature& feature) {
  feature.mutable_int64_list()->add_value(value);
}

}  // namespace

StatusOr<TfFeatures> ParseTfExample(std::string_view record,
                                    std::string_view name) {
  proto::Example example;
  RETURN_IF_ERROR(ParseProto(record, name, &example));
  TfFeatures features;
  for (const auto& [key, feature] : example.features().feature()) {
    features.emplace(key, FromProto(feature));
  }
  return features;
}

std::string SerializeTfExample(const TfFeatures& features) {
  proto::Example example;
  auto& map = *example.mutable_features()->mutable_feature();
  for (const auto& [key, feature] : features) {
    std::visit(ToProto{&map[key]}, feature);
  }
  return Serialize(example);
}

StatusOr<LabelledImage> ParseLabelledImage(std::string_view record,
                                           const ExampleSchema& schema,
                                           std::string_view name) {
  std::optional<FeatureSummary> label, image;
  const auto look = [&](std::string_view entry) {
    // Of entries with one name the last counts.
    FeatureSummary feature;
    std::string_view key;
    const bool good = ForEachField(entry, [&](const Field& field) {
      if (field.number == kMapKey && field.bytes) key = *field.bytes;
      return field.number != kMapValue || !field.bytes ||
             Summarize(*field.bytes, &feature);
    });
    if (key == schema.label_key) label = feature;
    if (key == schema.image_key) image = feature;
    return good;
  };
  if (record.size() > size_t{std::numeric_limits<int>::max()} ||
      !ForEachEntry(record, look)) {
    return NoExample(record, name);
  }
  if (!label) {
    return MissingFeature(record, name, schema.label_key, "--label-key");
  }
  if (!image) {
    return MissingFeature(record, name, schema.image_key, "--image-key");
  }
  if (label->kind != "integers" || label->count != 1) {
    return WrongFeature(*label, name, schema.label_key, "1 integer",
                        "--label-key");
  }
  if (image->kind != "bytes" || image->count != 1) {
    return WrongFeature(*image, name, schema.image_key, "the bytes of 1 image",
                        "--image-key");
  }
  LabelledImage result;
  if (__builtin_sub_overflow(label->integer, schema.label_offset,
                             &result.label)) {
    return InvalidArgument(
        fmt::format("{}: the label {} is out of range", name, label->integer));
  }
  result.encoded = image->bytes;
  return result;
}

std::string SerializeImageExample(const ImageExample& e) {
  proto::Example example;
  auto& map = *example.mutable_features()->mutable_feature();
  AddBytes(e.encoded, map["image/encoded"]);
  AddBytes(e.format, map["image/format"]);
  AddInteger(e.label, map["image/class/label"]);
  AddBytes(e.class_name, map["image/class/text"]);
  AddInteger(e.height, map["image/height"]);
  AddInteger(e.width, map["image/width"]);
  AddBytes(e.filename, map["image/filename"]);
  return Serialize(example);
}

}  // namespace densenet
