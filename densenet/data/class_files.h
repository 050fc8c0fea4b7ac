// densenet/data/class_files.h
//
// The image files of a folder of class folders, DIR/<class>/..., at any depth
// (of 16): what an image data set is built from.
//
// A file counts as an image by its name: .jpg, .jpeg, .png and the like, and
// also formats that cannot be decoded here (.gif, .webp, ...), so that whoever
// reads them finds out. Other files are passed over and counted; names that
// begin with a dot are not looked at.
//
// Memory    the names of the files
// Errors    NotFound            no such folder
//           FailedPrecondition  no class folders, no images, a class without
//                               folder or a folder without class
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_CLASS_FILES_H_
#define DENSENET_DENSENET_DATA_CLASS_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace densenet {

struct ClassFile {
  std::string name;  // in the folder: "bees/1.jpg"
  int64_t label = 0;
  int64_t bytes = 0;
};

struct ClassFiles {
  std::string folder;
  std::vector<std::string> class_names;
  std::vector<ClassFile> files;  // by class, then by name
  int64_t others = 0;            // files that are no images
  std::string an_other;          // one of them

  int64_t bytes() const;
};

// The names of the folders in `folder`, sorted byte by byte.
StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder);

// `class_names` gives the order of the classes; "every_class" asks for a folder
// of each. A folder of another name is an error.
StatusOr<ClassFiles> ListClassFiles(const std::string& folder,
                                    std::vector<std::string> class_names,
                                    bool every_class);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_CLASS_FILES_H_
