// core/io/http_transfer.h
//
// One request of core/io/http_download.h: appends to a file that holds the
// beginning. Not for others.

#ifndef DENSENET_CORE_IO_HTTP_TRANSFER_H_
#define DENSENET_CORE_IO_HTTP_TRANSFER_H_

#include <cstdint>
#include <string>

#include "core/io/http_download.h"
#include "core/status.h"

namespace densenet {

// The file that grows, open for writing.
struct PartFile {
  std::string path;
  int fd = -1;
  int64_t bytes = 0;
  // Of the file on the server, in the response that these bytes are from.
  std::string etag;
  // Whether bytes of several requests are in it.
  bool pieced = false;

  // Throws away what there is.
  Status Clear();
};

enum class TransferEnd {
  kComplete,
  kTryAgain,  // a passing fault
  kHopeless,
};

struct TransferResult {
  TransferEnd end = TransferEnd::kHopeless;
  Status status;  // why it is not complete
};

// Asks for what follows part.bytes, or for the whole file where that is 0.
TransferResult Transfer(const std::string& url, const DownloadOptions& options,
                        PartFile& part);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_HTTP_TRANSFER_H_
