#include "densenet/metrics_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

EpochMetrics Row(int64_t epoch) {
  EpochMetrics m;
  m.epoch = epoch;
  m.step = 10 * epoch;
  m.learning_rate = 0.1;
  m.train = {1.5, 12.5};
  m.images_per_second = 100;
  m.seconds = 2;
  return m;
}

TEST(MetricsCsv, EmptyFieldsWhereNothingWasMeasured) {
  TempDir dir;
  const std::string path = dir.File("metrics.csv");
  StatusOr<MetricsCsv> csv = MetricsCsv::Open(path, 0);
  ASSERT_OK(csv);
  EpochMetrics m = Row(1);
  m.test = Score{0.25, 6.25};
  ASSERT_OK(csv->EpochDone(m));
  EXPECT_THAT(Slurp(path), StartsWith("epoch,step,learning_rate,"));
  EXPECT_THAT(Slurp(path),
              HasSubstr("\n1,10,0.1,1.5,12.5,,,0.25,6.25,100.0,2.000,,,,0\n"));
  StatusOr<std::vector<EpochMetrics>> rows = ReadMetricsCsv(path);
  ASSERT_OK(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].test, m.test);
  EXPECT_FALSE((*rows)[0].validation.has_value());
}

TEST(MetricsCsv, Top5AndSkipped) {
  TempDir dir;
  const std::string path = dir.File("metrics.csv");
  StatusOr<MetricsCsv> csv = MetricsCsv::Open(path, 0);
  ASSERT_OK(csv);
  EpochMetrics m = Row(1);
  m.train.top5_error_percent = 3.5;
  m.test = Score{0.25, 6.25, 1.5};
  m.skipped = 7;
  ASSERT_OK(csv->EpochDone(m));
  StatusOr<std::vector<EpochMetrics>> rows = ReadMetricsCsv(path);
  ASSERT_OK(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].train, m.train);
  EXPECT_EQ((*rows)[0].test, m.test);
  EXPECT_EQ((*rows)[0].skipped, 7);
}

// Run folders from before there were top-5 errors go on.
TEST(MetricsCsv, FilesWithoutTheLaterColumns) {
  TempDir dir;
  const std::string path = dir.Write(
      "metrics.csv",
      "epoch,step,learning_rate,train_loss,train_error,validation_loss,"
      "validation_error,test_loss,test_error,images_per_second,seconds\n"
      "1,10,0.1,1.5,12.5,,,0.25,6.25,100.0,2.000\n");
  StatusOr<MetricsCsv> csv = MetricsCsv::Open(path, 10);
  ASSERT_OK(csv);
  ASSERT_OK(csv->EpochDone(Row(2)));
  EXPECT_THAT(Slurp(path), HasSubstr(",100.0,2.000,,,,0\n2,20,"));
  StatusOr<std::vector<EpochMetrics>> rows = ReadMetricsCsv(path);
  ASSERT_OK(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].test, (Score{0.25, 6.25}));
}

TEST(MetricsCsv, RowsAfterTheCheckpointAreCutOff) {
  TempDir dir;
  const std::string path = dir.File("metrics.csv");
  for (int64_t epoch = 1; epoch <= 3; ++epoch) {
    StatusOr<MetricsCsv> csv = MetricsCsv::Open(path, 1000);
    ASSERT_OK(csv);
    ASSERT_OK(csv->EpochDone(Row(epoch)));
  }
  // A kill in the middle of a row.
  const std::string whole = Slurp(path);
  dir.Write("metrics.csv", whole + "4,40,0.1,1.");
  ASSERT_OK(MetricsCsv::Open(path, 20));
  StatusOr<std::vector<EpochMetrics>> rows = ReadMetricsCsv(path);
  ASSERT_OK(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[1].step, 20);
  EXPECT_EQ(Slurp(path), whole.substr(0, whole.rfind("3,30")));
}

TEST(MetricsCsv, AnotherFileIsRefused) {
  TempDir dir;
  EXPECT_THAT(MetricsCsv::Open(dir.Write("a.csv", "x,y\n1,2\n"), 0),
              Fails(StatusCode::kDataLoss, {"a.csv", "x,y"}));
  const std::string path = dir.File("b.csv");
  ASSERT_OK(MetricsCsv::Open(path, 0));
  dir.Write("b.csv", Slurp(path) + "rubbish\n");
  EXPECT_THAT(MetricsCsv::Open(path, 0),
              Fails(StatusCode::kDataLoss, {"b.csv", "line 2", "rubbish"}));
}

}  // namespace
}  // namespace densenet
