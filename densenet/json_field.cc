#include "densenet/json_field.h"

#include <fmt/format.h>

#include <limits>

namespace densenet {
namespace {

constexpr size_t kMaxShown = 60;

// Whether `value` is a T, which is then put into `out`.
bool Read(const Json& value, bool* out) {
  if (!value.is_boolean()) return false;
  *out = value.get<bool>();
  return true;
}
bool Read(const Json& value, int64_t* out) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return false;
  }
  *out = value.get<int64_t>();
  return true;
}
bool Read(const Json& value, uint32_t* out) {
  int64_t wide = 0;
  if (!Read(value, &wide) || wide < 0 ||
      wide > std::numeric_limits<uint32_t>::max()) {
    return false;
  }
  *out = static_cast<uint32_t>(wide);
  return true;
}
bool Read(const Json& value, double* out) {
  if (!value.is_number()) return false;
  *out = value.get<double>();
  return true;
}
bool Read(const Json& value, std::string* out) {
  if (!value.is_string()) return false;
  *out = value.get<std::string>();
  return true;
}
template <typename T>
bool Read(const Json& value, std::vector<T>* out) {
  if (!value.is_array()) return false;
  std::vector<T> items(value.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!Read(value[i], &items[i])) return false;
  }
  *out = std::move(items);
  return true;
}

template <typename T>
Status ReadAs(const Json& object, const char* key, std::string_view expected,
              T* out) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return InvalidArgument(fmt::format("'{}' is missing", key));
  }
  if (Read(*found, out)) return OkStatus();
  std::string text = DumpJson(*found);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return InvalidArgument(
      fmt::format("'{}': expected {}, found {}", key, expected, text));
}

}  // namespace

Status ReadField(const Json& object, const char* key, bool* out) {
  return ReadAs(object, key, "true or false", out);
}
Status ReadField(const Json& object, const char* key, int64_t* out) {
  return ReadAs(object, key, "a whole number", out);
}
Status ReadField(const Json& object, const char* key, uint32_t* out) {
  return ReadAs(object, key, "a whole number from 0 to 4294967295", out);
}
Status ReadField(const Json& object, const char* key, double* out) {
  return ReadAs(object, key, "a number", out);
}
Status ReadField(const Json& object, const char* key, std::string* out) {
  return ReadAs(object, key, "a text", out);
}
Status ReadField(const Json& object, const char* key,
                 std::vector<int64_t>* out) {
  return ReadAs(object, key, "a list of whole numbers", out);
}
Status ReadField(const Json& object, const char* key,
                 std::vector<double>* out) {
  return ReadAs(object, key, "a list of numbers", out);
}
Status ReadField(const Json& object, const char* key,
                 std::vector<std::string>* out) {
  return ReadAs(object, key, "a list of texts", out);
}

}  // namespace densenet
