// Errors of shapes that a kernel could repeat, but the operator's rule does not allow.
#include "expect.h"
#include "function_net.h"

#include <filesystem>
#include <optional>

namespace {

using Forward = std::function<Tensor(F&, const Tensors&)>;

/// The messages of an eager call, a hybridized one and a recorded one. Each begins with a line of this file.
void every_call_says(const Forward& forward, const Tensors& inputs, const std::string& what) {
  for (const bool hybridized : {false, true})
    for (const bool recorded : {false, true}) {
      Net net([&](F& f, const Tensors& in) { return Tensors{forward(f, in)}; });
      if (hybridized) net.hybridize();
      const std::string text = message_of([&] {
        std::optional<autograd::Record> record;
        if (recorded) record.emplace();
        net(inputs);
      });
      CHECK_THAT(text, Catch::StartsWith("repeated_values.cpp:") && Contains(what));
    }
}

/// A file of one operator: what its block and its model say, on line 5 of the file, whose path is there once.
void every_file_says(const std::string& op, const std::string& attrs, const Tensor& x, const Tensor& w,
                     const std::string& what) {
  std::ofstream("folder-symbol.json") << symbol_text(op, attrs, "[[0, 0, 0], [1, 0, 0]]");
  save_arrays("folder-0000.params", std::vector<NamedArray>{{"arg:w", w}});
  const std::string path = std::filesystem::absolute("folder-symbol.json");
  std::vector<std::string> texts{
      message_of([&] {
        Model::load(path, "folder-0000.params").run({{"x", x}}, {.mode = RunMode::eager});
      }),
      message_of([&] {
        Model::load(path, "folder-0000.params").run({{"x", x}});
      }),
      message_of([&] {
        Model::load(path, "folder-0000.params").make_inputs({{"x", x.shape()}});
      }),
      message_of([&] {
        Symbol::load(path).infer_shape({{"x", x.shape()}, {"w", w.shape()}});
      })};
  for (const bool hybridized : {false, true}) {
    SymbolBlock block = SymbolBlock::imports(path, {"x"}, "folder-0000.params");
    if (hybridized) block.hybridize();
    const std::string line = line_below();
    texts.push_back(message_of([&] { block(x); }));
    CHECK_THAT(texts.back(), Catch::StartsWith(line + path));
    CHECK(texts.back().find(line, 1) == std::string::npos);
  }
  for (const std::string& text : texts) {
    CHECK_THAT(text, Contains("folder-symbol.json:5: ") && Contains("'node'") && Contains(what));
    const std::size_t first = text.find("folder-symbol.json");
    CHECK(text.find("folder-symbol.json", first + 1) == std::string::npos);
  }
}

}  // namespace

TEST_CASE("one value for all channels", "[error]") {
  const Tensor x = ones({2, 3}), three = ones({3}), one = ones({1});
  const std::string gamma = "its input 'gamma' of the shape (1,)",
                    beta = "its input 'beta' of the shape (1,)";
  const Forward layer = [](F& f, const Tensors& in) { return f.LayerNorm(in[0], in[1], in[2]); };
  every_call_says(layer, {x, one, three}, gamma);
  every_call_says(layer, {x, three, one}, beta);
  const Forward instance = [](F& f, const Tensors& in) { return f.InstanceNorm(in[0], in[1], in[2]); };
  every_call_says(instance, {ones({2, 3, 4}), one, three}, gamma);
  const Forward group = [](F& f, const Tensors& in) {
    return f.GroupNorm(in[0], in[1], in[2], {.num_groups = 3});
  };
  every_call_says(group, {ones({2, 3, 4}), three, one}, "'beta' has the shape (1,), but it must be (3,)");
  const Forward dense = [](F& f, const Tensors& in) {
    return f.FullyConnected(in[0], in[1], in[2], {.num_hidden = 4});
  };
  every_call_says(dense, {x, ones({4, 3}), one}, "'bias' has the shape (1,), but it must be (4,)");
}

TEST_CASE("a layer's parameters of a file with one value for all channels", "[error]") {
  save_arrays("norm.params", std::vector<NamedArray>{{"gamma", ones({1})}, {"beta", ones({1})}});
  for (const bool hybridized : {false, true}) {
    nn::LayerNorm norm;
    norm.load_parameters("norm.params");
    if (hybridized) norm.hybridize();
    const std::string line = line_below();
    const std::string text = message_of([&] { norm(ones({2, 3})); });
    CHECK_THAT(text, Catch::StartsWith(line) && Contains("its input 'gamma' of the shape (1,)"));
  }
}

TEST_CASE("one condition for all rows", "[error]") {
  const Forward where = [](F& f, const Tensors& in) { return f.where(in[0], in[1], in[2]); };
  every_call_says(where, {ones({1}), ones({3, 2}), ones({3, 2})}, "its input 'condition' of the shape (1,)");
}

TEST_CASE("arrays of more axes than the one to slice or to broadcast", "[error]") {
  const Forward slice = [](F& f, const Tensors& in) { return f.slice_like(in[0], in[1]); };
  every_call_says(slice, {ones({5, 7}), ones({3, 2, 2})}, "slice_like of (5, 7) by (3, 2, 2)");
  every_call_says(slice, {ones({5}), ones({3, 2})}, "slice_like of (5,) by (3, 2)");
  const Forward spread = [](F& f, const Tensors& in) { return f.broadcast_like(in[0], in[1]); };
  every_call_says(spread, {ones({3}), ones({2, 3})}, "(3,) cannot be broadcast like (2, 3)");
}

TEST_CASE("labels for other samples", "[error]") {
  for (const char* op :
       {"SoftmaxOutput", "LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"}) {
    const bool classes = op == std::string("SoftmaxOutput");
    const Tensor x = classes ? ones({4, 3}) : ones({4});
    for (const std::int64_t count : {1, 3, 5}) every_file_says(op, "", x, zeros({count}), "input 'label'");
    every_file_says(op, "", x, zeros({4, 2}), "input 'label'");
  }
}

TEST_CASE("a parameter of a file with one value", "[error]") {
  every_file_says("LeakyReLU", R"("act_type": "prelu")", ones({2, 3, 4}), ones({5}), "(5,)");
  every_file_says("LeakyReLU", R"("act_type": "prelu")", ones({2, 3, 4}), ones({4}), "(4,)");
  every_file_says("broadcast_like", "", ones({3}), ones({2, 3}), "(2, 3)");
  every_file_says("slice_like", "", ones({3, 2}), ones({2, 2, 2}), "(2, 2, 2)");
}
