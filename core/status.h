// core/status.h
//
// Errors that a user or a machine can cause travel as absl::Status; broken
// invariants of ours end the process with CHECK (glog). This header holds the
// two macros that pass a Status on, and the conversions from the C++ library
// to the string views of Debian's Abseil (LTS 20220623, not std::string_view).

#ifndef DENSENET_CORE_STATUS_H_
#define DENSENET_CORE_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace densenet {

using absl::Status;
using absl::StatusCode;
using absl::StatusOr;

inline Status OkStatus() { return absl::OkStatus(); }

inline std::string_view StdView(absl::string_view s) {
  return {s.data(), s.size()};
}
inline absl::string_view AbslView(std::string_view s) {
  return {s.data(), s.size()};
}

inline Status MakeStatus(StatusCode code, std::string_view message) {
  return Status(code, AbslView(message));
}
inline Status InvalidArgument(std::string_view message) {
  return MakeStatus(StatusCode::kInvalidArgument, message);
}
inline Status FailedPrecondition(std::string_view message) {
  return MakeStatus(StatusCode::kFailedPrecondition, message);
}
inline Status NotFound(std::string_view message) {
  return MakeStatus(StatusCode::kNotFound, message);
}
inline Status AlreadyExists(std::string_view message) {
  return MakeStatus(StatusCode::kAlreadyExists, message);
}
inline Status DataLoss(std::string_view message) {
  return MakeStatus(StatusCode::kDataLoss, message);
}
inline Status ResourceExhausted(std::string_view message) {
  return MakeStatus(StatusCode::kResourceExhausted, message);
}
inline Status Unimplemented(std::string_view message) {
  return MakeStatus(StatusCode::kUnimplemented, message);
}
inline Status Unavailable(std::string_view message) {
  return MakeStatus(StatusCode::kUnavailable, message);
}
inline Status Internal(std::string_view message) {
  return MakeStatus(StatusCode::kInternal, message);
}

// The same code, with `context` and ": " before the message.
inline Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message += ": ";
  message += StdView(status.message());
  return MakeStatus(status.code(), message);
}

}  // namespace densenet

#define DENSENET_CONCAT_INNER_(a, b) a##b
#define DENSENET_CONCAT_(a, b) DENSENET_CONCAT_INNER_(a, b)

// Returns from the calling function when `expr` (a Status) is not OK.
#define RETURN_IF_ERROR(expr)                         \
  do {                                                \
    if (::densenet::Status densenet_status_ = (expr); \
        !densenet_status_.ok()) {                     \
      return densenet_status_;                        \
    }                                                 \
  } while (false)

// Evaluates `expr` (a StatusOr) and either returns its error from the calling
// function or moves its value into `lhs`, which may declare a variable.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_(DENSENET_CONCAT_(densenet_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                      \
  if (!tmp.ok()) return tmp.status();     \
  lhs = std::move(*tmp)

#endif  // DENSENET_CORE_STATUS_H_
