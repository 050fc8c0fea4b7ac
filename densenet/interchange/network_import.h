// densenet/interchange/network_import.h
//
// The parameters and running statistics of a DenseNet out of a file of another
// program: found by their names under whatever convention fits best, turned
// into our layout, rounded to float32.
//
// Memory   one tensor at a time besides the store
// Errors   InvalidArgument  no tensor has a known name; two networks are in the
//                           file, or two tensors of one name
//          DataLoss         a value is no finite float32
//          others           those of the file
// Threads  one at a time

#ifndef DENSENET_DENSENET_INTERCHANGE_NETWORK_IMPORT_H_
#define DENSENET_DENSENET_INTERCHANGE_NETWORK_IMPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/interchange/tensor_file.h"
#include "densenet/model_config.h"
#include "parallel/parameter_store.h"

namespace densenet {

struct ImportReport {
  std::string naming;     // the convention that fits (tensor_names.h)
  std::string container;  // what holds the network: "state_dict"
  // As the convention calls them.
  std::vector<std::string> missing;
  // "fc.weight is F32 (100, 342), expected (10, 342)"
  std::vector<std::string> other_shape;
  // In the container and not part of the network, as the file calls them.
  std::vector<std::string> unused;
  // How many were of a type other than F32.
  std::map<std::string, int64_t> converted;

  bool complete() const { return missing.empty() && other_shape.empty(); }
};

// `store` has the model's specs; it is filled where the report is complete.
// `container` says which of several networks, by full name.
StatusOr<ImportReport> ImportNetwork(
    TensorFile& file, const ModelConfig& model,
    const std::optional<std::string>& container, ParameterStore& store);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INTERCHANGE_NETWORK_IMPORT_H_
