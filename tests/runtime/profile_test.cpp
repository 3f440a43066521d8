// The times of its kernels that a program sees.
#include "runtime/profile.h"

#include "function_net.h"

#include <algorithm>
#include <map>
#include <set>
#include <source_location>

using namespace kiln;

TEST_CASE("a program's profile names kernels and lines") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.dot(in[0], in[1])}; });
  net.hybridize();
  const Tensors in{ones({64, 64}), ones({64, 64})};
  net(in);
  const Profile outer;
  net(in);
  {
    const Profile inner;
    net(in);
    net(in);
    REQUIRE(!inner.kernels().empty());
    CHECK(inner.kernels()[0].runs == 2);
  }
  net(in);
  const auto kernels = outer.kernels();
  REQUIRE(!kernels.empty());
  CHECK(kernels[0].runs == 2);
  CHECK(kernels[0].seconds > 0);
  CHECK(std::any_of(kernels.begin(), kernels.end(), [](const Profile::Kernel& k) {
    return k.name.find("dot") != std::string::npos && !k.lines.empty() &&
           k.lines[0].find("profile_test.cpp:") != std::string::npos;
  }));
}

TEST_CASE("an interruption of one run leaves the median as it is") {
  const Profile profile;
  Step step;
  step.name = "dot0";
  Profile::Record& record = *Profile::Record::current();
  const auto now = Profile::Record::Clock::now();
  for (int i = 0; i < 9; ++i) record.add(step, now, 1e-6 * (1 + i % 3), "");
  record.add(step, now, 1, "");  // the machine did something else
  const Profile::Kernel kernel = profile.kernels().at(0);
  CHECK(kernel.runs == 10);
  CHECK(kernel.seconds > 1);
  CHECK(kernel.median_seconds == 2e-6);
  CHECK(kernel.min_seconds == 1e-6);

  // Of the latest runs, however many there have been.
  for (std::size_t i = 0; i < Profile::Record::max_samples; ++i) record.add(step, now, 5e-6, "");
  CHECK(profile.kernels().at(0).median_seconds == 5e-6);
  CHECK(profile.kernels().at(0).min_seconds == 5e-6);
}

namespace {

/// The kernels whose names begin so, by line: how often they ran.
std::map<unsigned, std::int64_t> runs_by_line(const Profile& profile, const std::string& name) {
  std::map<unsigned, std::int64_t> runs;
  for (const Profile::Kernel& k : profile.kernels()) {
    if (!k.name.starts_with(name)) continue;
    INFO(k.name);
    REQUIRE(k.lines.size() == 1);
    const std::size_t colon = k.lines[0].rfind(':');
    CHECK(k.lines[0].substr(0, colon) == std::source_location::current().file_name());
    runs[static_cast<unsigned>(std::stoul(k.lines[0].substr(colon + 1)))] += k.runs;
  }
  return runs;
}

unsigned this_line(std::source_location where = std::source_location::current()) { return where.line(); }

}  // namespace

TEST_CASE("eager calls have their own lines, though they share code") {
  Tensor x = ones({5, 7});
  x.attach_grad();
  {
    const autograd::Record record;
    F::arctan(x).backward();  // compiles all
  }
  const Profile profile;
  unsigned first = 0, second = 0;
  for (int i = 0; i < 2; ++i) first = (F::arctan(x), this_line());
  for (int i = 0; i < 3; ++i) second = (F::arctan(x), this_line());
  CHECK(runs_by_line(profile, "arctan.") == std::map<unsigned, std::int64_t>{{first, 2}, {second, 3}});

  unsigned inner = 0, outer = 0;
  {
    const autograd::Record record;
    const Tensor y = (inner = this_line(), F::arctan(x));
    const Tensor z = (outer = this_line(), F::arctan(y));
    z.backward();
  }
  CHECK(runs_by_line(profile, "arctan_grad") == std::map<unsigned, std::int64_t>{{inner, 1}, {outer, 1}});
}

TEST_CASE("eager calls of a symbol have the names of its nodes") {
  const Symbol symbol = Symbol::load_json(R"({
    "nodes": [
      {"op": "null", "name": "x", "inputs": []},
      {"op": "Activation", "name": "early", "attrs": {"act_type": "relu"}, "inputs": [[0, 0, 0]]},
      {"op": "Activation", "name": "late", "attrs": {"act_type": "relu"}, "inputs": [[1, 0, 0]]}],
    "arg_nodes": [0], "heads": [[2, 0, 0]]})");
  SymbolBlock net(symbol, {sym::var("x")});
  const Tensor in = ones({3});
  const Profile profile;
  const Tensor y = net(in);
  std::set<std::string> names;
  for (const Profile::Kernel& k : profile.kernels()) names.insert(k.name.substr(0, k.name.find('.')));
  CHECK(names == std::set<std::string>{"early", "late"});
}
