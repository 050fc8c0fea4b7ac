#include "core/io/http_download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "absl/time/clock.h"
#include "core/io/digest.h"
#include "core/random.h"
#include "tests/support/http_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::HttpAnswer;
using ::densenet::testing::HttpRequest;
using ::densenet::testing::HttpServer;
using ::densenet::testing::ServeFile;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string RandomBytes(int64_t count, uint64_t seed) {
  std::string bytes(static_cast<size_t>(count), '\0');
  for (int64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<char>(RandomBits({.seed = seed}, i));
  }
  return bytes;
}

class HttpDownloadTest : public ::testing::Test {
 protected:
  HttpDownloadTest() {
    // A proxy of this machine does not reach its loopback interface.
    setenv("no_proxy", "127.0.0.1", 1);
    options_.retry_delay = absl::Milliseconds(1);
    options_.expected_bytes = static_cast<int64_t>(file_.size());
    options_.expected_digest = *DigestOf("md5", file_);
    options_.trouble = [this](std::string_view text) {
      troubles_.emplace_back(text);
    };
  }

  Status Download(HttpServer& server) {
    return DownloadFile(server.url() + "a.bin", path_, options_);
  }
  void ExpectWhole() {
    EXPECT_EQ(Slurp(path_), file_);
    EXPECT_THAT(dir_.Names(), ElementsAre("a.bin"));
  }
  std::vector<int64_t> Begins(const HttpServer& server) {
    std::vector<int64_t> begins;
    for (const HttpRequest& request : server.requests()) {
      begins.push_back(request.range_begin());
    }
    return begins;
  }

