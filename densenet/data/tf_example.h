// densenet/data/tf_example.h
//
// What a TFRecord of an image data set holds: a tf.train.Example, which maps
// names to lists of bytes, floats or integers.
//
// Those written here have the names of TensorFlow's image data sets:
//   image/encoded      the bytes of a JPEG or PNG file
//   image/format       "jpeg" or "png"
//   image/class/label  from 0
//   image/class/text   the name of the class
//   image/height, image/width   as the file stores it, before it is turned
//   image/filename     where it came from
//
// Memory    ParseTfExample: the lists, at most 8 times the record, and some 150
//           bytes for each of at most 2^20 features and values of bytes;
//           ParseLabelledImage: none
// Errors    InvalidArgument  no Example, or one without what is wanted: names
//                            the record and the features that it has;
//                            ParseTfExample: more than 2^20 parts
// Numerics  equal examples are equal bytes
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_TF_EXAMPLE_H_
#define DENSENET_DENSENET_DATA_TF_EXAMPLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"

namespace densenet {

// Features and values of bytes that an Example may have.
inline constexpr int64_t kMaxExampleParts = int64_t{1} << 20;

// A feature may be present and have no list at all.
using TfFeature = std::variant<std::monostate, std::vector<std::string>,
                               std::vector<float>, std::vector<int64_t>>;
using TfFeatures = std::map<std::string, TfFeature>;

// `name` begins the message of an error.
StatusOr<TfFeatures> ParseTfExample(std::string_view record,
                                    std::string_view name);
std::string SerializeTfExample(const TfFeatures& features);

// Where a data set keeps image and label.
struct ExampleSchema {
  std::string image_key = "image/encoded";
  std::string label_key = "image/class/label";
  // What is stored for class 0: 1 where labels count from 1.
  int64_t label_offset = 0;

  friend bool operator==(const ExampleSchema&, const ExampleSchema&) = default;
};

// One labelled image of a record, valid as long as the record.
struct LabelledImage {
  std::string_view encoded;
  int64_t label = 0;  // the stored one minus label_offset; may be negative
};

// Nothing is copied: what the record holds besides costs nothing.
// Errors  InvalidArgument  also: not exactly one image or label, a label that
//                          is no integer
StatusOr<LabelledImage> ParseLabelledImage(std::string_view record,
                                           const ExampleSchema& schema,
                                           std::string_view name);

// What the records written here hold of an image.
struct ImageExample {
  std::string_view encoded = "";
  std::string_view format = "";
  int64_t label = 0;
  std::string_view class_name = "";
  int64_t height = 0;
  int64_t width = 0;
  std::string_view filename = "";
};

std::string SerializeImageExample(const ImageExample& example);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_TF_EXAMPLE_H_
