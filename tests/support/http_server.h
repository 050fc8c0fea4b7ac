// tests/support/http_server.h
//
// An HTTP server on the loopback interface that misbehaves as it is told.

#ifndef DENSENET_TESTS_SUPPORT_HTTP_SERVER_H_
#define DENSENET_TESTS_SUPPORT_HTTP_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace densenet::testing {

struct HttpRequest {
  int number = 0;      // of the requests to the server, from 0
  std::string target;  // "/files/a.bin", or a whole URL of a proxied request
  std::map<std::string, std::string> headers;  // names in lower case

  // Where "Range: bytes=N-" begins; 0 without.
  int64_t range_begin() const;
};

struct HttpAnswer {
  int code = 200;
  std::vector<std::string> headers;  // "ETag: \"1\""
  std::string body;
  // Sent in place of body.size(); -1: that size; -2: no such header.
  int64_t content_length = -1;
  // Bytes of the body that are sent before the connection is cut; -1: all.
  int64_t cut_after = -1;
  // After the body, or the part before the cut, the connection stays open
  // without a byte until the client ends it.
  bool stall = false;
  // The body is sent again and again, without a size, until the client ends
  // the connection.
  bool endless = false;
};

// A file as a good server sends it: honours ranges.
HttpAnswer ServeFile(const HttpRequest& request, const std::string& file,
                     const std::string& etag = "");

// Answers requests one after the other, each on a connection of its own.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;
  explicit HttpServer(Handler handler);
  ~HttpServer();

  // "http://127.0.0.1:4711/"
  std::string url() const;
  // Those so far.
  std::vector<HttpRequest> requests() const;

 private:
  void Serve();
  void Answer(int connection);
  void SendBody(int connection, const HttpAnswer& answer) const;

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::thread thread_;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_HTTP_SERVER_H_
