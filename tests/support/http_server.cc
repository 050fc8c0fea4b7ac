#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <glog/logging.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace densenet::testing {
namespace {

constexpr int kPollMilliseconds = 20;

// Until the client ends the connection or `stop` is set; false then.
bool WaitReadable(int fd, const std::atomic<bool>& stop) {
  while (!stop) {
    pollfd poll_fd = {.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&poll_fd, 1, kPollMilliseconds) > 0) return true;
  }
  return false;
}

// False when the client had enough.
bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

HttpRequest Parse(const std::string& head) {
  HttpRequest request;
  std::istringstream lines(head);
  std::string line;
  std::getline(lines, line);
  std::istringstream(line) >> line >> request.target;
  while (std::getline(lines, line) && line.size() > 1) {
    const size_t colon = line.find(':');
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const size_t begin = line.find_first_not_of(' ', colon + 1);
    request.headers[name] = line.substr(begin, line.find('\r') - begin);
  }
  return request;
}

}  // namespace

int64_t HttpRequest::range_begin() const {
  const auto range = headers.find("range");
  if (range == headers.end()) return 0;
  CHECK(range->second.starts_with("bytes=") && range->second.ends_with("-"))
      << range->second;
  return std::stoll(range->second.substr(6));
}

HttpAnswer ServeFile(const HttpRequest& request, const std::string& file,
                     const std::string& etag) {
  HttpAnswer answer;
  if (!etag.empty()) answer.headers.push_back("ETag: " + etag);
  const int64_t begin = request.range_begin();
  const auto condition = request.headers.find("if-range");
  const bool changed =
      condition != request.headers.end() && condition->second != etag;
  const auto size = static_cast<int64_t>(file.size());
  if (begin == 0 || changed) {
    answer.body = file;
  } else if (begin >= size) {
    answer.code = 416;
    answer.headers.push_back(fmt::format("Content-Range: bytes */{}", size));
  } else {
    answer.code = 206;
    answer.body = file.substr(static_cast<size_t>(begin));
    answer.headers.push_back(
        fmt::format("Content-Range: bytes {}-{}/{}", begin, size - 1, size));
  }
  return answer;
}

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  PCHECK(listener_ >= 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  PCHECK(bind(listener_, generic, size) == 0);
  PCHECK(listen(listener_, 16) == 0);
  PCHECK(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

std::string HttpServer::url() const {
  return fmt::format("http://127.0.0.1:{}/", port_);
}

std::vector<HttpRequest> HttpServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

void HttpServer::Serve() {
  while (WaitReadable(listener_, stop_)) {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) continue;
    Answer(connection);
    close(connection);
  }
}

void HttpServer::Answer(int connection) {
  std::string head;
  while (head.find("\r\n\r\n") == head.npos) {
    char buffer[4096];
    if (!WaitReadable(connection, stop_)) return;
    const ssize_t n = recv(connection, buffer, sizeof(buffer), 0);
    if (n <= 0) return;
    head.append(buffer, static_cast<size_t>(n));
  }
  HttpRequest request = Parse(head);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    request.number = static_cast<int>(requests_.size());
    requests_.push_back(request);
  }
  const HttpAnswer answer = handler_(request);
  std::string text =
      fmt::format("HTTP/1.1 {} x\r\nConnection: close\r\n", answer.code);
  for (const std::string& header : answer.headers) text += header + "\r\n";
  if (answer.content_length != -2 && !answer.endless) {
    text += fmt::format("Content-Length: {}\r\n",
                        answer.content_length == -1
                            ? static_cast<int64_t>(answer.body.size())
                            : answer.content_length);
  }
  SendAll(connection, text + "\r\n");
  SendBody(connection, answer);
  if (answer.stall) {
    WaitReadable(connection, stop_);
    return;
  }
  // Not before the client has everything: closing with unread bytes resets.
  shutdown(connection, SHUT_WR);
  char byte;
  while (WaitReadable(connection, stop_) && recv(connection, &byte, 1, 0) > 0) {
  }
}

void HttpServer::SendBody(int connection, const HttpAnswer& answer) const {
  std::string_view body = answer.body;
  if (answer.endless) {
    while (!stop_ && SendAll(connection, body)) {
    }
    return;
  }
  if (answer.cut_after >= 0) {
    body = body.substr(0, static_cast<size_t>(answer.cut_after));
  }
  SendAll(connection, body);
}

}  // namespace densenet::testing
