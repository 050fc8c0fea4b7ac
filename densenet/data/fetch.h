// densenet/data/fetch.h
//
// Downloads the files of a data set that has a publisher, checks the
// publisher's digest of each and unpacks archives. What is there already, as
// published, stays; what is there and differs is never overwritten.
//
// Memory    a few hundred KiB
// Errors    InvalidArgument     no such data set, an impossible mirror
//           FailedPrecondition  a file is there that is not the published one
//           others              core/io/http_download.h, core/io/tar_reader.h
// Threads   safe for different folders

#ifndef DENSENET_DENSENET_DATA_FETCH_H_
#define DENSENET_DENSENET_DATA_FETCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/http_download.h"
#include "core/status.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet {

struct FetchOptions {
  // A folder that holds the files under the publisher's names, or, for a
  // single file, its whole URL; "": the publisher's.
  std::string url;
  // Timeouts, attempts, stopping, trouble; sizes and digests come from the
  // catalog.
  DownloadOptions download;
  // Bytes of a file that have come, and of the whole file.
  std::function<void(std::string_view file, int64_t done, int64_t total)>
      progress;
};

struct FetchedFile {
  std::string path;   // the file, or the folder that an archive unpacked to
  int64_t bytes = 0;  // of the download
  bool was_there = false;
};

// Creates `folder` where it is missing. `archive`s are removed once unpacked.
StatusOr<std::vector<FetchedFile>> FetchDataset(const PublishedDataset& dataset,
                                                const std::string& folder,
                                                const FetchOptions& options);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_FETCH_H_
