// tests/support/temp_dir.h
//
// A folder of a test's own, removed with everything in it.

#ifndef DENSENET_TESTS_SUPPORT_TEMP_DIR_H_
#define DENSENET_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>
#include <string_view>
#include <vector>

namespace densenet::testing {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const;
  // Writes a file (plainly, not through core/io) and returns its path.
  std::string Write(std::string_view name, std::string_view bytes) const;
  // Replaces the bytes of an existing file of the same size in place: many
  // times faster than Write() where the disk is busy.
  void Overwrite(const std::string& path, std::string_view bytes) const;
  // The names in the folder, sorted.
  std::vector<std::string> Names() const;

 private:
  std::string path_;
};

// The bytes of a file; fails the test when it cannot be read.
std::string Slurp(const std::string& path);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_TEMP_DIR_H_
