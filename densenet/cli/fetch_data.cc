#include "densenet/cli/fetch_data.h"

#include <fmt/format.h>

#include <filesystem>

#include "absl/time/clock.h"
#include "densenet/byte_size.h"
#include "densenet/progress_meter.h"

namespace densenet::cli {
namespace {

constexpr absl::Duration kBarInterval = absl::Milliseconds(200);
constexpr absl::Duration kLineInterval = absl::Seconds(15);

// "train_32x32.mat: 45 %, 82.0 MiB of 173.6 MiB, 12.3 MiB/s, 8 s left".
class DownloadMeter {
 public:
  explicit DownloadMeter(Console& console) : console_(console) {}

  void Update(std::string_view file, int64_t done, int64_t total) {
    const absl::Time now = absl::Now();
    if (file != file_ || done < begin_) {
      file_ = file;
      begin_ = done;
      begun_ = last_shown_ = now;
      return;
    }
    const absl::Duration interval =
        console_.terminal() ? kBarInterval : kLineInterval;
    if (now - last_shown_ < interval) return;
    last_shown_ = now;
    const double seconds = absl::ToDoubleSeconds(now - begun_);
    const double rate = static_cast<double>(done - begin_) / seconds;
    std::string text =
        fmt::format("{}: {:.0f} %, {} of {}", file_, 100.0 * done / total,
                    FormatByteSize(done), FormatByteSize(total));
    if (rate > 0) {
      text += fmt::format(
          ", {}/s, {} left", FormatByteSize(static_cast<int64_t>(rate)),
          DurationText(
              absl::Seconds(static_cast<double>(total - done) / rate)));
    }
    if (console_.terminal()) {
      console_.Bar(text);
    } else {
      console_.Line(text);
    }
  }

 private:
  Console& console_;
  std::string file_;
  int64_t begin_ = 0;  // where this run began with the file
  absl::Time begun_;
  absl::Time last_shown_;
};

}  // namespace

StatusOr<std::vector<FetchedFile>> FetchWithProgress(
    const std::string& dataset, const std::string& folder,
    const FetchOptions& options, Console& console) {
  ASSIGN_OR_RETURN(const PublishedDataset published, FindPublished(dataset));
  console.Line(fmt::format(
      "fetching {} to {}: {} from {}", dataset, folder,
      FormatByteSize(published.download_bytes()),
      options.url.empty() ? published.downloads.front().url : options.url));
  DownloadMeter meter(console);
  FetchOptions shown = options;
  shown.progress = [&meter](std::string_view file, int64_t done,
                            int64_t total) { meter.Update(file, done, total); };
  shown.download.trouble = [&console](std::string_view text) {
    console.Line(text);
  };
  StatusOr<std::vector<FetchedFile>> files =
      FetchDataset(published, folder, shown);
  console.ClearBar();
  if (!files.ok()) return files.status();
  for (const FetchedFile& file : *files) {
    console.Line(fmt::format(
        "{}  {}", file.path,
        file.was_there
            ? "was there, as published"
            : fmt::format("{} bytes, as published", GroupDigits(file.bytes))));
  }
  return files;
}

FetchOptions FetchFlags::ToOptions(
    const std::function<bool()>& should_stop) const {
  FetchOptions options;
  options.url = url;
  options.download.connect_timeout = absl::Seconds(connect_seconds);
  options.download.stall_timeout = absl::Seconds(stall_seconds);
  options.download.should_stop = should_stop;
  return options;
}

void AddFetchFlags(CLI::App& command, FetchFlags& flags) {
  constexpr char kGroup[] = "Download";
  command
      .add_option("--url", flags.url,
                  "a mirror: the folder that has the files under the "
                  "publisher's names (the publisher's)")
      ->type_name("URL")
      ->group(kGroup);
  command
      .add_option("--connect-seconds", flags.connect_seconds,
                  "give a connection up that takes longer (30)")
      ->type_name("X")
      ->check(CLI::Range(0.001, 86400.0))
      ->group(kGroup);
  command
      .add_option("--stall-seconds", flags.stall_seconds,
                  "give a connection up that brings nothing for so long (60)")
      ->type_name("X")
      ->check(CLI::Range(0.001, 86400.0))
      ->group(kGroup);
}

}  // namespace densenet::cli
