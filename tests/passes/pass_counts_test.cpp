// How often passes run and change something, which tells whether programs reach them.
#include "function_net.h"

#include <kiln/pass_counts.h>

#include <algorithm>

using namespace kiln;

namespace {

PassCount count_of(const std::string& pass) {
  for (const PassCount& count : pass_counts())
    if (count.pass == pass) return count;
  return {pass};
}

void compile(const Net::Body& body, const Tensors& in) {
  Net net(body);
  net.hybridize();
  net(in);
}

}  // namespace

// The first case, before anything counts.
TEST_CASE("passes are counted only on request", "[passes]") {
  compile([](F&, const Tensors& in) { return Tensors{in[0] + 1}; }, {ones({3})});
  CHECK(pass_counts().empty());
}

TEST_CASE("a pass that changes a function is counted, one that does not ran only", "[passes]") {
  count_passes();
  compile([](F& F, const Tensors& in) { return Tensors{F.tanh(in[0]) * in[0]}; }, {ones({5})});
  const PassCount fuse = count_of("kiln-fuse"), row_fusions = count_of("kiln-fuse-rows");
  CHECK(fuse.runs >= 1);
  CHECK(fuse.changes >= 1);
  CHECK(row_fusions.runs >= 1);
  CHECK(row_fusions.changes == 0);
  compile([](F& F, const Tensors& in) { return Tensors{F.softmax(in[0])}; }, {ones({301, 257})});
  CHECK(count_of("kiln-fuse-rows").changes == 1);
  count_passes(false);
  const std::uint64_t runs = count_of("kiln-fuse").runs;
  compile([](F& F, const Tensors& in) { return Tensors{F.exp(in[0]) - in[0]}; }, {ones({5})});
  CHECK(count_of("kiln-fuse").runs == runs);
}

TEST_CASE("passes are listed in the order of the pipeline, each once", "[passes]") {
  count_passes();
  compile([](F& F, const Tensors& in) { return Tensors{F.dot(in[0], in[0])}; }, {ones({4, 4})});
  count_passes(false);
  std::vector<std::string> names;
  for (const PassCount& count : pass_counts()) names.push_back(count.pass);
  const auto place = [&](const char* name) {
    CHECK(std::count(names.begin(), names.end(), name) == 1);
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  CHECK(place("kiln-canonicalize") < place("kiln-fold"));
  CHECK(place("kiln-fold") < place("kiln-layout"));
  CHECK(place("kiln-layout") < place("kiln-fuse"));
  CHECK(place("kiln-fuse") < place("kiln-plan-buffers"));
}
