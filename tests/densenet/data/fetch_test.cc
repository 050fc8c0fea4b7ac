#include "densenet/data/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/io/digest.h"
#include "tests/support/gzip.h"
#include "tests/support/http_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tar_files.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Gzip;
using ::densenet::testing::HttpAnswer;
using ::densenet::testing::HttpRequest;
using ::densenet::testing::HttpServer;
using ::densenet::testing::ServeFile;
using ::densenet::testing::Slurp;
using ::densenet::testing::Tar;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Two data sets of one train and one test file: `toy` in an archive, `gz`
// packed one by one.
class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    setenv("no_proxy", "127.0.0.1", 1);
    files_["/toy.tar.gz"] =
        Gzip(Tar({{.name = "toy-bin/", .bytes = "", .type = '5'},
                  {.name = "toy-bin/train.bin", .bytes = train_},
                  {.name = "toy-bin/test.bin", .bytes = test_},
                  {.name = "toy-bin/readme.txt", .bytes = "hello"}}));
    files_["/gz/train.gz"] = Gzip(train_);
    files_["/gz/test.gz"] = Gzip(test_);
    options_.download.retry_delay = absl::Milliseconds(1);
  }

  PublishedDataset Toy() {
    PublishedDataset d;
    d.name = "toy";
    d.files = {{Split::kTrain, {"train.bin"}, 5000, *DigestOf("sha1", train_)},
               {Split::kTest, {"test.bin"}, 300, *DigestOf("sha1", test_)}};
    d.downloads = {{"toy.tar.gz", server_.url(), Bytes("/toy.tar.gz"),
                    *DigestOf("md5", files_["/toy.tar.gz"]), "toy-bin"}};
    return d;
  }
  PublishedDataset Packed() {
    PublishedDataset d;
    d.name = "packed";
    d.files = {
        {Split::kTrain, {"train", "train.gz"}, 5000, *DigestOf("md5", train_)},
        {Split::kTest, {"test", "test.gz"}, 300, *DigestOf("md5", test_)}};
    for (const char* name : {"train.gz", "test.gz"}) {
      const std::string key = std::string("/gz/") + name;
      d.downloads.push_back({name, server_.url() + "gz/", Bytes(key),
                             *DigestOf("md5", files_[key]), ""});
    }
    return d;
  }
  void Put(const std::string& key, const std::string& bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    files_[key] = bytes;
  }
  void Spoil(std::function<void(HttpAnswer&)> spoil) {
    const std::lock_guard<std::mutex> lock(mutex_);
    spoil_ = std::move(spoil);
  }
  int64_t Bytes(const std::string& key) {
    return static_cast<int64_t>(files_[key].size());
  }
  StatusOr<std::vector<FetchedFile>> Fetch(const PublishedDataset& dataset) {
    return FetchDataset(dataset, dir_.File("data"), options_);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry :
         fs::recursive_directory_iterator(dir_.File("data"))) {
      names.push_back(fs::relative(entry.path(), dir_.File("data")).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::string train_ = std::string(5000, 't');
  const std::string test_ = std::string(300, 's');
  std::map<std::string, std::string> files_;
  // Guards what the server's thread reads.
  std::mutex mutex_;
  std::function<void(HttpAnswer&)> spoil_;
  HttpServer server_{[this](const HttpRequest& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    HttpAnswer answer;
    if (files_.count(request.target) == 0) {
      answer.code = 404;
    } else {
      answer = ServeFile(request, files_[request.target]);
    }
    if (spoil_) spoil_(answer);
    return answer;
  }};
  TempDir dir_;
  FetchOptions options_;
};

TEST_F(FetchTest, ArchivesAreUnpackedAndRemoved) {
  StatusOr<std::vector<FetchedFile>> files = Fetch(Toy());
  ASSERT_OK(files);
  EXPECT_THAT(Names(), ElementsAre("toy-bin", "toy-bin/readme.txt",
                                   "toy-bin/test.bin", "toy-bin/train.bin"));
  EXPECT_EQ(Slurp(dir_.File("data/toy-bin/train.bin")), train_);
  EXPECT_FALSE(files->front().was_there);
  // Again: nothing is asked for.
  const size_t requests = server_.requests().size();
  files = Fetch(Toy());
  ASSERT_OK(files);
  EXPECT_TRUE(files->front().was_there);
  EXPECT_EQ(server_.requests().size(), requests);
}

TEST_F(FetchTest, WhatIsMissingOfAnArchiveIsFetchedAgain) {
  ASSERT_OK(Fetch(Toy()));
  fs::remove(dir_.File("data/toy-bin/test.bin"));
  ASSERT_OK(Fetch(Toy()));
  EXPECT_EQ(Slurp(dir_.File("data/toy-bin/test.bin")), test_);
}

TEST_F(FetchTest, OtherFilesStayAsTheyAre) {
  std::vector<std::string> progress;
  options_.progress = [&](std::string_view file, int64_t, int64_t) {
    progress.emplace_back(file);
  };
  ASSERT_OK(Fetch(Packed()));
  EXPECT_THAT(Names(), ElementsAre("test.gz", "train.gz"));
  EXPECT_EQ(Slurp(dir_.File("data/train.gz")), files_["/gz/train.gz"]);
  EXPECT_THAT(progress, ::testing::Contains("test.gz"));
}

TEST_F(FetchTest, FilesPackedAnewCountAsThere) {
  // Another packing of the same content.
  dir_.Write("data/train.gz", train_);
  StatusOr<std::vector<FetchedFile>> files = Fetch(Packed());
  ASSERT_OK(files);
  EXPECT_TRUE((*files)[0].was_there);
  EXPECT_FALSE((*files)[1].was_there);
  EXPECT_EQ(Slurp(dir_.File("data/train.gz")), train_);
}

TEST_F(FetchTest, FilesUnderTheirOtherNamesCountAsThere) {
  dir_.Write("data/train", train_);
  // Hidden by `train`: no reader opens it.
  dir_.Write("data/train.gz", Gzip(train_).substr(0, 20));
  dir_.Write("data/test", Gzip(test_));
  StatusOr<std::vector<FetchedFile>> files = Fetch(Packed());
  ASSERT_OK(files);
  EXPECT_TRUE((*files)[0].was_there);
  EXPECT_EQ((*files)[0].path, dir_.File("data/train"));
  EXPECT_TRUE((*files)[1].was_there);
  EXPECT_TRUE(server_.requests().empty());
  EXPECT_THAT(Names(), ElementsAre("test", "train", "train.gz"));
}

TEST_F(FetchTest, DamagedFilesUnderOtherNamesAreNotHidden) {
  // Readers would open it in place of what is fetched or lies beside it.
  dir_.Write("data/train", train_.substr(0, 4000));
  for (const bool beside : {false, true}) {
    if (beside) dir_.Write("data/train.gz", files_["/gz/train.gz"]);
    EXPECT_THAT(Fetch(Packed()), Fails(StatusCode::kFailedPrecondition,
                                       {dir_.File("data/train") + " is there",
                                        "packed", "move it away"}));
  }
  EXPECT_EQ(Slurp(dir_.File("data/train")), train_.substr(0, 4000));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(FetchTest, OtherFilesOfAnArchiveAreNotOverwritten) {
  dir_.Write("data/toy-bin/readme.txt", "my notes");
  dir_.Write("data/toy-bin/train.bin", train_);
  ASSERT_OK(Fetch(Toy()));
  EXPECT_EQ(Slurp(dir_.File("data/toy-bin/readme.txt")), "my notes");
  EXPECT_EQ(Slurp(dir_.File("data/toy-bin/test.bin")), test_);
  EXPECT_THAT(Names(), ElementsAre("toy-bin", "toy-bin/readme.txt",
                                   "toy-bin/test.bin", "toy-bin/train.bin"));
}

TEST_F(FetchTest, WhatAKilledFetchLeftIsRemoved) {
  dir_.Write("data/toy-bin/train.bin.tmp-0123abcd", "ttt");
  dir_.Write("data/toy-bin/toy.tar.gz.unpacking/toy-bin/train.bin", "ttt");
  dir_.Write("data/toy-bin/train.bin.tmp-mine", "my notes");
  ASSERT_OK(Fetch(Toy()));
  EXPECT_THAT(Names(),
              ElementsAre("toy-bin", "toy-bin/readme.txt", "toy-bin/test.bin",
                          "toy-bin/train.bin", "toy-bin/train.bin.tmp-mine"));
  EXPECT_EQ(Slurp(dir_.File("data/toy-bin/train.bin")), train_);
}

TEST_F(FetchTest, AnArchiveThatCannotBeUnpackedLeavesNothing) {
  Put("/toy.tar.gz", Tar({{.name = "toy-bin/train.bin", .bytes = train_},
                          {.name = "toy-bin/../../test.bin", .bytes = test_}}));
  EXPECT_THAT(Fetch(Toy()),
              Fails(StatusCode::kInvalidArgument, {"leads out of"}));
  EXPECT_THAT(Names(), ElementsAre("toy-bin", "toy.tar.gz"));
}

TEST_F(FetchTest, WhatDiffersIsNeverOverwritten) {
  dir_.Write("data/toy-bin/train.bin", std::string(5000, 'u'));
  EXPECT_THAT(Fetch(Toy()),
              Fails(StatusCode::kFailedPrecondition,
                    {dir_.File("data/toy-bin/train.bin"), "toy", "move it"}));
  dir_.Write("data/train.gz", Gzip(train_).substr(0, 20));
  EXPECT_THAT(Fetch(Packed()), Fails(StatusCode::kFailedPrecondition,
                                     {dir_.File("data/train.gz")}));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(FetchTest, AnArchiveThatLiesThereIsUsed) {
  dir_.Write("data/toy.tar.gz", files_["/toy.tar.gz"]);
  ASSERT_OK(Fetch(Toy()));
  EXPECT_TRUE(server_.requests().empty());
  EXPECT_FALSE(fs::exists(dir_.File("data/toy.tar.gz")));
}

TEST_F(FetchTest, MirrorsHaveTheSameNames) {
  const PublishedDataset toy = Toy();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    files_["/mirror/toy.tar.gz"] = files_["/toy.tar.gz"];
    files_.erase("/toy.tar.gz");
  }
  EXPECT_THAT(Fetch(toy), Fails(StatusCode::kNotFound, {"toy.tar.gz", "404"}));
  for (const char* url : {"mirror", "mirror/", "mirror/toy.tar.gz"}) {
    options_.url = server_.url() + url;
    ASSERT_OK(Fetch(toy)) << url;
    EXPECT_EQ(server_.requests().back().target, "/mirror/toy.tar.gz");
    fs::remove_all(dir_.File("data"));
  }
  options_.url = server_.url() + "gz/train.gz";
  EXPECT_THAT(Fetch(Packed()),
              Fails(StatusCode::kInvalidArgument, {"--url", "2 files"}));
  options_.url = "ftp://mirror";
  EXPECT_THAT(Fetch(toy), Fails(StatusCode::kInvalidArgument, {"ftp://"}));
}

TEST_F(FetchTest, AnotherArchiveIsNotUnpacked) {
  const PublishedDataset toy = Toy();
  std::string other = files_["/toy.tar.gz"];
  other[100] ^= 1;
  Put("/toy.tar.gz", other);
  EXPECT_THAT(Fetch(toy),
              Fails(StatusCode::kDataLoss, {"toy.tar.gz", "digest"}));
  EXPECT_THAT(Names(), ElementsAre());
  Put("/toy.tar.gz", other + "x");
  EXPECT_THAT(Fetch(toy), Fails(StatusCode::kDataLoss, {"bytes, expected"}));
  EXPECT_FALSE(fs::exists(dir_.File("data/toy.tar.gz")));
}

TEST_F(FetchTest, AnInterruptedFetchGoesOn) {
  std::string big(400'000, '\0');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * i);
  Put("/toy.tar.gz", Tar({{.name = "toy-bin/train.bin", .bytes = train_},
                          {.name = "toy-bin/test.bin", .bytes = test_},
                          {.name = "toy-bin/big", .bytes = big}}));
  options_.download.attempts = 1;
  Spoil([](HttpAnswer& answer) { answer.cut_after = 30'000; });
  EXPECT_THAT(Fetch(Toy()), Fails(StatusCode::kUnavailable, {"are kept"}));
  EXPECT_THAT(Names(), ElementsAre("toy.tar.gz.part"));
  Spoil(nullptr);
  ASSERT_OK(Fetch(Toy()));
  EXPECT_EQ(server_.requests().back().range_begin(), 30'000);
  EXPECT_EQ(Slurp(dir_.File("data/toy-bin/big")), big);
}

TEST_F(FetchTest, FoldersThatCannotBeAreNamed) {
  dir_.Write("data", "a file");
  EXPECT_THAT(Fetch(Toy()),
              Fails(StatusCode::kFailedPrecondition, {dir_.File("data")}));
}

}  // namespace
}  // namespace densenet
