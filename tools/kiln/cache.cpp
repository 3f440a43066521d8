// kiln cache: the disk cache of kernels.
#include "tools/kiln/command.h"

#include <kiln/cache.h>
#include <kiln/error.h>

#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace kiln::tool {
namespace {

/// The cache's folder. Throws the reason if there is none.
std::string folder() {
  std::string path = cache::path();
  if (path.empty())
    throw Error("there is no cache: KILN_CACHE=off, or there is no home folder; set KILN_CACHE_DIR");
  return path;
}

int list() {
  folder();
  std::uint64_t total = 0;
  auto entries = cache::list();
  for (const cache::Entry& e : entries) {
    total += e.bytes;
    fmt::print("{}  {:%Y-%m-%d %H:%M}  {:>9}  {}{}\n", e.key,
               fmt::localtime(static_cast<std::time_t>(e.used)), e.bytes, e.description,
               e.stamp.empty() ? "  (damaged)" : "");
  }
  fmt::print("{} entries, {} bytes\n", entries.size(), total);
  return ok;
}

int check() {
  folder();
  cache::Check result = cache::verify();
  for (const std::string& problem : result.problems) fmt::print("{}\n", problem);
  fmt::print("{} sound, {} damaged\n", result.entries, result.problems.size());
  return result.problems.empty() ? ok : bad_input;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  CLI::App* c = app.add_subcommand("cache", "List and clean the disk cache of kernels");
  c->require_subcommand(1);
  auto add = [&](const char* name, const char* help, Action what) {
    CLI::App* sub = c->add_subcommand(name, help);
    sub->callback([what, &action] { action = what; });
    return sub;
  };
  add("path", "Print its folder", [] {
    fmt::print("{}\n", folder());
    return ok;
  });
  add("ls", "List the kernels: key, last use, bytes, operators", list);
  add("verify", "Read every file and remove damaged ones; exit 1 if any", check);
  add("clear", "Remove every kernel", [] {
    folder();
    fmt::print("{} bytes freed\n", cache::clear());
    return ok;
  });
  auto size = std::make_shared<std::uint64_t>(0);
  add("prune", "Remove the least recently used kernels",
      [size] {
        folder();
        fmt::print("{} bytes freed\n", cache::prune(*size));
        return ok;
      })
      ->add_option("--max-size", *size, "Maximum size to keep: 500M, 1G")
      ->option_text("SIZE (required)")
      ->required()
      ->transform(CLI::AsSizeValue(false));
}

}  // namespace kiln::tool
