#include "densenet/interchange/pickle_machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/densenet/interchange/pytorch_writer.h"
#include "tests/support/status_matchers.h"

namespace densenet::pickle {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::PickleWriter;

class PickleMachineTest : public ::testing::Test {
 protected:
  const Node& Root(const std::string& bytes) {
    StatusOr<Pickle> pickle = ReadPickle(bytes);
    EXPECT_OK(pickle);
    pickle_ = pickle.ok() ? *std::move(pickle) : Pickle{{Node()}, {}, {}};
    return pickle_.node(pickle_.root);
  }
  const Node& Item(const Node& node, size_t i) {
    return pickle_.node(node.items.at(i));
  }

  Pickle pickle_;
};

TEST_F(PickleMachineTest, NumbersOfEveryProtocol) {
  using namespace std::string_literals;
  const std::pair<std::string, int64_t> cases[] = {
      {"I12\n.", 12},
      {"L-5L\n.", -5},
      {"J\xff\xff\xff\xff."s, -1},
      {"K\xff.", 255},
      {"M\x01\x02.", 513},
      {"\x8a\x00."s, 0},
      {"\x8a\x01\xff.", -1},
      {"\x8a\x08\x00\x00\x00\x00\x01\x00\x00\x00."s, int64_t{1} << 32},
      {"\x8b\x02\x00\x00\x00\x00\x80."s, -32768},
  };
  for (const auto& [bytes, value] : cases) {
    const Node& node = Root(bytes);
    EXPECT_EQ(node.kind, Kind::kInt) << bytes;
    EXPECT_EQ(node.integer, value) << bytes;
  }
  EXPECT_EQ(Root("I01\n.").kind, Kind::kBool);
  EXPECT_EQ(Root("F1.5\n.").real, 1.5);
  EXPECT_EQ(Root("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s).real, 1.5);
  // More than 64 bits.
  EXPECT_EQ(Root("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s).kind,
            Kind::kOther);
  EXPECT_EQ(Root("L99999999999999999999L\n.").kind, Kind::kOther);
}

TEST_F(PickleMachineTest, ContainersAndMemo) {
  using namespace std::string_literals;
  // {"a": [1, 2], "b": (the same list,)} of protocol 2 and of protocol 4.
  const std::string cases[] = {
      "}(X\x01\0\0\0a]q\x01(K\x01K\x02"s + "eX\x01\0\0\0bh\x01\x85u."s,
      "\x80\x04\x95\0\0\0\0\0\0\0\0}(\x8c\x01"s + "a]\x94(K\x01K\x02"s +
          "e\x8c\x01"s + "bh\0\x85u."s,
  };
  for (const std::string& bytes : cases) {
    const Node& root = Root(bytes);
    ASSERT_EQ(root.kind, Kind::kDict);
    ASSERT_EQ(root.items.size(), 4u);
    EXPECT_EQ(Item(root, 0).text, "a");
    const Node& list = Item(root, 1);
    ASSERT_EQ(list.items.size(), 2u);
    EXPECT_EQ(Item(list, 1).integer, 2);
    EXPECT_EQ(Item(root, 3).kind, Kind::kTuple);
    EXPECT_EQ(Item(root, 3).items[0], root.items[1]);
  }
}

TEST_F(PickleMachineTest, OrderedDictsAreDicts) {
  PickleWriter two, none;
  none.Global("collections", "OrderedDict")
      .Raw(")R(")
      .Text("k")
      .Int(7)
      .Raw("u}b");
  two.Global("collections", "OrderedDict")
      .Raw("((l(l")
      .Text("k")
      .Raw("a")
      .Int(7)
      .Raw("aatR");
  for (const PickleWriter* writer : {&none, &two}) {
    const Node& root = Root(writer->Stop());
    ASSERT_EQ(root.kind, Kind::kDict);
    ASSERT_EQ(root.items.size(), 2u);
    EXPECT_EQ(Item(root, 0).text, "k");
    EXPECT_EQ(Item(root, 1).integer, 7);
  }
}

TEST_F(PickleMachineTest, NothingIsCalledOrImported) {
  const std::string file = ::testing::TempDir() + "pickle_was_run";
  for (const char* module : {"os", "posix", "builtins"}) {
    const std::string command = fmt::format("touch '{}'", file);
    const Node& root = Root(PickleWriter()
                                .Global(module, "system")
                                .Raw("(")
                                .Text(command)
                                .Raw("tR")
                                .Stop());
    EXPECT_EQ(root.kind, Kind::kOther);
  }
  EXPECT_EQ(Root(PickleWriter().Raw("(ios\nsystem\n").Stop()).kind,
            Kind::kOther);
  EXPECT_NE(access(file.c_str(), F_OK), 0);
}

TEST_F(PickleMachineTest, TensorsAreParts) {
  const Node& root = Root(
      PickleWriter().Tensor("HalfStorage", "7", 20, 2, {2, 3}, {1, 6}).Stop());
  ASSERT_EQ(root.kind, Kind::kTensor);
  const TensorLayout& tensor = pickle_.tensors.at(0);
  EXPECT_EQ(tensor.offset, 2);
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{1, 6}));
  EXPECT_EQ(pickle_.storages.at(0).key, "7");
  EXPECT_EQ(pickle_.storages[0].dtype, "F16");
  EXPECT_EQ(pickle_.storages[0].elems, 20);
}

TEST_F(PickleMachineTest, TensorsOutsideTheirStorageAreRefused) {
  constexpr int64_t kLarge = int64_t{1} << 62;
  struct Case {
    int64_t elems, offset;
    std::vector<int64_t> shape, strides;
  };
  const Case cases[] = {
      {4, 0, {5}, {1}},
      {4, 1, {4}, {1}},
      {4, 5, {0}, {1}},
      {4, 0, {2, 3}, {0, 1}},  // repeats elements
      {4, 0, {kLarge, kLarge}, {0, 0}},
      {4, kLarge, {2}, {kLarge}},
      {4, 0, {3}, {-1}},
      {4, 0, {-1}, {1}},
      {4, 0, {2}, {1, 1}},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ReadPickle(PickleWriter()
                               .Tensor("FloatStorage", "0", c.elems, c.offset,
                                       c.shape, c.strides)
                               .Stop()),
                Fails(StatusCode::kDataLoss, {"tensor"}));
  }
  // A stride that no second element follows may be any.
  EXPECT_OK(ReadPickle(PickleWriter()
                           .Tensor("FloatStorage", "0", 1, 0, {1}, {INT64_MAX})
                           .Stop()));
}

TEST_F(PickleMachineTest, DamageIsNamedWithItsPlace) {
  using namespace std::string_literals;
  const std::string cases[] = {
      ""s,      "K"s,
      "."s,     "X\xff\xff\xff\xff."s,
      "t."s,    "a."s,
      "h\0."s,  "\xff."s,
      "I1"s,    "}K\x01s."s,
      "R."s,    "Q."s,
      "]Q."s,   "\x85."s,
      "(1(."s,  "(]K\x01u."s,
      "gx\n."s, "\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s,
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ReadPickle(bytes),
                Fails(StatusCode::kDataLoss, {"pickle, at byte"}))
        << bytes;
  }
}

TEST_F(PickleMachineTest, BombsEnd) {
  // A million million items: each list holds the one before ten times.
  PickleWriter laughs;
  laughs.Raw("]q").Raw(std::string(1, '\0'));
  for (char level = 1; level < 13; ++level) {
    laughs.Raw("](");
    for (int i = 0; i < 10; ++i) {
      laughs.Raw("h").Raw(std::string(1, static_cast<char>(level - 1)));
    }
    laughs.Raw("eq").Raw(std::string(1, level));
  }
  EXPECT_OK(ReadPickle(laughs.Stop()));
  // More nodes than any network has, and copies of one.
  EXPECT_THAT(ReadPickle(std::string(kMaxNodes + 1, ']') + "."),
              Fails(StatusCode::kResourceExhausted, {"parts"}));
  EXPECT_THAT(ReadPickle("]" + std::string(kMaxItems + 1, '2') + "."),
              Fails(StatusCode::kResourceExhausted, {"parts"}));
}

}  // namespace
}  // namespace densenet::pickle
