#include "densenet/data/fetch.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/io/digest.h"
#include "core/io/file.h"
#include "core/io/tar_reader.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

// What an archive may hold besides the files of the data set: texts.
constexpr int64_t kOtherBytes = 1 << 24;

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

class Fetcher {
 public:
  Fetcher(const PublishedDataset& dataset, const std::string& folder,
          const FetchOptions& options)
      : dataset_(dataset), folder_(folder), options_(options) {}

  StatusOr<std::vector<FetchedFile>> Run() {
    RETURN_IF_ERROR(CheckUrl());
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return FileError("create", folder_.string(), error.value());
    std::vector<FetchedFile> fetched;
    for (const PublishedDownload& download : dataset_.downloads) {
      ASSIGN_OR_RETURN(FetchedFile file, download.unpacks_to.empty()
                                             ? FetchPlain(download)
                                             : FetchArchive(download));
      fetched.push_back(std::move(file));
    }
    return fetched;
  }

 private:
  Status CheckUrl() const {
    const std::string& url = options_.url;
    if (url.empty()) return OkStatus();
    if (!url.starts_with("http://") && !url.starts_with("https://")) {
      return InvalidArgument(
          fmt::format("--url {}: expected http:// or https://", url));
    }
    for (const PublishedDownload& download : dataset_.downloads) {
      if (url.ends_with('/' + download.name) && dataset_.downloads.size() > 1) {
        return InvalidArgument(
            fmt::format("--url {}: {} has {} files; name the folder that they "
                        "are in",
                        url, dataset_.name, dataset_.downloads.size()));
      }
    }
    return OkStatus();
  }

  std::string UrlOf(const PublishedDownload& download) const {
    const std::string& url = options_.url;
    if (url.empty()) return download.url + download.name;
    if (url.ends_with('/' + download.name)) return url;
    return url + (url.ends_with('/') ? "" : "/") + download.name;
  }

  Status NotPublished(const fs::path& path) const {
    return FailedPrecondition(fmt::format(
        "{} is there but is not the published file of {}; move it away to "
        "fetch that",
        path.string(), dataset_.name));
  }

  Status Download(const PublishedDownload& download, const fs::path& to) const {
    DownloadOptions options = options_.download;
    options.expected_bytes = download.bytes;
    options.expected_digest = download.digest;
    options.progress = [&](int64_t done, int64_t) {
      if (options_.progress) {
        options_.progress(download.name, done, download.bytes);
      }
    };
    return DownloadFile(UrlOf(download), to.string(), options);
  }

  StatusOr<FetchedFile> FetchPlain(const PublishedDownload& download) const {
    const PublishedFile& file = FileOf(download);
    for (const std::string& name : file.names) {
      const fs::path path = folder_ / name;
      if (!Exists(path)) continue;
      // The one that a reader takes; what it hides does not matter.
      ASSIGN_OR_RETURN(const bool published, IsPublished(path, file));
      if (!published) return NotPublished(path);
      return FetchedFile{path.string(), download.bytes, true};
    }
    const fs::path path = folder_ / download.name;
    RETURN_IF_ERROR(Download(download, path));
    return FetchedFile{path.string(), download.bytes, false};
  }

  // What readers find in a download that stays as it is.
  const PublishedFile& FileOf(const PublishedDownload& download) const {
    const auto file =
        std::find_if(dataset_.files.begin(), dataset_.files.end(),
                     [&](const PublishedFile& f) {
                       return std::find(f.names.begin(), f.names.end(),
                                        download.name) != f.names.end();
                     });
    CHECK(file != dataset_.files.end())
        << dataset_.name << ": no reader looks for " << download.name;
    return *file;
  }

  // Whether a file has the content that a reader expects, however it is packed.
  StatusOr<bool> IsPublished(const fs::path& path,
                             const PublishedFile& file) const {
    const StatusOr<ContentDigest> content =
        DigestOfContent(file.digest, path.string());
    // A damaged file is another one than the published.
    if (content.status().code() == StatusCode::kDataLoss) return false;
    if (!content.ok()) return content.status();
    return content->bytes == file.bytes && content->digest == file.digest;
  }

  // True when all files are there as published.
  StatusOr<bool> IsUnpacked(const fs::path& unpacked) const {
    size_t found = 0;
    for (const PublishedFile& file : dataset_.files) {
      const fs::path path = unpacked / file.names.front();
      if (!Exists(path)) continue;
      ++found;
      ASSIGN_OR_RETURN(const bool published, IsPublished(path, file));
      if (!published) return NotPublished(path);
    }
    return found == dataset_.files.size();
  }

  StatusOr<FetchedFile> FetchArchive(const PublishedDownload& download) const {
    const fs::path unpacked = folder_ / download.unpacks_to;
    FetchedFile fetched = {unpacked.string(), download.bytes, false};
    ASSIGN_OR_RETURN(fetched.was_there, IsUnpacked(unpacked));
    if (fetched.was_there) return fetched;
    const fs::path archive = folder_ / download.name;
    bool whole = false;
    if (Exists(archive)) {
      ASSIGN_OR_RETURN(const std::string digest,
                       DigestOfFile(download.digest, archive.string()));
      whole = digest == download.digest;
      if (!whole) return NotPublished(archive);
    }
    if (!whole) RETURN_IF_ERROR(Download(download, archive));
    RETURN_IF_ERROR(Unpack(archive, unpacked));
    ASSIGN_OR_RETURN(const bool complete, IsUnpacked(unpacked));
    if (!complete) {
      return DataLoss(fmt::format("{} does not hold the files of {}",
                                  archive.string(), dataset_.name));
    }
    std::error_code error;
    fs::remove(archive, error);
    if (error) return FileError("remove", archive.string(), error.value());
    return fetched;
  }

  // Adds what is missing of an archive's files. They are unpacked aside first:
  // what is there stays, and an archive that cannot be unpacked leaves nothing.
  Status Unpack(const fs::path& archive, const fs::path& unpacked) const {
    // In the folder that they go to, which may be on another disk.
    const fs::path aside =
        unpacked / (archive.filename().string() + ".unpacking");
    // Of a fetch that was killed.
    RETURN_IF_ERROR(RemoveFolder(aside));
    std::error_code error;
    fs::create_directories(aside, error);
    if (error) return FileError("create", aside.string(), error.value());
    RETURN_IF_ERROR(RemoveTemporaries(unpacked.string()));
    const Status added = AddMissing(archive, aside);
    const Status removed = RemoveFolder(aside);
    return added.ok() ? removed : added;
  }

  Status AddMissing(const fs::path& archive, const fs::path& aside) const {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     UnpackTar(archive.string(), aside.string(),
                               dataset_.unpacked_bytes() + kOtherBytes));
    for (const std::string& path : paths) {
      const fs::path to = folder_ / path;
      if (Exists(to)) continue;
      std::error_code error;
      fs::create_directories(to.parent_path(), error);
      if (error) return FileError("create", to.string(), error.value());
      RETURN_IF_ERROR(RenameDurably((aside / path).string(), to.string()));
    }
    return OkStatus();
  }

  static Status RemoveFolder(const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) return FileError("remove", folder.string(), error.value());
    return OkStatus();
  }

  const PublishedDataset& dataset_;
  const fs::path folder_;
  const FetchOptions& options_;
};

}  // namespace

StatusOr<std::vector<FetchedFile>> FetchDataset(const PublishedDataset& dataset,
                                                const std::string& folder,
                                                const FetchOptions& options) {
  return Fetcher(dataset, folder, options).Run();
}

}  // namespace densenet
