// core/autograd/tape_node.h
//
// What a tape keeps of one value. Included by the implementation of the tape
// only.

#ifndef DENSENET_CORE_AUTOGRAD_TAPE_NODE_H_
#define DENSENET_CORE_AUTOGRAD_TAPE_NODE_H_

#include <string>
#include <vector>

#include "core/autograd/tape.h"

namespace densenet {

struct Tape::Node {
  enum class Kind { kInput, kLeaf, kOp };

  Kind kind = Kind::kOp;
  std::string name;     // of an input or leaf; the operation's otherwise
  std::string display;  // name, with the node's number for an operation
  Tensor owned;         // empty where `value` is a view of something else
  ConstTensorView value;
  // Nodes of the inputs; a node's number is above those of its inputs.
  std::vector<int64_t> inputs;
  std::vector<Tensor> saved;
  BackwardFn backward;  // empty: a constant

  // Of inputs.
  Shape declared;
  DType declared_dtype = DType::kFloat32;
  bool fed = false;
  bool used = false;
};

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_TAPE_NODE_H_
