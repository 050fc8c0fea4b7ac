#include "densenet/interchange/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/io/file.h"
#include "core/io/safetensors.h"
#include "tests/densenet/interchange/pytorch_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::BytesOf;
using ::densenet::testing::Fails;
using ::densenet::testing::PickleWriter;
using ::densenet::testing::TempDir;
using ::densenet::testing::TorchLegacy;
using ::densenet::testing::WriteTorchZip;
using ::testing::ElementsAre;

class TensorFileTest : public ::testing::Test {
 protected:
  // Full names, shapes and elements of a file.
  struct Read {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<double> values;
  };
  std::vector<Read> ReadAll(const std::string& path) {
    std::vector<Read> all;
    StatusOr<std::unique_ptr<TensorFile>> file = TensorFile::Open(path);
    EXPECT_OK(file);
    for (size_t i = 0; file.ok() && i < (*file)->tensors().size(); ++i) {
      const StoredTensor& tensor = (*file)->tensors()[i];
      Read read{tensor.full_name(), tensor.shape, {}};
      EXPECT_OK((*file)->ForEachPiece(i, [&](absl::Span<const double> piece) {
        read.values.insert(read.values.end(), piece.begin(), piece.end());
      }));
      all.push_back(std::move(read));
    }
    if (file.ok()) values_ = (*file)->values();
    return all;
  }
  std::string Zip(const std::string& pickle,
                  const std::map<std::string, std::string>& storages,
                  const testing::ZipOptions& options = {}) {
    const std::string path = dir_.File("file.pth");
    WriteTorchZip(path, pickle, storages, options);
    return path;
  }
  // Fails to open, or to be read.
  void ExpectFails(const std::string& path, StatusCode code,
                   const std::vector<std::string>& parts) {
    StatusOr<std::unique_ptr<TensorFile>> file = TensorFile::Open(path);
    Status status = file.status();
    for (size_t i = 0; file.ok() && i < (*file)->tensors().size(); ++i) {
      status.Update((*file)->ForEachPiece(i, [](absl::Span<const double>) {}));
    }
    EXPECT_THAT(status, Fails(code, parts));
  }

  TempDir dir_;
  std::map<std::string, std::string> values_;
};

// {"epoch": 3, "state_dict": {"w": (2, 3) transposed, "n": a number},
//  "optimizer": {"state": [{"m": ...}]}}
std::string Nested() {
  return PickleWriter()
      .Raw("}(")
      .Text("epoch")
      .Int(3)
      .Text("state_dict")
      .Global("collections", "OrderedDict")
      .Raw(")R(")
      .Text("w")
      .Tensor("FloatStorage", "0", 8, 2, {2, 3}, {1, 2})
      .Text("n")
      .Tensor("FloatStorage", "0", 8, 7, {}, {})
      .Raw("u")
      .Text("optimizer")
      .Raw("}(")
      .Text("state")
      .Raw("]}(")
      .Text("m")
      .Tensor("FloatStorage", "1", 2, 0, {2}, {1})
      .Raw("uauu")
      .Stop();
}

TEST_F(TensorFileTest, BothContainersOfPytorch) {
  const std::map<std::string, std::string> storages = {
      {"0", BytesOf<float>({0, 1, 2, 3, 4, 5, 6, 7})},
      {"1", BytesOf<float>({-1, 0.5})}};
  const std::string legacy = dir_.File("old.pth");
  ASSERT_OK(WriteFileAtomically(legacy, TorchLegacy(Nested(), storages, 4)));
  for (const std::string& path : {Zip(Nested(), storages), legacy}) {
    const std::vector<Read> all = ReadAll(path);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].name, "optimizer.state.0.m");
    EXPECT_THAT(all[0].values, ElementsAre(-1, 0.5));
    EXPECT_EQ(all[1].name, "state_dict.n");
    EXPECT_THAT(all[1].shape, ElementsAre());
    EXPECT_THAT(all[1].values, ElementsAre(7));
    EXPECT_EQ(all[2].name, "state_dict.w");
    EXPECT_THAT(all[2].shape, ElementsAre(2, 3));
    EXPECT_THAT(all[2].values, ElementsAre(2, 4, 6, 3, 5, 7));
    EXPECT_EQ(values_.at("epoch"), "3");
  }
}

TEST_F(TensorFileTest, DamagedZipFiles) {
  const std::string one = PickleWriter()
                              .Raw("}")
                              .Text("w")
                              .Tensor("FloatStorage", "0", 2, 0, {2}, {1})
                              .Raw("s")
                              .Stop();
  const std::map<std::string, std::string> good = {
      {"0", BytesOf<float>({1, 2})}};
  EXPECT_EQ(ReadAll(Zip(one, good, {.folder = ""})).size(), 1u);
  ExpectFails(Zip(one, {}), StatusCode::kDataLoss, {"data/0", "no such"});
  ExpectFails(Zip(one, {{"0", "1234"}}), StatusCode::kDataLoss,
              {"4 bytes", "8"});
  ExpectFails(Zip(one, {{"0", std::string(100, 'a')}}, {.compress = true}),
              StatusCode::kUnimplemented, {"compressed"});
  ExpectFails(Zip(one, good, {.byte_order = "big"}), StatusCode::kUnimplemented,
              {"byte order"});
  ExpectFails(Zip(one, good, {.folder = "a/b/"}), StatusCode::kDataLoss,
              {"data.pkl"});
  ExpectFails(Zip(PickleWriter().Raw("}").Stop(), good), StatusCode::kDataLoss,
              {"no tensors", "state_dict()"});
  // A flipped bit of an element is found by the checksum.
  const std::string path = Zip(one, good);
  std::string bytes = testing::Slurp(path);
  bytes[bytes.find(good.at("0"))] ^= 1;
  ASSERT_OK(WriteFileAtomically(path, bytes));
  ExpectFails(path, StatusCode::kDataLoss, {"data/0", "CRC"});
  for (size_t size : {bytes.size() - 1, bytes.size() / 2, size_t{10}}) {
    ASSERT_OK(WriteFileAtomically(path, bytes.substr(0, size)));
    ExpectFails(path, StatusCode::kDataLoss, {"zip"});
  }
}

