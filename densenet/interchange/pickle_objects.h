// densenet/interchange/pickle_objects.h
//
// The values of a pickle that take a look inside: integers, and PyTorch's
// storages and tensors, checked as they are described. Part of pickle_machine,
// not for others.
//
// Errors   DataLoss  not described as PyTorch does, or outside its storage
// Threads  safe

#ifndef DENSENET_DENSENET_INTERCHANGE_PICKLE_OBJECTS_H_
#define DENSENET_DENSENET_INTERCHANGE_PICKLE_OBJECTS_H_

#include <string_view>

#include "core/status.h"
#include "densenet/interchange/pickle_machine.h"

namespace densenet::pickle {

// Of a persistent id: ("storage", type, key, location, elements).
StatusOr<Storage> DescribeStorage(const Pickle& pickle, const Node& id);

// Of the arguments of _rebuild_tensor: (storage, offset, sizes, strides, ...).
StatusOr<TensorLayout> DescribeTensor(const Pickle& pickle,
                                      const Node& arguments);

// "12", "12L", and the booleans "00" and "01" of protocol 0. A node without
// content where it is no such number, or one of more than 64 bits.
Node ReadDecimal(std::string_view text);
// Two's complement, little-endian; likewise.
Node ReadLong(std::string_view digits);

}  // namespace densenet::pickle

#endif  // DENSENET_DENSENET_INTERCHANGE_PICKLE_OBJECTS_H_
