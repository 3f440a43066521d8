// dump_html(): the page of a program's own network and of its training step.
#include "function_net.h"
#include "temporary_folder.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
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

/// The text of the program's lines.
std::string texts_of(const nlohmann::json& data, const nlohmann::json& lines) {
  std::string text;
  for (const nlohmann::json& at : lines) {
    const nlohmann::json& file = data.at("files").at(at.at(0).get<std::size_t>());
    for (const nlohmann::json& line : file.at("lines"))
      if (line.at(0) == at.at(1)) text += line.at(1).get<std::string>() + "\n";
  }
  return text;
}

/// The text of the program's lines that instructions of a kernel are of, each once.
std::string texts_of_instructions(const nlohmann::json& data, const nlohmann::json& kernel) {
  std::set<std::size_t> numbers;
  for (const nlohmann::json& place :
       data.at("assemblies").at(kernel.at("assembly").get<std::size_t>()).at("places"))
    if (!place.at(1).is_null()) numbers.insert(place.at(1).get<std::size_t>());
  nlohmann::json lines = nlohmann::json::array();
  for (const std::size_t n : numbers) lines.push_back(kernel.at("code_lines").at(n));
  return texts_of(data, lines);
}

nlohmann::json page_data_of(HybridBlock& net, const Tensors& inputs) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "page.html";
  dump_html(net, inputs, path.string(), brief);
  return data_of(text_of_file(path));
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
  CHECK_THAT(texts_of(data, kernel.at("lines")), Contains("F.relu(wide(x))"));
  CHECK_THAT(data.at("assemblies").at(kernel.at("assembly").get<std::size_t>()).at("text").get<std::string>(),
             Contains("kernel:") && Contains(" ret"));
  CHECK_THAT(kernel.at("program").get<std::string>(),
             Contains("int main() {") && Contains("FullyConnected") && Contains("benchmark(net, inputs"));

  // The network is as it was.
  CHECK(net.compiled_calls().empty());
}

TEST_CASE("instructions of a page have the program's lines") {
  Net net([](F& f, const Tensors& in) {
    Tensor product = f.dot(in[0], in[1]);
    Tensor shifted = product + in[2];
    return Tensors{f.tanh(shifted)};
  });
  const nlohmann::json data = page_data_of(net, {ones({8, 64}), ones({64, 32}), ones({8, 32})});
  // One kernel computes all three; the instructions of each line are of that line.
  CHECK_THAT(texts_of_instructions(data, kernel_with(data, "tanh")),
             Contains("f.dot(in[0], in[1])") && Contains("product + in[2]") && Contains("f.tanh(shifted)"));
}

TEST_CASE("kernels of a page share code, with lines of their own") {
  Net net([](F& f, const Tensors& in) {
    Tensor first = f.softmax(in[0]);
    Tensor second = f.dot(first, in[1]);
    Tensor third = f.softmax(second);
    return Tensors{f.dot(third, in[1])};
  });
  const nlohmann::json data = page_data_of(net, {ones({8, 32}), ones({32, 32})});
  std::vector<nlohmann::json> products;
  for (const nlohmann::json& k : data.at("kernels"))
    if (!k.contains("role") && k.at("multiply_adds") == 8 * 32 * 32) products.push_back(k);
  REQUIRE(products.size() == 2);
  CHECK(products[0].at("assembly") == products[1].at("assembly"));
  CHECK_THAT(texts_of_instructions(data, products[0]), Contains("f.dot(first") && !Contains("f.dot(third"));
  CHECK_THAT(texts_of_instructions(data, products[1]), Contains("f.dot(third") && !Contains("f.dot(first"));
}

TEST_CASE("a kernel of a page does not have the nodes of constants") {
  Net net([](F& f, const Tensors& in) {
    const Tensor first = f.softmax(in[0]) * 3;
    return Tensors{f.dot(f.softmax(first), in[1]) * 3};
  });
  const nlohmann::json data = page_data_of(net, {ones({8, 32}), ones({32, 32})});
  const nlohmann::json kernel = kernel_with(data, "dot");
  CHECK_THAT(kernel.at("operations").get<std::string>(), Contains("kiln.constant"));
  std::string ops;
  for (const nlohmann::json& n : kernel.at("nodes"))
    ops += data.at("nodes").at(n.get<std::size_t>()).at("op").get<std::string>() + " ";
  CHECK(ops == "dot _mul_scalar ");
}

