// densenet/console.h
//
// What a running command says: lines, which also go into a log file with the
// time in front, and on a terminal a bar below them that is drawn over.
//
// Threads  one thread of control

#ifndef DENSENET_DENSENET_CONSOLE_H_
#define DENSENET_DENSENET_CONSOLE_H_

#include <ostream>
#include <string>
#include <string_view>

#include "core/io/file.h"
#include "core/status.h"

namespace densenet {

class Console {
 public:
  // `terminal`: `out` is one, so bars can be drawn. `out` must outlive this.
  Console(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  ~Console() { ClearBar(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Appends every further line to `path`.
  Status OpenLog(const std::string& path);

  bool terminal() const { return terminal_; }
  void Line(std::string_view text);
  // Into the log file alone.
  void Log(std::string_view text);
  // Replaces the bar; nothing where there is no terminal.
  void Bar(std::string_view text);
  void ClearBar();

 private:
  std::ostream& out_;
  const bool terminal_;
  bool bar_drawn_ = false;
  UniqueFd log_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_CONSOLE_H_
