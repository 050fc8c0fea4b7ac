#include "densenet/data/record_builder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "core/io/crc32c.h"
#include "core/io/record_reader.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Images that are a text with their number; every `bad_step`-th is bad.
class FakeSource final : public RecordSource {
 public:
  explicit FakeSource(int64_t count, int64_t bad_step = 0)
      : count_(count), bad_step_(bad_step) {}
  int64_t count() const override { return count_; }
  int64_t bytes() const override { return count_ * 10; }
  StatusOr<SourceImage> Read(int64_t i) const override {
    if (bad_step_ > 0 && i % bad_step_ == bad_step_ - 1) {
      return InvalidArgument(fmt::format("image {}: bad", i));
    }
    return SourceImage{.encoded = std::string(static_cast<size_t>(i % 50), 'x'),
                       .format = "png",
                       .label = i % 3,
                       .height = 1,
                       .width = 2,
                       .filename = std::to_string(i)};
  }

 private:
  int64_t count_;
  int64_t bad_step_;
};

RecordSplit SplitOf(const std::string& name, const RecordSource& source) {
  RecordSplit split;
  split.name = name;
  split.source = &source;
  split.examples.resize(static_cast<size_t>(source.count()));
  std::iota(split.examples.begin(), split.examples.end(), 0);
  return split;
}

const std::vector<std::string> kClasses = {"a", "b", "c"};

// The file names of the images in a shard.
std::vector<std::string> Images(const std::string& path) {
  std::vector<std::string> names;
  StatusOr<std::unique_ptr<RecordReader>> reader = RecordReader::Open(path);
  EXPECT_OK(reader);
  while (reader.ok()) {
    StatusOr<std::optional<std::string_view>> record = (*reader)->Next();
    EXPECT_OK(record);
    if (!record.ok() || !*record) break;
    StatusOr<TfFeatures> features = ParseTfExample(**record, "x");
    EXPECT_OK(features);
    names.push_back(
        std::get<std::vector<std::string>>(features->at("image/filename"))[0]);
  }
  return names;
}

std::map<std::string, std::string> FilesOf(const std::string& folder,
                                           const TempDir& dir) {
  std::map<std::string, std::string> files;
  StatusOr<RecordSet> set = FindRecordSet(dir.File(folder));
  EXPECT_OK(set);
  for (const std::string& path : set->paths) {
    files[path.substr(dir.File(folder).size())] = Slurp(path);
  }
  files["manifest"] = Slurp(dir.File(folder + "/manifest.json"));
  return files;
}

