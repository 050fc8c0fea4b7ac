#include "densenet/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glog/logging.h>
#include <unistd.h>

#include <cerrno>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace densenet {

Status Console::OpenLog(const std::string& path) {
  UniqueFd log(
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!log.valid()) return FileError("open", path, errno);
  log_ = std::move(log);
  return OkStatus();
}

void Console::Line(std::string_view text) {
  ClearBar();
  out_ << text << '\n' << std::flush;
  Log(text);
}

void Console::Log(std::string_view text) {
  if (!log_.valid()) return;
  const std::string line = fmt::format(
      "{} {}\n",
      absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::Now(), absl::LocalTimeZone()),
      text);
  // A log that cannot be written (a full disk) does not end a training run.
  if (write(log_.get(), line.data(), line.size()) < 0) {
    LOG_FIRST_N(WARNING, 1) << "cannot write the log: "
                            << FileError("write", "log.txt", errno).message();
  }
}

void Console::Bar(std::string_view text) {
  if (!terminal_) return;
  out_ << "\r\033[K" << text << std::flush;
  bar_drawn_ = true;
}

void Console::ClearBar() {
  if (!bar_drawn_) return;
  out_ << "\r\033[K" << std::flush;
  bar_drawn_ = false;
}

}  // namespace densenet
