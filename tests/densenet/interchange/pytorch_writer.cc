#include "tests/densenet/interchange/pytorch_writer.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <zip.h>

namespace densenet::testing {
namespace {

template <typename T>
std::string LittleEndian(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

void AddFile(zip_t* zip, const std::string& name, const std::string& bytes,
             bool compress) {
  zip_source_t* source =
      zip_source_buffer(zip, bytes.data(), bytes.size(), /*freep=*/0);
  CHECK(source != nullptr);
  const zip_int64_t index = zip_file_add(zip, name.c_str(), source, 0);
  CHECK_GE(index, 0) << zip_strerror(zip);
  CHECK_EQ(
      zip_set_file_compression(zip, static_cast<zip_uint64_t>(index),
                               compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0),
      0);
}

}  // namespace

PickleWriter& PickleWriter::Text(std::string_view text) {
  text_ += 'X' + LittleEndian(static_cast<uint32_t>(text.size()));
  text_ += text;
  return *this;
}

PickleWriter& PickleWriter::Int(int32_t value) {
  text_ += 'J' + LittleEndian(value);
  return *this;
}

PickleWriter& PickleWriter::Sizes(const std::vector<int64_t>& sizes) {
  text_ += '(';
  for (int64_t size : sizes) text_ += "\x8a\x08" + LittleEndian(size);
  text_ += 't';
  return *this;
}

PickleWriter& PickleWriter::Global(std::string_view module,
                                   std::string_view name) {
  text_ += fmt::format("c{}\n{}\n", module, name);
  return *this;
}

PickleWriter& PickleWriter::Storage(std::string_view type, std::string_view key,
                                    int64_t elems) {
  return Raw("(")
      .Text("storage")
      .Global("torch", type)
      .Text(key)
      .Text("cpu")
      .Raw("\x8a\x08" + LittleEndian(elems))
      .Raw("tQ");
}

PickleWriter& PickleWriter::Tensor(std::string_view type, std::string_view key,
                                   int64_t elems, int64_t offset,
                                   const std::vector<int64_t>& shape,
                                   const std::vector<int64_t>& strides) {
  return Global("torch._utils", "_rebuild_tensor_v2")
      .Raw("(")
      .Storage(type, key, elems)
      .Raw("\x8a\x08" + LittleEndian(offset))
      .Sizes(shape)
      .Sizes(strides)
      .Raw("\x89")
      .Global("collections", "OrderedDict")
      .Raw(")RtR");
}

void WriteTorchZip(const std::string& path, const std::string& pickle,
                   const std::map<std::string, std::string>& storages,
                   const ZipOptions& options) {
  int error = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  CHECK(zip != nullptr) << error;
  const auto add = [&](const std::string& name, const std::string& bytes) {
    AddFile(zip, options.folder + name, bytes, options.compress);
  };
  add("data.pkl", pickle);
  add("byteorder", options.byte_order);
  for (const auto& [key, bytes] : storages) add("data/" + key, bytes);
  CHECK_EQ(zip_close(zip), 0) << zip_strerror(zip);
}

std::string TorchLegacy(const std::string& pickle,
                        const std::map<std::string, std::string>& storages,
                        int64_t element_bytes) {
  std::string file("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  file += PickleWriter().Int(1001).Stop();
  file += PickleWriter().Raw("}").Stop();
  file += pickle;
  PickleWriter keys;
  keys.Raw("](");
  for (const auto& [key, bytes] : storages) keys.Text(key);
  file += keys.Raw("e").Stop();
  for (const auto& [key, bytes] : storages) {
    file += LittleEndian(static_cast<int64_t>(bytes.size()) / element_bytes);
    file += bytes;
  }
  return file;
}

}  // namespace densenet::testing
