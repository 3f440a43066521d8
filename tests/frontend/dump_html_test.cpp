// dump_html(): the page of a program's own network and of its training step.
#include "function_net.h"
#include "temporary_folder.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace kiln;
using Catch::Matchers::Contains;

namespace {

const DumpHtmlOptions brief{.seconds = 0.01};

std::string text_of_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The data of a page.
nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

struct TwoLayers : HybridBlock {
  Child<nn::Dense> wide{this, "wide"};
  explicit TwoLayers(std::int64_t units) { wide = nn::Dense(units, {.in_units = 64}); }
  Tensor hybrid_forward(F& F, const Tensor& x) override { return F.relu(wide(x)) * 2; }
};

nlohmann::json kernel_with(const nlohmann::json& data, const std::string& operation) {
  for (const nlohmann::json& k : data.at("kernels"))
    if (!k.contains("role") && k.value("operations", "").find(operation) != std::string::npos) return k;
  FAIL("no kernel has " << operation);
  return {};
}

}  // namespace

TEST_CASE("a page shows lines, nodes, kernels and code of a network") {
  TwoLayers net(32);
  net.initialize();
  const Tensor x = ones({8, 64});
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "page.html";
  dump_html(net, {x}, path.string(), brief);
  const std::string page = text_of_file(path);
  CHECK(page.size() < 5'000'000);
  const nlohmann::json data = data_of(page);

  CHECK(data.at("title") == net.name());
  CHECK(data.at("nodes").size() == 3);
  CHECK(data.at("call_us") > 0);
  const nlohmann::json kernel = kernel_with(data, "packed_dot");
  // (8, 64) by (64, 32): one multiply-add for each of 64 terms of 256 results.
  CHECK(kernel.at("multiply_adds") == 8 * 32 * 64);
  CHECK(kernel.at("bytes") == 4 * (8 * 64 + 64 * 32 + 32 + 8 * 32));
  CHECK(kernel.at("runs") == 1);
  CHECK(kernel.at("us") > 0);
  CHECK(kernel.at("limit_share") > 0);
  // It is of this file, whose text is there.
  bool found = false;
  for (const nlohmann::json& at : kernel.at("lines")) {
    const nlohmann::json& file = data.at("files").at(at.at(0).get<std::size_t>());
    for (const nlohmann::json& line : file.at("lines"))
      found |= line.at(0) == at.at(1) &&
               line.at(1).get<std::string>().find("F.relu(wide(x))") != std::string::npos;
  }
  CHECK(found);
  CHECK_THAT(data.at("assemblies").at(kernel.at("assembly").get<std::size_t>()).at("text").get<std::string>(),
             Contains("kernel:") && Contains(" ret"));
  CHECK_THAT(kernel.at("program").get<std::string>(),
             Contains("int main() {") && Contains("FullyConnected") && Contains("benchmark(net, inputs"));

  // The network is as it was.
  CHECK(net.compiled_calls().empty());
}

TEST_CASE("texts of a program cannot become elements of the page") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.relu(in[0]) + 1}; });
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "page.html";
  dump_html(net, {ones({4, 4})}, path.string(),
            {.seconds = 0.01, .title = "</title><script>alert(1)</script>{{data}}"});
  const std::string page = text_of_file(path);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("&lt;script&gt;alert(1)") != std::string::npos);
  CHECK(data_of(page).at("title") == "</title><script>alert(1)</script>{{data}}");
}

TEST_CASE("a title that is no UTF-8") {
  Net net([](F& f, const Tensors& in) { return Tensors{f.relu(in[0]) + 1}; });
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "page.html";
  dump_html(net, {ones({4, 4})}, path.string(), {.seconds = 0.01, .title = "caf\xe9 \xc3\xa9 \xe2\x82"});
  const std::string page = text_of_file(path);
  const std::string replaced = "caf\xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd";
  CHECK(page.find("<title>" + replaced + "</title>") != std::string::npos);
  CHECK(data_of(page).at("title") == replaced);
  CHECK_NOTHROW(nlohmann::json(page).dump());  // the whole page is UTF-8
}

TEST_CASE("the page of a training step has forward, backward and update") {
  TwoLayers net(32);
  net.initialize();
  const Trainer trainer(net.collect_params(), "sgd", optimizer::Options{.learning_rate = 0.1});
  const loss::L2Loss loss;
  const Tensor x = ones({8, 64}), y = ones({8, 32});
  TrainStep step = net.train_step(loss, trainer);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "step.html";
  dump_html([&] { step(x, y); }, path.string(), brief);
  REQUIRE(step.compiled());
  const std::string page = text_of_file(path);
  CHECK(page.size() < 5'000'000);
  const nlohmann::json data = data_of(page);
  REQUIRE(data.at("graphs").size() == 1);
  double multiply_adds = 0;
  for (const nlohmann::json& k : data.at("kernels")) {
    multiply_adds += k.value("multiply_adds", 0.0);
    INFO(k.at("name"));
    CHECK(k.contains("program"));
  }
  // The product of the forward pass, and the gradient of its weights.
  CHECK(multiply_adds == 2 * 8 * 32 * 64);
}

TEST_CASE("a page of code that exists already") {
  TwoLayers net(32);
  net.initialize();
  net.hybridize();
  const Tensor x = ones({8, 64});
  net(x);
  const TemporaryFolder folder;
  const std::string path = (folder.path / "page.html").string();
  CHECK_THROWS_WITH(dump_html([&] { net(x); }, path, brief),
                    Contains("dump_html_test.cpp:") && Contains("compiled nothing: it ran before"));
  CHECK(!std::filesystem::exists(path));
  // By the network itself it is compiled anew.
  dump_html(net, {x}, path, brief);
  CHECK(std::filesystem::exists(path));
  CHECK(net.compiled_calls().size() == 1);
}

TEST_CASE("no page can be made") {
  Net seeds([](F&, const Tensors& in) {
    random::seed(1);
    return Tensors{in[0] + 1};
  });
  CHECK_THROWS_WITH(dump_html(seeds, {ones({2, 2})}, "page.html", brief),
                    Contains("runs eagerly") && Contains("random::seed()"));
  Net net([](F& f, const Tensors& in) { return Tensors{f.relu(in[0])}; });
  CHECK_THROWS_WITH(dump_html(net, {ones({2, 2})}, "/nowhere/page.html", brief),
                    Contains("/nowhere/page.html: the page cannot be written: No such file or directory"));
  CHECK_THROWS_WITH(dump_html(net, {Tensor()}, "page.html", brief),
                    Contains("input 0") && Contains("undefined Tensor"));
}
