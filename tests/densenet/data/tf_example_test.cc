#include "densenet/data/tf_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

using std::string_literals::operator""s;

using Bytes = std::vector<std::string>;
using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

// A field of a message that has a length, of at most 127 bytes.
std::string Part(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) +
         static_cast<char>(bytes.size()) + bytes;
}

TEST(TfExampleTest, WritesTheWireFormat) {
  // Worked out by hand: Example { features { feature { key: "a" value {
  // int64_list { value: [1, -1] } } } } }.
  const std::string expected(
      "\x0a\x16"  // Example.features, 22 bytes
      "\x0a\x14"  // Features.feature, an entry of 20 bytes
      "\x0a\x01"  // its key, 1 byte
      "a"         //
      "\x12\x0f"  // its value, 15 bytes
      "\x1a\x0d"  // Feature.int64_list, 13 bytes
      "\x0a\x0b"  // Int64List.value, packed, 11 bytes
      "\x01"      // 1
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // -1
      24);
  EXPECT_EQ(SerializeTfExample({{"a", Integers{1, -1}}}), expected);
}

TEST(TfExampleTest, ReadsWhatItWrites) {
  const TfFeatures features = {
      {"bytes", Bytes{"", std::string("a\0b", 3), "\xff\xfe"}},
      {"empty", Integers{}},
      {"floats", Floats{0.5f, -1e30f}},
      {"integers", Integers{0, -1, int64_t{1} << 62}},
      {"nothing", std::monostate()},
  };
  const std::string record = SerializeTfExample(features);
  StatusOr<TfFeatures> read = ParseTfExample(record, "x");
  ASSERT_OK(read);
  EXPECT_TRUE(*read == features);
  // The order of a hash map must not show.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(SerializeTfExample(*read), record);
}

TEST(TfExampleTest, ReadsUnpackedNumbers) {
  // Int64List.value one by one, as old writers have it.
  const std::string record(
      "\x0a\x0d\x0a\x0b\x0a\x01"
      "a\x12\x06\x1a\x04\x08\x05\x08\x07",
      15);
  StatusOr<TfFeatures> read = ParseTfExample(record, "x");
  ASSERT_OK(read);
  EXPECT_TRUE(*read == (TfFeatures{{"a", Integers{5, 7}}}));
}

TEST(TfExampleTest, AnyBytesAreAnExampleOrAnError) {
  EXPECT_OK(ParseTfExample("", "x"));
  for (const std::string& bytes :
       {std::string("text"), std::string("\x0a\xff"), std::string(9, '\xff')}) {
    EXPECT_THAT(ParseTfExample(bytes, "file, record 7"),
                Fails(StatusCode::kInvalidArgument,
                      {"file, record 7", "tf.train.Example"}));
  }
}

TEST(TfExampleTest, ManyPartsAreRefusedBeforeTheyTakeMemory) {
  // A feature with values of no bytes, 2 bytes of the record each.
  const auto record = [](int64_t values) {
    TfFeatures features = {
        {"many", Bytes(static_cast<size_t>(values))},
        {"numbers", Integers(static_cast<size_t>(kMaxExampleParts), 1)}};
    return SerializeTfExample(features);
  };
  EXPECT_OK(ParseTfExample(record(kMaxExampleParts - 2), "x"));
  EXPECT_THAT(ParseTfExample(record(kMaxExampleParts - 1), "x"),
              Fails(StatusCode::kInvalidArgument,
                    {"x: its", "1048577 features and values", "1048576"}));
  // It takes nothing to look for an image among them.
  EXPECT_THAT(ParseLabelledImage(record(kMaxExampleParts), {}, "x"),
              Fails(StatusCode::kInvalidArgument, {"it has many, numbers"}));
  // Of features: the same one again and again.
  std::string features;
  for (int64_t i = 0; i <= kMaxExampleParts; ++i) features += "\x0a\x00"s;
  std::string example = "\x0a\x82\x80\x80\x01"s;  // their length, a varint
  EXPECT_THAT(ParseTfExample(example + features, "x"),
              Fails(StatusCode::kInvalidArgument, {"1048577 features"}));
}

