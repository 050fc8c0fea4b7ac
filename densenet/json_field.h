// densenet/json_field.h
//
// Fields of a JSON object that somebody may have edited, of exactly the type
// that they are read as: 12.5 is no whole number, "12" is no number.
//
// Errors   InvalidArgument  "'growth_rate': expected a whole number, found
//                           "12"", or "'growth_rate' is missing"
// Threads  safe

#ifndef DENSENET_DENSENET_JSON_FIELD_H_
#define DENSENET_DENSENET_JSON_FIELD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/run_config.h"

namespace densenet {

Status ReadField(const Json& object, const char* key, bool* out);
Status ReadField(const Json& object, const char* key, int64_t* out);
Status ReadField(const Json& object, const char* key, uint32_t* out);
Status ReadField(const Json& object, const char* key, double* out);
Status ReadField(const Json& object, const char* key, std::string* out);
Status ReadField(const Json& object, const char* key,
                 std::vector<int64_t>* out);
Status ReadField(const Json& object, const char* key, std::vector<double>* out);
Status ReadField(const Json& object, const char* key,
                 std::vector<std::string>* out);

}  // namespace densenet

#endif  // DENSENET_DENSENET_JSON_FIELD_H_
