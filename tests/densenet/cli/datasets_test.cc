// The commands of `densenet datasets`, and `train --fetch`.

#include "densenet/cli/datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/io/image.h"
#include "densenet/cli/app.h"
#include "densenet/run_folder.h"
#include "tests/densenet/photo_folder.h"
#include "tests/densenet/test_cifar.h"
#include "tests/support/http_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet::cli {
namespace {

using ::densenet::testing::HttpAnswer;
using ::densenet::testing::HttpRequest;
using ::densenet::testing::HttpServer;
using ::densenet::testing::TempDir;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class DatasetsTest : public ::testing::Test {
 protected:
  DatasetsTest() { setenv("no_proxy", "127.0.0.1", 1); }

  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    const Environment env{
        .out = out_, .err = err_, .terminal = false, .should_stop = nullptr};
    return RunApp(args, env);
  }
  // One line on stderr with all of `parts`.
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

  TempDir dir_;
  TempDir data_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DatasetsTest, HelpAndUsage) {
  for (const char* command : {"list", "verify", "fetch", "preview"}) {
    EXPECT_EQ(Run({"datasets", command, "--help"}), 0);
    EXPECT_THAT(out_.str(), HasSubstr("--json")) << command;
  }
  ExpectFails({"datasets"}, 2, {"densenet datasets", "subcommand"});
  ExpectFails({"datasets", "verfy"}, 2,
              {"densenet datasets: unknown command 'verfy'", "list, "});
  ExpectFails({"datasets", "verify"}, 2, {"densenet datasets verify", "name"});
  ExpectFails({"datasets", "verify", "mnits", "--data", "x"}, 2,
              {"'mnits'", "fashion-mnist"});
  ExpectFails({"datasets", "verify", "cifar10"}, 2, {"--data"});
  ExpectFails({"datasets", "fetch", "mnist"}, 2, {"--to"});
  ExpectFails({"datasets", "preview", "mnist", "--out", dir_.File("a.png"),
               "--count", "0"},
              2, {"--count"});
}

