// densenet/interchange/pickle_stack.h
//
// What the opcodes of a pickle work on: its bytes, the stack with its marks,
// the memo. Part of pickle_machine, not for others.
//
// Once status() is an error nothing is done any more, and what is returned
// does not matter.
//
// Errors   as pickle_machine.h
// Threads  one at a time

#ifndef DENSENET_DENSENET_INTERCHANGE_PICKLE_STACK_H_
#define DENSENET_DENSENET_INTERCHANGE_PICKLE_STACK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "densenet/interchange/pickle_machine.h"

namespace densenet::pickle {

class PickleStack {
 public:
  explicit PickleStack(std::string_view bytes) : bytes_(bytes) {}

  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  void Fail(std::string_view what);

  // The next bytes of the pickle.
  int64_t position() const { return static_cast<int64_t>(at_); }
  std::string_view Take(uint64_t count);
  uint64_t Integer(int bytes);  // little-endian
  std::string_view Line();      // up to a newline, which is passed over
  uint64_t LineNumber();

  void Push(Node node);
  // Pushes a node that is there already.
  void Again(NodeId id);
  NodeId Top();
  NodeId Pop();
  // The last `count`, first one first.
  std::vector<NodeId> PopSome(size_t count);
  void Mark() { marks_.push_back(stack_.size()); }
  std::vector<NodeId> PopToMark();
  void PopOneOrMark();
  // Appends to the container on top.
  void Extend(Kind kind, const std::vector<NodeId>& items);

  void Remember(uint64_t number);
  void RememberNext() { Remember(memo_.size()); }
  void Recall(uint64_t number);

  Pickle& pickle() { return pickle_; }

 private:
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void FailTooLarge();

  const std::string_view bytes_;
  size_t at_ = 0;
  Status status_;
  std::vector<NodeId> stack_;
  std::vector<size_t> marks_;  // sizes that the stack had
  std::map<uint64_t, NodeId> memo_;
  int64_t repeats_ = 0;
  int64_t items_ = 0;
  Pickle pickle_;
};

}  // namespace densenet::pickle

#endif  // DENSENET_DENSENET_INTERCHANGE_PICKLE_STACK_H_
