// The subcommands of `kiln`.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

/// The subcommands of `kiln`. Each add_...() declares one: its options and its action.
namespace kiln::tool {

/// The action of a subcommand; returns the exit status. Set by the callback of the selected subcommand.
using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_dump(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_cache(CLI::App& app, Action& action);

/// Exit statuses of all subcommands.
enum Exit { ok = 0, bad_input = 1, usage = 2, internal_error = 3 };

}  // namespace kiln::tool