  const std::string file_ = RandomBytes(500'000, 1);
  TempDir dir_;
  const std::string path_ = dir_.File("a.bin");
  DownloadOptions options_;
  std::vector<std::string> troubles_;
};

TEST_F(HttpDownloadTest, GetsAFileAndReportsProgress) {
  HttpServer server([&](const HttpRequest& r) { return ServeFile(r, file_); });
  int64_t last = 0;
  options_.progress = [&](int64_t done, int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 500'000);
    EXPECT_FALSE(fs::exists(path_));
    last = done;
  };
  ASSERT_OK(Download(server));
  EXPECT_EQ(last, 500'000);
  ExpectWhole();
  EXPECT_EQ(server.requests()[0].target, "/a.bin");
}

TEST_F(HttpDownloadTest, NeedsNoSizeBeforehand) {
  options_.expected_bytes = -1;
  options_.expected_digest.clear();
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    if (r.number == 0) answer.cut_after = 100'000;
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_THAT(Begins(server), ElementsAre(0, 100'000));
}

TEST_F(HttpDownloadTest, ContinuesWhereTheConnectionWasCut) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    answer.cut_after = 100'000;
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_THAT(Begins(server),
              ElementsAre(0, 100'000, 200'000, 300'000, 400'000));
  EXPECT_EQ(troubles_.size(), 4u);
  EXPECT_THAT(troubles_[0], HasSubstr("trying again"));
}

TEST_F(HttpDownloadTest, ContinuesAfterTheProgramEnded) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    if (r.number < 3) answer.cut_after = 20'000;
    return answer;
  });
  options_.attempts = 3;
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kUnavailable,
                    {server.url() + "a.bin", "3 attempts", path_ + ".part",
                     "60000 bytes are kept"}));
  EXPECT_THAT(dir_.Names(), ElementsAre("a.bin.part"));
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_THAT(Begins(server), ElementsAre(0, 20'000, 40'000, 60'000));
}

TEST_F(HttpDownloadTest, ACompletePartNeedsNoRequest) {
  dir_.Write("a.bin.part", file_);
  HttpServer server([&](const HttpRequest& r) { return ServeFile(r, file_); });
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpDownloadTest, AServerWithoutRangesStartsOver) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer;
    answer.body = file_;
    if (r.number == 0) answer.cut_after = 100'000;
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(HttpDownloadTest, AFileThatChangesIsNotMixedWithTheOldOne) {
  const std::string old = RandomBytes(500'000, 2);
  for (const bool tagged : {true, false}) {
    HttpServer server([&](const HttpRequest& r) {
      HttpAnswer answer = ServeFile(r, r.number == 0 ? old : file_,
                                    !tagged         ? ""
                                    : r.number == 0 ? "\"1\""
                                                    : "\"2\"");
      if (r.number == 0) answer.cut_after = 100'000;
      return answer;
    });
    ASSERT_OK(Download(server));
    ExpectWhole();
    // With tags the server sends it all at once; without, the digest tells.
    EXPECT_EQ(server.requests().size(), tagged ? 2u : 3u);
    fs::remove(path_);
  }
}

TEST_F(HttpDownloadTest, APartOfAnotherFileIsReplaced) {
  HttpServer server([&](const HttpRequest& r) { return ServeFile(r, file_); });
  for (const std::string& part : {RandomBytes(1000, 3), RandomBytes(500'000, 3),
                                  RandomBytes(600'000, 3)}) {
    dir_.Write("a.bin.part", part);
    ASSERT_OK(Download(server));
    ExpectWhole();
    fs::remove(path_);
  }
}

TEST_F(HttpDownloadTest, OtherRangesThanAskedForAreNotTaken) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    if (r.number == 0) answer.cut_after = 100'000;
    if (r.number == 1) {
      answer.headers.back() = "Content-Range: bytes 5-499999/500000";
    }
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
}

TEST_F(HttpDownloadTest, StallsAreNoticed) {
  options_.stall_timeout = absl::Milliseconds(300);
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    if (r.number == 0) {
      answer.cut_after = 200'000;
      answer.stall = true;
    }
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_THAT(troubles_, ElementsAre(HasSubstr("nothing came for 300ms")));
  EXPECT_THAT(Begins(server), ElementsAre(0, 200'000));
}

TEST_F(HttpDownloadTest, FollowsRedirectsButNotForEver) {
  HttpServer server([&](const HttpRequest& r) {
    if (r.target == "/real") return ServeFile(r, file_);
    HttpAnswer answer;
    answer.code = 302;
    answer.headers = {r.target == "/loop.bin" ? "Location: /loop.bin"
                                              : "Location: /real"};
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
  options_.max_redirects = 4;
  EXPECT_THAT(
      DownloadFile(server.url() + "loop.bin", dir_.File("l"), options_),
      Fails(StatusCode::kFailedPrecondition, {"loop.bin", "redirects"}));
  EXPECT_EQ(server.requests().size(), 2u + 5u);
}

TEST_F(HttpDownloadTest, RedirectsStayWithHttp) {
  HttpServer server([&](const HttpRequest&) {
    HttpAnswer answer;
    answer.code = 302;
    answer.headers = {"Location: file:///etc/passwd"};
    return answer;
  });
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kInvalidArgument, {"expected http://"}));
  EXPECT_THAT(DownloadFile("file:///etc/passwd", path_, options_),
              Fails(StatusCode::kInvalidArgument, {"file:///etc/passwd"}));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(HttpDownloadTest, LiesAboutTheSizeEndIt) {
  for (const int64_t claimed : {10, 499'999, 500'001, 1 << 30}) {
    HttpServer server([&](const HttpRequest& r) {
      HttpAnswer answer = ServeFile(r, file_);
      answer.content_length = claimed;
      return answer;
    });
    EXPECT_THAT(
        Download(server),
        Fails(StatusCode::kDataLoss,
              {"says", fmt::format("{} bytes", claimed), "expected 500000"}));
    EXPECT_EQ(server.requests().size(), 1u);
    EXPECT_FALSE(fs::exists(path_));
  }
}

TEST_F(HttpDownloadTest, EndlessBodiesEnd) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_ + file_);
    answer.content_length = -2;
    return answer;
  });
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kDataLoss, {"more than the 500000 bytes"}));
  options_.expected_bytes = -1;
  options_.max_bytes = 600'000;
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kDataLoss, {"more than the 600000 bytes"}));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(HttpDownloadTest, AShortBodyWithoutASizeIsTriedAgain) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    answer.content_length = -2;
    if (r.number == 0) answer.cut_after = 70'000;
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
  EXPECT_THAT(Begins(server), ElementsAre(0, 70'000));
}

TEST_F(HttpDownloadTest, WrongDigestIsAnErrorAndLeavesNothing) {
  const std::string other = RandomBytes(500'000, 9);
  HttpServer server([&](const HttpRequest& r) { return ServeFile(r, other); });
  EXPECT_THAT(Download(server), Fails(StatusCode::kDataLoss,
                                      {server.url(), *DigestOf("md5", other),
                                       options_.expected_digest}));
  EXPECT_THAT(dir_.Names(), ElementsAre());
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpDownloadTest, AWrongFileInPiecesIsFetchedTwiceAtMost) {
  const std::string other = RandomBytes(500'000, 9);
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, other);
    answer.cut_after = 100'000;
    return answer;
  });
  // Ends what would go on for ever.
  options_.should_stop = [&] { return server.requests().size() > 20; };
  EXPECT_THAT(Download(server), Fails(StatusCode::kDataLoss,
                                      {server.url(), *DigestOf("md5", other),
                                       options_.expected_digest}));
  EXPECT_THAT(Begins(server),
              ElementsAre(0, 100'000, 200'000, 300'000, 400'000,  //
                          0, 100'000, 200'000, 300'000, 400'000));
  EXPECT_THAT(dir_.Names(), ElementsAre());
}

