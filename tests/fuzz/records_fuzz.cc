#include <glog/logging.h>

#include <string>
#include <variant>
#include <vector>

#include "core/io/record_index.h"
#include "core/io/record_reader.h"
#include "densenet/data/tf_example.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {
namespace {

constexpr RecordReader::Options kOptions = {.max_record_bytes = 1 << 20};

bool HasImage(const TfFeatures& features) {
  const auto image = features.find("image/encoded");
  const auto label = features.find("image/class/label");
  if (image == features.end() || label == features.end()) return false;
  const auto* bytes = std::get_if<std::vector<std::string>>(&image->second);
  const auto* labels = std::get_if<std::vector<int64_t>>(&label->second);
  return bytes != nullptr && bytes->size() == 1 && labels != nullptr &&
         labels->size() == 1;
}

void ParseRecord(std::string_view record) {
  const StatusOr<TfFeatures> features = ParseTfExample(record, "fuzz");
  if (features.ok()) {
    // What was understood is written and understood again.
    const std::string again = SerializeTfExample(*features);
    const StatusOr<TfFeatures> read = ParseTfExample(again, "fuzz");
    CHECK(read.ok()) << read.status();
    CHECK_EQ(SerializeTfExample(*read), again);
  }
  const StatusOr<LabelledImage> image = ParseLabelledImage(record, {}, "fuzz");
  if (features.ok()) {
    CHECK_EQ(image.ok(), HasImage(*features)) << image.status();
  }
  if (!features.ok() || !image.ok()) return;
  // Two readers of one format: protobuf and our walk over its bytes.
  const auto* bytes =
      std::get_if<std::vector<std::string>>(&features->at("image/encoded"));
  const auto* labels =
      std::get_if<std::vector<int64_t>>(&features->at("image/class/label"));
  CHECK(bytes != nullptr && labels != nullptr);
  CHECK_EQ(bytes->front(), image->encoded);
  CHECK_EQ(labels->front(), image->label);
}

// Every byte of a plain file is of a record or was dropped.
void ReadAll(const std::string& path, int64_t file_bytes) {
  StatusOr<std::unique_ptr<RecordReader>> reader =
      RecordReader::Open(path, kOptions);
  CHECK(reader.ok()) << reader.status();
  int64_t whole_bytes = 0;
  for (int64_t number = 0;; ++number) {
    StatusOr<std::optional<std::string_view>> record = (*reader)->Next();
    if (record.ok() && !*record) break;
    CHECK_EQ((*reader)->record(), number);
    if (record.ok()) {
      whole_bytes += static_cast<int64_t>((**record).size()) +
                     kRecordHeaderBytes + kRecordFooterBytes;
      ParseRecord(**record);
    } else {
      CHECK((*reader)->fault()) << record.status();
    }
  }
  if (!(*reader)->compressed()) {
    CHECK_EQ(whole_bytes + (*reader)->dropped_bytes(), file_bytes);
  }
}

void ReadIndexed(const std::string& path) {
  std::vector<RecordFault> faults;
  const StatusOr<RecordIndex> index = RecordIndex::Open(
      path, {.max_record_bytes = kOptions.max_record_bytes}, &faults);
  if (!index.ok()) return;  // gzip
  CHECK_EQ(
      RecordIndex::Open(path, {.max_record_bytes = kOptions.max_record_bytes})
          .ok(),
      faults.empty());
  std::string data;
  for (int64_t i = 0; i < index->size(); ++i) {
    index->Read(i, &data).IgnoreError();
  }
}

}  // namespace

void FuzzRecords(std::string_view bytes) {
  const std::string path = WriteScratch("records", bytes) + "/records";
  ReadAll(path, static_cast<int64_t>(bytes.size()));
  ReadIndexed(path);
  ParseRecord(bytes);
}

}  // namespace densenet::testing
