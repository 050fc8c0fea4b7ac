// tests/densenet/training_fixture.h
//
// Runs of Train() on data in `data_`, their folders in `runs_`, what they
// print in `out_`, and what they leave behind.

#ifndef DENSENET_TESTS_DENSENET_TRAINING_FIXTURE_H_
#define DENSENET_TESTS_DENSENET_TRAINING_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "densenet/trainer.h"
#include "memory/host_memory.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet::testing {

class TrainingFixture : public ::testing::Test {
 protected:
  StatusOr<TrainResult> Run(const RunOptions& options,
                            const TrainHooks& hooks = {}) {
    out_.str("");
    StatusOr<RunConfig> config = ResolveRunConfig(options);
    if (!config.ok()) return config.status();
    Console console(out_, /*terminal=*/false);
    return Train(*config, hooks, console);
  }
  // As a kill -9 after step `step` would end it.
  void RunUntilKilled(const RunOptions& options, int64_t step) {
    TrainHooks hooks;
    hooks.after_step = [step](const TrainingProgress& progress) {
      return progress.global_step == step ? Unavailable("killed") : OkStatus();
    };
    ASSERT_THAT(Run(options, hooks),
                Fails(StatusCode::kUnavailable, {"killed"}));
  }

  // All tensors of a checkpoint, as bytes.
  static std::map<std::string, std::string> Tensors(const std::string& path) {
    StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    EXPECT_OK(file);
    std::map<std::string, std::string> tensors;
    HostMemory memory;
    for (const auto& [name, entry] : file->tensors()) {
      StatusOr<Tensor> tensor = file->Read(name, memory);
      EXPECT_OK(tensor);
      tensors[name].assign(static_cast<const char*>(tensor->view().raw()),
                           static_cast<size_t>(tensor->bytes()));
    }
    return tensors;
  }
  // The names of tensors that differ.
  static std::vector<std::string> Differing(const std::string& a,
                                            const std::string& b) {
    std::vector<std::string> names;
    const auto left = Tensors(a);
    const auto right = Tensors(b);
    EXPECT_EQ(left.size(), right.size());
    for (const auto& [name, bytes] : left) {
      if (right.count(name) == 0 || right.at(name) != bytes) {
        names.push_back(name);
      }
    }
    return names;
  }
  std::vector<EpochMetrics> Metrics(const std::string& run) {
    StatusOr<std::vector<EpochMetrics>> rows =
        ReadMetricsCsv(runs_.File(run + "/metrics.csv"));
    EXPECT_OK(rows);
    return *rows;
  }

  TempDir data_;
  TempDir runs_;
  std::ostringstream out_;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_TRAINING_FIXTURE_H_
