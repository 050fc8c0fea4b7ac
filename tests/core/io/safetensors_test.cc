#include "core/io/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/random.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::densenet::testing::TestTensor;
using ::testing::ElementsAre;

std::string LittleEndian(uint64_t value) {
  std::string text(8, '\0');
  for (int i = 0; i < 8; ++i) text[i] = static_cast<char>(value >> (8 * i));
  return text;
}

std::string Bytes(ConstTensorView view) {
  if (view.elems() == 0) return "";  // no pointer to read from
  return std::string(static_cast<const char*>(view.raw()), view.bytes());
}

// A file as another tool might write it.
std::string Handmade(const std::string& header, const std::string& data) {
  return LittleEndian(header.size()) + header + data;
}

// One tensor of every type, with extents of 0 and 1 and rank 0 among them.
class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() {
    for (size_t i = 0; i < sizeof(bytes_); ++i) {
      bytes_[i] = static_cast<uint8_t>(RandomBits({.seed = 7}, i));
    }
    Add("bytes", DType::kUInt8, {3});
    Add("block0/layer0/conv1/w", DType::kFloat32, {1, 1, 5, 7});
    Add("step", DType::kInt64, {});
    Add("half", DType::kBFloat16, {5});
    Add("double", DType::kFloat64, {2, 3});
    Add("none", DType::kFloat32, {4, 0, 2});
    Add("labels", DType::kInt32, {6});
    Add("snowman \u2603 \"quoted\"", DType::kFloat32, {1});
  }

  void Add(const std::string& name, DType dtype, const Shape& shape) {
    items_.push_back({name, ConstTensorView(bytes_, dtype, shape)});
  }
  std::string WriteAll() {
    const std::string path = dir_.File("x.safetensors");
    const Status status = WriteSafetensors(path, items_, metadata_);
    EXPECT_TRUE(status.ok()) << status;
    return path;
  }

  TempDir dir_;
  HostMemory memory_;
  alignas(64) uint8_t bytes_[256];
  std::vector<SafetensorsItem> items_;
  SafetensorsMetadata metadata_ = {{"config", "{\"depth\": 40}"},
                                   {"densenet", "\n\t\u2603"}};
};

TEST_F(SafetensorsTest, RoundTripIsBitwise) {
  const std::string path = WriteAll();
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_OK(file);
  EXPECT_TRUE(file->has_checksums());
  EXPECT_EQ(file->metadata(), metadata_);
  EXPECT_EQ(file->tensors().size(), items_.size());
  for (const SafetensorsItem& item : items_) {
    StatusOr<Tensor> tensor = file->Read(item.name, memory_);
    ASSERT_OK(tensor);
    EXPECT_EQ(tensor->dtype(), item.view.dtype());
    EXPECT_EQ(tensor->shape(), item.view.shape());
    EXPECT_EQ(Bytes(tensor->const_view()), Bytes(item.view)) << item.name;
  }
  EXPECT_THAT(dir_.Names(), ElementsAre("x.safetensors"));
}

TEST_F(SafetensorsTest, TensorsAndDataAreAligned) {
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(WriteAll());
  ASSERT_OK(file);
  const std::string bytes = Slurp(file->path());
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  for (const auto& [name, entry] : file->tensors()) {
    EXPECT_EQ(entry.begin % SizeOf(*entry.dtype), 0) << name;
  }
}

TEST_F(SafetensorsTest, NothingToWriteIsAFile) {
  items_.clear();
  metadata_.clear();
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(WriteAll());
  ASSERT_OK(file);
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_TRUE(file->metadata().empty());
}

TEST_F(SafetensorsTest, SameContentsAreTheSameBytes) {
  const std::string first = Slurp(WriteAll());
  EXPECT_EQ(Slurp(WriteAll()), first);
}

