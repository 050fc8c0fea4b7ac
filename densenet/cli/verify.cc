#include "densenet/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "densenet/cli/command.h"
#include "densenet/cli/network_options.h"
#include "densenet/cli/train_options.h"
#include "densenet/option_range.h"
#include "densenet/synthetic_batch.h"
#include "densenet/training_data.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "verify";

struct VerifyOptions {
  NetworkOptions network;
  int64_t batch = 16;
  uint64_t seed = 1;
  int threads = 0;
  std::optional<std::string> json;
};

// The rate of the second half of the table, when the user names none.
constexpr double kDefaultDropout = 0.2;

std::string Flips(int64_t flips) {
  return flips < 0 ? "?" : std::to_string(flips);
}

void PrintRows(std::ostream& out, const std::vector<VerifyRow>& rows) {
  out << fmt::format("{:<14} {:>8} {:>11} {:>11} {:>11} {:>6}\n", "strategy",
                     "dropout", "loss", "gradients", "statistics", "flips");
  for (const VerifyRow& row : rows) {
    out << fmt::format("{:<14} {:>8} {:>11.2e} {:>11.2e} {:>11.2e} {:>6}{}\n",
                       row.strategy, row.dropout, row.loss_error,
                       row.gradient_error, row.statistics_error,
                       Flips(row.mask_flips), row.passed ? "" : "  FAILED");
  }
  out << fmt::format(
      "Relative 2-norms of the difference from naive. Expected: loss and "
      "statistics 0,\ngradients <= {:.0e}. The noise floor is naive on the "
      "batch in reverse order: how\nfar rounding alone goes, with the ReLUs "
      "that it flips.\n",
      kVerifyGradientBound);
}

Json ToJson(const std::vector<VerifyRow>& rows) {
  Json list = Json::array();
  for (const VerifyRow& row : rows) {
    list.push_back({{"strategy", row.strategy},
                    {"dropout", row.dropout},
                    {"loss_error", row.loss_error},
                    {"gradient_error", row.gradient_error},
                    {"statistics_error", row.statistics_error},
                    {"mask_flips",
                     row.mask_flips < 0 ? Json(nullptr) : Json(row.mask_flips)},
                    {"passed", row.passed}});
  }
  return {{"rows", std::move(list)}};
}

// The first batch of the first epoch of a run with these options.
StatusOr<std::vector<VerifyRow>> VerifyOnData(
    const VerifyOptions& options, absl::Span<const Strategy> strategies,
    const Context& ctx, HostMemory& memory) {
  RunOptions run = options.network.run;
  run.batch = std::to_string(options.batch);
  run.seed = options.seed;
  ASSIGN_OR_RETURN(const RunConfig config, ResolveRunConfig(run));
  ASSIGN_OR_RETURN(auto data, TrainingData::Load(config, memory));
  const int64_t n = data->train().BatchExamples(0);
  const ModelConfig& m = config.model;
  ASSIGN_OR_RETURN(
      Tensor images,
      Tensor::Empty(memory, DType::kFloat32,
                    {n, m.image_height, m.image_width, m.image_channels}));
  ASSIGN_OR_RETURN(Tensor labels, Tensor::Empty(memory, DType::kInt32, {n}));
  RETURN_IF_ERROR(data->train().Fill(0, 0, images.view(), labels.view()));
  return VerifyStrategies(
      ctx, memory, m, strategies, run.dropout.value_or(kDefaultDropout),
      images.const_view(),
      absl::MakeConstSpan(labels.data<int32_t>(), static_cast<size_t>(n)),
      options.seed);
}

StatusOr<std::vector<VerifyRow>> VerifyOnRandomImages(
    const VerifyOptions& options, const ModelConfig& model,
    absl::Span<const Strategy> strategies, const Context& ctx,
    HostMemory& memory) {
  ASSIGN_OR_RETURN(
      const SyntheticBatch batch,
      SyntheticBatch::Create(memory, model, options.batch, options.seed));
  return VerifyStrategies(ctx, memory, model, strategies,
                          options.network.run.dropout.value_or(kDefaultDropout),
                          batch.images(), batch.labels(), options.seed);
}

// Options that do not go together, and impossible numbers.
Status CheckOptions(const VerifyOptions& options) {
  const NetworkOptions& network = options.network;
  if (network.run.dataset && (network.image_size || network.classes)) {
    return InvalidArgument(
        "--image-size and --classes are those of --dataset: leave them out");
  }
  if (!network.run.dataset && network.run.data) {
    return InvalidArgument("--data is a folder of which --dataset? Give both");
  }
  RETURN_IF_ERROR(CheckRange("batch", options.batch, 1, kMaxBatch));
  RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMaxThreads));
  return OkStatus();
}

int RunVerify(const VerifyOptions& options, const Environment& env) {
  auto fail = [&](const Status& status, int code) {
    return Report(env, kName, status, code);
  };
  Status status = CheckOptions(options);
  if (!status.ok()) return fail(status, kExitUsage);
  const StatusOr<ModelConfig> model = ResolveNetwork(options.network);
  if (!model.ok()) return fail(model.status(), kExitUsage);
  const StatusOr<std::vector<Strategy>> strategies =
      ResolveStrategies(options.network);
  if (!strategies.ok()) return fail(strategies.status(), kExitUsage);
  status = CheckJsonOption(options.json);
  if (!status.ok()) return fail(status, kExitFailed);
  auto ctx = Context::Create({.threads = options.threads});
  if (!ctx.ok()) return fail(ctx.status(), kExitFailed);
  HostMemory memory;
  const StatusOr<std::vector<VerifyRow>> rows =
      options.network.run.dataset
          ? VerifyOnData(options, *strategies, **ctx, memory)
          : VerifyOnRandomImages(options, *model, *strategies, **ctx, memory);
  if (!rows.ok()) return fail(rows.status(), ExitCodeOf(rows.status()));
  PrintRows(env.out, *rows);
  status = WriteJsonOption(options.json, ToJson(*rows));
  if (!status.ok()) return fail(status, kExitFailed);
  const bool passed = std::all_of(rows->begin(), rows->end(),
                                  [](const VerifyRow& r) { return r.passed; });
  if (passed) return kExitDone;
  return fail(Internal("a strategy differs from naive by more than rounding: "
                       "please report it with the options above"),
              kExitFailed);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, const Environment& env,
                      Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "hold every memory strategy to naive on your own network");
  auto options = std::make_shared<VerifyOptions>();
  AddNetworkOptions(*command, options->network);
  AddDataOptions(*command, options->network.run);
  command->add_option("--batch", options->batch, "images of the step (16)");
  command
      ->add_option("--seed", options->seed,
                   "of parameters, images and masks (1)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--threads", options->threads, "(all)");
  AddOption(*command, "--json", options->json,
            "write {\"rows\": [{\"strategy\", ...}]}", "FILE");
  command->callback([&env, selected, options] {
    *selected = [&env, options] { return RunVerify(*options, env); };
  });
}

}  // namespace densenet::cli
