#include "core/io/http_transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "core/io/file.h"

namespace densenet {
namespace {

constexpr long kOk = 200;
constexpr long kPartialContent = 206;
constexpr long kRangeNotSatisfiable = 416;

struct EasyDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

// One request and its answer. Whatever a callback finds wrong it keeps in
// failure_ and makes libcurl give up.
class Request {
 public:
  Request(const std::string& url, const DownloadOptions& options,
          PartFile& part)
      : url_(url), options_(options), part_(part), last_byte_(absl::Now()) {}

  TransferResult Run();

 private:
  static size_t OnHeader(char* data, size_t, size_t bytes, void* self);
  static size_t OnBody(char* data, size_t, size_t bytes, void* self);
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t,
                        curl_off_t);

  bool Prepare();
  void Header(std::string_view line);
  // Before the first byte of a body: is it what was asked for?
  bool BeginBody();
  bool Append(const char* data, size_t bytes);
  bool CheckTotal(int64_t total);
  bool Fail(TransferEnd end, Status status) {
    if (!failure_) failure_ = TransferResult{end, std::move(status)};
    return false;
  }
  Status Named(StatusCode code, const std::string& what) const {
    return MakeStatus(code, fmt::format("{}: {}", url_, what));
  }
  TransferResult AnswerOf(long code);
  TransferResult FailureOf(CURLcode code) const;

  const std::string& url_;
  const DownloadOptions& options_;
  PartFile& part_;
  const int64_t asked_from_ = part_.bytes;
  std::unique_ptr<CURL, EasyDeleter> curl_;
  std::unique_ptr<curl_slist, ListDeleter> headers_;
  char error_[CURL_ERROR_SIZE] = "";

  // Of the answer whose headers are read; redirects are answers too.
  std::optional<int64_t> content_length_;
  std::optional<int64_t> range_begin_;
  std::optional<int64_t> range_total_;
  std::string etag_;

  bool body_begun_ = false;
  bool keeps_body_ = false;
  int64_t total_ = -1;
  absl::Time last_byte_;
  std::optional<TransferResult> failure_;
};

size_t Request::OnHeader(char* data, size_t, size_t bytes, void* self) {
  static_cast<Request*>(self)->Header({data, bytes});
  return bytes;
}

size_t Request::OnBody(char* data, size_t, size_t bytes, void* self) {
  auto* request = static_cast<Request*>(self);
  request->last_byte_ = absl::Now();
  if (!request->body_begun_ && !request->BeginBody()) return 0;
  if (!request->keeps_body_) return 0;  // an error page, maybe without end
  return request->Append(data, bytes) ? bytes : 0;
}

int Request::OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t,
                        curl_off_t) {
  auto* request = static_cast<Request*>(self);
  const DownloadOptions& options = request->options_;
  if (options.should_stop && options.should_stop()) {
    request->Fail(TransferEnd::kHopeless,
                  request->Named(StatusCode::kUnavailable, "stopped"));
    return 1;
  }
  if (absl::Now() - request->last_byte_ > options.stall_timeout) {
    request->Fail(
        TransferEnd::kTryAgain,
        request->Named(
            StatusCode::kUnavailable,
            fmt::format("nothing came for {}",
                        absl::FormatDuration(options.stall_timeout))));
    return 1;
  }
  return 0;
}

void Request::Header(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    content_length_ = range_begin_ = range_total_ = std::nullopt;
    etag_.clear();
    return;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  const std::string name =
      absl::AsciiStrToLower(AbslView(line.substr(0, colon)));
  const std::string_view value =
      StdView(absl::StripAsciiWhitespace(AbslView(line.substr(colon + 1))));
  if (name == "content-length") {
    content_length_ = ParseCount(value);
  } else if (name == "etag") {
    etag_ = value;
  } else if (name == "content-range") {
    // "bytes 100-299/300"
    const size_t dash = value.find('-');
    const size_t slash = value.find('/');
    if (!value.starts_with("bytes ") || slash == value.npos) return;
    range_total_ = ParseCount(value.substr(slash + 1));
    if (dash < slash) range_begin_ = ParseCount(value.substr(6, dash - 6));
  }
}

bool Request::CheckTotal(int64_t total) {
  if (options_.expected_bytes >= 0 && total != options_.expected_bytes) {
    return Fail(TransferEnd::kHopeless,
                Named(StatusCode::kDataLoss,
                      fmt::format("the server says that the file has {} "
                                  "bytes, expected {}",
                                  total, options_.expected_bytes)));
  }
  if (total > options_.max_bytes) {
    return Fail(TransferEnd::kHopeless,
                Named(StatusCode::kDataLoss,
                      fmt::format("the server says that the file has {} "
                                  "bytes, at most {} are taken",
                                  total, options_.max_bytes)));
  }
  total_ = total;
  return true;
}

bool Request::BeginBody() {
  body_begun_ = true;
  long code = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
  if (code == kPartialContent) {
    if (asked_from_ == 0 || range_begin_ != asked_from_) {
      const Status cleared = part_.Clear();
      if (!cleared.ok()) return Fail(TransferEnd::kHopeless, cleared);
      return Fail(TransferEnd::kTryAgain,
                  Named(StatusCode::kDataLoss,
                        fmt::format("the server sent other bytes than those "
                                    "from {} on",
                                    asked_from_)));
    }
    if (range_total_ && !CheckTotal(*range_total_)) return false;
    part_.pieced = true;
  } else if (code == kOk) {
    if (content_length_ && !CheckTotal(*content_length_)) return false;
    // Ranges are ignored here, or the file is another one now.
    const Status cleared = part_.Clear();
    if (!cleared.ok()) return Fail(TransferEnd::kHopeless, cleared);
  } else {
    return true;
  }
  part_.etag = etag_;
  keeps_body_ = true;
  return true;
}