TEST_F(SafetensorsTest, ReadIntoAViewChecksTypeAndShape) {
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(WriteAll());
  ASSERT_OK(file);
  TestTensor good({1, 1, 5, 7});
  ASSERT_OK(file->Read("block0/layer0/conv1/w", good.view()));
  EXPECT_TRUE(BitwiseEqual(good.const_view(), items_[1].view));
  TestTensor wide({1, 1, 5, 8});
  EXPECT_THAT(file->Read("block0/layer0/conv1/w", wide.view()),
              Fails(StatusCode::kInvalidArgument,
                    {file->path(), "block0/layer0/conv1/w", "F32 (1, 1, 5, 7)",
                     "float32 (1, 1, 5, 8)"}));
  TestTensor strided({1, 1, 5, 7}, 2);
  EXPECT_THAT(file->Read("block0/layer0/conv1/w", strided.view()),
              Fails(StatusCode::kInvalidArgument, {"packed"}));
  TestTensor labels({6});
  EXPECT_THAT(file->Read("labels", labels.view()),
              Fails(StatusCode::kInvalidArgument, {"labels", "I32", "float"}));
  EXPECT_THAT(file->Read("gone", labels.view()),
              Fails(StatusCode::kNotFound, {file->path(), "gone"}));
}

TEST_F(SafetensorsTest, WhatCannotBeWrittenIsNamed) {
  const std::string path = dir_.File("x.safetensors");
  const auto write = [&] { return WriteSafetensors(path, items_, metadata_); };
  const auto good = items_;
  items_.push_back(good[2]);
  EXPECT_THAT(write(), Fails(StatusCode::kInvalidArgument, {path, "step"}));
  for (const char* name : {"", "__metadata__"}) {
    items_ = {{name, good[0].view}};
    EXPECT_THAT(write(),
                Fails(StatusCode::kInvalidArgument, {"cannot be named"}));
  }
  items_ = {{"bad \xff", good[0].view}};
  EXPECT_THAT(write(), Fails(StatusCode::kInvalidArgument, {"UTF-8"}));
  TestTensor strided({2, 3}, 1);
  items_ = {{"strided", strided.const_view()}};
  EXPECT_THAT(write(),
              Fails(StatusCode::kInvalidArgument, {"strided", "(4, 1)"}));
  items_ = {
      {"far", ConstTensorView(bytes_, DType::kUInt8, {1}, Device::Cuda(1))}};
  EXPECT_THAT(write(), Fails(StatusCode::kInvalidArgument, {"far", "cuda:1"}));
  items_ = good;
  metadata_[std::string(kDataChecksumKey)] = "0";
  EXPECT_THAT(write(), Fails(StatusCode::kInvalidArgument, {"data_crc32c"}));
  EXPECT_THAT(WriteSafetensors("/dev/full", good, {}),
              Fails(StatusCode::kResourceExhausted, {"/dev/full"}));
  EXPECT_THAT(dir_.Names(), ElementsAre());
}

// Cut anywhere, the file is refused and named.
TEST_F(SafetensorsTest, EveryTruncationIsDataLoss) {
  const std::string bytes = Slurp(WriteAll());
  const std::string path = dir_.Write("cut", bytes);
  for (size_t size = bytes.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    ASSERT_THAT(SafetensorsFile::Open(path),
                Fails(StatusCode::kDataLoss, {path}))
        << size << " of " << bytes.size();
  }
  EXPECT_THAT(SafetensorsFile::Open(dir_.Write("long", bytes + '\0')),
              Fails(StatusCode::kDataLoss, {"long", "238 after"}));
}

// `bytes` with up to `most` random bytes in random places.
std::string Damage(std::string bytes, uint32_t most, uint64_t seed) {
  const RandomKey key = {.seed = seed};
  const uint32_t count = 1 + RandomBits(key, 0) % most;
  for (uint32_t i = 1; i <= count; ++i) {
    const uint32_t bits = RandomBits(key, i);
    bytes[UniformInt(bits, static_cast<uint32_t>(bytes.size()))] =
        static_cast<char>(bits);
  }
  return bytes;
}

