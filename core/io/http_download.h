// core/io/http_download.h
//
// A file from an HTTP server, whole or not at all: what has arrived is kept in
// <path>.part, from which a later attempt, or a later run, goes on; <path>
// appears when size and digest are right.
//
// Servers may cut, stall, redirect, ignore ranges, change the file and lie
// about its size. Passing faults are tried again, with growing pauses, from
// where the last attempt ended; what cannot get better ends at once. The
// variables http_proxy, https_proxy and no_proxy are respected.
//
// Memory    a few KiB
// Errors    NotFound            the server has no such file (404, 410)
//           PermissionDenied    401, 403
//           InvalidArgument     no URL of http or https
//           DataLoss            another size or digest than expected
//           Unavailable         gave up: says after how many attempts, why,
//                               and what is kept; or should_stop()
//           FailedPrecondition  another process is at it; too many redirects
//           others              <path>.part cannot be written (disk full, ...)
//           Messages begin with the URL or the file.
// Threads   safe for different paths

#ifndef DENSENET_CORE_IO_HTTP_DOWNLOAD_H_
#define DENSENET_CORE_IO_HTTP_DOWNLOAD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "core/status.h"

namespace densenet {

struct DownloadOptions {
  // -1: whatever the server says.
  int64_t expected_bytes = -1;
  // Never more than this, whatever the server says.
  int64_t max_bytes = int64_t{1} << 40;
  std::string expected_digest;  // core/io/digest.h; "": not checked
  absl::Duration connect_timeout = absl::Seconds(30);
  // Without a byte for so long, the connection is given up. Looked at about
  // once a second.
  absl::Duration stall_timeout = absl::Seconds(60);
  int max_redirects = 10;
  // Failed attempts in a row that got (almost) nothing.
  int attempts = 5;
  // Before the second attempt; doubled each time, up to a minute.
  absl::Duration retry_delay = absl::Seconds(1);
  std::function<bool()> should_stop;
  // Bytes there are, and in all (-1: unknown), many times a second.
  std::function<void(int64_t done, int64_t total)> progress;
  // What went wrong and is tried again: a line for people.
  std::function<void(std::string_view)> trouble;
};

// Overwrites `path` where it exists.
Status DownloadFile(const std::string& url, const std::string& path,
                    const DownloadOptions& options);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_HTTP_DOWNLOAD_H_