TEST_CASE("a kernel of a page does not have a node whose result it reads") {
  // The second convolution reads the first pool's result in another layout.
  nn::HybridSequential net;
  net.add(nn::Conv2D(6, {5, 5}, {.activation = "relu"}), nn::MaxPool2D());
  net.add(nn::Conv2D(16, {5, 5}, {.activation = "relu"}), nn::MaxPool2D());
  net.initialize();
  const nlohmann::json data = page_data_of(net, {ones({1, 1, 28, 28})});
  int pools = 0;
  for (const nlohmann::json& kernel : data.at("kernels"))
    for (const nlohmann::json& n : kernel.at("nodes")) {
      const nlohmann::json& node = data.at("nodes").at(n.get<std::size_t>());
      if (node.at("op") != "Pooling") continue;
      ++pools;
      CHECK_THAT(kernel.at("name").get<std::string>(), Contains(node.at("name").get<std::string>()));
    }
  CHECK(pools >= 2);
}

TEST_CASE("kernels of bodies have runs and times on a page") {
  Net net([](F& f, const Tensors& in) -> Tensors {
    return f.contrib()
        .foreach (
            [&](const Tensors& rows, const Tensors& states) -> F::contrib::Results {
              const Tensor next = f.tanh(f.dot(states[0], in[2]) + rows[0]);
              const Tensor small = f.contrib().cond(
                  f.sum(next) < 0, [&] { return Tensors{next * 3}; }, [&] { return Tensors{next - 7}; })[0];
              return {{small}, {next}};
            },
            {in[0]}, {in[1]})
        .outputs;
  });
  const nlohmann::json data = page_data_of(net, {ones({5, 4, 32}), ones({4, 32}), ones({32, 32})});
  std::map<double, int> kernels_by_runs;
  double loop = 0, bodies = 0;
  for (const nlohmann::json& k : data.at("kernels")) {
    const bool has_code = k.contains("bytes");
    if (!has_code && !k.at("in_body")) loop += k.at("us").get<double>();
    if (!has_code || !k.at("in_body")) continue;
    INFO(k.at("name"));
    const auto runs = k.at("runs").get<double>();
    ++kernels_by_runs[runs];
    CHECK(k.contains("limit_share") == (runs > 0));
    bodies += k.value("us", 0.0) * runs;
    if (k.at("multiply_adds") > 0) CHECK(k.at("runs") == 5);
  }
  // Five steps; of the branch one side in each of them, the other never.
  CHECK(kernels_by_runs.size() == 2);
  CHECK(kernels_by_runs[5] >= 2);
  CHECK(kernels_by_runs[0] == 1);
  CHECK(loop > 0);
  CHECK(bodies > 0);
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
  int backward = 0, updating = 0;
  for (const nlohmann::json& k : data.at("kernels")) {
    multiply_adds += k.value("multiply_adds", 0.0);
    INFO(k.at("name"));
    REQUIRE(k.contains("program"));
    const std::string program = k.at("program").get<std::string>(), name = k.at("name").get<std::string>();
    // A program has a backward pass for gradients only.
    const bool has_gradients = name.find("_grad") != std::string::npos;
    CHECK((program.find("autograd::backward(heads)") != std::string::npos) == has_gradients);
    backward += has_gradients;
    updating +=
        program.find("// The kernel also updates parameters, which is left out here.") != std::string::npos;
  }
  // The weights and the bias.
  CHECK(updating == 2);
  CHECK(backward > 2);
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

TEST_CASE("a page inside of the call of another one has described its code") {
  TwoLayers net(32);
  net.initialize();
  net.hybridize();
  const Tensor x = ones({8, 64});
  const TemporaryFolder folder;
  const std::string inner = (folder.path / "inner.html").string(),
                    outer = (folder.path / "outer.html").string();
  CHECK_THROWS_WITH(dump_html([&] { dump_html(net, {x}, inner, brief); }, outer, brief),
                    Contains("dump_html_test.cpp:") && Contains("another dump_html() inside of the call") &&
                        !Contains("it ran before"));
  CHECK(std::filesystem::exists(inner));
  CHECK(!std::filesystem::exists(outer));
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
