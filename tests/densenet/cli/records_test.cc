#include "densenet/cli/records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

#include "core/io/image.h"
#include "densenet/cli/app.h"
#include "densenet/data/tf_example.h"
#include "densenet/run_folder.h"
#include "tests/densenet/test_cifar.h"
#include "tests/support/image_files.h"
#include "tests/support/record_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet::cli {
namespace {

using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::densenet::testing::TfRecord;
using ::densenet::testing::TfRecordFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

class RecordsTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> args, bool terminal = false) {
    args.insert(args.begin(), "records");
    out_.str("");
    err_.str("");
    const Environment env{.out = out_,
                          .err = err_,
                          .terminal = terminal,
                          .should_stop = should_stop_};
    return RunApp(args, env);
  }
  void ExpectFails(const std::vector<std::string>& args, int code,
                   const std::vector<std::string>& parts) {
    EXPECT_EQ(Run(args), code) << out_.str() << err_.str();
    const std::string error = err_.str();
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
    for (const std::string& part : parts) EXPECT_THAT(error, HasSubstr(part));
  }
  Json ReadJson(const std::string& name) {
    StatusOr<Json> json = ReadJsonObject(dir_.File(name));
    EXPECT_OK(json);
    return json.ok() ? *json : Json();
  }
  void WritePhoto(const std::string& name, int shade) {
    fs::create_directories(fs::path(data_.File(name)).parent_path());
    const std::vector<uint8_t> pixels(6 * 4 * 3, static_cast<uint8_t>(shade));
    data_.Write(name, name.ends_with(".png")
                          ? testing::EncodePng(pixels, 6, 4, {})
                          : testing::EncodeJpeg(pixels, 6, 4, {}));
  }
  // 2 classes of 10 photographs.
  void WritePhotos(const std::string& folder) {
    for (int i = 0; i < 10; ++i) {
      WritePhoto(fmt::format("{}ants/{}.jpg", folder, i), 10 * i);
      WritePhoto(fmt::format("{}bees/{}.png", folder, i), 10 * i + 5);
    }
  }

  TempDir dir_;
  TempDir data_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::function<bool()> should_stop_;
};

TEST_F(RecordsTest, HelpNamesEveryCommand) {
  EXPECT_EQ(Run({"--help"}), 0);
  for (const char* command : {"build", "count", "verify", "repair", "show"}) {
    EXPECT_THAT(out_.str(), HasSubstr(command));
  }
  for (const char* command : {"build", "count", "verify", "repair", "show"}) {
    EXPECT_EQ(Run({command, "--help"}), 0);
    EXPECT_THAT(out_.str(), HasSubstr("--json")) << command;
  }
}

TEST_F(RecordsTest, BuildsCountsVerifiesAndShows) {
  WritePhotos("");
  const std::string out = dir_.File("set");
  EXPECT_EQ(Run({"build", "--data", data_.path(), "--out", out, "--shards", "3",
                 "--validation", "0.2", "--threads", "2", "--json",
                 dir_.File("b.json")}),
            0)
      << err_.str();
  Json json = ReadJson("b.json");
  EXPECT_EQ(json["records"], 20);
  EXPECT_EQ(json["splits"]["train"], 16);
  EXPECT_EQ(json["splits"]["validation"], 4);
  EXPECT_EQ(json["shards"], 4);
  EXPECT_EQ(Slurp(out + "/labels.txt"), "ants\nbees\n");

  EXPECT_EQ(Run({"count", out, "--json", dir_.File("c.json")}), 0);
  EXPECT_EQ(ReadJson("c.json"), (Json{{"records", 20}}));
  EXPECT_THAT(out_.str(), HasSubstr("20 records in 4 files"));

  EXPECT_EQ(Run({"verify", out, "--images", "--json", dir_.File("v.json")}), 0);
  json = ReadJson("v.json");
  EXPECT_EQ(json["records"], 20);
  EXPECT_EQ(json["faults"], 0);
  EXPECT_EQ(json["label_max"], 1);
  EXPECT_FALSE(json.contains("note"));

  const std::string shard = out + "/train-00000-of-00003.tfrecord";
  EXPECT_EQ(Run({"show", shard, "--record", "1", "--json", dir_.File("s.json"),
                 "--image", dir_.File("image")}),
            0)
      << err_.str();
  json = ReadJson("s.json");
  EXPECT_EQ(json["record"], 1);
  Json& features = json["features"];
  EXPECT_EQ(features["image/height"]["values"], Json::array({6}));
  EXPECT_EQ(features["image/width"]["values"], Json::array({4}));
  // The bytes of the file, untouched.
  const std::string name = features["image/filename"]["values"][0];
  EXPECT_EQ(Slurp(dir_.File("image")), Slurp(data_.File(name)));
  EXPECT_EQ(features["image/class/text"]["values"][0], name.substr(0, 4));
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("image/class/label"), HasSubstr("of 4x6")));
}

