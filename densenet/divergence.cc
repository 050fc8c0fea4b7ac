#include "densenet/divergence.h"

#include "absl/strings/cord.h"

namespace densenet {
namespace {

constexpr char kMark[] = "densenet/divergence";

}  // namespace

Status Diverged(std::string_view message) {
  Status status = Internal(message);
  status.SetPayload(kMark, absl::Cord());
  return status;
}

bool IsDivergence(const Status& status) {
  return status.GetPayload(kMark).has_value();
}

}  // namespace densenet
