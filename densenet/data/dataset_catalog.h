// densenet/data/dataset_catalog.h
//
// What the publishers of the data sets with a name say of them: where they are
// had, which files there are, how large and with which digests, how many
// images. The one place for it: readers, `datasets list`, `verify` and `fetch`
// look here.
//
// Errors   NotFound  a file is missing: names what was looked for, where, and
//                    where it can be had
// Threads  safe

#ifndef DENSENET_DENSENET_DATA_DATASET_CATALOG_H_
#define DENSENET_DENSENET_DATA_DATASET_CATALOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "densenet/data/dataset.h"

namespace densenet {

// One file, under any of several names; the first that exists is taken.
using FileNames = std::vector<std::string>;

// A file that a reader opens.
struct PublishedFile {
  Split split = Split::kTrain;
  FileNames names;
  int64_t bytes = 0;   // unpacked
  std::string digest;  // of the unpacked content: core/io/digest.h
};

// A file as it is downloaded.
struct PublishedDownload {
  std::string name;
  std::string url;  // of the folder that it is in, with the last '/'
  int64_t bytes = 0;
  std::string digest;
  // Of a .tar.gz: the folder that it unpacks to. Other files stay as they are.
  std::string unpacks_to;
};

struct PublishedDataset {
  std::string name;
  std::string title;
  std::string homepage;
  // Folders below the one that a user names where the files may be.
  std::vector<std::string> subfolders;
  std::vector<PublishedFile> files;
  std::vector<PublishedDownload> downloads;
  int64_t train_images = 0;
  int64_t test_images = 0;
  // Images of each class in a split, where all have the same number; else 0.
  int64_t train_of_class = 0;
  int64_t test_of_class = 0;
  // What else a user should know; "" mostly.
  std::string note;

  int64_t images(Split split) const {
    return split == Split::kTrain ? train_images : test_images;
  }
  int64_t of_class(Split split) const {
    return split == Split::kTrain ? train_of_class : test_of_class;
  }
  int64_t download_bytes() const;
  int64_t unpacked_bytes() const;
};

// In the order of DatasetNames().
std::vector<PublishedDataset> PublishedDatasets();

// Errors  InvalidArgument  a name without an entry: lists those that have one
StatusOr<PublishedDataset> FindPublished(std::string_view name);

// The paths of a split's files, in the catalog's order: all in `folder` or all
// in the same subfolder.
StatusOr<std::vector<std::string>> FindPublishedFiles(std::string_view name,
                                                      const std::string& folder,
                                                      Split split);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_DATASET_CATALOG_H_