TEST(LabelledImageTest, ListsOfOneKindAddUpAndTheLastEntryCounts) {
  const ExampleSchema schema = {.image_key = "i", .label_key = "l"};
  const auto entry = [](const std::string& name, const std::string& feature) {
    return Part(1, Part(1, name) + Part(2, feature));
  };
  const std::string image = entry("i", Part(1, Part(1, "JPEG")));
  const std::string packed = Part(3, Part(1, "\x07"));
  const std::string unpacked = Part(3, "\x08\x07");
  std::string record;  // the images point into it
  const auto parse = [&](const std::string& entries) {
    record = Part(1, entries);
    return ParseLabelledImage(record, schema, "x");
  };
  for (const std::string& label : {packed, unpacked}) {
    const StatusOr<LabelledImage> read = parse(image + entry("l", label));
    ASSERT_OK(read);
    EXPECT_EQ(read->encoded, "JPEG");
    EXPECT_EQ(read->label, 7);
  }
  EXPECT_THAT(parse(image + entry("l", packed + unpacked)),
              Fails(StatusCode::kInvalidArgument, {"'l' has 2 integers"}));
  // Another kind takes its place.
  EXPECT_OK(parse(image + entry("l", Part(1, Part(1, "text")) + packed)));
  EXPECT_THAT(parse(image + entry("l", packed + Part(2, Part(1, "1234")))),
              Fails(StatusCode::kInvalidArgument, {"'l' has 1 floats"}));
  // So does an entry of the same name.
  EXPECT_OK(parse(image + entry("l", packed + packed) + entry("l", packed)));
  EXPECT_THAT(parse(image + entry("l", packed) + entry("l", "")),
              Fails(StatusCode::kInvalidArgument, {"'l' has 0 nothing"}));
}

TEST(TfExampleTest, UnknownFieldsArePassedOver) {
  // Field 9 of the Example, as a number, as text that is no message, as 4 and
  // as 8 bytes.
  const std::string unknown =
      "\x48\x07\x4a\x03\xff\xff\xff\x4d\x01\x02\x03\x04"
      "\x49\x01\x02\x03\x04\x05\x06\x07\x08"s;
  const StatusOr<TfFeatures> read = ParseTfExample(
      unknown + SerializeTfExample({{"a", Integers{1}}}) + unknown, "x");
  ASSERT_OK(read);
  EXPECT_TRUE(*read == (TfFeatures{{"a", Integers{1}}}));
}

ImageExample Sample() {
  return {.encoded = "JPEG",
          .format = "jpeg",
          .label = 3,
          .class_name = "cat",
          .height = 5,
          .width = 7,
          .filename = "cat/1.jpg"};
}

TEST(TfExampleTest, ImagesHaveTheFeaturesOfTensorFlow) {
  StatusOr<TfFeatures> read =
      ParseTfExample(SerializeImageExample(Sample()), "x");
  ASSERT_OK(read);
  EXPECT_TRUE(*read == (TfFeatures{{"image/encoded", Bytes{"JPEG"}},
                                   {"image/format", Bytes{"jpeg"}},
                                   {"image/class/label", Integers{3}},
                                   {"image/class/text", Bytes{"cat"}},
                                   {"image/height", Integers{5}},
                                   {"image/width", Integers{7}},
                                   {"image/filename", Bytes{"cat/1.jpg"}}}));
}

TEST(LabelledImageTest, FollowsTheSchema) {
  const std::string record = SerializeImageExample(Sample());
  StatusOr<LabelledImage> image = ParseLabelledImage(record, {}, "x");
  ASSERT_OK(image);
  EXPECT_EQ(image->encoded, "JPEG");
  EXPECT_EQ(image->label, 3);
  const std::string other =
      SerializeTfExample({{"img", Bytes{"PNG"}}, {"y", Integers{1}}});
  image = ParseLabelledImage(
      other, {.image_key = "img", .label_key = "y", .label_offset = 1}, "x");
  ASSERT_OK(image);
  EXPECT_EQ(image->encoded, "PNG");
  EXPECT_EQ(image->label, 0);
}

TEST(LabelledImageTest, SaysWhatIsMissing) {
  const std::string record =
      SerializeTfExample({{"img", Bytes{"PNG"}}, {"y", Integers{1}}});
  EXPECT_THAT(
      ParseLabelledImage(record, {}, "f, record 2"),
      Fails(StatusCode::kInvalidArgument,
            {"f, record 2", "'image/class/label'", "img, y", "--label-key"}));
  EXPECT_THAT(ParseLabelledImage(record, {.label_key = "y"}, "x"),
              Fails(StatusCode::kInvalidArgument,
                    {"'image/encoded'", "img, y", "--image-key"}));
  EXPECT_THAT(
      ParseLabelledImage(record, {.image_key = "img", .label_key = "img"}, "x"),
      Fails(StatusCode::kInvalidArgument, {"'img' has 1 bytes", "1 integer"}));
  EXPECT_THAT(
      ParseLabelledImage(record, {.image_key = "y", .label_key = "y"}, "x"),
      Fails(StatusCode::kInvalidArgument, {"'y' has 1 integers", "1 image"}));
  EXPECT_THAT(ParseLabelledImage("", {}, "x"),
              Fails(StatusCode::kInvalidArgument, {"it has none"}));
  const std::string lowest =
      SerializeTfExample({{"img", Bytes{"PNG"}}, {"y", Integers{INT64_MIN}}});
  EXPECT_THAT(
      ParseLabelledImage(
          lowest, {.image_key = "img", .label_key = "y", .label_offset = 1},
          "x"),
      Fails(StatusCode::kInvalidArgument, {"out of range"}));
}

}  // namespace
}  // namespace densenet