// Any one bit, and random bytes.
TEST_F(SafetensorsTest, EveryFlipIsDataLoss) {
  const std::string bytes = Slurp(WriteAll());
  const std::string path = dir_.Write("bad", bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    dir_.Overwrite(path, bad);
    ASSERT_THAT(SafetensorsFile::Open(path),
                Fails(StatusCode::kDataLoss, {path}))
        << "bit " << bit;
  }
  for (uint64_t round = 0; round < 2000; ++round) {
    const std::string bad = Damage(bytes, 8, round);
    if (bad == bytes) continue;
    dir_.Overwrite(path, bad);
    ASSERT_THAT(SafetensorsFile::Open(path),
                Fails(StatusCode::kDataLoss, {path}))
        << "round " << round;
  }
}

// Without checksums a flip may stay unseen, but must not do harm.
TEST_F(SafetensorsTest, FlipsInAForeignFileDoNoHarm) {
  const std::string bytes =
      Handmade(R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,1],)"
               R"("data_offsets":[0,8]},"y":{"dtype":"U8","shape":[3],)"
               R"("data_offsets":[8,11]}})",
               std::string(11, 'x'));
  const std::string path = dir_.Write("bad", bytes);
  for (uint64_t round = 0; round < 4000; ++round) {
    dir_.Overwrite(path, Damage(bytes, 3, round));
    StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file.ok()) continue;
    for (const auto& [name, entry] : file->tensors()) {
      if (entry.dtype) {
        EXPECT_OK(file->Read(name, memory_)) << name;
      }
    }
  }
}

struct BadHeader {
  const char* header;
  const char* data;
  const char* reason;
};

class SafetensorsBadHeaderTest : public ::testing::TestWithParam<BadHeader> {};

TEST_P(SafetensorsBadHeaderTest, IsDataLoss) {
  TempDir dir;
  const BadHeader& bad = GetParam();
  const std::string path = dir.Write("bad", Handmade(bad.header, bad.data));
  EXPECT_THAT(SafetensorsFile::Open(path),
              Fails(StatusCode::kDataLoss, {path, bad.reason}));
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsBadHeaderTest,
    ::testing::Values(
        BadHeader{"", "", "'{'"}, BadHeader{" {}", "", "'{'"},
        BadHeader{"[]", "", "'{'"}, BadHeader{"{", "", "JSON"},
        BadHeader{"{} x", "", "JSON"},
        BadHeader{R"({"x":[[[[[[1]]]]]]})", "", "JSON"},
        BadHeader{R"({"__metadata__":3})", "", "__metadata__"},
        BadHeader{R"({"__metadata__":{"a":1}})", "", "\"a\""},
        BadHeader{R"({"x":7})", "", "tensor x: expected dtype"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[]}})", "", "tensor x"},
        BadHeader{R"({"x":{"dtype":"Q8","shape":[1],"data_offsets":[0,1]}})",
                  "x", "tensor x: unknown dtype Q8"},
        BadHeader{R"({"x":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", "x",
                  "tensor x: dtype"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})",
                  "x", "tensor x: shape"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})",
                  "x", "tensor x: shape"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[18446744073709551615],)"
                  R"("data_offsets":[0,1]}})",
                  "x", "tensor x: shape"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[4294967296,4294967296],)"
                  R"("data_offsets":[0,0]}})",
                  "", "tensor x: U8 (4294967296, 4294967296)"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})",
                  "x", "tensor x: data_offsets"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", "x",
                  "tensor x: data_offsets"},
        BadHeader{R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
                  "xxxx", "tensor x: F32 (2) does not take the 4 bytes"},
        BadHeader{R"({"x":{"dtype":"F4","shape":[1],"data_offsets":[0,0]}})",
                  "", "tensor x: F4 (1)"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                  "x", "it was cut"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                  "xx", "tensor x begins at byte 1"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                  R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  "xxx", "tensor y begins at byte 1 of the data, expected 2"},
        BadHeader{R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                  R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                  "x", "\"x\" twice"},
        BadHeader{R"({"__metadata__":{"a":"1","a":"2"}})", "", "\"a\" twice"},
        BadHeader{R"({"__metadata__":{"densenet.data_crc32c":"00000000"}})", "",
                  "one of its two checksums"},
        BadHeader{R"({"__metadata__":{"densenet.data_crc32c":"00000000",)"
                  R"("densenet.header_crc32c":"0"}})",
                  "", "cannot be found"},
        BadHeader{R"({"__metadata__":{"densenet.data_crc32c":"00000000",)"
                  R"( "densenet.header_crc32c" : "00000000"}})",
                  "", "cannot be found"}));

