#include "densenet/data/record_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "densenet/data/record_manifest.h"
#include "tests/support/gzip.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecordFile;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Record(const std::string& image, int64_t label) {
  return SerializeImageExample({.encoded = image,
                                .format = "jpeg",
                                .label = label,
                                .class_name = "",
                                .filename = ""});
}

class RecordStoreTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<RecordStore>> Open(
      Split split = Split::kTrain, std::optional<int64_t> max_faults = {}) {
    notes_.clear();
    RecordQuery query;
    query.folder = dir_.path();
    query.max_faults = max_faults;
    return RecordStore::Open(query, split, &notes_);
  }
  // "label image" of every example.
  static std::vector<std::string> All(const RecordStore& store) {
    std::vector<char> scratch(static_cast<size_t>(store.max_encoded_bytes()));
    std::vector<std::string> all;
    for (int64_t i = 0; i < store.count(); ++i) {
      const StatusOr<Example> example = store.Read(i, absl::MakeSpan(scratch));
      all.push_back(example.ok()
                        ? fmt::format("{} {}", example->label, example->encoded)
                        : std::string(StdView(example.status().message())));
    }
    return all;
  }
  void WriteUsual() {
    dir_.Write("train-00000-of-00002.tfrecord",
               TfRecordFile({Record("a", 1), Record("bb", 0)}));
    dir_.Write("train-00001-of-00002.tfrecord",
               TfRecordFile({Record("ccc", 2)}));
    dir_.Write("validation-00000-of-00001.tfrecord",
               TfRecordFile({Record("d", 2)}));
  }

  TempDir dir_;
  std::vector<std::string> notes_;
};

TEST_F(RecordStoreTest, SplitsByNamesAndClassesByLabels) {
  WriteUsual();
  auto store = Open();
  ASSERT_OK(store);
  EXPECT_THAT((*store)->Info().class_names, ElementsAre("0", "1", "2"));
  EXPECT_EQ((*store)->count(), 3);
  EXPECT_THAT(All(**store), ElementsAre("1 a", "0 bb", "2 ccc"));
  EXPECT_EQ(*(*store)->Label(2), 2);
  EXPECT_EQ((*store)->NameOf(2),
            dir_.File("train-00001-of-00002.tfrecord") + ": record 0");
  const uint32_t digest = (*store)->Digest();
  store = Open(Split::kTest);
  ASSERT_OK(store);
  EXPECT_THAT(All(**store), ElementsAre("2 d"));
  EXPECT_NE((*store)->Digest(), digest);
  dir_.Write("labels.txt", "ants\nbees\nwasps\n");
  store = Open(Split::kTest);
  ASSERT_OK(store);
  EXPECT_THAT((*store)->Info().class_names,
              ElementsAre("ants", "bees", "wasps"));
}

TEST_F(RecordStoreTest, ManifestSaysSplitsClassesAndCounts) {
  dir_.Write("one.tfrecord", TfRecordFile({Record("a", 1), Record("b", 0)}));
  dir_.Write("two.tfrecord", TfRecordFile({Record("c", 1)}));
  RecordManifest manifest;
  manifest.class_names = {"ants", "bees"};
  manifest.shards = {{.file = "two.tfrecord",
                      .split = "train",
                      .records = 1,
                      .crc32c = "00000000"},
                     {.file = "one.tfrecord",
                      .split = "validation",
                      .records = 2,
                      .crc32c = "00000000"}};
  ASSERT_OK(WriteRecordManifest(dir_.File("manifest.json"), manifest));
  auto store = Open(Split::kTest);
  ASSERT_OK(store);
  EXPECT_THAT((*store)->Info().class_names, ElementsAre("ants", "bees"));
  EXPECT_THAT(All(**store), ElementsAre("1 a", "0 b"));
  // A file that was cut between two records.
  dir_.Write("one.tfrecord", TfRecordFile({Record("a", 1)}));
  EXPECT_THAT(Open(Split::kTest),
              Fails(StatusCode::kDataLoss,
                    {"one.tfrecord", "1 records, the manifest says 2"}));
  store = Open(Split::kTest, 1);
  ASSERT_OK(store);
  EXPECT_EQ((*store)->count(), 1);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("the manifest says 2")));
  EXPECT_THAT(Open(Split::kTest, 0),
              Fails(StatusCode::kDataLoss, {"--max-bad allows 0"}));
}

