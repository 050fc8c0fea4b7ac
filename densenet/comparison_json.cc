// A comparison as JSON and CSV.

#include <fmt/format.h>

#include "core/cpu/cpu_info.h"
#include "densenet/comparison_report.h"

namespace densenet {
namespace {

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void AddSummary(const std::string& name,
                const std::optional<SampleSummary>& summary, Json& json) {
  json[name + "_mean"] = summary ? Json(summary->mean) : Json(nullptr);
  json[name + "_deviation"] =
      summary ? OrNull(summary->deviation) : Json(nullptr);
}

Json RunJson(const RunConfig& config, const RunOutcome& outcome) {
  Json json = {{"seed", config.seed}, {"folder", config.out}};
  const bool diverged = outcome.divergence.has_value();
  json["diverged"] = OrNull(outcome.divergence);
  const auto of = [&](double value) {
    return diverged ? Json(nullptr) : Json(value);
  };
  json["final_error"] = of(diverged ? 0 : outcome.final_test().error_percent);
  json["best_error"] =
      of(diverged ? 0 : outcome.best_test().test->error_percent);
  json["best_epoch"] =
      diverged ? Json(nullptr) : Json(outcome.best_test().epoch);
  json["final_test_loss"] = of(diverged ? 0 : outcome.final_test().loss);
  json["final_train_loss"] =
      of(diverged ? 0 : outcome.epochs.back().train.loss);
  json["epochs"] = outcome.epochs.size();
  json["training_seconds"] = outcome.training_seconds();
  return json;
}

Json RowJson(const ComparedRuns& runs, const ComparisonRow& row) {
  Json json = {{"optimizer", row.optimizer}, {"lr", row.learning_rate}};
  json["seeds"] = runs.configs.size();
  json["diverged"] = row.diverged.size();
  AddSummary("final_error", row.final_error, json);
  AddSummary("best_error", row.best_error, json);
  json["training_seconds"] = row.training_seconds;
  json["runs"] = Json::array();
  for (size_t i = 0; i < runs.outcomes.size(); ++i) {
    json["runs"].push_back(RunJson(runs.configs[i], runs.outcomes[i]));
  }
  return json;
}

Json PairJson(const ComparisonPair& pair) {
  Json json = {{"first", pair.first}, {"second", pair.second}};
  json["differences"] = pair.differences;
  AddSummary("difference", pair.difference, json);
  const bool tested = pair.test.has_value();
  const auto of = [&](double value) {
    return tested ? Json(value) : Json(nullptr);
  };
  json["t"] = of(tested ? pair.test->t : 0);
  json["degrees_of_freedom"] =
      tested ? Json(pair.test->degrees_of_freedom) : Json(nullptr);
  json["p"] = of(tested ? pair.test->p : 0);
  json["p_holm"] = OrNull(pair.adjusted_p);
  json["interval_low"] = of(tested ? pair.test->low : 0);
  json["interval_high"] = of(tested ? pair.test->high : 0);
  json["significant"] = tested ? Json(pair.significant()) : Json(nullptr);
  json["verdict"] = pair.verdict;
  return json;
}

Json GridJson(const Comparison& comparison) {
  Json json = Json::array();
  for (const RateSearch& search : comparison.grid) {
    for (const RatePoint& point : search.points) {
      const bool diverged = !point.error_percent;
      json.push_back({{"optimizer", search.optimizer},
                      {"lr", point.rate},
                      {"seeds", comparison.options.grid_seeds},
                      {"validation_error_mean", OrNull(point.error_percent)},
                      {"validation_loss_mean",
                       diverged ? Json(nullptr) : Json(point.loss)},
                      {"chosen", point.rate == search.chosen()}});
    }
  }
  return json;
}

// What all runs have in common.
Json RecipeJson(const RunConfig& config) {
  Json json = ToJson(config);
  for (const char* key : {"optimizer", "lr", "seed"}) json.erase(key);
  return json;
}

std::string Cell(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Json ComparisonJson(const Comparison& comparison) {
  const std::vector<ComparisonRow> rows = SummarizeRuns(comparison);
  Json json;
  json["rows"] = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    json["rows"].push_back(RowJson(comparison.rows[i], rows[i]));
  }
  json["pairs"] = Json::array();
  for (const ComparisonPair& pair : ComparePairs(comparison)) {
    json["pairs"].push_back(PairJson(pair));
  }
  json["significance_level"] = kSignificanceLevel;
  json["seeds"] = comparison.seeds;
  json["train_images"] = comparison.train_images;
  json["test_images"] = comparison.test_images;
  json["notes"] = comparison.notes;
  json["recipe"] = RecipeJson(comparison.recipe);
  if (comparison.grid_recipe) {
    json["grid"] = GridJson(comparison);
    json["grid_recipe"] = RecipeJson(*comparison.grid_recipe);
  }
  json["machine"] = GetCpuInfo().model;
  return json;
}

std::string ComparisonCsv(const Comparison& comparison) {
  constexpr const char* kColumns[] = {
      "seed",       "final_error",     "best_error",
      "best_epoch", "final_test_loss", "final_train_loss",
      "epochs",     "training_seconds"};
  std::string csv = "optimizer,lr";
  for (const char* column : kColumns) csv += fmt::format(",{}", column);
  csv += ",diverged\n";
  const Json json = ComparisonJson(comparison);
  for (const Json& row : json["rows"]) {
    for (const Json& run : row["runs"]) {
      csv += fmt::format("{},{}", Cell(row["optimizer"]), Cell(row["lr"]));
      for (const char* column : kColumns)
        csv += fmt::format(",{}", Cell(run[column]));
      csv += run["diverged"].is_null() ? ",0\n" : ",1\n";
    }
  }
  return csv;
}

}  // namespace densenet
