// tests/structure/source_tree.h
//
// The sources as text, and the rules that the tree keeps beyond what a
// compiler checks. Every rule returns its violations, one message each that
// names file, line and what to do; none means that the tree is in order.

#ifndef DENSENET_TESTS_STRUCTURE_SOURCE_TREE_H_
#define DENSENET_TESTS_STRUCTURE_SOURCE_TREE_H_

#include <filesystem>
#include <string>
#include <vector>

namespace densenet::testing {

struct Include {
  int line = 0;
  std::string target;  // as written between the quotes or angle brackets
};

struct SourceFile {
  std::string path;  // from the root: "core/ops/relu.h"
  std::string text;
  std::vector<Include> includes;

  SourceFile(std::string file_path, std::string file_text);
};

using SourceTree = std::vector<SourceFile>;
using Violations = std::vector<std::string>;

// All .h, .cc, .cu and .cuh files below core, memory, parallel, densenet,
// benchmarks and tests, sorted by path.
SourceTree ReadSourceTree(const std::filesystem::path& root);

// core <- memory <- parallel <- densenet: a folder may include those to its
// left; benchmarks and tests may include everything, and nothing includes
// them. An included file of ours exists.
Violations WrongWayIncludes(const SourceTree& tree);

// No header includes itself, directly or through others.
Violations CyclicIncludes(const SourceTree& tree);

// Headers of CUDA and its libraries appear only in core/cuda/, *_cuda.* files
// and CUDA sources.
Violations StrayCudaIncludes(const SourceTree& tree);

// "core/ops/relu.h" is guarded by DENSENET_CORE_OPS_RELU_H_.
Violations WrongHeaderGuards(const SourceTree& tree);

// x.cc and x_test.cc include x.h before anything else, so x.h compiles alone
// wherever x.cc does. (x_cuda_test.cc runs x on the card and is left alone.)
Violations OwnHeaderNotFirst(const SourceTree& tree);

// An operation is a header in core/ops/ whose contract gives Shapes. It has
// x.cc and tests/core/ops/x_test.cc. Backend files, x_cpu.cc, x_cuda.cu or
// x_cuda.cc, belong to an operation, and none is for the card alone.
Violations IncompleteOps(const SourceTree& tree);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_STRUCTURE_SOURCE_TREE_H_
