// densenet/cli/memory_table.h
//
// The rows of `densenet memory` as a table for people, JSON, CSV and a plot.

#ifndef DENSENET_DENSENET_CLI_MEMORY_TABLE_H_
#define DENSENET_DENSENET_CLI_MEMORY_TABLE_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "densenet/memory_report.h"
#include "densenet/plot.h"
#include "densenet/run_config.h"

namespace densenet::cli {

void PrintMemoryHeader(std::ostream& out);
void PrintMemoryRow(std::ostream& out, const MemoryRow& row);

// {"rows": [{"strategy", ...}]}; what was not measured is null.
Json MemoryJson(absl::Span<const MemoryRow> rows);
// The keys of the JSON rows as columns; null is an empty cell.
std::string MemoryCsv(absl::Span<const MemoryRow> rows);
// Peak against depth, a curve for each strategy: measured where all of it is,
// else planned. `model` is one of those of `rows`, which have one batch size.
Plot MemoryPlot(const ModelConfig& model, absl::Span<const MemoryRow> rows);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_MEMORY_TABLE_H_
