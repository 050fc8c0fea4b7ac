#include "densenet/cli/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/io/safetensors.h"
#include "tests/densenet/cli/app_fixture.h"

namespace densenet::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointCommandTest : public AppTest {
 protected:
  // A run of four steps with a checkpoint after the second and the last.
  void TrainOnce() {
    ASSERT_EQ(Run(Train({"--checkpoint-every", "2"})), 0) << err_.str();
    checkpoint_ = dir_.File("run/model.ckpt-4.safetensors");
  }
  double Error(const std::string& checkpoint) {
    EXPECT_EQ(Run({"eval", "--checkpoint", checkpoint, "--data", data_.path(),
                   "--threads", "1", "--json", dir_.File("eval.json")}),
              0)
        << err_.str();
    return ReadJson("eval.json").at("loss").get<double>();
  }

  std::string checkpoint_;
};

TEST_F(CheckpointCommandTest, ThereAndBackIsTheSameNetwork) {
  TrainOnce();
  const std::string there = dir_.File("there.safetensors");
  ASSERT_EQ(Run({"checkpoint", "export", dir_.File("run"), "--out", there,
                 "--json", dir_.File("export.json")}),
            0)
      << err_.str();
  EXPECT_EQ(ReadJson("export.json").at("step"), 4);
  const std::string back = dir_.File("back.safetensors");
  ASSERT_EQ(Run({"checkpoint", "import", there, "--out", back}), 0)
      << err_.str();
  EXPECT_EQ(Error(back), Error(checkpoint_));
  ExpectFails({"checkpoint", "import", back, "--out", dir_.File("x")}, 2,
              {"a checkpoint already"});
  // The same from options. The normalization is that of the run.
  const Json data =
      Json::parse(SafetensorsFile::Open(there)->metadata().at("densenet.data"));
  const auto list = [&](const char* key) {
    std::string text = data.at(key).dump();
    return text.substr(1, text.size() - 2);
  };
  const std::vector<std::string> options = {
      "checkpoint", "import",
      there,        "--depth",
      "10",         "--growth",
      "4",          "--bottleneck",
      "--mean",     list("mean"),
      "--std",      list("std"),
      "--out",      dir_.File("named.safetensors")};
  ASSERT_EQ(Run(With(options, {"--dataset", "cifar10", "--json",
                               dir_.File("import.json")})),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("of pixels in [0, 1]"));
  EXPECT_EQ(ReadJson("import.json").at("naming"), "torchvision");
  EXPECT_EQ(Error(dir_.File("named.safetensors")), Error(checkpoint_));
  // Without a data set, evaluation must be told.
  ASSERT_EQ(Run(options), 0) << err_.str();
  ExpectFails({"eval", "--checkpoint", dir_.File("named.safetensors")}, 1,
              {"--dataset"});
}