TEST_F(TensorFileTest, CutLegacyFiles) {
  const std::string whole =
      TorchLegacy(PickleWriter()
                      .Raw("}")
                      .Text("w")
                      .Tensor("DoubleStorage", "0", 2, 0, {2}, {1})
                      .Raw("s")
                      .Stop(),
                  {{"0", BytesOf<double>({1, 2})}}, 8);
  const std::string path = dir_.File("old.pth");
  ASSERT_OK(WriteFileAtomically(path, whole));
  EXPECT_EQ(ReadAll(path).size(), 1u);
  for (size_t size : {whole.size() - 1, whole.size() - 20, size_t{40}}) {
    ASSERT_OK(WriteFileAtomically(path, whole.substr(0, size)));
    ExpectFails(path, StatusCode::kDataLoss, {"old.pth"});
  }
}

TEST_F(TensorFileTest, ContainersWithoutEnd) {
  // A list that holds itself, and dicts that hold the one before twice.
  ExpectFails(Zip("]q\x01h\x01"
                  "a.",
                  {}),
              StatusCode::kResourceExhausted, {"hold each other"});
  PickleWriter bomb;
  bomb.Raw("]q").Raw(std::string(1, '\0'));
  for (char level = 1; level < 40; ++level) {
    const std::string before(1, static_cast<char>(level - 1));
    bomb.Raw("](h" + before + "h" + before + "eq" + std::string(1, level));
  }
  ExpectFails(Zip(bomb.Stop(), {}), StatusCode::kResourceExhausted,
              {"hold each other"});
}

TEST_F(TensorFileTest, SafetensorsAndOthers) {
  const std::vector<float> values(300000, 2);
  const std::string path = dir_.File("x.safetensors");
  const std::vector<SafetensorsItem> items = {
      {"layer10", ConstTensorView(values.data(), DType::kFloat32,
                                  {static_cast<int64_t>(values.size())})},
      {"layer9", ConstTensorView(values.data(), DType::kFloat32, {1, 2})}};
  ASSERT_OK(WriteSafetensors(path, items, {{"who", "me"}}));
  const std::vector<Read> all = ReadAll(path);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "layer9");
  EXPECT_EQ(all[1].values.size(), values.size());
  EXPECT_EQ(all[1].values.back(), 2);
  EXPECT_EQ(values_.at("who"), "me");
  ASSERT_OK(WriteFileAtomically(path, "something else"));
  ExpectFails(path, StatusCode::kDataLoss,
              {"neither", "torch.save", "safetensors"});
  ExpectFails(dir_.File("none"), StatusCode::kNotFound, {"none"});
}

template <typename T>
std::vector<double> Decode(std::string_view dtype, const std::vector<T>& raw) {
  EXPECT_EQ(ElementBytes(dtype), static_cast<int64_t>(sizeof(T)));
  std::vector<double> out(raw.size());
  DecodeElements(dtype, reinterpret_cast<const char*>(raw.data()),
                 absl::MakeSpan(out));
  return out;
}

TEST(DecodeElements, EveryType) {
  EXPECT_THAT(Decode<float>("F32", {1.5f}), ElementsAre(1.5));
  EXPECT_THAT(Decode<double>("F64", {1e300}), ElementsAre(1e300));
  EXPECT_THAT(Decode<int64_t>("I64", {-1}), ElementsAre(-1));
  EXPECT_THAT(Decode<uint8_t>("U8", {255}), ElementsAre(255));
  EXPECT_THAT(Decode<int8_t>("I8", {-128}), ElementsAre(-128));
  EXPECT_THAT(Decode<uint8_t>("BOOL", {1, 0}), ElementsAre(1, 0));
  EXPECT_THAT(Decode<uint16_t>("BF16", {0x3fc0, 0xc000}), ElementsAre(1.5, -2));
  // One, the largest, the smallest normal and subnormal, zeros, infinity.
  EXPECT_THAT(
      Decode<uint16_t>(
          "F16", {0x3c00, 0x7bff, 0x0400, 0x0001, 0x8000, 0xfc00, 0xb555}),
      ElementsAre(1, 65504, std::ldexp(1, -14), std::ldexp(1, -24), 0,
                  -std::numeric_limits<double>::infinity(), -0.333251953125));
  EXPECT_TRUE(std::isnan(Decode<uint16_t>("F16", {0x7e00})[0]));
  EXPECT_EQ(ElementBytes("F8_E4M3"), 0);
}

TEST(NaturalLess, NumbersByValue) {
  const std::vector<std::string> sorted = {"",      "a",  "a.2.x", "a.10.x",
                                           "a.10y", "a2", "a10",   "b"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) {
      EXPECT_EQ(NaturalLess(sorted[i], sorted[j]), i < j)
          << sorted[i] << " " << sorted[j];
    }
  }
  EXPECT_NE(NaturalLess("a02", "a2"), NaturalLess("a2", "a02"));
}

}  // namespace
}  // namespace densenet
