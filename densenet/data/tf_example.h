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
// Errors    InvalidArgument  no Example, or one without what is wanted: names
//                            the record and the features that it has
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

// One labelled image of a record.
struct LabelledImage {
  std::string encoded;
  int64_t label = 0;  // the stored one minus label_offset; may be negative
};

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
