#include "densenet/data/record_manifest.h"

#include <fmt/format.h>

#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "core/io/file.h"
#include "densenet/run_config.h"
#include "densenet/run_folder.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "densenet-records-1";

// Reads the keys of one JSON object; the first that is wrong is the error.
class Fields {
 public:
  Fields(const Json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  void Text(const char* key, std::string* out) {
    if (const Json* value = Find(key, "a text", &Json::is_string)) {
      *out = value->get<std::string>();
    }
  }
  void Count(const char* key, int64_t* out) {
    if (const Json* value = Find(key, "a count", &Json::is_number_integer)) {
      *out = value->get<int64_t>();
      if (*out < 0) Wrong(key, "a count");
    }
  }
  void Integer(const char* key, int64_t* out) {
    if (const Json* value = Find(key, "a number", &Json::is_number_integer)) {
      *out = value->get<int64_t>();
    }
  }
  const Json* Array(const char* key) {
    return Find(key, "a list", &Json::is_array);
  }
  void Wrong(const char* key, std::string_view expected) {
    if (!status_.ok()) return;
    status_ = InvalidArgument(fmt::format(
        "{}: '{}' is missing or wrong, expected {}", where_, key, expected));
  }
  const Status& status() const { return status_; }

 private:
  const Json* Find(const char* key, std::string_view expected,
                   bool (Json::*is)() const noexcept) {
    const auto at = object_.is_object() ? object_.find(key) : object_.end();
    if (at != object_.end() && ((*at).*is)()) return &*at;
    Wrong(key, expected);
    return nullptr;
  }

  const Json& object_;
  const std::string where_;
  Status status_;
};

// A manifest reaches no other folder.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

StatusOr<RecordShard> ShardFromJson(const Json& json, std::string where) {
  RecordShard shard;
  Fields fields(json, std::move(where));
  fields.Text("file", &shard.file);
  fields.Text("split", &shard.split);
  fields.Count("records", &shard.records);
  fields.Count("bytes", &shard.bytes);
  fields.Text("crc32c", &shard.crc32c);
  if (!IsPlainName(shard.file)) {
    fields.Wrong("file", "a name without folders");
  }
  RETURN_IF_ERROR(fields.status());
  return shard;
}

bool IsDigits(std::string_view text) {
  return text.size() == 5 && text.find_first_not_of("0123456789") == text.npos;
}

// "train-00000-of-01024", "x.tfrecord", also with ".gz".
bool IsRecordFileName(std::string_view name) {
  if (name.starts_with('.') || IsTemporaryName(name)) return false;
  if (name.find(".tfrecord") != name.npos) return true;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  constexpr std::string_view kOf = "-of-";
  const size_t of = name.rfind(kOf);
  return of != name.npos && of >= 6 && name[of - 6] == '-' &&
         IsDigits(name.substr(of - 5, 5)) &&
         IsDigits(name.substr(of + kOf.size()));
}

StatusOr<std::vector<std::string>> RecordFileNames(const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(folder));
  std::erase_if(names, [&](const std::string& name) {
    std::error_code ignored;  // what cannot be looked at fails when opened
    return !IsRecordFileName(name) ||
           fs::is_directory(fs::path(folder) / name, ignored);
  });
  return names;
}

std::string Join(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

// The files of `folder` that the manifest names, and those it does not.
StatusOr<RecordSet> SetOfManifest(const std::string& folder,
                                  const std::string& manifest_path) {
  RecordSet set;
  set.manifest_path = manifest_path;
  ASSIGN_OR_RETURN(set.manifest, ReadRecordManifest(manifest_path));
  for (const RecordShard& shard : set.manifest->shards) {
    set.paths.push_back(Join(folder, shard.file));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   RecordFileNames(folder));
  for (const std::string& name : names) {
    if (set.manifest->Find(name) == nullptr) {
      set.extra_paths.push_back(Join(folder, name));
    }
  }
  return set;
}

StatusOr<RecordSet> FindInFolder(
    const std::string& folder,
    const std::optional<std::string>& manifest_path) {
  if (manifest_path) return SetOfManifest(folder, *manifest_path);
  const std::string beside = Join(folder, std::string(kRecordManifestName));
  std::error_code error;
  if (fs::exists(beside, error)) return SetOfManifest(folder, beside);
  RecordSet set;
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   RecordFileNames(folder));
  for (const std::string& name : names) {
    set.paths.push_back(Join(folder, name));
  }
  if (!set.paths.empty()) return set;
  return NotFound(fmt::format(
      "{} has neither {} nor files named *.tfrecord, *.tfrecord.gz or "
      "*-00000-of-00001",
      folder, kRecordManifestName));
}

