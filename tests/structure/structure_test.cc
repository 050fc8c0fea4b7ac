// The tree keeps its rules, and the rules notice a tree that does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/source_tree.h"

namespace densenet::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const SourceTree& OurTree() {
  static const auto* const kTree =
      new SourceTree(ReadSourceTree(DENSENET_SOURCE_DIR));
  return *kTree;
}

TEST(Structure, TheTreeIsRead) {
  // Guards the tests below against a tree that seems in order because it is
  // empty.
  bool found = false;
  for (const SourceFile& file : OurTree()) {
    if (file.path != "core/tensor.h") continue;
    found = true;
    EXPECT_FALSE(file.includes.empty());
  }
  EXPECT_TRUE(found);
}

TEST(Structure, IncludesFollowTheFolders) {
  EXPECT_THAT(WrongWayIncludes(OurTree()), IsEmpty());
}

TEST(Structure, NoHeaderIncludesItself) {
  EXPECT_THAT(CyclicIncludes(OurTree()), IsEmpty());
}

TEST(Structure, CudaHeadersStayInTheBackend) {
  EXPECT_THAT(StrayCudaIncludes(OurTree()), IsEmpty());
}

TEST(Structure, HeaderGuardsFollowThePath) {
  EXPECT_THAT(WrongHeaderGuards(OurTree()), IsEmpty());
}

TEST(Structure, SourcesIncludeTheirHeaderFirst) {
  EXPECT_THAT(OwnHeaderNotFirst(OurTree()), IsEmpty());
}

TEST(Structure, EveryOperationHasItsFiles) {
  EXPECT_THAT(IncompleteOps(OurTree()), IsEmpty());
}

TEST(WrongWayIncludes, NamesTheWrongDirection) {
  const SourceTree tree = {
      {"core/a.h", "#include <vector>\n#include \"memory/b.h\"\n"},
      {"memory/b.h", "#include \"core/a.h\"\n"},
      {"parallel/c.h", "#include \"memory/b.h\"\n"},
      {"densenet/d.cc", "#include \"parallel/c.h\"\n"},
  };
  EXPECT_THAT(WrongWayIncludes(tree),
              ElementsAre(AllOf(HasSubstr("core/a.h:2"),
                                HasSubstr("core may not include memory/b.h"))));
}

TEST(WrongWayIncludes, NothingIncludesTestsAndBenchmarks) {
  const SourceTree tree = {
      {"tests/support/near.h", ""},
      {"tests/core/a_test.cc", "#include \"tests/support/near.h\"\n"},
      {"benchmarks/a.cc", "#include \"tests/support/near.h\"\n"},
      {"densenet/a.cc", "#include <tests/support/near.h>\n"},
  };
  EXPECT_THAT(WrongWayIncludes(tree),
              ElementsAre(HasSubstr("benchmarks/a.cc:1"),
                          HasSubstr("densenet/a.cc:1")));
}

TEST(WrongWayIncludes, NamesWhatDoesNotExist) {
  const SourceTree tree = {{"core/a.cc", "#  include \"core/gone.h\"\n"}};
  EXPECT_THAT(WrongWayIncludes(tree),
              ElementsAre(HasSubstr("core/a.cc:1: there is no core/gone.h")));
}

TEST(CyclicIncludes, NamesTheCycle) {
  const SourceTree tree = {
      {"core/a.h", "#include \"core/b.h\"\n"},
      {"core/b.h", "#include \"core/c.h\"\n#include \"core/d.h\"\n"},
      {"core/c.h", "#include \"core/d.h\"\n"},
      {"core/d.h", "#include \"core/b.h\"\n"},
  };
  EXPECT_THAT(
      CyclicIncludes(tree),
      ElementsAre(HasSubstr("core/b.h -> core/c.h -> core/d.h -> core/b.h")));
}

TEST(CyclicIncludes, TwoWaysToOneHeaderAreNoCycle) {
  const SourceTree tree = {
      {"core/a.h", "#include \"core/b.h\"\n#include \"core/c.h\"\n"},
      {"core/b.h", "#include \"core/c.h\"\n"},
      {"core/c.h", ""},
  };
  EXPECT_THAT(CyclicIncludes(tree), IsEmpty());
}

TEST(StrayCudaIncludes, AllowsOnlyTheBackend) {
  const SourceTree tree = {
      {"core/context.h", "#include <cuda_runtime.h>\n"},
      {"core/cuda/stream.h", "#include <cuda_runtime.h>\n"},
      {"core/ops/relu_cuda.cu", "#include <cub/cub.cuh>\n"},
      {"parallel/nccl_cuda.cc", "#include <nccl.h>\n"},
      {"tests/core/relu_test.cc", "#include <cublasLt.h>\n"},
  };
  EXPECT_THAT(StrayCudaIncludes(tree),
              ElementsAre(HasSubstr("core/context.h:1"),
                          HasSubstr("tests/core/relu_test.cc:1")));
}

TEST(WrongHeaderGuards, ComparesWithThePath) {
  const SourceTree tree = {
      {"core/ops/good.h",
       "// What it does.\n\n#ifndef DENSENET_CORE_OPS_GOOD_H_\n"
       "#define DENSENET_CORE_OPS_GOOD_H_\n\nint a();\n\n"
       "#endif  // DENSENET_CORE_OPS_GOOD_H_\n"},
      {"core/ops/copied.h",
       "#ifndef DENSENET_CORE_OPS_GOOD_H_\n"
       "#define DENSENET_CORE_OPS_GOOD_H_\n\nint b();\n\n"
       "#endif  // DENSENET_CORE_OPS_GOOD_H_\n"},
      {"core/ops/none.h", "int c();\n"},
  };
  EXPECT_THAT(WrongHeaderGuards(tree),
              ElementsAre(AllOf(HasSubstr("core/ops/copied.h"),
                                HasSubstr("DENSENET_CORE_OPS_COPIED_H_")),
                          HasSubstr("core/ops/none.h")));
}

TEST(OwnHeaderNotFirst, LooksAtSourcesAndTheirTests) {
  const SourceTree tree = {
      {"core/a.h", ""},
      {"core/a.cc", "#include <vector>\n\n#include \"core/a.h\"\n"},
      {"core/main.cc", "#include <vector>\n"},
      {"tests/core/a_test.cc", "#include <gtest/gtest.h>\n"},
  };
  EXPECT_THAT(
      OwnHeaderNotFirst(tree),
      ElementsAre(HasSubstr("core/a.cc"), HasSubstr("tests/core/a_test.cc")));
}

TEST(IncompleteOps, NamesTheMissingFiles) {
  const SourceTree tree = {
      {"core/ops/add.cc", ""},
      {"core/ops/add.h", "// Adds.\n//\n// Shapes    x, y (C)\n"},
      {"core/ops/add_cpu.cc", ""},
      {"core/ops/lost_cuda.cu", ""},
      {"core/ops/mul.h", "// Multiplies.\n//\n// Shapes    x, y (C)\n"},
      {"core/ops/no_cuda.cc", ""},
      {"core/ops/window.h", "// No operation.\n"},
      {"tests/core/ops/add_test.cc", ""},
  };
  EXPECT_THAT(IncompleteOps(tree),
              ElementsAre(HasSubstr("core/ops/lost.h is missing"),
                          HasSubstr("core/ops/lost_cpu.cc is missing"),
                          HasSubstr("core/ops/mul.cc is missing"),
                          HasSubstr("tests/core/ops/mul_test.cc is missing")));
}

}  // namespace
}  // namespace densenet::testing