TEST(SafetensorsFileTest, ReadsWhatOtherToolsMayWrite) {
  TempDir dir;
  HostMemory memory;
  // Not padded, unsorted, empty tensors anywhere, types we cannot hold.
  const std::string path = dir.Write(
      "foreign",
      Handmade(R"({ "z":{"dtype":"F16","shape":[1],"data_offsets":[1,3]},)"
               R"("a":{"shape":[1],"data_offsets":[0,1],"dtype":"U8"},)"
               R"("e":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
               R"("r":{"dtype":"U8","shape":[1,1,1,1,1,1,1],)"
               R"("data_offsets":[3,4]}})",
               "abcd"));
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_OK(file);
  EXPECT_FALSE(file->has_checksums());
  StatusOr<Tensor> a = file->Read("a", memory);
  ASSERT_OK(a);
  EXPECT_EQ(a->data<uint8_t>()[0], 'a');
  EXPECT_OK(file->Read("e", memory));
  EXPECT_EQ(file->tensors().at("z").ToString(), "F16 (1)");
  for (const char* name : {"z", "r"}) {
    EXPECT_THAT(file->Read(name, memory),
                Fails(StatusCode::kInvalidArgument, {path, name, "hold"}));
  }
}

TEST(SafetensorsFileTest, HeaderLengthIsChecked) {
  TempDir dir;
  for (uint64_t length :
       {uint64_t{3}, uint64_t{100'000'001}, ~uint64_t{0}, uint64_t{1} << 63}) {
    EXPECT_THAT(
        SafetensorsFile::Open(dir.Write("bad", LittleEndian(length) + "{}")),
        Fails(StatusCode::kDataLoss, {fmt::format("{}", length)}));
  }
  EXPECT_THAT(SafetensorsFile::Open(dir.File("gone")),
              Fails(StatusCode::kNotFound, {"gone"}));
  EXPECT_THAT(SafetensorsFile::Open(dir.path()),
              Fails(StatusCode::kInvalidArgument, {"folder"}));
}

// Data is only read when asked for.
TEST_F(SafetensorsTest, ListingSkipsTheData) {
  std::string bytes = Slurp(WriteAll());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const std::string path = dir_.Write("bad", bytes);
  EXPECT_THAT(SafetensorsFile::Open(path),
              Fails(StatusCode::kDataLoss, {path, "data has checksum"}));
  EXPECT_OK(SafetensorsFile::Open(path, {.verify_data = false}));
}

// Offsets beyond 2^31 and 2^32: as arithmetic, and from a file of holes.
TEST(SafetensorsLargeTest, OffsetsAre64Bit) {
  const int64_t big = (int64_t{1} << 32) + 8;
  const char byte = 0;
  const std::vector<SafetensorsItem> items = {
      {"big", ConstTensorView(&byte, DType::kUInt8, {big})},
      {"after", ConstTensorView(&byte, DType::kUInt8, {5})}};
  StatusOr<SafetensorsLayout> layout = LayOutSafetensors(items, {});
  ASSERT_OK(layout);
  EXPECT_THAT(layout->offsets, ElementsAre(0, big));
  EXPECT_EQ(layout->data_bytes, big + 5);

  TempDir dir;
  const std::string header = fmt::format(
      R"({{"big":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}},)"
      R"("after":{{"dtype":"U8","shape":[5],"data_offsets":[{0},{1}]}}}})",
      big, big + 5);
  const std::string path = dir.Write("big", Handmade(header, ""));
  const int64_t data = 8 + static_cast<int64_t>(header.size());
  ASSERT_EQ(::truncate(path.c_str(), data + big), 0);
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::pwrite(fd, "after", 5, data + big), 5);
  ASSERT_EQ(::close(fd), 0);
  HostMemory memory;
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_OK(file);
  EXPECT_EQ(file->tensors().at("big").bytes(), big);
  StatusOr<Tensor> after = file->Read("after", memory);
  ASSERT_OK(after);
  EXPECT_EQ(std::memcmp(after->data<uint8_t>(), "after", 5), 0);
}

