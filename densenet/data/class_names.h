// densenet/data/class_names.h
//
// The names of classes in a text file, one a line: line n is class n - 1.
//
// Errors   NotFound, ...    from opening the file
//          InvalidArgument  no names; a line without one between others, which
//                           would shift the classes after it; a name given
//                           twice
// Threads  safe

#ifndef DENSENET_DENSENET_DATA_CLASS_NAMES_H_
#define DENSENET_DENSENET_DATA_CLASS_NAMES_H_

#include <string>
#include <vector>

#include "core/status.h"

namespace densenet {

// Lines end with "\n" or "\r\n"; empty ones at the end do not count.
StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_CLASS_NAMES_H_