TEST_F(RecordsTest, SplitsOfTheFolderAreKept) {
  WritePhotos("train/");
  WritePhoto("val/bees/1.jpg", 1);
  WritePhoto("test/ants/1.jpg", 1);
  EXPECT_EQ(Run({"build", "--data", data_.path() + "/", "--out",
                 dir_.File("set"), "--gzip", "--json", dir_.File("b.json")}),
            0)
      << err_.str();
  EXPECT_EQ(ReadJson("b.json")["splits"],
            (Json{{"train", 20}, {"validation", 1}, {"test", 1}}));
  EXPECT_EQ(
      Run({"count", dir_.File("set/validation-00000-of-00001.tfrecord.gz")}),
      0);
  EXPECT_THAT(out_.str(), HasSubstr("1 record in 1 file"));
  ExpectFails({"build", "--data", data_.path(), "--out", dir_.File("other"),
               "--validation", "2"},
              2, {"--validation", "split of their own"});
  WritePhoto("val/wasps/1.jpg", 1);
  ExpectFails({"build", "--data", data_.path(), "--out", dir_.File("other")}, 1,
              {"val/wasps", "ants, bees"});
}

TEST_F(RecordsTest, ABadFileStopsTheBuildOrIsSkipped) {
  WritePhotos("");
  data_.Write("ants/imageNotFound.jpg", "GIF89a");
  data_.Write("ants/moving.gif", "GIF89a");
  data_.Write("bees/notes.txt", "");
  ExpectFails({"build", "--data", data_.path(), "--out", dir_.File("set")}, 1,
              {"ants/imageNotFound.jpg", "GIF", "--on-bad-data skip"});
  EXPECT_THAT(dir_.Names(), IsEmpty());
  ExpectFails({"build", "--data", data_.path(), "--out", dir_.File("set"),
               "--on-bad-data", "skip", "--max-bad", "0"},
              1, {"1 images", "--max-bad allows 0", "imageNotFound.jpg"});
  EXPECT_EQ(Run({"build", "--data", data_.path(), "--out", dir_.File("set"),
                 "--on-bad-data", "skip", "--json", dir_.File("b.json")}),
            0);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("skipped"), HasSubstr("imageNotFound.jpg"),
            HasSubstr("passed over in the train images, not named as JPEG or "
                      "PNG: " +
                      data_.File("ants/moving.gif") + " and 1 more")));
  EXPECT_EQ(ReadJson("b.json")["records"], 20);
  EXPECT_EQ(ReadJson("b.json")["skipped"].size(), 1u);
  EXPECT_EQ(Run({"verify", dir_.File("set")}), 0);
}

TEST_F(RecordsTest, AnErrorIsOneLineWhateverTheName) {
  WritePhotos("");
  data_.Write("ants/two\nlines \x1b[31m.jpg", "junk");
  ExpectFails({"build", "--data", data_.path(), "--out", dir_.File("set")}, 1,
              {"ants/two\\nlines \\x1b[31m.jpg"});
}

TEST_F(RecordsTest, BuildsFromADataSet) {
  testing::WriteCifar10(data_, /*per_batch=*/2, /*test=*/3);
  EXPECT_EQ(
      Run({"build", "--dataset", "cifar10", "--data", data_.path(), "--out",
           dir_.File("set"), "--no-shuffle", "--json", dir_.File("b.json")}),
      0)
      << err_.str();
  EXPECT_EQ(ReadJson("b.json")["splits"], (Json{{"train", 10}, {"test", 3}}));
  EXPECT_EQ(Run({"show", dir_.File("set/test-00000-of-00001.tfrecord"),
                 "--record", "2", "--image", dir_.File("x.png")}),
            0);
  EXPECT_THAT(out_.str(), HasSubstr("\"bird\""));
  StatusOr<Image> image = ReadImage(dir_.File("x.png"));
  ASSERT_OK(image);
  EXPECT_EQ(image->height, 32);
  ExpectFails({"build", "--dataset", "cifar10", "--data", data_.path(), "--out",
               dir_.File("set")},
              1, {"not empty"});
}

