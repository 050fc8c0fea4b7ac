#include "densenet/interchange/pickle_machine.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "absl/strings/numbers.h"
#include "densenet/interchange/pickle_objects.h"
#include "densenet/interchange/pickle_stack.h"

namespace densenet::pickle {
namespace {

// Opcodes that are no printable characters.
enum Opcode : uint8_t {
  kProto = 0x80,
  kNewObj,
  kTuple1 = 0x85,
  kTuple2,
  kTuple3,
  kNewTrue,
  kNewFalse,
  kLong1,
  kLong4,
  kShortBinUnicode,
  kBinUnicode8,
  kBinBytes8,
  kEmptySet,
  kAddItems,
  kFrozenSet,
  kNewObjEx,
  kStackGlobal,
  kMemoize,
  kFrame,
  kByteArray8,
};

// One opcode after the other; each group of them returns whether the opcode is
// one of its own.
class Machine {
 public:
  explicit Machine(std::string_view bytes) : stack_(bytes) {}

  StatusOr<Pickle> Run() && {
    while (stack_.ok() && !done_) {
      const std::string_view opcode = stack_.Take(1);
      if (stack_.ok()) Execute(static_cast<uint8_t>(opcode[0]));
    }
    RETURN_IF_ERROR(stack_.status());
    Pickle& pickle = stack_.pickle();
    pickle.bytes = stack_.position();
    return std::move(pickle);
  }

 private:
  void Execute(uint8_t opcode);
  bool Number(uint8_t opcode);
  bool String(uint8_t opcode);
  bool Container(uint8_t opcode);
  bool Items(uint8_t opcode);
  bool Memo(uint8_t opcode);
  bool Object(uint8_t opcode);
  void Call(NodeId function, NodeId arguments);
  void AddPairs(NodeId list);

  void PushInt(int64_t value) {
    stack_.Push({.kind = Kind::kInt, .integer = value});
  }
  void PushBool(bool value) {
    stack_.Push({.kind = Kind::kBool, .integer = value});
  }
  void PushFloat(double value) {
    stack_.Push({.kind = Kind::kFloat, .real = value});
  }
  void PushText(std::string_view text) {
    stack_.Push({.kind = Kind::kText, .text = std::string(text)});
  }
  void PushContainer(Kind kind, std::vector<NodeId> items) {
    stack_.Push({.kind = kind, .items = std::move(items)});
  }
  // What has no meaning here.
  void PushOther() { stack_.Push({}); }
  void PushGlobal(std::string_view module, std::string_view name);
  void PushStorage(NodeId id);

