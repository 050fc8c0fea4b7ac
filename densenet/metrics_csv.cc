#include "densenet/metrics_csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/io/file.h"

namespace densenet {
namespace {

constexpr std::string_view kFirstHeader =
    "epoch,step,learning_rate,train_loss,train_error,validation_loss,"
    "validation_error,test_loss,test_error,images_per_second,seconds";
constexpr std::string_view kHeader =
    "epoch,step,learning_rate,train_loss,train_error,validation_loss,"
    "validation_error,test_loss,test_error,images_per_second,seconds,"
    "train_top5_error,validation_top5_error,test_top5_error,skipped";
constexpr size_t kFirstColumns = 11;
constexpr size_t kColumns = 15;

std::string Top5Field(const std::optional<Score>& score) {
  if (!score || !score->top5_error_percent) return "";
  return fmt::format("{}", *score->top5_error_percent);
}

std::string ScoreFields(const std::optional<Score>& score) {
  if (!score) return ",";
  return fmt::format("{},{}", score->loss, score->error_percent);
}

std::string Row(const EpochMetrics& m) {
  return fmt::format("{},{},{:.6g},{},{},{},{:.1f},{:.3f},{},{},{},{}\n",
                     m.epoch, m.step, m.learning_rate, ScoreFields(m.train),
                     ScoreFields(m.validation), ScoreFields(m.test),
                     m.images_per_second, m.seconds, Top5Field(m.train),
                     Top5Field(m.validation), Top5Field(m.test), m.skipped);
}

bool ParseTop5(absl::string_view field, std::optional<Score>* score) {
  if (field.empty()) return true;
  double value = 0;
  if (!*score || !absl::SimpleAtod(field, &value)) return false;
  (*score)->top5_error_percent = value;
  return true;
}

bool ParseScore(absl::string_view loss, absl::string_view error,
                std::optional<Score>* score) {
  score->reset();
  if (loss.empty() && error.empty()) return true;
  score->emplace();
  return absl::SimpleAtod(loss, &(*score)->loss) &&
         absl::SimpleAtod(error, &(*score)->error_percent);
}

bool ParseRow(absl::string_view line, EpochMetrics* m) {
  const std::vector<absl::string_view> f = absl::StrSplit(line, ',');
  std::optional<Score> train;
  if ((f.size() != kColumns && f.size() != kFirstColumns) ||
      !absl::SimpleAtoi(f[0], &m->epoch) || !absl::SimpleAtoi(f[1], &m->step) ||
      !absl::SimpleAtod(f[2], &m->learning_rate) ||
      !ParseScore(f[3], f[4], &train) || !train ||
      !ParseScore(f[5], f[6], &m->validation) ||
      !ParseScore(f[7], f[8], &m->test) ||
      !absl::SimpleAtod(f[9], &m->images_per_second) ||
      !absl::SimpleAtod(f[10], &m->seconds)) {
    return false;
  }
  if (f.size() == kColumns &&
      (!ParseTop5(f[11], &train) || !ParseTop5(f[12], &m->validation) ||
       !ParseTop5(f[13], &m->test) || !absl::SimpleAtoi(f[14], &m->skipped))) {
    return false;
  }
  m->train = *train;
  return true;
}

// Calls row(metrics, line) for each whole row. What follows the last newline
// is a row that a kill cut short.
template <typename Fn>
Status ForEachRow(const std::string& path, Fn row) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.size() > 1 && StdView(lines[0]) != kHeader &&
      StdView(lines[0]) != kFirstHeader) {
    return DataLoss(fmt::format("{}: columns are '{}', expected '{}'", path,
                                StdView(lines[0]), kHeader));
  }
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    EpochMetrics metrics;
    if (!ParseRow(lines[i], &metrics)) {
      return DataLoss(fmt::format("{}: line {} is no row of metrics: '{}'",
                                  path, i + 1, StdView(lines[i])));
    }
    row(metrics, lines[i]);
  }
  return OkStatus();
}

}  // namespace

StatusOr<MetricsCsv> MetricsCsv::Open(const std::string& path,
                                      int64_t last_step) {
  std::string kept(kHeader);
  kept += '\n';
  if (access(path.c_str(), F_OK) == 0) {
    RETURN_IF_ERROR(
        ForEachRow(path, [&](const EpochMetrics& m, absl::string_view line) {
          if (m.step > last_step) return;
          kept += StdView(line);
          // A row of a file without the later columns.
          if (std::count(line.begin(), line.end(), ',') + 1 == kFirstColumns) {
            kept += ",,,,0";
          }
          kept += '\n';
        }));
  }
  RETURN_IF_ERROR(WriteFileAtomically(path, kept));
  return MetricsCsv(path);
}

Status MetricsCsv::EpochDone(const EpochMetrics& metrics) {
  const UniqueFd fd(open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd.valid()) return FileError("open", path_, errno);
  const std::string row = Row(metrics);
  size_t done = 0;
  while (done < row.size()) {
    const ssize_t n = write(fd.get(), row.data() + done, row.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path_, errno);
    done += static_cast<size_t>(n);
  }
  return fsync(fd.get()) == 0 ? OkStatus() : FileError("sync", path_, errno);
}

StatusOr<std::vector<EpochMetrics>> ReadMetricsCsv(const std::string& path) {
  std::vector<EpochMetrics> rows;
  RETURN_IF_ERROR(ForEachRow(
      path,
      [&](const EpochMetrics& m, absl::string_view) { rows.push_back(m); }));
  return rows;
}

}  // namespace densenet