// The manifest beside a file, if that is one and names it.
Status AddManifestBeside(const std::string& path, const std::string& name,
                         RecordSet* set) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string manifest = Join(parent.empty() ? "." : parent.string(),
                                    std::string(kRecordManifestName));
  std::error_code error;
  if (!fs::exists(manifest, error)) return OkStatus();
  StatusOr<RecordManifest> read = ReadRecordManifest(manifest);
  if (!read.ok()) {
    // Somebody else's manifest.json is none of this file's.
    const StatusOr<std::string> text = ReadFile(manifest);
    const bool ours = text.ok() && text->find(kFormat) != std::string::npos;
    return ours ? read.status() : OkStatus();
  }
  if (read->Find(name) == nullptr) return OkStatus();
  set->manifest = *std::move(read);
  set->manifest_path = manifest;
  return OkStatus();
}

}  // namespace

int64_t RecordManifest::records() const {
  int64_t sum = 0;
  for (const RecordShard& shard : shards) sum += shard.records;
  return sum;
}

const RecordShard* RecordManifest::Find(std::string_view file) const {
  for (const RecordShard& shard : shards) {
    if (shard.file == file) return &shard;
  }
  return nullptr;
}

StatusOr<RecordManifest> ReadRecordManifest(const std::string& path) {
  ASSIGN_OR_RETURN(const Json json, ReadJsonObject(path));
  RecordManifest manifest;
  Fields fields(json, path);
  std::string format;
  fields.Text("format", &format);
  if (format != kFormat) fields.Wrong("format", fmt::format("'{}'", kFormat));
  fields.Text("image_key", &manifest.schema.image_key);
  fields.Text("label_key", &manifest.schema.label_key);
  fields.Integer("label_offset", &manifest.schema.label_offset);
  if (const Json* names = fields.Array("class_names")) {
    for (const Json& name : *names) {
      if (!name.is_string()) {
        fields.Wrong("class_names", "a list of texts");
        break;
      }
      manifest.class_names.push_back(name.get<std::string>());
    }
  }
  const Json* shards = fields.Array("shards");
  RETURN_IF_ERROR(fields.status());
  for (const Json& json_shard : *shards) {
    ASSIGN_OR_RETURN(
        RecordShard shard,
        ShardFromJson(json_shard, fmt::format("{}: shard {}", path,
                                              manifest.shards.size())));
    if (manifest.Find(shard.file) != nullptr) {
      return InvalidArgument(
          fmt::format("{}: the file {} is there twice", path, shard.file));
    }
    manifest.shards.push_back(std::move(shard));
  }
  return manifest;
}

Status WriteRecordManifest(const std::string& path,
                           const RecordManifest& manifest) {
  Json shards = Json::array();
  for (const RecordShard& shard : manifest.shards) {
    shards.push_back({{"file", shard.file},
                      {"split", shard.split},
                      {"records", shard.records},
                      {"bytes", shard.bytes},
                      {"crc32c", shard.crc32c}});
  }
  const Json json = {{"format", kFormat},
                     {"class_names", manifest.class_names},
                     {"image_key", manifest.schema.image_key},
                     {"label_key", manifest.schema.label_key},
                     {"label_offset", manifest.schema.label_offset},
                     {"shards", std::move(shards)}};
  return WriteFileAtomically(path, DumpJson(json, 2) + "\n");
}

StatusOr<RecordSet> FindRecordSet(
    const std::string& path, const std::optional<std::string>& manifest_path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return FindInFolder(path, manifest_path);
  if (!fs::exists(path, error)) {
    return NotFound(fmt::format("{}: there is no such file or folder", path));
  }
  RecordSet set;
  set.paths = {path};
  const std::string name = fs::path(path).filename().string();
  if (!manifest_path) {
    RETURN_IF_ERROR(AddManifestBeside(path, name, &set));
    return set;
  }
  ASSIGN_OR_RETURN(set.manifest, ReadRecordManifest(*manifest_path));
  if (set.manifest->Find(name) == nullptr) {
    return InvalidArgument(fmt::format(
        "{}: the manifest {} does not name it: give one that does, or none",
        path, *manifest_path));
  }
  set.manifest_path = *manifest_path;
  return set;
}

}  // namespace densenet
