// densenet/data/published_content.h
//
// Whether the files of a data set hold what its publisher's do, for results
// that shall be compared with published ones: a copy that went through JPEG has
// the size and the classes of the original, and other errors.
//
// Errors   those of reading the files
// Threads  safe

#ifndef DENSENET_DENSENET_DATA_PUBLISHED_CONTENT_H_
#define DENSENET_DENSENET_DATA_PUBLISHED_CONTENT_H_

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace densenet {

// The names of files whose size or digest is another than the published one.
// Empty for a data set without an entry in the catalog: its files are its own.
// `folder` "": where the system keeps the data set.
StatusOr<std::vector<std::string>> FilesUnlikePublished(
    const std::string& dataset, const std::string& folder);

// The same as a note for a report; nothing where all files are the published
// ones.
StatusOr<std::optional<std::string>> NoteUnlikePublished(
    const std::string& dataset, const std::string& folder);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_PUBLISHED_CONTENT_H_
