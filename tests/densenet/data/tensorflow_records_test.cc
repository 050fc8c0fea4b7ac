// Records that TensorFlow wrote are read, and TensorFlow reads ours.
// DENSENET_TEST_DATA names the folder that holds tfrecord/, and python3 has the
// package tensorflow; without them the tests are skipped.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "core/io/image.h"
#include "core/io/png_writer.h"
#include "core/io/record_index.h"
#include "core/io/record_reader.h"
#include "core/io/record_writer.h"
#include "densenet/data/tf_example.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

class TensorFlowRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("DENSENET_TEST_DATA");
    if (root == nullptr) {
      GTEST_SKIP() << "DENSENET_TEST_DATA names no folder with tfrecord/";
    }
    folder_ = std::string(root) + "/tfrecord/";
  }

  // Every record of a file, read to its end.
  std::vector<std::string> ReadAll(const std::string& name) const {
    std::vector<std::string> records;
    StatusOr<std::unique_ptr<RecordReader>> reader =
        RecordReader::Open(folder_ + name);
    EXPECT_OK(reader);
    while (reader.ok()) {
      StatusOr<std::optional<std::string_view>> record = (*reader)->Next();
      EXPECT_OK(record);
      if (!record.ok() || !*record) break;
      records.emplace_back(**record);
    }
    return records;
  }

  // Height, width and label of every image of a file.
  void ExpectImages(const std::string& name, const ExampleSchema& schema,
                    size_t count, std::set<int64_t>* labels) const {
    const std::vector<std::string> records = ReadAll(name);
    EXPECT_EQ(records.size(), count);
    StatusOr<RecordIndex> index = RecordIndex::Open(folder_ + name);
    ASSERT_OK(index);
    EXPECT_EQ(index->size(), static_cast<int64_t>(count));
    for (size_t i = 0; i < records.size(); ++i) {
      std::string record;
      ASSERT_OK(index->Read(static_cast<int64_t>(i), &record));
      EXPECT_TRUE(record == records[i]);
      StatusOr<LabelledImage> image =
          ParseLabelledImage(records[i], schema, name);
      ASSERT_OK(image);
      EXPECT_OK(DecodeImage(image->encoded, name));
      labels->insert(image->label);
    }
  }

  std::string folder_;
};

TEST_F(TensorFlowRecordsTest, PngImages) {
  std::set<int64_t> labels;
  ExpectImages("tfx_cifar10_train.tfrecord",
               {.image_key = "image", .label_key = "label"}, 128, &labels);
  EXPECT_EQ(labels.size(), 10u);
  EXPECT_EQ(*labels.rbegin(), 9);
}

TEST_F(TensorFlowRecordsTest, JpegImages) {
  std::set<int64_t> labels;
  ExpectImages("tfx_flowers_gan.tfrecord",
               {.image_key = "image_raw", .label_key = "label"}, 25, &labels);
}

TEST_F(TensorFlowRecordsTest, PackedNumbers) {
  const std::vector<std::string> records =
      ReadAll("tfx_penguin_train_data_tfrecord-00000-of-00001.gz");
  ASSERT_GT(records.size(), 0u);
  for (const std::string& record : records) {
    StatusOr<TfFeatures> features = ParseTfExample(record, "penguin");
    ASSERT_OK(features);
    EXPECT_EQ(features->count("species"), 1u);
  }
}

bool PythonHasTensorFlow() {
  return std::system("python3 -c 'import tensorflow' >/dev/null 2>&1") == 0;
}

TEST(TensorFlowTest, ReadsOursAndWritesTheSame) {
  if (!PythonHasTensorFlow()) {
    GTEST_SKIP() << "python3 has no package tensorflow (pip install "
                    "tensorflow)";
  }
  testing::TempDir dir;
  std::string expected;
  for (const bool gzip : {false, true}) {
    StatusOr<RecordWriter> writer =
        RecordWriter::Create(dir.File("ours"), {.gzip = gzip});
    ASSERT_OK(writer);
    expected.clear();
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t height = 1 + i, width = 30 - i;
      const std::vector<uint8_t> pixels(static_cast<size_t>(height * width * 3),
                                        static_cast<uint8_t>(i));
      StatusOr<std::string> png = EncodePng(pixels.data(), height, width, 3);
      ASSERT_OK(png);
      const std::string name = fmt::format("{}.png", i);
      ASSERT_OK(writer->Append(SerializeImageExample({.encoded = *png,
                                                      .format = "png",
                                                      .label = i,
                                                      .class_name = "class",
                                                      .height = height,
                                                      .width = width,
                                                      .filename = name})));
      expected += fmt::format("{} class {}.png {} {} 3\n", i, i, height, width);
    }
    ASSERT_OK(writer->Commit());
    const std::string command = fmt::format(
        "TF_CPP_MIN_LOG_LEVEL=3 python3 '{}' '{}' '{}' '{}' > '{}' 2> '{}'",
        std::string(DENSENET_SOURCE_DIR) +
            "/tests/densenet/data/tensorflow_copy.py",
        dir.File("ours"), dir.File("theirs"), gzip ? "GZIP" : "",
        dir.File("out"), dir.File("err"));
    ASSERT_EQ(std::system(command.c_str()), 0)
        << testing::Slurp(dir.File("err"));
    EXPECT_EQ(testing::Slurp(dir.File("out")), expected);
    if (!gzip) {
      EXPECT_TRUE(testing::Slurp(dir.File("theirs")) ==
                  testing::Slurp(dir.File("ours")));
      continue;
    }
    StatusOr<std::unique_ptr<RecordReader>> reader =
        RecordReader::Open(dir.File("theirs"));
    ASSERT_OK(reader);
    EXPECT_TRUE((*reader)->compressed());
    for (int64_t i = 0; i < 20; ++i) {
      StatusOr<std::optional<std::string_view>> record = (*reader)->Next();
      ASSERT_OK(record);
      EXPECT_TRUE(*record);
    }
  }
}

}  // namespace
}  // namespace densenet
