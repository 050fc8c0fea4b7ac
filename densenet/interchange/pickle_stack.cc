#include "densenet/interchange/pickle_stack.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/numbers.h"

namespace densenet::pickle {

void PickleStack::Fail(std::string_view what) {
  if (!ok()) return;
  status_ = DataLoss(fmt::format("its pickle, at byte {}: {}", at_, what));
}

void PickleStack::FailTooLarge() {
  if (!ok()) return;
  status_ = ResourceExhausted(fmt::format(
      "its pickle has more than {} parts: no network has", kMaxNodes));
}

std::string_view PickleStack::Take(uint64_t count) {
  if (!ok() || count > bytes_.size() - at_) {
    Fail("it ends there");
    return {};
  }
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

uint64_t PickleStack::Integer(int bytes) {
  uint64_t value = 0;
  const std::string_view digits = Take(static_cast<uint64_t>(bytes));
  for (size_t i = digits.size(); i-- > 0;) {
    value = value << 8 | static_cast<uint8_t>(digits[i]);
  }
  return value;
}

std::string_view PickleStack::Line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) {
    Fail("a line that does not end");
    return {};
  }
  const std::string_view line = Take(end - at_);
  Take(1);
  return line;
}

uint64_t PickleStack::LineNumber() {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(AbslView(Line()), &number)) Fail("no number");
  return number;
}

void PickleStack::Push(Node node) {
  if (!ok()) return;
  if (pickle_.nodes.size() >= kMaxNodes) return FailTooLarge();
  stack_.push_back(static_cast<NodeId>(pickle_.nodes.size()));
  pickle_.nodes.push_back(std::move(node));
}

void PickleStack::Again(NodeId id) {
  if (!ok()) return;
  if (++repeats_ > kMaxItems) return FailTooLarge();
  stack_.push_back(id);
}

NodeId PickleStack::Top() {
  if (stack_.size() <= Floor()) {
    Fail("nothing is on the stack");
    return 0;
  }
  return stack_.back();
}

NodeId PickleStack::Pop() {
  const NodeId id = Top();
  if (ok()) stack_.pop_back();
  return id;
}

std::vector<NodeId> PickleStack::PopSome(size_t count) {
  if (!ok() || stack_.size() - Floor() < count) {
    Fail("too little is on the stack");
    return {};
  }
  std::vector<NodeId> items(stack_.end() - static_cast<ptrdiff_t>(count),
                            stack_.end());
  stack_.resize(stack_.size() - count);
  return items;
}

std::vector<NodeId> PickleStack::PopToMark() {
  if (marks_.empty()) {
    Fail("there is no mark");
    return {};
  }
  std::vector<NodeId> items = PopSome(stack_.size() - marks_.back());
  marks_.pop_back();
  return items;
}

void PickleStack::PopOneOrMark() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
  } else {
    Pop();
  }
}

void PickleStack::Extend(Kind kind, const std::vector<NodeId>& items) {
  const NodeId id = Top();
  if (!ok()) return;
  Node& node = pickle_.nodes[static_cast<size_t>(id)];
  if (node.kind == Kind::kOther) return;  // a subclass of something
  if (node.kind != kind) return Fail("items for something else");
  if (kind == Kind::kDict && items.size() % 2 != 0) {
    return Fail("a key without a value");
  }
  items_ += static_cast<int64_t>(items.size());
  if (items_ > kMaxItems) return FailTooLarge();
  node.items.insert(node.items.end(), items.begin(), items.end());
}

void PickleStack::Remember(uint64_t number) {
  const NodeId id = Top();
  if (memo_.size() >= kMaxNodes) FailTooLarge();
  if (ok()) memo_[number] = id;
}

void PickleStack::Recall(uint64_t number) {
  const auto found = memo_.find(number);
  if (found == memo_.end()) {
    return Fail("something is used that was not there before");
  }
  Again(found->second);
}

}  // namespace densenet::pickle
