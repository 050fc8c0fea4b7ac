// densenet/interchange/pytorch_file.h
//
// What torch.save wrote, as a TensorFile: every tensor that dicts, lists and
// tuples lead to.
//
// Errors   DataLoss  damaged, or without tensors: a model that was saved whole
//                    has them where only its own code finds them
//          others    those of pytorch_storages.h
// Threads  one at a time

#ifndef DENSENET_DENSENET_INTERCHANGE_PYTORCH_FILE_H_
#define DENSENET_DENSENET_INTERCHANGE_PYTORCH_FILE_H_

#include <memory>
#include <string>

#include "core/status.h"
#include "densenet/interchange/tensor_file.h"

namespace densenet {

// By its first bytes.
StatusOr<bool> IsPytorchFile(const std::string& path);

StatusOr<std::unique_ptr<TensorFile>> OpenPytorchFile(const std::string& path);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INTERCHANGE_PYTORCH_FILE_H_
