#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "core/io/file.h"
#include "core/io/image_info.h"
#include "core/io/record_reader.h"
#include "densenet/cli/records.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "records show";
constexpr size_t kMaxText = 200;   // bytes that are shown as a text
constexpr size_t kMaxValues = 16;  // of a list, as text

struct Options {
  std::string file;
  int64_t record = 0;
  std::optional<std::string> image;
  ExampleSchema schema;
  std::optional<std::string> json;
};

struct Record {
  int64_t offset = 0;
  int64_t bytes = 0;
  TfFeatures features;
};

StatusOr<Record> ReadRecord(const Options& options, const Environment& env) {
  ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                   RecordReader::Open(options.file));
  for (;;) {
    if (env.should_stop && env.should_stop()) {
      return Unavailable(
          fmt::format("stopped before record {}", options.record));
    }
    StatusOr<std::optional<std::string_view>> next = reader->Next();
    if (!next.ok() && !reader->fault()) return next.status();
    if (next.ok() && !*next) {
      return NotFound(fmt::format(
          "{}: there is no record {}: it has {}, counted from 0", options.file,
          options.record, Counted(reader->record() + 1, "record")));
    }
    if (reader->record() < options.record) continue;
    RETURN_IF_ERROR(next.status());
    Record record;
    record.offset = reader->offset();
    record.bytes = static_cast<int64_t>((**next).size());
    ASSIGN_OR_RETURN(
        record.features,
        ParseTfExample(**next, fmt::format("{}: record {}", options.file,
                                           options.record)));
    return record;
  }
}

bool IsText(std::string_view bytes) {
  if (bytes.size() > kMaxText) return false;
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<uint8_t>(c) >= 0x20 && c != 0x7f;
  });
}

std::string Describe(const std::string& bytes) {
  if (IsText(bytes)) return fmt::format("\"{}\"", bytes);
  const StatusOr<ImageInfo> image = CheckImage(bytes, "image");
  return image.ok() ? fmt::format("{} bytes, {} of {}x{}", bytes.size(),
                                  image->format, image->width, image->height)
                    : fmt::format("{} bytes", bytes.size());
}

std::string Describe(int64_t value) { return std::to_string(value); }
std::string Describe(float value) { return fmt::format("{}", value); }

Json ValueToJson(const std::string& bytes) {
  return IsText(bytes) ? Json(bytes) : Json{{"bytes", bytes.size()}};
}
Json ValueToJson(int64_t value) { return value; }
Json ValueToJson(float value) { return value; }

// A feature as a line and as JSON.
struct Describer {
  std::string* text;
  Json* json;

  void operator()(std::monostate) const {
    *text = "nothing";
    *json = {{"kind", "nothing"}, {"values", Json::array()}};
  }
  void operator()(const std::vector<std::string>& v) const { List("bytes", v); }
  void operator()(const std::vector<float>& v) const { List("floats", v); }
  void operator()(const std::vector<int64_t>& v) const { List("integers", v); }

  template <typename T>
  void List(std::string_view kind, const std::vector<T>& values) const {
    std::vector<std::string> shown;
    Json list = Json::array();
    for (const T& value : values) {
      if (shown.size() < kMaxValues) shown.push_back(Describe(value));
      list.push_back(ValueToJson(value));
    }
    const bool more = shown.size() < values.size();
    *text = fmt::format("{:<9} {}{}", kind, fmt::join(shown, ", "),
                        more ? fmt::format(", ... ({})", values.size()) : "");
    *json = {{"kind", kind}, {"values", std::move(list)}};
  }
};

Json Print(const Options& options, const Record& record, std::ostream& out) {
  out << fmt::format("{}: record {}, byte {}, {} bytes\n", options.file,
                     options.record, record.offset, record.bytes);
  Json features = Json::object();
  for (const auto& [name, feature] : record.features) {
    std::string text;
    std::visit(Describer{&text, &features[name]}, feature);
    out << fmt::format("  {:<24} {}\n", name, text);
  }
  return {{"file", options.file},
          {"record", options.record},
          {"offset", record.offset},
          {"bytes", record.bytes},
          {"features", std::move(features)}};
}

Status WriteImage(const Options& options, const Record& record,
                  std::ostream& out) {
  const std::string& key = options.schema.image_key;
  const auto at = record.features.find(key);
  const auto* values = at == record.features.end()
                           ? nullptr
                           : std::get_if<std::vector<std::string>>(&at->second);
  if (values == nullptr || values->size() != 1) {
    return InvalidArgument(fmt::format(
        "{}: record {} has no image in '{}'; name its feature with --image-key",
        options.file, options.record, key));
  }
  RETURN_IF_ERROR(WriteFileAtomically(*options.image, values->front()));
  out << fmt::format("image written to {}\n", *options.image);
  return OkStatus();
}

int Run(const Options& options, const Environment& env) {
  const auto fail = [&](const Status& status) {
    return Report(env, kName, status, kExitFailed);
  };
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return fail(status);
  const StatusOr<Record> record = ReadRecord(options, env);
  if (!record.ok()) return fail(record.status());
  const Json json = Print(options, *record, env.out);
  if (options.image) {
    status = WriteImage(options, *record, env.out);
    if (!status.ok()) return fail(status);
  }
  status = WriteJsonOption(options.json, json);
  if (!status.ok()) return fail(status);
  return kExitDone;
}

}  // namespace

void AddRecordsShow(CLI::App& group, const Environment& env,
                    Command* selected) {
  CLI::App* command =
      group.add_subcommand("show", "the features of a record, and its image");
  auto o = std::make_shared<Options>();
  command->add_option("file", o->file, "a record file")
      ->type_name("FILE")
      ->required();
  command->add_option("--record", o->record, "which, from 0 (0)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  AddOption(*command, "--image", o->image, "write its image there", "FILE");
  command
      ->add_option("--image-key", o->schema.image_key,
                   "the feature with the image (image/encoded)")
      ->type_name("NAME");
  AddOption(*command, "--json", o->json,
            "write {\"features\": {NAME: {\"kind\", \"values\"}}, ...}",
            "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
