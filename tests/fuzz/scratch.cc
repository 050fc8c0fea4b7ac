#include <fcntl.h>
#include <glog/logging.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "core/io/file.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {
namespace {

namespace fs = std::filesystem;

class Scratch {
 public:
  Scratch() {
    std::error_code error;
    const fs::path memory("/dev/shm");
    const bool usable =
        fs::is_directory(memory, error) && access(memory.c_str(), W_OK) == 0;
    folder_ =
        ((usable ? memory : fs::temp_directory_path()) / "densenet_fuzz_XXXXXX")
            .string();
    CHECK(mkdtemp(folder_.data()) != nullptr) << folder_;
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace

const std::string& WriteScratch(const std::string& name,
                                std::string_view bytes) {
  static const Scratch scratch;
  const std::string path = scratch.folder() + "/" + name;
  const UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  CHECK(fd.valid()) << path;
  CHECK_EQ(write(fd.get(), bytes.data(), bytes.size()),
           static_cast<ssize_t>(bytes.size()));
  return scratch.folder();
}

}  // namespace densenet::testing