bool Request::Append(const char* data, size_t bytes) {
  const int64_t most = options_.expected_bytes >= 0 ? options_.expected_bytes
                                                    : options_.max_bytes;
  if (static_cast<int64_t>(bytes) > most - part_.bytes) {
    const Status cleared = part_.Clear();
    if (!cleared.ok()) return Fail(TransferEnd::kHopeless, cleared);
    return Fail(TransferEnd::kHopeless,
                Named(StatusCode::kDataLoss,
                      fmt::format("the server sends more than the {} bytes "
                                  "expected",
                                  most)));
  }
  while (bytes > 0) {
    const ssize_t n = ::pwrite(part_.fd, data, bytes, part_.bytes);
    if (n < 0) {
      if (errno == EINTR) continue;
      return Fail(TransferEnd::kHopeless,
                  FileError("write", part_.path, errno));
    }
    data += n;
    bytes -= static_cast<size_t>(n);
    part_.bytes += n;
  }
  if (options_.progress) options_.progress(part_.bytes, total_);
  return true;
}

bool Request::Prepare() {
  curl_.reset(curl_easy_init());
  CURL* curl = curl_.get();
  if (curl == nullptr) return false;
  bool done = true;
  const auto set = [&](CURLoption option, auto value) {
    done = curl_easy_setopt(curl, option, value) == CURLE_OK && done;
  };
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, static_cast<long>(options_.max_redirects));
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(absl::ToInt64Milliseconds(options_.connect_timeout)));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "densenet");
  set(CURLOPT_ERRORBUFFER, error_);
  set(CURLOPT_HEADERFUNCTION, &Request::OnHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Request::OnBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Request::OnProgress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
  if (asked_from_ > 0) {
    // Not CURLOPT_RESUME_FROM: that fails where a server ignores ranges.
    set(CURLOPT_RANGE, fmt::format("{}-", asked_from_).c_str());
    // Weak tags tell nothing about bytes.
    if (!part_.etag.empty() && !part_.etag.starts_with("W/")) {
      headers_.reset(
          curl_slist_append(nullptr, ("If-Range: " + part_.etag).c_str()));
      done = headers_ != nullptr && done;
      set(CURLOPT_HTTPHEADER, headers_.get());
    }
  }
  return done;
}

TransferResult Request::Run() {
  if (!Prepare()) {
    return {TransferEnd::kHopeless,
            ResourceExhausted("libcurl cannot be set up for " + url_)};
  }
  const CURLcode code = curl_easy_perform(curl_.get());
  if (failure_) return *std::move(failure_);
  // OnBody ends the page that comes with an error; its status says it all.
  const bool error_page = body_begun_ && !keeps_body_;
  if (code != CURLE_OK && !error_page) return FailureOf(code);
  long answer = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer);
  return AnswerOf(answer);
}

TransferResult Request::AnswerOf(long code) {
  // An empty body calls nobody.
  if (!body_begun_ && !BeginBody()) return *std::move(failure_);
  if (code == kOk || code == kPartialContent) {
    const int64_t expected =
        options_.expected_bytes >= 0 ? options_.expected_bytes : total_;
    if (expected < 0 || part_.bytes == expected) {
      return {TransferEnd::kComplete, OkStatus()};
    }
    return {TransferEnd::kTryAgain,
            Named(StatusCode::kUnavailable,
                  fmt::format("the connection ended after {} of {} bytes",
                              part_.bytes, expected))};
  }
  const std::string text = fmt::format("the server answers {}", code);
  if (code == kRangeNotSatisfiable && asked_from_ > 0) {
    // What is here is no beginning of what is there.
    const Status cleared = part_.Clear();
    if (!cleared.ok()) return {TransferEnd::kHopeless, cleared};
    return {TransferEnd::kTryAgain, Named(StatusCode::kUnavailable, text)};
  }
  if (code == 404 || code == 410) {
    return {TransferEnd::kHopeless,
            Named(StatusCode::kNotFound, text + ": it has no such file")};
  }
  if (code == 401 || code == 403) {
    return {TransferEnd::kHopeless, Named(StatusCode::kPermissionDenied, text)};
  }
  const bool passing = code >= 500 || code == 408 || code == 429;
  return {passing ? TransferEnd::kTryAgain : TransferEnd::kHopeless,
          Named(StatusCode::kUnavailable, text)};
}

TransferResult Request::FailureOf(CURLcode code) const {
  const std::string text =
      error_[0] != '\0' ? error_ : curl_easy_strerror(code);
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return {TransferEnd::kHopeless,
              Named(StatusCode::kInvalidArgument,
                    text + "; expected http:// or https://")};
    case CURLE_TOO_MANY_REDIRECTS:
      return {TransferEnd::kHopeless,
              Named(StatusCode::kFailedPrecondition, text)};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return {TransferEnd::kHopeless, Named(StatusCode::kUnavailable, text)};
    case CURLE_OUT_OF_MEMORY:
      return {TransferEnd::kHopeless,
              Named(StatusCode::kResourceExhausted, text)};
    default:
      return {TransferEnd::kTryAgain, Named(StatusCode::kUnavailable, text)};
  }
}

}  // namespace

Status PartFile::Clear() {
  if (bytes > 0 && ::ftruncate(fd, 0) != 0) {
    return FileError("empty", path, errno);
  }
  bytes = 0;
  pieced = false;
  etag.clear();
  return OkStatus();
}

TransferResult Transfer(const std::string& url, const DownloadOptions& options,
                        PartFile& part) {
  return Request(url, options, part).Run();
}

}  // namespace densenet