TEST_F(RecordsTest, LabelsAreTakenFromAFile) {
  WritePhotos("");
  const std::string labels = dir_.Write("labels", "bees\nants\n");
  EXPECT_EQ(Run({"build", "--data", data_.path(), "--out", dir_.File("set"),
                 "--labels", labels}),
            0);
  EXPECT_EQ(Slurp(dir_.File("set/labels.txt")), "bees\nants\n");
  dir_.Write("labels", "bees\n");
  ExpectFails({"build", "--data", data_.path(), "--out", dir_.File("other"),
               "--labels", labels},
              1, {"ants"});
}

TEST_F(RecordsTest, UsageErrorsExitWithTwo) {
  WritePhotos("");
  ExpectFails({}, 2, {"records"});
  ExpectFails({"build", "--data", data_.path()}, 2, {"--out"});
  ExpectFails({"build", "--out", dir_.File("x")}, 2, {"--data"});
  ExpectFails({"build", "--dataset", "nope", "--out", dir_.File("x")}, 2,
              {"nope", "cifar10"});
  const std::vector<std::string> build = {"build", "--data", data_.path(),
                                          "--out", dir_.File("x")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), build.begin(), build.end());
    return more;
  };
  ExpectFails(with({"--validation", "1.5"}), 2, {"--validation 1.5"});
  ExpectFails(with({"--validation", "20"}), 2, {"20"});
  ExpectFails(with({"--shards", "21"}), 2, {"--shards 21", "20 images"});
  ExpectFails(with({"--on-bad-data", "ignore"}), 2, {"--on-bad-data"});
  ExpectFails({"show"}, 2, {"file"});
  EXPECT_THAT(dir_.Names(), IsEmpty());
}

TEST_F(RecordsTest, VerifyListsAllFaultsAndRepairDropsThem) {
  std::string bytes = TfRecordFile({"one", "two", "three", "four"});
  bytes[19 + 12] ^= 1;
  bytes.resize(bytes.size() - 2);
  const std::string path = dir_.Write("x.tfrecord", bytes);
  ExpectFails({"verify", path, "--json", dir_.File("v.json")}, 1,
              {"2 faults", "repair"});
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(path + ": record 1, byte 19: data checksum: "),
                    HasSubstr(path + ": record 3, byte 59: cut data: "),
                    HasSubstr("no manifest")));
  const Json json = ReadJson("v.json");
  EXPECT_EQ(json["records"], 2);
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][1]["record"], 3);
  EXPECT_EQ(json["rows"][1]["offset"], 59);
  EXPECT_EQ(json["rows"][1]["kind"], "cut data");

  ExpectFails({"count", path}, 1, {path, "cut data", "verify"});
  ExpectFails({"repair", path, path}, 1, {"same file"});
  EXPECT_EQ(Run({"repair", path, dir_.File("y.tfrecord"), "--json",
                 dir_.File("r.json")}),
            0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("dropped  " + path),
                                HasSubstr("2 records written")));
  EXPECT_EQ(ReadJson("r.json")["records"], 2);
  EXPECT_EQ(ReadJson("r.json")["faults"], 2);
  EXPECT_EQ(ReadJson("r.json")["dropped_bytes"], 19 + 18);
  EXPECT_EQ(Slurp(dir_.File("y.tfrecord")), TfRecordFile({"one", "three"}));
  EXPECT_EQ(Run({"verify", dir_.File("y.tfrecord")}), 0);
}

