#include "densenet/data/tf_example.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <tf_example.pb.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace densenet {
namespace {

// Of the features that a record has, in a message.
constexpr size_t kMaxListed = 20;

Status ParseProto(std::string_view record, std::string_view name,
                  proto::Example* example) {
  if (record.size() > size_t{std::numeric_limits<int>::max()} ||
      !example->ParseFromArray(record.data(),
                               static_cast<int>(record.size()))) {
    return InvalidArgument(fmt::format(
        "{}: its {} bytes are no tf.train.Example", name, record.size()));
  }
  return OkStatus();
}

std::string_view KindName(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList:
      return "bytes";
    case proto::Feature::kFloatList:
      return "floats";
    case proto::Feature::kInt64List:
      return "integers";
    case proto::Feature::KIND_NOT_SET:
      break;
  }
  return "nothing";
}

int Count(const proto::Feature& feature) {
  switch (feature.kind_case()) {
    case proto::Feature::kBytesList:
      return feature.bytes_list().value_size();
    case proto::Feature::kFloatList:
      return feature.float_list().value_size();
    case proto::Feature::kInt64List:
      return feature.int64_list().value_size();
    case proto::Feature::KIND_NOT_SET:
      break;
  }
  return 0;
}

Status MissingFeature(const proto::Example& example, std::string_view name,
                      std::string_view key, std::string_view option) {
  std::vector<std::string> names;
  for (const auto& [present, feature] : example.features().feature()) {
    names.push_back(present);
  }
  std::sort(names.begin(), names.end());
  const bool more = names.size() > kMaxListed;
  if (more) names.resize(kMaxListed);
  return InvalidArgument(fmt::format(
      "{}: there is no feature '{}': it has {}{}; name the right one with {}",
      name, key,
      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
      more ? ", ..." : "", option));
}

Status WrongFeature(const proto::Feature& feature, std::string_view name,
                    std::string_view key, std::string_view expected,
                    std::string_view option) {
  return InvalidArgument(fmt::format(
      "{}: feature '{}' has {} {}, expected {}; name the right one with {}",
      name, key, Count(feature), KindName(feature), expected, option));
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
  proto::Example example;
  RETURN_IF_ERROR(ParseProto(record, name, &example));
  auto& map = *example.mutable_features()->mutable_feature();
  const auto label = map.find(schema.label_key);
  if (label == map.end()) {
    return MissingFeature(example, name, schema.label_key, "--label-key");
  }
  const auto image = map.find(schema.image_key);
  if (image == map.end()) {
    return MissingFeature(example, name, schema.image_key, "--image-key");
  }
  if (label->second.int64_list().value_size() != 1) {
    return WrongFeature(label->second, name, schema.label_key, "1 integer",
                        "--label-key");
  }
  if (image->second.bytes_list().value_size() != 1) {
    return WrongFeature(image->second, name, schema.image_key,
                        "the bytes of 1 image", "--image-key");
  }
  LabelledImage result;
  const int64_t stored = label->second.int64_list().value(0);
  if (__builtin_sub_overflow(stored, schema.label_offset, &result.label)) {
    return InvalidArgument(
        fmt::format("{}: the label {} is out of range", name, stored));
  }
  result.encoded =
      std::move(*image->second.mutable_bytes_list()->mutable_value(0));
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
