// Runs ranges of graphs in child processes.
#include "jobs.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace graphs {
namespace {

/// Failures after which a process stops.
constexpr std::uint64_t enough = 20;

[[noreturn]] void fail_with_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string to_text(const Tally& tally) {
  nlohmann::json passes = nlohmann::json::array();
  for (const kiln::PassCount& p : tally.passes) passes.push_back({p.pass, p.runs, p.changes});
  return nlohmann::json{{"graphs", tally.graphs},       {"nodes", tally.nodes}, {"failed", tally.failed},
                        {"operators", tally.operators}, {"passes", passes},     {"coverage", tally.coverage}}
      .dump();
}

Tally from_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  Tally tally{json.at("graphs"),  json.at("nodes"), json.at("failed"), json.at("operators"), {},
              json.at("coverage")};
  for (const auto& p : json.at("passes")) tally.passes.push_back({p.at(0), p.at(1), p.at(2)});
  return tally;
}

struct Child {
  pid_t pid;
  int from;  ///< the pipe that its tally comes through
};

std::string read_all(int file) {
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(file, part, sizeof part)) != 0;) {
    if (n > 0)
      text.append(part, static_cast<std::size_t>(n));
    else if (errno != EINTR)
      fail_with_errno("read");
  }
  close(file);
  return text;
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n > 0)
      text.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      fail_with_errno("write");
  }
}

}  // namespace

void Tally::add(const Tally& other) {
  graphs += other.graphs;
  nodes += other.nodes;
  failed += other.failed;
  operators.insert(other.operators.begin(), other.operators.end());
  for (const auto& [what, count] : other.coverage) coverage[what] += count;
  for (const kiln::PassCount& p : other.passes) {
    const auto known = std::find_if(passes.begin(), passes.end(),
                                    [&](const kiln::PassCount& k) { return k.pass == p.pass; });
    if (known == passes.end()) {
      passes.push_back(p);
      continue;
    }
    known->runs += p.runs;
    known->changes += p.changes;
  }
}

Tally in_processes(std::uint64_t count, std::uint64_t jobs,
                   const std::function<void(std::uint64_t, Tally&)>& run,
                   const std::function<void(Tally&)>& finish) {
  // Where each process is, for the case that it cannot say so any more.
  using Place = std::atomic<std::uint64_t>;
  void* shared =
      mmap(nullptr, jobs * sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail_with_errno("mmap");
  auto* at = new (shared) Place[jobs]{};
  std::vector<Child> children;
  for (std::uint64_t job = 0; job < jobs; ++job) {
    int ends[2];
    if (pipe(ends) != 0) fail_with_errno("pipe");
    const pid_t pid = fork();
    if (pid < 0) fail_with_errno("fork");
    if (pid > 0) {
      close(ends[1]);
      children.push_back({pid, ends[0]});
      continue;
    }
    int status = 2;
    try {
      Tally tally;
      for (std::uint64_t i = job; i < count && tally.failed < enough; i += jobs) {
        at[job] = i;
        run(i, tally);
      }
      finish(tally);
      write_all(ends[1], to_text(tally));
      status = 0;
    } catch (const std::exception& e) {
      fmt::print(stderr, "graph_fuzz: graph number {}: {}\n", at[job].load(), e.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  Tally sum;
  for (std::size_t job = 0; job < children.size(); ++job) {
    const std::string text = read_all(children[job].from);
    int status = 0;
    while (waitpid(children[job].pid, &status, 0) < 0)
      if (errno != EINTR) fail_with_errno("waitpid");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      sum.add(from_text(text));
      continue;
    }
    ++sum.failed;
    fmt::print("graph number {} ended its process{}\n", at[job].load(),
               WIFSIGNALED(status) ? fmt::format(" by signal {}", WTERMSIG(status)) : "");
  }
  munmap(shared, jobs * sizeof(Place));
  return sum;
}

}  // namespace graphs
