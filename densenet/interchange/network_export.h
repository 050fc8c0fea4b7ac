// densenet/interchange/network_export.h
//
// A network for other programs.
//
//   safetensors  names and layout of torchvision's DenseNet: what
//                load_state_dict takes; the configuration, classes and
//                normalization are among the metadata, and importing it again
//                gives the same bits
//   ONNX         opset 13; "images" (N, C, H, W), any N: pixels in [0, 1],
//   which
//                the graph normalizes; "logits" (N, classes)
//
// Errors   ResourceExhausted  more than the 2 GiB that an ONNX file may have
//          others             of writing
// Threads  one at a time

#ifndef DENSENET_DENSENET_INTERCHANGE_NETWORK_EXPORT_H_
#define DENSENET_DENSENET_INTERCHANGE_NETWORK_EXPORT_H_

#include <string>

#include "core/status.h"
#include "densenet/checkpoint.h"
#include "parallel/parameter_store.h"

namespace densenet {

// `store` holds the network of `info`.
Status ExportSafetensors(const std::string& path, const CheckpointInfo& info,
                         ParameterStore& store);
Status ExportOnnx(const std::string& path, const CheckpointInfo& info,
                  ParameterStore& store);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INTERCHANGE_NETWORK_EXPORT_H_
