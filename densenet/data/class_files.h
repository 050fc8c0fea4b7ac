// densenet/data/class_files.h
//
// The image files of a folder of class folders, DIR/<class>/..., at any depth
// (of 16): what an image data set is read, or built, from.
//
// A file is an image by its name: .jpg, .jpeg, .jpe, .jfif or .png, in any
// case. Other files, and pipes, sockets and devices of whatever name, are
// passed over and counted; names that begin with a dot are not looked at.
// Links are followed. One that leads nowhere is an image by its name like any
// other: whoever reads it finds out.
//
// Memory    the names of the files
// Errors    NotFound            no such folder
//           FailedPrecondition  no class folders, no images, a class without
//                               folder or a folder without class; links that
//                               lead in circles
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_CLASS_FILES_H_
#define DENSENET_DENSENET_DATA_CLASS_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/status.h"

namespace densenet {

// ".jpg, .jpeg, .jpe, .jfif, .png": for messages.
std::string ImageExtensions();

// What was passed over.
struct OtherFiles {
  int64_t count = 0;
  std::string first;

  void Add(const std::string& path);
  // "passed over in the train images, not named as JPEG or PNG: a/b.gif and 3
  // more"; "" when there are none.
  std::string Note(std::string_view split) const;
};

// The names of the folders in `folder`, sorted byte by byte.
StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder);

// Calls `fn` for each image below folder/relative with its name in `folder`
// ("bees/1.jpg") and its size (0 where that cannot be told), folder by folder
// in the order of the names.
Status ForEachImage(const std::string& folder, const std::string& relative,
                    absl::FunctionRef<void(std::string name, int64_t bytes)> fn,
                    OtherFiles* others);

struct ClassFile {
  std::string name;  // in the folder: "bees/1.jpg"
  int64_t label = 0;
  int64_t bytes = 0;
};

struct ClassFiles {
  std::string folder;
  std::vector<std::string> class_names;
  std::vector<ClassFile> files;  // by class, then by name
  OtherFiles others;

  int64_t bytes() const;
};

// `class_names` gives the order of the classes; "every_class" asks for a folder
// of each. A folder of another name is an error.
StatusOr<ClassFiles> ListClassFiles(const std::string& folder,
                                    std::vector<std::string> class_names,
                                    bool every_class);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_CLASS_FILES_H_
