// Bytes a second that one thread reads from TFRecord files in the page cache,
// both checksums of every record compared.
//
//   record_reader_benchmark --benchmark_repetitions=5

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <glog/logging.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/io/record_index.h"
#include "core/io/record_reader.h"
#include "core/io/record_writer.h"
#include "core/random.h"

namespace densenet {
namespace {

constexpr int64_t kFileBytes = int64_t{256} << 20;

// A file of records of one size, removed at the end.
class RecordFile {
 public:
  RecordFile(int64_t record_bytes, bool gzip)
      : path_((std::filesystem::temp_directory_path() /
               fmt::format("densenet-benchmark-{}", getpid()))
                  .string()) {
    std::string record(static_cast<size_t>(record_bytes), '\0');
    StatusOr<RecordWriter> writer = RecordWriter::Create(path_, {.gzip = gzip});
    CHECK(writer.ok()) << writer.status();
    // Text of 64 letters where it is packed: 6 of its 8 bits, so that it packs
    // to 75 % of its size.
    for (int64_t i = 0; i < record_bytes; ++i) {
      const uint32_t bits = RandomBits({.seed = 1}, static_cast<uint64_t>(i));
      record[static_cast<size_t>(i)] =
          static_cast<char>(gzip ? ' ' + bits % 64 : bits);
    }
    const int64_t bytes = gzip ? kFileBytes / 8 : kFileBytes;
    for (int64_t i = 0; i < bytes / record_bytes; ++i) {
      CHECK(writer->Append(record).ok());
    }
    CHECK(writer->Commit().ok());
    records_ = writer->records();
    data_bytes_ = records_ * (record_bytes + 16);
  }
  ~RecordFile() { unlink(path_.c_str()); }

  const std::string& path() const { return path_; }
  int64_t records() const { return records_; }
  // Of what a reader goes through, unpacked.
  int64_t data_bytes() const { return data_bytes_; }

 private:
  std::string path_;
  int64_t records_ = 0;
  int64_t data_bytes_ = 0;
};

int64_t ReadAll(const std::string& path) {
  StatusOr<std::unique_ptr<RecordReader>> reader = RecordReader::Open(path);
  CHECK(reader.ok()) << reader.status();
  for (int64_t count = 0;; ++count) {
    StatusOr<std::optional<std::string_view>> record = (*reader)->Next();
    CHECK(record.ok()) << record.status();
    if (!*record) return count;
    benchmark::DoNotOptimize((**record).data());
  }
}

void BM_ReadAndVerify(benchmark::State& state, bool gzip) {
  const RecordFile file(state.range(0), gzip);
  CHECK_EQ(ReadAll(file.path()), file.records());
  for (auto _ : state) ReadAll(file.path());
  state.SetBytesProcessed(state.iterations() * file.data_bytes());
  state.SetItemsProcessed(state.iterations() * file.records());
}
BENCHMARK_CAPTURE(BM_ReadAndVerify, plain, false)
    ->Arg(3 << 10)
    ->Arg(110 << 10)
    ->Arg(4 << 20)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadAndVerify, gzip, true)
    ->Arg(110 << 10)
    ->Unit(benchmark::kMillisecond);

// Opening: one read of 12 bytes a record, or of many headers at once.
void BM_Index(benchmark::State& state) {
  const RecordFile file(state.range(0), false);
  for (auto _ : state) {
    const StatusOr<RecordIndex> index = RecordIndex::Open(file.path());
    CHECK(index.ok() && index->size() == file.records());
  }
  state.SetItemsProcessed(state.iterations() * file.records());
}
BENCHMARK(BM_Index)->Arg(3 << 10)->Arg(110 << 10)->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace densenet
