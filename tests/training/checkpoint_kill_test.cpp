// A run that is killed at any moments, and started again each time, comes to the same bits.
#include "checkpoint_run.h"
#include "golden_files.h"
#include "temporary_folder.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

using namespace kiln;
using training::Run;
namespace fs = std::filesystem;

namespace {

constexpr int kills = 20;
constexpr std::int64_t steps = 1500;

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  REQUIRE(value);
  return value;
}

/// Starts this program again, as a run in `folder`.
pid_t start(const fs::path& folder, int workers) {
  ::setenv("KILN_KILLED_RUN_FOLDER", folder.c_str(), 1);
  ::setenv("KILN_KILLED_RUN_WORKERS", std::to_string(workers).c_str(), 1);
  std::string program = fs::read_symlink("/proc/self/exe").string(), tag = "[.run]";
  char* arguments[] = {program.data(), tag.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);  // Catch2's summary
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  return child;
}

/// Whether a child has ended; wait_for() gives its status.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// The names of the checkpoints, and when they were written.
std::vector<std::pair<std::string, fs::file_time_type>> checkpoints_in(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::file_time_type>> found;
  std::error_code ignored;
  for (fs::directory_iterator i(folder / "checkpoints", ignored), end; i != end; i.increment(ignored))
    if (i->path().extension() == ".npz") found.emplace_back(i->path().string(), i->last_write_time(ignored));
  std::sort(found.begin(), found.end());
  return found;
}

std::string result_of(const fs::path& folder) {
  return golden::read_text((folder / "end.params").string()) +
         golden::read_text((folder / "end-states.params").string()) +
         golden::read_text((folder / "end-numbers").string());
}

}  // namespace

TEST_CASE("the run", "[.run]") {
  const fs::path folder = variable("KILN_KILLED_RUN_FOLDER");
  random::seed(5);
  Run run(std::atoi(variable("KILN_KILLED_RUN_WORKERS")));
  CheckpointManager checkpoints((folder / "checkpoints").string(), run.net, run.trainer, run.batches,
                                {.keep = 2});
  checkpoints.restore();
  run.train(steps, [&] { checkpoints.save_every(2); });
  run.net.save_parameters((folder / "end.params").string());
  run.trainer.save_states((folder / "end-states.params").string());
  std::string numbers;
  for (const double v : run.numbers()) numbers += fmt::format("{}\n", v);
  golden::write_text((folder / "end-numbers").string(), numbers);
}

TEST_CASE("a killed run comes to the same bits", "[checkpoint]") {
  const TemporaryFolder undisturbed;
  REQUIRE(wait_for(start(undisturbed.path, 0)) == 0);
  const std::string expected = result_of(undisturbed.path);

  std::mt19937_64 random(11);
  for (const int workers : {0, 1, 4}) {
    INFO(workers << " workers");
    const TemporaryFolder folder;
    const auto check_end = [&] {
      CHECK(result_of(folder.path) == expected);
      // No partly written file is left.
      for (const auto& entry : fs::directory_iterator(folder.path / "checkpoints"))
        CHECK(entry.path().extension() == ".npz");
    };
    int killed = 0, after_progress = 0;
    while (killed < kills) {
      const auto before = checkpoints_in(folder.path);
      const pid_t child = start(folder.path, workers);
      // Most lives end soon after their first checkpoint, and so in the middle of steps and saves; some at
      // any moment of their beginning.
      const auto begin = std::chrono::steady_clock::now();
      const bool any_moment = killed % 5 == 4;
      while (!any_moment && checkpoints_in(folder.path) == before && !has_ended(child)) {
        if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(2))
          FAIL("no checkpoint in two minutes");
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % (any_moment ? 200'000 : 30'000)));
      ::kill(child, SIGKILL);
      const int status = wait_for(child);
      if (WIFSIGNALED(status)) {
        REQUIRE(WTERMSIG(status) == SIGKILL);
        ++killed;
        after_progress += checkpoints_in(folder.path) != before;
        continue;
      }
      // This program was too slow to kill it: the next life begins another run.
      REQUIRE(status == 0);
      check_end();
      for (const auto& entry : fs::directory_iterator(folder.path)) fs::remove_all(entry.path());
    }
    CHECK(after_progress >= kills / 2);
    REQUIRE(wait_for(start(folder.path, workers)) == 0);
    check_end();
  }
}
