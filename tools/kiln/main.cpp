// The command `kiln`: selects the subcommand, and turns exceptions into a line on stderr and an exit status.
#include "codegen/driver/opt_main.h"
#include "tools/kiln/command.h"

#include <kiln/error.h>
#include <kiln/version.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <new>
#include <sstream>
#include <string_view>

namespace kiln::tool {
namespace {

/// Parses the arguments and returns the status. A help or a version that they request becomes the `action`.
int parse(CLI::App& app, int argc, char** argv, Action& action) {
  try {
    app.parse(argc, argv);
    return ok;
  } catch (const CLI::ParseError& e) {
    std::ostringstream asked;
    if (app.exit(e, asked, std::cerr) != 0) return usage;
    if (asked.str().empty()) return ok;  // the option has its own action
    action = [text = asked.str()] {
      fmt::print("{}", text);
      return ok;
    };
    return ok;
  }
}

/// "kiln cache prune"
std::string path_of(const CLI::App& app) {
  return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::string complaint(const CLI::App* app, const CLI::Error& e) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  std::string what = e.what();
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
  if (!commands.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* c : commands) names.push_back(c->get_name());
    const std::vector<std::string> unknown = app->remaining();
    what = fmt::format(
        "{}; the commands are {}",
        unknown.empty() ? "a command is needed" : fmt::format("unknown command '{}'", unknown.front()),
        fmt::join(names, ", "));
  }
  return fmt::format("{0}: {1}\nTry {0} --help.\n", path_of(*app), what);
}

int perform(const Action& action) {
  try {
    int status = action();
    if (std::fflush(stdout) != 0)
      throw Error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    return status;
  } catch (const Error& e) {
    fmt::print(stderr, "kiln: {}\n", e.what());
    return e.kind() == Error::Kind::user ? bad_input : internal_error;
  } catch (const std::system_error& e) {  // of fmt, which cannot write, and of the standard library
    fmt::print(stderr, "kiln: {}\n",
               std::ferror(stdout) ? "cannot write to standard output: " + e.code().message() : e.what());
    return bad_input;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "kiln: out of memory\n");
    return bad_input;
  } catch (const std::exception& e) {
    fmt::print(stderr, "kiln: internal error: {}\n", e.what());
    return internal_error;
  }
}

int run(int argc, char** argv) {
  // mlir-opt reads its own arguments.
  if (argc > 1 && std::string_view(argv[1]) == "opt") {
    std::string name = "kiln opt";
    argv[1] = name.data();
    return opt_main(argc - 1, argv + 1);
  }

  CLI::App app("Runs, checks, times and shows networks exported by MXNet or Kiln.", "kiln");
  app.set_version_flag("--version", [] {
    return fmt::format("kiln {} (LLVM {}, {})", version(), llvm_version(), host_isa());
  });
  app.require_subcommand(1);
  app.get_formatter()->column_width(20);
  app.failure_message(complaint);

  Action action;
  add_run(app, action);
  add_verify(app, action);
  add_bench(app, action);
  add_dump(app, action);
  add_convert(app, action);
  add_quantize(app, action);
  app.add_subcommand("opt", "Kiln's passes and dialect in an mlir-opt: FILE.mlir PASSES");
  add_info(app, action);
  add_ops(app, action);
  add_explain(app, action);
  add_cache(app, action);
  app.footer("Exit status: 0 ok, 1 bad input, 2 usage, 3 internal error.");

  if (int status = parse(app, argc, argv, action); status != ok) return status;
  return action ? perform(action) : ok;
}

}  // namespace
}  // namespace kiln::tool

int main(int argc, char** argv) { return kiln::tool::run(argc, argv); }