  PickleStack stack_;
  bool done_ = false;
};

void Machine::Execute(uint8_t opcode) {
  if (Number(opcode) || String(opcode) || Container(opcode) || Items(opcode) ||
      Memo(opcode) || Object(opcode)) {
    return;
  }
  switch (opcode) {
    case '(':
      return stack_.Mark();
    case '.':
      stack_.pickle().root = stack_.Pop();
      done_ = true;
      return;
    case '0':
      return stack_.PopOneOrMark();
    case '1':
      stack_.PopToMark();
      return;
    case '2':
      return stack_.Again(stack_.Top());
    case kProto:
      stack_.Take(1);
      return;
    case kFrame:
      stack_.Take(8);
      return;
    default:
      stack_.Fail(fmt::format("unknown opcode {:#04x}", opcode));
  }
}

bool Machine::Number(uint8_t opcode) {
  switch (opcode) {
    case 'N':
      stack_.Push({.kind = Kind::kNone});
      return true;
    case kNewTrue:
    case kNewFalse:
      PushBool(opcode == kNewTrue);
      return true;
    case 'J':
      PushInt(static_cast<int32_t>(stack_.Integer(4)));
      return true;
    case 'K':
    case 'M':
      PushInt(static_cast<int64_t>(stack_.Integer(opcode == 'K' ? 1 : 2)));
      return true;
    case 'I':
    case 'L':
      stack_.Push(ReadDecimal(stack_.Line()));
      return true;
    case kLong1:
    case kLong4:
      stack_.Push(
          ReadLong(stack_.Take(stack_.Integer(opcode == kLong1 ? 1 : 4))));
      return true;
    case 'F': {
      double value = 0;
      if (!absl::SimpleAtod(AbslView(stack_.Line()), &value)) {
        stack_.Fail("no number");
      }
      PushFloat(value);
      return true;
    }
    case 'G':  // the one number that is big-endian
      PushFloat(std::bit_cast<double>(__builtin_bswap64(stack_.Integer(8))));
      return true;
    default:
      return false;
  }
}

// Escapes stay as they are: no name of a tensor has any.
bool Machine::String(uint8_t opcode) {
  switch (opcode) {
    case 'S': {
      const std::string_view line = stack_.Line();  // in quotes
      PushText(line.size() < 2 ? line : line.substr(1, line.size() - 2));
      return true;
    }
    case 'V':
      PushText(stack_.Line());
      return true;
    case 'U':
    case 'C':
    case kShortBinUnicode:
      PushText(stack_.Take(stack_.Integer(1)));
      return true;
    case 'T':
    case 'X':
    case 'B':
      PushText(stack_.Take(stack_.Integer(4)));
      return true;
    case kBinUnicode8:
    case kBinBytes8:
    case kByteArray8:
      PushText(stack_.Take(stack_.Integer(8)));
      return true;
    default:
      return false;
  }
}

bool Machine::Container(uint8_t opcode) {
  switch (opcode) {
    case ']':
      PushContainer(Kind::kList, {});
      return true;
    case ')':
      PushContainer(Kind::kTuple, {});
      return true;
    case '}':
      PushContainer(Kind::kDict, {});
      return true;
    case kEmptySet:
      PushOther();
      return true;
    case 'l':
      PushContainer(Kind::kList, stack_.PopToMark());
      return true;
    case 't':
      PushContainer(Kind::kTuple, stack_.PopToMark());
      return true;
    case kFrozenSet:
      stack_.PopToMark();
      PushOther();
      return true;
    case 'd': {
      const std::vector<NodeId> items = stack_.PopToMark();
      PushContainer(Kind::kDict, {});
      stack_.Extend(Kind::kDict, items);
      return true;
    }
    case kTuple1:
    case kTuple2:
    case kTuple3:
      PushContainer(Kind::kTuple, stack_.PopSome(opcode - kTuple1 + 1));
      return true;
    default:
      return false;
  }
}

bool Machine::Items(uint8_t opcode) {
  switch (opcode) {
    case 'a':
      stack_.Extend(Kind::kList, stack_.PopSome(1));
      return true;
    case 's':
      stack_.Extend(Kind::kDict, stack_.PopSome(2));
      return true;
    case 'e':
      stack_.Extend(Kind::kList, stack_.PopToMark());
      return true;
    case 'u':
      stack_.Extend(Kind::kDict, stack_.PopToMark());
      return true;
    case kAddItems:  // to a set
      stack_.PopToMark();
      return true;
    default:
      return false;
  }
}

bool Machine::Memo(uint8_t opcode) {
  switch (opcode) {
    case 'p':
      stack_.Remember(stack_.LineNumber());
      return true;
    case 'q':
      stack_.Remember(stack_.Integer(1));
      return true;
    case 'r':
      stack_.Remember(stack_.Integer(4));
      return true;
    case kMemoize:
      stack_.RememberNext();
      return true;
    case 'g':
      stack_.Recall(stack_.LineNumber());
      return true;
    case 'h':
      stack_.Recall(stack_.Integer(1));
      return true;
    case 'j':
      stack_.Recall(stack_.Integer(4));
      return true;
    default:
      return false;
  }
}

// What Python would import, create or call.
bool Machine::Object(uint8_t opcode) {
  switch (opcode) {
    case 'c': {
      const std::string_view module = stack_.Line();
      PushGlobal(module, stack_.Line());
      return true;
    }
    case kStackGlobal: {
      const std::vector<NodeId> names = stack_.PopSome(2);
      if (!stack_.ok()) return true;
      const Pickle& pickle = stack_.pickle();
      PushGlobal(pickle.node(names[0]).text, pickle.node(names[1]).text);
      return true;
    }
    case 'R': {
      const std::vector<NodeId> call = stack_.PopSome(2);
      if (stack_.ok()) Call(call[0], call[1]);
      return true;
    }
    case 'Q': {
      const NodeId id = stack_.Pop();
      if (stack_.ok()) PushStorage(id);
      return true;
    }
    case 'b':  // the state of an object: plain containers have none
      stack_.Pop();
      stack_.Top();
      return true;
    case 'i':
      stack_.Line();
      stack_.Line();
      stack_.PopToMark();
      PushOther();
      return true;
    case 'o':
      stack_.PopToMark();
      PushOther();
      return true;
    case kNewObj:
    case kNewObjEx:
      stack_.PopSome(opcode == kNewObj ? 2 : 3);
      PushOther();
      return true;
    case 'P':
      stack_.Line();
      PushOther();
      return true;
    default:
      return false;
  }
}

void Machine::Call(NodeId function, NodeId arguments) {
  Pickle& pickle = stack_.pickle();
  const bool named = pickle.node(function).kind == Kind::kGlobal;
  const std::string name = named ? pickle.node(function).text : "";
  const bool any = !pickle.node(arguments).items.empty();
  const NodeId first = any ? pickle.node(arguments).items[0] : 0;
  if (name == "collections OrderedDict") {
    PushContainer(Kind::kDict, {});
    if (any) AddPairs(first);
  } else if (name == "torch._utils _rebuild_tensor_v2" ||
             name == "torch._utils _rebuild_tensor") {
    StatusOr<TensorLayout> tensor =
        DescribeTensor(pickle, pickle.node(arguments));
    if (!tensor.ok()) return stack_.Fail(StdView(tensor.status().message()));
    stack_.Push({.kind = Kind::kTensor,
                 .integer = static_cast<int64_t>(pickle.tensors.size())});
    pickle.tensors.push_back(*std::move(tensor));
  } else if (name == "torch._utils _rebuild_parameter" && any) {
    stack_.Again(first);
  } else {
    PushOther();
  }
}

// OrderedDict([[key, value], ...]), as protocols 0 and 1 write it.
void Machine::AddPairs(NodeId list) {
  const Pickle& pickle = stack_.pickle();
  for (NodeId id : pickle.node(list).items) {
    const Node& pair = pickle.node(id);
    if (pair.items.size() != 2) {
      return stack_.Fail("an OrderedDict of what are no pairs");
    }
    stack_.Extend(Kind::kDict, pair.items);
    if (!stack_.ok()) return;
  }
}

void Machine::PushStorage(NodeId id) {
  Pickle& pickle = stack_.pickle();
  StatusOr<Storage> storage = DescribeStorage(pickle, pickle.node(id));
  if (!storage.ok()) return stack_.Fail(StdView(storage.status().message()));
  stack_.Push({.kind = Kind::kStorage,
               .integer = static_cast<int64_t>(pickle.storages.size())});
  pickle.storages.push_back(*std::move(storage));
}

void Machine::PushGlobal(std::string_view module, std::string_view name) {
  if (module.size() + name.size() > kMaxNameBytes) return PushOther();
  stack_.Push(
      {.kind = Kind::kGlobal, .text = fmt::format("{} {}", module, name)});
}

}  // namespace

StatusOr<Pickle> ReadPickle(std::string_view bytes) {
  return Machine(bytes).Run();
}

}  // namespace densenet::pickle