// Writes more than 2 GiB, so only where it is asked for.
TEST(SafetensorsLargeTest, WritesBeyond2GiB) {
  if (std::getenv("DENSENET_TEST_LARGE") == nullptr) {
    GTEST_SKIP() << "set DENSENET_TEST_LARGE=1 to write a file of 2.2 GB";
  }
  const int64_t bytes = (int64_t{1} << 31) + (64 << 20);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(data, MAP_FAILED);
  auto* last = static_cast<uint8_t*>(data) + bytes - 1;
  *last = 42;
  TempDir dir;
  const std::string path = dir.File("big");
  ASSERT_OK(WriteSafetensors(
      path,
      std::vector<SafetensorsItem>{
          {"big", ConstTensorView(data, DType::kUInt8, {bytes})},
          {"last", ConstTensorView(last, DType::kUInt8, {1})}},
      {}));
  ::munmap(data, bytes);
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_OK(file);
  uint8_t read = 0;
  ASSERT_OK(file->Read("last", TensorView(&read, DType::kUInt8, {1})));
  EXPECT_EQ(read, 42);
}

bool PythonHasSafetensors() {
  return std::system("python3 -c 'import safetensors.numpy' >/dev/null 2>&1") ==
         0;
}

// Python reads what is written here, and here is read what Python writes.
TEST_F(SafetensorsTest, PythonPackageAgrees) {
  if (!PythonHasSafetensors()) {
    GTEST_SKIP() << "python3 has no safetensors package with numpy "
                    "(pip install safetensors numpy)";
  }
  // NumPy has no bfloat16.
  items_.erase(items_.begin() + 3);
  const std::string path = WriteAll();
  const std::string script = dir_.Write("resave.py", R"(
import sys
from safetensors import safe_open
from safetensors.numpy import save_file
tensors = {}
with safe_open(sys.argv[1], framework="numpy") as f:
    metadata = f.metadata()
    for key in f.keys():
        tensors[key] = f.get_tensor(key)
assert metadata["config"] == '{"depth": 40}', metadata
metadata = {k: v for k, v in metadata.items() if not k.endswith("_crc32c")}
save_file(tensors, sys.argv[2], metadata)
)");
  const std::string copy = dir_.File("copy.safetensors");
  ASSERT_EQ(
      std::system(fmt::format("python3 {} {} {}", script, path, copy).c_str()),
      0);
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(copy);
  ASSERT_OK(file);
  EXPECT_FALSE(file->has_checksums());
  EXPECT_EQ(file->metadata(), metadata_);
  ASSERT_EQ(file->tensors().size(), items_.size());
  for (const SafetensorsItem& item : items_) {
    StatusOr<Tensor> tensor = file->Read(item.name, memory_);
    ASSERT_OK(tensor);
    EXPECT_EQ(tensor->shape(), item.view.shape());
    EXPECT_EQ(Bytes(tensor->const_view()), Bytes(item.view)) << item.name;
  }
}

// Files written by the tools themselves.
TEST(SafetensorsFileTest, ReadsSamplesOfOtherTools) {
  const char* root = std::getenv("DENSENET_TEST_DATA");
  if (root == nullptr) {
    GTEST_SKIP() << "DENSENET_TEST_DATA names no folder of sample files";
  }
  HostMemory memory;
  int files = 0;
  for (const char* folder : {"safetensors", "pretrained"}) {
    const auto path = std::filesystem::path(root) / folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& item : std::filesystem::directory_iterator(path)) {
      if (item.path().extension() != ".safetensors") continue;
      StatusOr<SafetensorsFile> file =
          SafetensorsFile::Open(item.path().string());
      ASSERT_OK(file);
      EXPECT_FALSE(file->tensors().empty());
      for (const auto& [name, entry] : file->tensors()) {
        if (entry.dtype) {
          EXPECT_OK(file->Read(name, memory)) << name;
        }
      }
      ++files;
    }
  }
  if (files == 0) GTEST_SKIP() << root << " has no .safetensors files";
}

}  // namespace
}  // namespace densenet