TEST_F(RecordsTest, ACutBetweenRecordsIsFoundByTheManifest) {
  WritePhotos("");
  ASSERT_EQ(Run({"build", "--data", data_.path(), "--out", dir_.File("set"),
                 "--shards", "2"}),
            0);
  const std::string shard = dir_.File("set/train-00001-of-00002.tfrecord");
  const std::string bytes = Slurp(shard);
  // The first record alone.
  size_t first = 0;
  for (int i = 7; i >= 0; --i) {
    first = first << 8 | static_cast<uint8_t>(bytes[i]);
  }
  dir_.Write("set/train-00001-of-00002.tfrecord", bytes.substr(0, first + 16));
  for (const std::string& path : {dir_.File("set"), shard}) {
    EXPECT_EQ(Run({"verify", path}), 1);
    EXPECT_THAT(out_.str(),
                HasSubstr(shard + ": missing records: 1 records, the manifest "
                                  "says 10"));
  }
  const std::string copy = dir_.Write("copy.tfrecord", bytes.substr(0, 0));
  EXPECT_EQ(Run({"verify", copy}), 0);
}

TEST_F(RecordsTest, VerifyComparesWithTheManifestItIsGiven) {
  WritePhotos("");
  const std::string set = dir_.File("set");
  ASSERT_EQ(
      Run({"build", "--data", data_.path(), "--out", set, "--shards", "2"}), 0);
  const std::string manifest = dir_.File("given.json");
  fs::rename(set + "/manifest.json", manifest);
  dir_.Write("set/manifest.json", "{\"format\": \"densenet-records-1\"}");
  EXPECT_EQ(Run({"verify", set, "--manifest", manifest}), 0) << err_.str();
  const std::string first = set + "/train-00000-of-00002.tfrecord";
  const std::string extra = set + "/extra.tfrecord";
  fs::rename(first, extra);
  ExpectFails({"verify", set, "--manifest", manifest}, 1, {"2 faults"});
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(first + ": missing file"),
                                HasSubstr(extra + ": extra file")));
  ExpectFails({"verify", extra, "--manifest", manifest}, 1,
              {extra, manifest, "does not name it"});
}

TEST_F(RecordsTest, EveryCommandStopsWhenAsked) {
  const std::string path = dir_.Write("x.tfrecord", TfRecordFile({"1", "2"}));
  should_stop_ = [] { return true; };
  ExpectFails({"count", path}, 1, {"stopped"});
  EXPECT_THAT(err_.str(), Not(HasSubstr("damaged")));
  ExpectFails({"show", path, "--record", "1"}, 1, {"stopped"});
}

TEST_F(RecordsTest, OtherSchemasAndLabelsFromOne) {
  const std::string png =
      testing::EncodePng(std::vector<uint8_t>(3, 9), 1, 1, {});
  std::string bytes;
  for (const int64_t label : {1, 2}) {
    bytes +=
        TfRecord(SerializeTfExample({{"img", std::vector<std::string>{png}},
                                     {"weights", std::vector<float>{0.5f, 2}},
                                     {"y", std::vector<int64_t>{label}}}));
  }
  const std::string path = dir_.Write("x.tfrecord", bytes);
  EXPECT_EQ(Run({"verify", path, "--images"}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("--label-key"));
  EXPECT_EQ(Run({"verify", path, "--images", "--image-key", "img",
                 "--label-key", "y", "--json", dir_.File("v.json")}),
            0);
  EXPECT_THAT(out_.str(), HasSubstr("--label-offset 1"));
  EXPECT_THAT(ReadJson("v.json")["note"].get<std::string>(),
              HasSubstr("--label-offset 1"));
  EXPECT_EQ(Run({"verify", path, "--images", "--image-key", "img",
                 "--label-key", "y", "--label-offset", "1"}),
            0);
  EXPECT_THAT(out_.str(), HasSubstr("labels 0 to 1"));
  EXPECT_EQ(
      Run({"show", path, "--image-key", "img", "--image", dir_.File("i.png")}),
      0);
  EXPECT_EQ(Slurp(dir_.File("i.png")), png);
  EXPECT_THAT(out_.str(), HasSubstr("0.5, 2"));
  ExpectFails({"show", path, "--image", dir_.File("none")}, 1,
              {"image/encoded", "--image-key"});
  ExpectFails({"show", path, "--record", "2"}, 1, {"no record 2", "2 records"});
}

TEST_F(RecordsTest, TheBarIsTakenAwayAgain) {
  WritePhotos("");
  EXPECT_EQ(Run({"build", "--data", data_.path(), "--out", dir_.File("set")},
                /*terminal=*/true),
            0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("[####################] 100%"),
                                HasSubstr("\r\033[K")));
}

}  // namespace
}  // namespace densenet::cli
