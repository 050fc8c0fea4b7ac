// core/io/mat_file.h
//
// Arrays of real numbers from a MATLAB 5 file (.mat as save -v6 and -v7 write
// it), by matio, after core/io/mat_structure.h has found the file whole.
//
// Memory    Open: 128 KiB; reading: nothing besides the result
// Errors    NotFound, ...    from opening; no such variable
//           InvalidArgument  no MATLAB 5 file; a variable of another type
//           DataLoss         cut or damaged
// Threads   one at a time

#ifndef DENSENET_CORE_IO_MAT_FILE_H_
#define DENSENET_CORE_IO_MAT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/mat_structure.h"
#include "core/status.h"

namespace densenet {

class MatFile {
 public:
  // Reads the whole file once, to find damage.
  static StatusOr<std::unique_ptr<MatFile>> Open(const std::string& path);
  ~MatFile();

  const std::string& path() const { return path_; }
  const std::vector<MatVariable>& variables() const { return variables_; }

  // Errors  NotFound  lists the variables that there are
  StatusOr<MatVariable> Find(std::string_view name) const;

  // A uint8 variable's elems() values, the first index fastest.
  Status ReadBytes(const MatVariable& variable, uint8_t* out);
  // The values of a variable of any type, as float64.
  StatusOr<std::vector<double>> ReadNumbers(const MatVariable& variable);

 private:
  struct Handle;

  MatFile(std::string path, std::vector<MatVariable> variables);
  // `out` has room for elems() values of the variable's type.
  Status Read(const MatVariable& variable, void* out);
  template <typename T>
  StatusOr<std::vector<double>> ReadAs(const MatVariable& variable);

  std::string path_;
  std::vector<MatVariable> variables_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_MAT_FILE_H_
