// densenet/cli/records.h
//
// `densenet records`: its commands, a file each, and what they share.

#ifndef DENSENET_DENSENET_CLI_RECORDS_H_
#define DENSENET_DENSENET_CLI_RECORDS_H_

#include <functional>
#include <string>
#include <string_view>

#include "densenet/cli/command.h"
#include "densenet/data/tf_example.h"

namespace densenet::cli {

void AddRecordsCommand(CLI::App& app, const Environment& env,
                       Command* selected);

// The commands of the group.
void AddRecordsBuild(CLI::App& group, const Environment& env,
                     Command* selected);
void AddRecordsCount(CLI::App& group, const Environment& env,
                     Command* selected);
void AddRecordsVerify(CLI::App& group, const Environment& env,
                      Command* selected);
void AddRecordsRepair(CLI::App& group, const Environment& env,
                      Command* selected);
void AddRecordsShow(CLI::App& group, const Environment& env, Command* selected);

// --image-key, --label-key and --label-offset.
void AddSchemaOptions(CLI::App& command, ExampleSchema& schema);

// A progress callback that draws a bar on env.out where that is a terminal and
// takes it away at the end; empty elsewhere. `unit` divides what it is told.
std::function<void(int64_t done, int64_t total)> ProgressBar(
    const Environment& env, std::string_view verb, std::string_view what,
    int64_t unit);

// "1 record", "2 records".
std::string Counted(int64_t count, std::string_view noun);

// 0 asks for one for each usable core.
int UsableThreads(int threads);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_RECORDS_H_