TEST(RecordBuilderTest, EveryImageIsInOneShard) {
  TempDir dir;
  const FakeSource train(100), test(25);
  StatusOr<RecordBuildReport> report =
      BuildRecords({SplitOf("train", train), SplitOf("test", test)}, kClasses,
                   dir.File("out"), {.shards = 7, .threads = 3});
  ASSERT_OK(report);
  EXPECT_THAT(dir.Names(), ElementsAre("out"));
  EXPECT_EQ(report->manifest.records(), 125);
  EXPECT_EQ(report->manifest.shards.size(), 7u + 2u);
  StatusOr<RecordManifest> manifest =
      ReadRecordManifest(dir.File("out/manifest.json"));
  ASSERT_OK(manifest);
  EXPECT_TRUE(*manifest == report->manifest);
  EXPECT_EQ(Slurp(dir.File("out/labels.txt")), "a\nb\nc\n");
  std::set<std::string> seen;
  std::vector<std::string> in_order;
  for (const RecordShard& shard : manifest->shards) {
    const std::string path = dir.File("out/" + shard.file);
    const std::string bytes = Slurp(path);
    EXPECT_EQ(shard.bytes, static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(shard.crc32c, Crc32cHex(Crc32c(bytes)));
    const std::vector<std::string> names = Images(path);
    EXPECT_EQ(shard.records, static_cast<int64_t>(names.size()));
    if (shard.split != "train") continue;
    EXPECT_GE(names.size(), 14u);
    EXPECT_LE(names.size(), 15u);
    seen.insert(names.begin(), names.end());
    in_order.insert(in_order.end(), names.begin(), names.end());
  }
  EXPECT_EQ(seen.size(), 100u);
  std::vector<std::string> sorted;
  for (int i = 0; i < 100; ++i) sorted.push_back(std::to_string(i));
  EXPECT_NE(in_order, sorted);  // shuffled
}

TEST(RecordBuilderTest, BytesDependOnTheSeedAndNotOnThreads) {
  TempDir dir;
  const FakeSource source(200, /*bad_step=*/50);
  const auto build = [&](const std::string& folder, uint64_t seed, int threads,
                         bool gzip) {
    EXPECT_OK(BuildRecords({SplitOf("train", source)}, kClasses,
                           dir.File(folder),
                           {.shards = 8,
                            .gzip = gzip,
                            .seed = seed,
                            .threads = threads,
                            .skip_bad = true}));
    return FilesOf(folder, dir);
  };
  for (const bool gzip : {false, true}) {
    const std::string suffix = gzip ? "z" : "";
    const auto one = build("one" + suffix, 1, 1, gzip);
    EXPECT_TRUE(one == build("four" + suffix, 1, 4, gzip));
    EXPECT_FALSE(one == build("other" + suffix, 2, 1, gzip));
  }
}

TEST(RecordBuilderTest, WithoutShufflingTheOrderIsKept) {
  TempDir dir;
  const FakeSource source(5);
  ASSERT_OK(BuildRecords({SplitOf("train", source)}, kClasses, dir.File("out"),
                         {.shuffle = false}));
  EXPECT_THAT(Images(dir.File("out/train-00000-of-00001.tfrecord")),
              ElementsAre("0", "1", "2", "3", "4"));
}

TEST(RecordBuilderTest, ABadImageStopsOrIsSkipped) {
  TempDir dir;
  const FakeSource source(100, /*bad_step=*/10);
  RecordBuildOptions options = {.shards = 10, .shuffle = false, .threads = 4};
  for (int i = 0; i < 5; ++i) {
    // The first one, whichever thread is quicker.
    EXPECT_THAT(BuildRecords({SplitOf("train", source)}, kClasses,
                             dir.File("out"), options),
                Fails(StatusCode::kInvalidArgument, {"image 9:"}));
    EXPECT_THAT(dir.Names(), IsEmpty());
  }
  options.skip_bad = true;
  StatusOr<RecordBuildReport> report = BuildRecords(
      {SplitOf("train", source)}, kClasses, dir.File("out"), options);
  ASSERT_OK(report);
  EXPECT_EQ(report->manifest.records(), 90);
  ASSERT_EQ(report->skipped.size(), 10u);
  EXPECT_THAT(report->skipped[1],
              Fails(StatusCode::kInvalidArgument, {"image 19:"}));
  options.max_bad = 10;
  EXPECT_OK(BuildRecords({SplitOf("train", source)}, kClasses, dir.File("ten"),
                         options));
  options.max_bad = 9;
  EXPECT_THAT(BuildRecords({SplitOf("train", source)}, kClasses,
                           dir.File("nine"), options),
              Fails(StatusCode::kDataLoss,
                    {"10 images", "--max-bad allows 9", "the last: image"}));
  EXPECT_THAT(dir.Names(), ElementsAre("out", "ten"));
}

TEST(RecordBuilderTest, RefusesAClassNameOfTwoLines) {
  TempDir dir;
  const FakeSource source(3);
  EXPECT_THAT(
      BuildRecords({SplitOf("train", source)}, {"a\nb", "c"}, dir.File("out"),
                   {}),
      Fails(StatusCode::kInvalidArgument, {"line break", "labels.txt"}));
}

TEST(RecordBuilderTest, RefusesWhatCannotBe) {
  TempDir dir;
  const FakeSource source(3), bad(3, 1);
  EXPECT_THAT(BuildRecords({SplitOf("train", source)}, kClasses,
                           dir.File("out"), {.shards = 4}),
              Fails(StatusCode::kInvalidArgument, {"4 shards", "3 images"}));
  EXPECT_THAT(BuildRecords({SplitOf("train", bad)}, kClasses, dir.File("out"),
                           {.skip_bad = true}),
              Fails(StatusCode::kInvalidArgument, {"none of the 3", "bad"}));
  EXPECT_THAT(dir.Names(), IsEmpty());
  dir.Write("x", "");
  EXPECT_THAT(
      BuildRecords({SplitOf("train", source)}, kClasses, dir.path(), {}),
      Fails(StatusCode::kFailedPrecondition, {dir.path(), "not empty"}));
}

TEST(RecordBuilderTest, RefusesAFileOrALinkBeforeTheWork) {
  TempDir dir;
  const FakeSource source(3);
  dir.Write("file", "");
  std::filesystem::create_directory(dir.File("folder"));
  std::filesystem::create_symlink(dir.File("folder"), dir.File("link"));
  std::filesystem::create_symlink(dir.File("gone"), dir.File("dangling"));
  int64_t done = 0;
  const RecordBuildOptions options = {
      .progress = [&](int64_t n, int64_t) { done = n; }};
  for (const auto& [name, kind] : std::map<std::string, std::string>{
           {"file", "file"}, {"link", "link"}, {"dangling", "link"}}) {
    EXPECT_THAT(BuildRecords({SplitOf("train", source)}, kClasses,
                             dir.File(name) + "/", options),
                Fails(StatusCode::kFailedPrecondition,
                      {dir.File(name), "it is a " + kind}));
  }
  EXPECT_THAT(BuildRecords({SplitOf("train", source)}, kClasses,
                           dir.File("folder/."), options),
              Fails(StatusCode::kInvalidArgument, {"folder/."}));
  EXPECT_EQ(done, 0);
  EXPECT_THAT(dir.Names(), ElementsAre("dangling", "file", "folder", "link"));
  EXPECT_OK(BuildRecords({SplitOf("train", source)}, kClasses,
                         dir.File("folder"), options));
}

TEST(RecordBuilderTest, StopsWhenAskedAndLeavesNothing) {
  TempDir dir;
  const FakeSource source(1000);
  int64_t done = 0;
  EXPECT_THAT(
      BuildRecords({SplitOf("train", source)}, kClasses, dir.File("out"),
                   {.progress =
                        [&](int64_t n, int64_t total) {
                          done = n;
                          EXPECT_EQ(total, 1000);
                        },
                    .should_stop = [&] { return done >= 10; }}),
      Fails(StatusCode::kUnavailable, {"stopped"}));
  EXPECT_EQ(done, 10);
  EXPECT_THAT(dir.Names(), IsEmpty());
}

}  // namespace
}  // namespace densenet
