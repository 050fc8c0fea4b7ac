// Records that TensorFlow wrote. DENSENET_TEST_DATA names the folder that holds
// tfrecord/; without it the tests are skipped.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "core/io/image.h"
#include "core/io/record_index.h"
#include "core/io/record_reader.h"
#include "densenet/data/tf_example.h"
#include "tests/support/status_matchers.h"

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

}  // namespace
}  // namespace densenet