TEST_F(DatasetsTest, ListSaysWhereEachIsHad) {
  ASSERT_EQ(Run({"datasets", "list", "--json", dir_.File("l.json")}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("https://www.cs.toronto.edu/~kriz/"));
  EXPECT_THAT(out_.str(), HasSubstr("604,388 + 26,032 images of 32x32x3"));
  const Json rows = ReadJson("l.json")["rows"];
  ASSERT_GE(rows.size(), 6u);
  EXPECT_EQ(rows[0]["name"], "cifar10");
  EXPECT_EQ(rows[0]["train_images"], 50'000);
  EXPECT_EQ(rows[0]["classes"], 10);
  EXPECT_EQ(rows[0]["downloads"][0]["url"],
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz");
  EXPECT_EQ(rows[0]["files"].size(), 6u);
  // What is trained on without a publisher.
  const Json& folder = rows[rows.size() - 2];
  EXPECT_EQ(folder["name"], "folder");
  EXPECT_EQ(folder["expects"][0], "train/<class>/<image files>");
  EXPECT_EQ(rows[rows.size() - 1]["name"], "records");
  EXPECT_THAT(out_.str(), HasSubstr("train/<class>/<image files>"));
  EXPECT_THAT(out_.str(), HasSubstr("--label-offset"));
}

TEST_F(DatasetsTest, VerifyReportsFaultsAndFails) {
  testing::WriteCifar10(data_, 5, 10);
  ExpectFails({"datasets", "verify", "cifar10", "--data", data_.path(),
               "--json", dir_.File("v.json")},
              1, {"data_batch_1.bin", "15365 bytes", "more"});
  EXPECT_THAT(out_.str(), HasSubstr("train: 25 images, NOT the published"));
  const Json report = ReadJson("v.json");
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["splits"][1]["images"], 10);
  EXPECT_EQ(report["splits"][1]["images_of_class"][3], 1);
  EXPECT_EQ(report["splits"][1]["mean"].size(), 3u);
  EXPECT_EQ(report["files"].size(), 6u);
  EXPECT_FALSE(report["faults"].empty());
}

TEST_F(DatasetsTest, VerifyOfAWholeSetIsDone) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }
  ASSERT_EQ(Run({"datasets", "verify", "fashion-mnist"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("is what was published"));
  EXPECT_THAT(out_.str(), HasSubstr("mean of each channel 0.2860"));
  EXPECT_THAT(out_.str(), HasSubstr("each of 10 classes: 6,000 images"));
}

TEST_F(DatasetsTest, FetchSaysWhyNot) {
  HttpServer server([](const HttpRequest&) {
    HttpAnswer answer;
    answer.code = 404;
    return answer;
  });
  ExpectFails({"datasets", "fetch", "mnist", "--to", dir_.File("new/mnist"),
               "--url", server.url() + "mirror"},
              1, {server.url() + "mirror/train-images-idx3-ubyte.gz", "404"});
  ExpectFails({"datasets", "fetch", "nothing", "--to", dir_.path()}, 2,
              {"'nothing'"});
  ExpectFails(
      {"datasets", "fetch", "mnist", "--to", dir_.path(), "--url", "mirror"}, 2,
      {"--url mirror", "http://"});
}

TEST_F(DatasetsTest, TrainFetchesOnlyWhatIsMissing) {
  HttpServer server([](const HttpRequest&) {
    HttpAnswer answer;
    answer.code = 410;
    return answer;
  });
  std::vector<std::string> args = {
      "train",          "--depth",   "10",       "--growth", "4",
      "--bottleneck",   "--dataset", "cifar10",  "--data",   data_.path(),
      "--batch",        "8",         "--epochs", "1",        "--out",
      dir_.File("run"), "--threads", "1",        "--url",    server.url()};
  ExpectFails(args, 2, {"--url", "--fetch"});
  args.push_back("--fetch");
  ExpectFails(args, 1, {"cifar-10-binary.tar.gz", "410"});
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_FALSE(fs::exists(dir_.File("run")));
  testing::WriteCifar10(data_, 5, 10);
  EXPECT_EQ(Run(args), 0) << err_.str();
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DatasetsTest, PreviewDrawsASheet) {
  testing::WriteCifar10(data_, 5, 10);
  for (const char* augment : {"none", "cifar"}) {
    ASSERT_EQ(Run({"datasets", "preview", "cifar10", "--data", data_.path(),
                   "--out", dir_.File("s.png"), "--augment", augment, "--count",
                   "9", "--json", dir_.File("p.json")}),
              0)
        << err_.str();
    StatusOr<Image> sheet = ReadImage(dir_.File("s.png"));
    ASSERT_OK(sheet);
    EXPECT_GT(sheet->height, 3 * 96);
    EXPECT_GT(sheet->width, 3 * 96);
    EXPECT_EQ(ReadJson("p.json")["images"], 9);
  }
  ExpectFails({"datasets", "preview", "cifar10", "--data", data_.path(),
               "--out", dir_.File("no/s.png")},
              1, {"no/s.png"});
  ExpectFails({"datasets", "preview", "cifar10", "--data", dir_.File("none"),
               "--out", dir_.File("t.png")},
              1, {"none"});
  EXPECT_FALSE(fs::exists(dir_.File("t.png")));
}

TEST_F(DatasetsTest, PreviewDrawsPhotographs) {
  testing::WritePhotoFolder(data_);
  data_.Write("train/ants/other.gif", "GIF89a");
  ASSERT_EQ(Run({"records", "build", "--data", data_.path(), "--out",
                 dir_.File("set")}),
            0)
      << err_.str();
  const auto preview = [&](const std::string& name, const std::string& data) {
    return std::vector<std::string>{"datasets",
                                    "preview",
                                    name,
                                    "--data",
                                    data,
                                    "--out",
                                    dir_.File(name + ".png"),
                                    "--augment",
                                    "imagenet",
                                    "--count",
                                    "4",
                                    "--image-size",
                                    "96",
                                    "--json",
                                    dir_.File("p.json")};
  };
  ASSERT_EQ(Run(preview("folder", data_.path())), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("passed over in the train images"));
  ASSERT_EQ(Run(preview("records", dir_.File("set"))), 0) << err_.str();
  EXPECT_EQ(ReadJson("p.json")["images"], 4);
  const StatusOr<Image> sheet = ReadImage(dir_.File("records.png"));
  ASSERT_OK(sheet);
  EXPECT_GT(sheet->height, 2 * 96);
  EXPECT_LT(sheet->height, 3 * 96);
  ExpectFails({"datasets", "preview", "folder", "--data", data_.path(), "--out",
               dir_.File("t.png"), "--count", "20", "--image-size", "4096"},
              2, {"--count 20", "4096x4096", "fewer"});
  data_.Write("train/ants/000.jpg", "cut");
  ExpectFails({"datasets", "preview", "folder", "--data", data_.path(), "--out",
               dir_.File("t.png")},
              1, {"train/ants/000.jpg", "expected a JPEG or PNG"});
}

}  // namespace
}  // namespace densenet::cli