TEST_F(HttpDownloadTest, ErrorsOfTheServer) {
  std::atomic<int> code = 404;
  HttpServer server([&](const HttpRequest&) {
    HttpAnswer answer;
    answer.code = code;
    answer.body = "<html>no</html>";
    return answer;
  });
  EXPECT_THAT(Download(server), Fails(StatusCode::kNotFound, {"404"}));
  EXPECT_EQ(server.requests().size(), 1u);
  code = 403;
  EXPECT_THAT(Download(server), Fails(StatusCode::kPermissionDenied, {"403"}));
  EXPECT_EQ(server.requests().size(), 2u);
  code = 503;
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kUnavailable, {"503", "5 attempts"}));
  EXPECT_EQ(server.requests().size(), 7u);
  EXPECT_THAT(dir_.Names(), ElementsAre());
}

TEST_F(HttpDownloadTest, EndlessErrorPagesAreNotRead) {
  std::atomic<int> code = 404;
  HttpServer server([&](const HttpRequest&) {
    HttpAnswer answer;
    answer.code = code;
    answer.body = std::string(100'000, 'x');
    answer.endless = true;
    return answer;
  });
  // Ends what would go on for ever.
  const absl::Time late = absl::Now() + absl::Seconds(20);
  options_.should_stop = [&] { return absl::Now() > late; };
  EXPECT_THAT(Download(server), Fails(StatusCode::kNotFound, {"answers 404"}));
  EXPECT_EQ(server.requests().size(), 1u);
  code = 503;
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kUnavailable, {"answers 503", "5 attempts"}));
  EXPECT_EQ(server.requests().size(), 6u);
  // What has come of the file stays.
  dir_.Write("a.bin.part", file_.substr(0, 1000));
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kUnavailable, {"1000 bytes are kept"}));
  code = 416;
  options_.attempts = 1;
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kUnavailable, {"answers 416"}));
  EXPECT_THAT(dir_.Names(), ElementsAre());
}

TEST_F(HttpDownloadTest, AServerThatComesBackIsForgiven) {
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    if (r.number < 3) answer = {.code = 500, .headers = {}, .body = "x"};
    return answer;
  });
  ASSERT_OK(Download(server));
  ExpectWhole();
}

TEST_F(HttpDownloadTest, NobodyListens) {
  std::string url;
  {
    HttpServer server([](const HttpRequest&) { return HttpAnswer(); });
    url = server.url() + "a.bin";
  }
  options_.attempts = 2;
  EXPECT_THAT(DownloadFile(url, path_, options_),
              Fails(StatusCode::kUnavailable, {url, "2 attempts"}));
}

TEST_F(HttpDownloadTest, StopsWhenAskedTo) {
  bool stop = false;
  options_.should_stop = [&] { return stop; };
  options_.progress = [&](int64_t done, int64_t) { stop = done > 1000; };
  HttpServer server([&](const HttpRequest& r) {
    HttpAnswer answer = ServeFile(r, file_);
    answer.cut_after = 100'000;
    answer.stall = true;
    return answer;
  });
  EXPECT_THAT(Download(server),
              Fails(StatusCode::kUnavailable, {"stopped", "are kept"}));
  EXPECT_THAT(dir_.Names(), ElementsAre("a.bin.part"));
}

TEST_F(HttpDownloadTest, WhatCannotBeWrittenIsNamed) {
  HttpServer server([&](const HttpRequest& r) { return ServeFile(r, file_); });
  const std::string url = server.url() + "a.bin";
  EXPECT_THAT(DownloadFile(url, dir_.File("no/a.bin"), options_),
              Fails(StatusCode::kNotFound, {dir_.File("no/a.bin")}));
  EXPECT_TRUE(server.requests().empty());
  // A disk without room.
  fs::create_symlink("/dev/full", path_ + ".part");
  EXPECT_THAT(DownloadFile(url, path_, options_),
              Fails(StatusCode::kResourceExhausted, {path_, "No space left"}));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(HttpDownloadTest, OneProcessAtATime) {
  const std::string part = dir_.Write("a.bin.part", "x");
  const int fd = open(part.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_THAT(DownloadFile("http://127.0.0.1:1/a.bin", path_, options_),
              Fails(StatusCode::kFailedPrecondition, {"another process"}));
  close(fd);
}

TEST_F(HttpDownloadTest, ProxyVariablesAreRespected) {
  HttpServer proxy([&](const HttpRequest& r) { return ServeFile(r, file_); });
  setenv("http_proxy", proxy.url().c_str(), 1);
  const Status status =
      DownloadFile("http://mirror.invalid/a.bin", path_, options_);
  unsetenv("http_proxy");
  ASSERT_OK(status);
  ExpectWhole();
  EXPECT_EQ(proxy.requests()[0].target, "http://mirror.invalid/a.bin");
}

}  // namespace
}  // namespace densenet
