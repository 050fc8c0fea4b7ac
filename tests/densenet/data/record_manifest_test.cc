#include "densenet/data/record_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

RecordManifest Sample() {
  return {.class_names = {"ants", "bees"},
          .schema = {.image_key = "i", .label_key = "l", .label_offset = 1},
          .shards = {{"train-00000-of-00001.tfrecord", "train", 3, 99, "0a"},
                     {"b.tfrecord", "test", 0, 0, "00000000"}}};
}

TEST(RecordManifestTest, ReadsWhatItWrites) {
  TempDir dir;
  ASSERT_OK(WriteRecordManifest(dir.File("manifest.json"), Sample()));
  StatusOr<RecordManifest> read = ReadRecordManifest(dir.File("manifest.json"));
  ASSERT_OK(read);
  EXPECT_TRUE(*read == Sample());
  EXPECT_EQ(read->records(), 3);
}

TEST(RecordManifestTest, SaysWhichKeyIsWrong) {
  TempDir dir;
  ASSERT_OK(WriteRecordManifest(dir.File("manifest.json"), Sample()));
  const std::string good = Slurp(dir.File("manifest.json"));
  const std::vector<std::array<std::string, 3>> cases = {
      {"densenet-records-1", "densenet-records-9", "'format'"},
      {"\"records\": 3", "\"records\": -3", "'records'"},
      {"\"records\": 3", "\"records\": \"3\"", "'records'"},
      {"\"bytes\": 99", "\"bites\": 99", "'bytes'"},
      {"\"b.tfrecord\"", "\"../b.tfrecord\"", "'file'"},
      {"\"b.tfrecord\"", "\"train-00000-of-00001.tfrecord\"", "twice"},
      {"\"ants\"", "7", "'class_names'"},
      {"\"shards\"", "\"shard\"", "'shards'"},
      {"{", "", "manifest.json"},
  };
  for (const auto& [from, to, part] : cases) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const std::string path = dir.Write("manifest.json", text);
    EXPECT_THAT(ReadRecordManifest(path),
                Fails(StatusCode::kInvalidArgument, {path, part}))
        << to;
  }
}

TEST(FindRecordSetTest, AFolderWithoutManifestIsItsRecordFiles) {
  TempDir dir;
  for (const char* name :
       {"b.tfrecord", "a.tfrecord.gz", "train-00000-of-00002",
        "train-00001-of-00002.gz", "x.tfrecord.tmp-0123abcd", "notes.txt",
        "train-0-of-2", "labels.txt", "y.tmp-set.tfrecord"}) {
    dir.Write(name, "");
  }
  StatusOr<RecordSet> set = FindRecordSet(dir.path());
  ASSERT_OK(set);
  EXPECT_THAT(set->paths,
              ElementsAre(dir.File("a.tfrecord.gz"), dir.File("b.tfrecord"),
                          dir.File("train-00000-of-00002"),
                          dir.File("train-00001-of-00002.gz"),
                          dir.File("y.tmp-set.tfrecord")));
  EXPECT_FALSE(set->manifest);
}

TEST(FindRecordSetTest, AManifestGivesTheFilesAndTheirOrder) {
  TempDir dir;
  ASSERT_OK(WriteRecordManifest(dir.File("manifest.json"), Sample()));
  dir.Write("a.tfrecord", "");
  dir.Write("b.tfrecord", "");
  StatusOr<RecordSet> set = FindRecordSet(dir.path());
  ASSERT_OK(set);
  EXPECT_THAT(set->paths, ElementsAre(dir.File("train-00000-of-00001.tfrecord"),
                                      dir.File("b.tfrecord")));
  EXPECT_THAT(set->extra_paths, ElementsAre(dir.File("a.tfrecord")));
  // A file finds the manifest beside it, if that names the file.
  set = FindRecordSet(dir.File("b.tfrecord"));
  ASSERT_OK(set);
  EXPECT_THAT(set->paths, ElementsAre(dir.File("b.tfrecord")));
  EXPECT_TRUE(set->manifest);
  EXPECT_THAT(set->extra_paths, IsEmpty());
  set = FindRecordSet(dir.File("a.tfrecord"));
  ASSERT_OK(set);
  EXPECT_FALSE(set->manifest);
}

TEST(FindRecordSetTest, AForeignManifestIsNone) {
  TempDir dir;
  dir.Write("a.tfrecord", "");
  dir.Write("manifest.json", "[1]");
  EXPECT_OK(FindRecordSet(dir.File("a.tfrecord")));
  dir.Write("manifest.json", "{\"format\": \"densenet-records-1\"}");
  EXPECT_THAT(FindRecordSet(dir.File("a.tfrecord")),
              Fails(StatusCode::kInvalidArgument, {"manifest.json"}));
}

TEST(FindRecordSetTest, AGivenManifestAloneCounts) {
  TempDir dir, other;
  const std::string given = other.File("given.json");
  ASSERT_OK(WriteRecordManifest(given, Sample()));
  // One beside the files that cannot be read, and is not.
  dir.Write("manifest.json", "{\"format\": \"densenet-records-1\"}");
  dir.Write("a.tfrecord", "");
  dir.Write("b.tfrecord", "");
  StatusOr<RecordSet> set = FindRecordSet(dir.path(), given);
  ASSERT_OK(set);
  EXPECT_EQ(set->manifest_path, given);
  EXPECT_THAT(set->paths, ElementsAre(dir.File("train-00000-of-00001.tfrecord"),
                                      dir.File("b.tfrecord")));
  EXPECT_THAT(set->extra_paths, ElementsAre(dir.File("a.tfrecord")));
  set = FindRecordSet(dir.File("b.tfrecord"), given);
  ASSERT_OK(set);
  EXPECT_THAT(set->paths, ElementsAre(dir.File("b.tfrecord")));
  EXPECT_TRUE(set->manifest);
  EXPECT_THAT(
      FindRecordSet(dir.File("a.tfrecord"), given),
      Fails(StatusCode::kInvalidArgument, {"a.tfrecord", given, "not name"}));
  EXPECT_THAT(FindRecordSet(dir.path(), other.File("gone.json")),
              Fails(StatusCode::kNotFound, {"gone.json"}));
}

TEST(FindRecordSetTest, NothingIsAnError) {
  TempDir dir;
  EXPECT_THAT(FindRecordSet(dir.path()),
              Fails(StatusCode::kNotFound, {dir.path(), "*.tfrecord"}));
  EXPECT_THAT(FindRecordSet(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone"}));
}

}  // namespace
}  // namespace densenet
