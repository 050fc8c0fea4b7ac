// densenet/interchange/pickle_machine.h
//
// Reads a pickle as data. A pickle is a program for a stack machine, and
// Python runs whatever it names; here nothing is ever called or imported. Of
// the functions that a pickle may name these have a meaning, as descriptions:
//
//   collections.OrderedDict                  a dict
//   torch._utils._rebuild_tensor(_v2)        a tensor: part of a storage
//   torch._utils._rebuild_parameter          the tensor that it wraps
//   a persistent id ("storage", type, ...)   a storage
//
// All others, and what calling them would give, are nodes without content.
// Protocols 0 to 5, without out-of-band buffers and extension registries.
//
// Memory   at most kMaxNodes nodes and kMaxItems items in them, however the
//          pickle is written
// Errors   DataLoss          no pickle, or a damaged one: names the byte
//          ResourceExhausted more nodes than any network has
// Threads  safe

#ifndef DENSENET_DENSENET_INTERCHANGE_PICKLE_MACHINE_H_
#define DENSENET_DENSENET_INTERCHANGE_PICKLE_MACHINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace densenet::pickle {

inline constexpr int64_t kMaxNodes = int64_t{1} << 20;
inline constexpr int64_t kMaxItems = 4 * kMaxNodes;
// Of the name of a function or a storage.
inline constexpr int64_t kMaxNameBytes = 256;
inline constexpr int64_t kMaxTensorRank = 16;

enum class Kind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kTuple,
  kList,
  kDict,
  kGlobal,
  kStorage,
  kTensor,
  kOther,
};

using NodeId = int32_t;

struct Node {
  Kind kind = Kind::kOther;
  // Of a bool or an int; of a storage or tensor its index.
  int64_t integer = 0;
  double real = 0;
  std::string text = {};           // text, or "module name" of a global
  std::vector<NodeId> items = {};  // of a dict keys and values in turn
};

struct Storage {
  std::string key;
  std::string dtype;  // "F32"; a type that safetensors does not have: its name
  int64_t elems = 0;
};

// Elements of a storage; all of them are inside it, and they are no more.
struct TensorLayout {
  int64_t storage = 0;  // index
  int64_t offset = 0;   // in elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

struct Pickle {
  std::vector<Node> nodes;
  std::vector<Storage> storages;
  std::vector<TensorLayout> tensors;
  NodeId root = 0;
  int64_t bytes = 0;  // of the pickle; more may follow it

  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
};

// The pickle at the start of `bytes`.
StatusOr<Pickle> ReadPickle(std::string_view bytes);

}  // namespace densenet::pickle

#endif  // DENSENET_DENSENET_INTERCHANGE_PICKLE_MACHINE_H_