TEST_F(RecordStoreTest, GzipIsUnpackedOnce) {
  WriteUsual();
  const std::string packed = testing::Gzip(
      TfRecordFile({Record("x", 0), Record("y", 1), Record("z", 2)}));
  dir_.Write("train-00002-of-00003.tfrecord.gz", packed);
  auto store = Open();
  ASSERT_OK(store);
  EXPECT_EQ((*store)->count(), 6);
  EXPECT_THAT(All(**store),
              ElementsAre("1 a", "0 bb", "2 ccc", "0 x", "1 y", "2 z"));
  EXPECT_THAT((*store)->NameOf(4), HasSubstr(".tfrecord.gz: record 1"));
  dir_.Write("train-00002-of-00003.tfrecord.gz",
             packed.substr(0, packed.size() - 9));
  EXPECT_THAT(Open(), Fails(StatusCode::kDataLoss, {"tfrecord.gz"}));
  // What stands before the damage can be used by choice.
  EXPECT_THAT(Open(Split::kTrain, 0),
              Fails(StatusCode::kDataLoss, {"--max-bad allows 0"}));
  store = Open(Split::kTrain, 2);
  ASSERT_OK(store);
  EXPECT_GE((*store)->count(), 5);
  EXPECT_THAT(notes_, Contains(AllOf(HasSubstr("tfrecord.gz"),
                                     HasSubstr("the gzip stream is cut"))));
  // Faults name the packed file.
  std::string text = TfRecordFile({Record("x", 0), Record("y", 1)});
  dir_.Write("train-00002-of-00003.tfrecord.gz",
             testing::Gzip(text.substr(0, text.size() - 3)));
  EXPECT_THAT(Open(), Fails(StatusCode::kDataLoss,
                            {"train-00002-of-00003.tfrecord.gz: record 1"}));
  store = Open(Split::kTrain, 1);
  ASSERT_OK(store);
  EXPECT_EQ((*store)->count(), 4);
  EXPECT_THAT(
      notes_,
      ElementsAre(HasSubstr("train-00002-of-00003.tfrecord.gz: record 1")));
}

TEST_F(RecordStoreTest, DamageIsTheExamplesOrTheFiles) {
  WriteUsual();
  std::string file = TfRecordFile({Record("a", 1), Record("bb", 0)});
  file[20] ^= 1;  // in the data of record 0
  dir_.Write("train-00000-of-00002.tfrecord", file);
  dir_.Write("labels.txt", "0\n1\n2\n");
  auto store = Open();
  ASSERT_OK(store);
  std::vector<char> scratch(static_cast<size_t>((*store)->max_encoded_bytes()));
  const StatusOr<Example> bad = (*store)->Read(0, absl::MakeSpan(scratch));
  EXPECT_THAT(bad, Fails(StatusCode::kDataLoss,
                         {"train-00000-of-00002.tfrecord", "record 0"}));
  EXPECT_TRUE(IsBadExample(bad.status()));
  EXPECT_OK((*store)->Read(1, absl::MakeSpan(scratch)));
  // The file ends inside a record.
  dir_.Write("train-00000-of-00002.tfrecord", file.substr(0, file.size() - 1));
  EXPECT_THAT(Open(), Fails(StatusCode::kDataLoss, {"record 1"}));
  store = Open(Split::kTrain, 1);
  ASSERT_OK(store);
  EXPECT_EQ((*store)->count(), 2);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("passed over")));
}

TEST_F(RecordStoreTest, FaultsBeyondTheLimitAreNotLookedFor) {
  WriteUsual();
  std::string junk;
  for (int i = 0; i < 1000; ++i) junk += "junk between" + TfRecordFile({"x"});
  dir_.Write("train-00000-of-00002.tfrecord", junk);
  dir_.Write("labels.txt", "0\n1\n2\n");
  EXPECT_THAT(Open(Split::kTrain, 3),
              Fails(StatusCode::kDataLoss,
                    {"train-00000-of-00002", "4 damaged", "allows 3"}));
  EXPECT_EQ(notes_.size(), 4u);
}

TEST_F(RecordStoreTest, LabelsOutsideTheClasses) {
  dir_.Write("train.tfrecord", TfRecordFile({Record("a", 1), Record("b", 2)}));
  EXPECT_THAT(Open(),
              Fails(StatusCode::kInvalidArgument, {"--label-offset 1"}));
  RecordQuery query;
  query.folder = dir_.path();
  query.label_offset = 1;
  EXPECT_THAT(*RecordClassNames(query), ElementsAre("0", "1"));
  dir_.Write("labels.txt", "ants\nbees\n");
  auto store = Open();
  ASSERT_OK(store);
  EXPECT_THAT(All(**store)[1], HasSubstr("label 2 (with --label-offset 0)"));
}

TEST_F(RecordStoreTest, Errors) {
  EXPECT_THAT(RecordStore::Open({}, Split::kTrain, &notes_),
              Fails(StatusCode::kInvalidArgument, {"--data"}));
  EXPECT_THAT(Open(), Fails(StatusCode::kNotFound, {dir_.path()}));
  dir_.Write("other.tfrecord", TfRecordFile({Record("a", 0)}));
  EXPECT_THAT(Open(), Fails(StatusCode::kNotFound, {"begin with train"}));
  dir_.Write("train.tfrecord", TfRecordFile({Record("a", 0)}));
  EXPECT_OK(Open());
  EXPECT_THAT(Open(Split::kTest),
              Fails(StatusCode::kNotFound, {"to evaluate on"}));
}

// Written by TensorFlow, with names of its own.
TEST_F(RecordStoreTest, ReadsOtherSchemas) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  const auto file = std::filesystem::path(root ? root : "") / "tfrecord" /
                    "tfx_cifar10_train.tfrecord";
  if (root == nullptr || !std::filesystem::exists(file)) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder with tfrecord/";
  }
  std::filesystem::copy_file(file, dir_.File("train.tfrecord"));
  RecordQuery query;
  query.folder = dir_.path();
  query.image_key = "image";
  query.label_key = "label";
  const auto store = RecordStore::Open(query, Split::kTrain, &notes_);
  ASSERT_OK(store);
  EXPECT_EQ((*store)->count(), 128);
  EXPECT_EQ((*store)->Info().classes(), 10);
}

}  // namespace
}  // namespace densenet
