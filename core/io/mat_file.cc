#include "core/io/mat_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>
#include <matio.h>

#include <utility>

namespace densenet {
namespace {

struct VariableDeleter {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using UniqueVariable = std::unique_ptr<matvar_t, VariableDeleter>;

// What the structure says must be what matio sees.
bool Agrees(const MatVariable& expected, const matvar_t& found) {
  if (static_cast<int>(expected.extents.size()) != found.rank) return false;
  for (int i = 0; i < found.rank; ++i) {
    if (static_cast<size_t>(expected.extents[i]) != found.dims[i]) return false;
  }
  return static_cast<int>(found.class_type) ==
             static_cast<int>(expected.type) &&
         found.isComplex == 0;
}

// matio's numbers of the classes are those of the format.
static_assert(static_cast<int>(MatClass::kDouble) == MAT_C_DOUBLE);
static_assert(static_cast<int>(MatClass::kUInt8) == MAT_C_UINT8);
static_assert(static_cast<int>(MatClass::kUInt64) == MAT_C_UINT64);

}  // namespace

struct MatFile::Handle {
  mat_t* mat = nullptr;
  ~Handle() {
    if (mat != nullptr) Mat_Close(mat);
  }
};

MatFile::MatFile(std::string path, std::vector<MatVariable> variables)
    : path_(std::move(path)),
      variables_(std::move(variables)),
      handle_(std::make_unique<Handle>()) {}

MatFile::~MatFile() = default;

StatusOr<std::unique_ptr<MatFile>> MatFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<MatVariable> variables, ReadMatStructure(path));
  std::unique_ptr<MatFile> file(new MatFile(path, std::move(variables)));
  // Without Mat_LogInit() matio prints nothing.
  file->handle_->mat = Mat_Open(path.c_str(), MAT_ACC_RDONLY);
  if (file->handle_->mat == nullptr) {
    return DataLoss(fmt::format("{}: matio cannot open it", path));
  }
  return file;
}

StatusOr<MatVariable> MatFile::Find(std::string_view name) const {
  std::vector<std::string> names;
  for (const MatVariable& variable : variables_) {
    if (variable.name == name) return variable;
    names.push_back(variable.name);
  }
  return NotFound(fmt::format(
      "{} has no variable '{}': {}", path_, name,
      names.empty() ? "it has none at all"
                    : fmt::format("it has {}", fmt::join(names, ", "))));
}

Status MatFile::Read(const MatVariable& variable, void* out) {
  if (variable.elems() == 0) return OkStatus();
  mat_t* mat = handle_->mat;
  const UniqueVariable found(Mat_VarReadInfo(mat, variable.name.c_str()));
  if (found == nullptr || !Agrees(variable, *found)) {
    return DataLoss(fmt::format("{}: matio finds no '{}' of {}", path_,
                                variable.name, variable.ToString()));
  }
  const int error =
      Mat_VarReadDataLinear(mat, found.get(), out, /*start=*/0, /*stride=*/1,
                            static_cast<int>(variable.elems()));
  if (error != MATIO_E_NO_ERROR) {
    return DataLoss(fmt::format("{}: matio cannot read '{}' (error {})", path_,
                                variable.name, error));
  }
  return OkStatus();
}

Status MatFile::ReadBytes(const MatVariable& variable, uint8_t* out) {
  if (variable.type != MatClass::kUInt8) {
    return InvalidArgument(fmt::format("{}: '{}' is {}, expected uint8", path_,
                                       variable.name, variable.ToString()));
  }
  return Read(variable, out);
}

template <typename T>
StatusOr<std::vector<double>> MatFile::ReadAs(const MatVariable& variable) {
  std::vector<T> values(static_cast<size_t>(variable.elems()));
  RETURN_IF_ERROR(Read(variable, values.data()));
  return std::vector<double>(values.begin(), values.end());
}

StatusOr<std::vector<double>> MatFile::ReadNumbers(
    const MatVariable& variable) {
  switch (variable.type) {
    case MatClass::kDouble:
      return ReadAs<double>(variable);
    case MatClass::kSingle:
      return ReadAs<float>(variable);
    case MatClass::kInt8:
      return ReadAs<int8_t>(variable);
    case MatClass::kUInt8:
      return ReadAs<uint8_t>(variable);
    case MatClass::kInt16:
      return ReadAs<int16_t>(variable);
    case MatClass::kUInt16:
      return ReadAs<uint16_t>(variable);
    case MatClass::kInt32:
      return ReadAs<int32_t>(variable);
    case MatClass::kUInt32:
      return ReadAs<uint32_t>(variable);
    case MatClass::kInt64:
      return ReadAs<int64_t>(variable);
    case MatClass::kUInt64:
      return ReadAs<uint64_t>(variable);
  }
  LOG(FATAL) << "no class " << static_cast<int>(variable.type);
}

}  // namespace densenet