TEST_F(CheckpointCommandTest, ImportSaysWhatItNeeds) {
  TrainOnce();
  const std::string there = dir_.File("there.safetensors");
  ASSERT_EQ(Run({"checkpoint", "export", checkpoint_, "--out", there}), 0);
  const std::string out = dir_.File("out.safetensors");
  const std::vector<std::string> import = {
      "checkpoint",   "import", there, "--depth", "10",   "--growth", "4",
      "--bottleneck", "--mean", "0.5", "--std",   "0.25", "--out",    out};
  ASSERT_EQ(Run(import), 0) << err_.str();
  std::filesystem::remove(out);
  ExpectFails({"checkpoint", "import", there, "--mean", "0.5", "--out", out}, 2,
              {"says itself"});
  ExpectFails({"checkpoint", "import", there, "--depth", "10", "--growth", "4",
               "--bottleneck", "--out", out},
              2, {"--mean and --std", "255"});
  ExpectFails(With(import, {"--mean", "125.3"}), 2,
              {"[0, 1]", "125.3 is of pixels up to 255, that is 0.4914"});
  ExpectFails(With(import, {"--mean", "0.5,0.5"}), 2, {"3 numbers"});
  ExpectFails(With(import, {"--std", "0"}), 2, {"deviation"});
  ExpectFails(With(import, {"--dataset", "cifar10", "--classes", "5"}), 2,
              {"--classes"});
  ExpectFails(With(import, {"--key", "model"}), 2, {"'model'"});
  // Another network: all is said, nothing written.
  ExpectFails(With(import, {"--growth", "5", "--json", dir_.File("r.json")}), 1,
              {"0 tensors are missing", "nothing was written"});
  EXPECT_GT(ReadJson("r.json").at("other_shape").size(), 10u);
  ExpectFails(With(import, {"--depth", "16"}), 1, {"tensors are missing"});
  EXPECT_THAT(out_.str(), HasSubstr("features.denseblock1.denselayer2"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(CheckpointCommandTest, ClassNamesComeFromAFile) {
  TrainOnce();
  const std::string there = dir_.File("there.safetensors");
  ASSERT_EQ(Run({"checkpoint", "export", checkpoint_, "--out", there}), 0);
  dir_.Write("names", "a\nb\nc\nd\ne\nf\ng\nh\ni\nlast one\n");
  const std::string out = dir_.File("out.safetensors");
  ASSERT_EQ(Run({"checkpoint", "import", there, "--depth", "10", "--growth",
                 "4", "--bottleneck", "--mean", "0.5", "--std", "0.25",
                 "--class-names", dir_.File("names"), "--out", out}),
            0)
      << err_.str();
  ASSERT_EQ(
      Run({"checkpoint", "inspect", out, "--json", dir_.File("inspect.json")}),
      0);
  const Json checkpoint = ReadJson("inspect.json").at("checkpoint");
  EXPECT_EQ(checkpoint.at("classes").back(), "last one");
  EXPECT_EQ(checkpoint.at("mean").dump(), "[0.5,0.5,0.5]");
}

TEST_F(CheckpointCommandTest, InspectShowsTensorsAndProgress) {
  TrainOnce();
  ASSERT_EQ(Run({"checkpoint", "inspect", dir_.File("run"), "--json",
                 dir_.File("inspect.json")}),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("parameters/features.conv0.weight"));
  EXPECT_THAT(out_.str(), HasSubstr("step 4, 1 epochs done"));
  const Json json = ReadJson("inspect.json");
  EXPECT_EQ(json.at("checkpoint").at("step"), 4);
  for (const Json& row : json.at("rows")) {
    if (row.at("name") != "parameters/features.conv0.weight") continue;
    EXPECT_THAT(Keys(row), ElementsAre("name", "dtype", "shape", "norm"));
    EXPECT_EQ(row.at("shape").dump(), "[3,3,3,8]");
    EXPECT_GT(row.at("norm").get<double>(), 0);
  }
  // A file of another program.
  const double values[] = {3, 4};
  const SafetensorsItem item{"w",
                             ConstTensorView(values, DType::kFloat64, {2})};
  ASSERT_OK(WriteSafetensors(dir_.File("x"), {&item, 1}, {{"note", "hello"}}));
  ASSERT_EQ(Run({"checkpoint", "inspect", dir_.File("x")}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("F64 (2)"));
  EXPECT_THAT(out_.str(), HasSubstr("norm 5"));
  EXPECT_THAT(out_.str(), HasSubstr("hello"));
  ExpectFails({"checkpoint", "inspect", dir_.File("none")}, 1, {"none"});
}

TEST_F(CheckpointCommandTest, AveragesOneRun) {
  TrainOnce();
  const std::string out = dir_.File("mean.safetensors");
  ASSERT_EQ(
      Run({"checkpoint", "average", dir_.File("run/model.ckpt-2.safetensors"),
           checkpoint_, "--out", out, "--json", dir_.File("mean.json")}),
      0)
      << err_.str();
  EXPECT_EQ(ReadJson("mean.json").at("step"), 4);
  EXPECT_GT(Error(out), 0);
  ExpectFails({"checkpoint", "average", checkpoint_, "--out", out}, 2,
              {"two checkpoints"});
}

TEST_F(CheckpointCommandTest, ExportKnowsTheFormatByItsName) {
  TrainOnce();
  ASSERT_EQ(
      Run({"checkpoint", "export", checkpoint_, "--out", dir_.File("x.onnx")}),
      0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("as onnx"));
  EXPECT_THAT(out_.str(), HasSubstr("pixels in [0, 1]"));
  ExpectFails({"checkpoint", "export", checkpoint_, "--out", dir_.File("x")}, 2,
              {".safetensors", ".onnx", "--format"});
  ExpectFails(
      {"checkpoint", "export", checkpoint_, "--out", dir_.File("no/x.onnx")}, 1,
      {"no"});
}

}  // namespace
}  // namespace densenet::cli
