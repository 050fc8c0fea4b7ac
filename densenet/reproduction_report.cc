// A reproduced row for people and as JSON.

#include <fmt/format.h>

#include "densenet/reproduction.h"

namespace densenet {
namespace {

constexpr double kHour = 3600;

std::string SummaryText(const std::optional<SampleSummary>& summary) {
  if (!summary) return "-";
  if (!summary->deviation) return fmt::format("{:.2f}", summary->mean);
  return fmt::format("{:.2f} +- {:.2f}", summary->mean, *summary->deviation);
}

double Hours(const Reproduction& reproduction) {
  double seconds = 0;
  for (const ReproducedRun& run : reproduction.runs) {
    seconds += run.training_seconds;
  }
  return seconds / kHour;
}

// On SVHN validation images choose the model.
bool Selects(const Reproduction& reproduction) {
  return reproduction.configs.front().validation > 0;
}

Json OrNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void AddSummary(const std::string& name,
                const std::optional<SampleSummary>& summary, Json& json) {
  json[name + "_mean"] = summary ? Json(summary->mean) : Json(nullptr);
  json[name + "_deviation"] =
      summary ? OrNull(summary->deviation) : Json(nullptr);
}

}  // namespace

std::string ReproductionText(const Reproduction& r) {
  const RunConfig& config = r.configs.front();
  const int64_t paper_epochs = RecipeOf(r.row).epochs;
  const double published = r.row.published->error_percent;
  const std::optional<SampleSummary> error = r.error();
  std::string text = fmt::format(
      "\n{} on {}: {}\n\n", r.row.preset->name, r.row.dataset(),
      r.shortened() ? fmt::format("SHORTENED, {} of the paper's {} epochs",
                                  config.epochs, paper_epochs)
                    : fmt::format("{} epochs, as the paper", paper_epochs));
  text += fmt::format("{:>9} {:>16} {:>10} {:>16} {:>5} {:>7}\n", "published",
                      "reproduced", "difference", "best", "seeds", "hours");
  text +=
      fmt::format("{:>9.2f} {:>16} {:>10} {:>16} {:>5} {:>7.2f}\n", published,
                  SummaryText(error),
                  error ? fmt::format("{:+.2f}", error->mean - published) : "-",
                  SummaryText(r.best()), r.runs.size(), Hours(r));
  text += fmt::format(
      "\nTest errors, %. reproduced: {}, as the paper reports it{}.\n",
      Selects(r) ? "of the model with the lowest validation error"
                 : "after the last epoch",
      r.runs.size() > 1 ? ", mean +- sample deviation over the seeds" : "");
  if (r.best()) {
    text +=
        "best: the lowest of all epochs, chosen by looking at the test images: "
        "not what the\npaper reports.\n";
  }
  text += "hours: of training steps, all seeds.\n";
  for (const ReproducedRun& run : r.runs) {
    if (!run.divergence) continue;
    text += fmt::format("seed {} diverged and is in no mean: {}\n", run.seed,
                        *run.divergence);
  }
  for (const std::string& note : r.notes) text += "note: " + note + "\n";
  return text;
}

Json ReproductionJson(const Reproduction& r) {
  const std::optional<SampleSummary> error = r.error();
  const double published = r.row.published->error_percent;
  Json row = {{"preset", r.row.preset->name},
              {"dataset", r.row.dataset()},
              {"published", published}};
  AddSummary("reproduced", error, row);
  row["difference"] = error ? Json(error->mean - published) : Json(nullptr);
  AddSummary("best", r.best(), row);
  row["seeds"] = r.runs.size();
  row["hours"] = Hours(r);
  row["epochs"] = r.configs.front().epochs;
  row["paper_epochs"] = RecipeOf(r.row).epochs;
  row["shortened"] = r.shortened();
  row["notes"] = r.notes;
  row["runs"] = Json::array();
  for (const ReproducedRun& run : r.runs) {
    row["runs"].push_back({{"seed", run.seed},
                           {"folder", run.folder},
                           {"error", OrNull(run.error_percent)},
                           {"best", OrNull(run.best_percent)},
                           {"diverged", run.divergence.has_value()},
                           {"hours", run.training_seconds / kHour}});
  }
  return {{"rows", Json::array({std::move(row)})}};
}

}  // namespace densenet
