// The trace of a Profile: it parses, its events nest, and its durations are the Profile's.
#include "function_net.h"
#include "runtime/profile.h"
#include "temporary_folder.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

nlohmann::json trace_of(const Profile& profile, const std::string& name) {
  const TemporaryFolder folder;
  const std::string path = (folder.path / name).string();
  profile.chrome_trace(path);
  return nlohmann::json::parse(std::ifstream(path));
}

}  // namespace

TEST_CASE("a trace has the runs of the kernels, in their calls") {
  Net net([](F& f, const Tensors& in) {
    return Tensors{f.softmax(f.dot(in[0], in[1])), f.dot(in[1], in[0])};
  });
  net.hybridize();
  const Tensors in{ones({64, 64}), ones({64, 64})};
  net(in);
  const Profile profile;
  constexpr int runs = 4;
  for (int i = 0; i < runs; ++i) net(in);
  const nlohmann::json trace = trace_of(profile, "trace.json");

  CHECK(trace.at("otherData").at("events_left_out") == 0);
  int calls = 0;
  std::map<std::string, std::pair<double, std::int64_t>> sums;  // microseconds and runs, by name
  double call_begin = 0, call_end = -1, end = -1;
  constexpr double rounding = 1e-3;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), duration = event.at("dur");
    if (event.at("cat") == "call") {
      ++calls;
      CHECK(begin >= call_end - rounding);
      call_begin = begin, call_end = begin + duration, end = begin;
      continue;
    }
    CHECK(begin >= end - rounding);
    CHECK(begin >= call_begin - rounding);
    end = begin + duration;
    CHECK(end <= call_end + rounding);
    CHECK(event.at("args").at("lines").size() >= 1);
    auto& [microseconds, count] = sums[event.at("name")];
    microseconds += duration;
    ++count;
  }
  CHECK(calls == runs);
  std::map<std::string, std::pair<double, std::int64_t>> expected;
  for (const Profile::Kernel& k : profile.kernels()) {
    expected[k.name].first += k.seconds * 1e6;
    expected[k.name].second += k.runs;
  }
  REQUIRE(expected.size() >= 2);
  REQUIRE(sums.size() == expected.size());
  for (const auto& [name, sum] : expected) {
    CHECK(std::abs(sums[name].first - sum.first) < 1e-6 * sum.first);
    CHECK(sums[name].second == sum.second);
  }
}

TEST_CASE("a trace has the line of each eager call") {
  const Tensor x = ones({6, 5});
  const Tensor before = F::arcsinh(x);  // compiles the code
  const Profile profile;
  const Tensor first = F::arcsinh(x);
  const Tensor second = F::arcsinh(x);
  const nlohmann::json trace = trace_of(profile, "eager.json");
  std::vector<std::string> lines;
  for (const nlohmann::json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("cat") == "kernel")
      lines.push_back(event.at("args").at("lines").at(0));
  REQUIRE(lines.size() == 2);
  const auto number_of = [](const std::string& line) { return std::stoi(line.substr(line.rfind(':') + 1)); };
  CHECK(number_of(lines[1]) == number_of(lines[0]) + 1);
  CHECK_THAT(lines[0], Contains("profile_trace_test.cpp:"));
}

TEST_CASE("a trace is bounded, and says what it leaves out") {
  const Profile profile;
  Step step;
  step.name = "d\xff\"ot";  // no UTF-8
  Profile::Record& record = *Profile::Record::current();
  const auto now = Profile::Record::Clock::now();
  constexpr std::size_t more = 10;
  for (std::size_t i = 0; i < Profile::Record::max_events + more; ++i) record.add(step, now, 1e-6, "");
  const nlohmann::json trace = trace_of(profile, "long.json");
  CHECK(trace.at("otherData").at("events_left_out") == more);
  CHECK(trace.at("traceEvents").size() == Profile::Record::max_events + 2);
}

TEST_CASE("a trace that cannot be written") {
  const Profile profile;
  CHECK_THROWS_WITH(profile.chrome_trace("/nowhere/trace.json"),
                    Contains("/nowhere/trace.json: the trace cannot be written: No such file or directory"));
  CHECK_THROWS_WITH(profile.chrome_trace("/dev/full"), Contains("No space left on device"));
}
