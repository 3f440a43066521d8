// Subgraphs that MXNet fused, in float and quantised.
#include "graphs/samples.h"

#include <fmt/format.h>

namespace graphs {

namespace {

using kiln::DType;

/// A subgraph: a chain of operators, each with its result before it as the first input and then new
/// variables.
struct Chain {
  struct Link {
    std::string op, attrs;
    std::size_t variables;
  };
  std::vector<Link> links;

  std::string text() const {
    std::string nodes, arguments;
    std::size_t count = 0, last = 0;
    const auto add = [&](const std::string& node) {
      nodes += (count ? ",\n" : "") + node;
      return count++;
    };
    for (const Link& link : links) {
      std::string inputs = count ? fmt::format("[{}, 0, 0]", last) : "";
      for (std::size_t i = 0; i < link.variables; ++i) {
        arguments += (arguments.empty() ? "" : ", ") + std::to_string(count);
        inputs += fmt::format("{}[{}, 0, 0]", inputs.empty() ? "" : ", ", count);
        add(fmt::format(R"({{"op": "null", "name": "v{}", "inputs": []}})", count));
      }
      last = add(fmt::format(R"({{"op": "{}", "name": "n{}", "attrs": {{{}}}, "inputs": [{}]}})", link.op,
                             count, link.attrs, inputs));
    }
    return fmt::format(R"([{{"nodes": [{}], "arg_nodes": [{}], "heads": [[{}, 0, 0]]}}])", nodes, arguments,
                       last);
  }
};

const Chain::Link norm{"BatchNorm", R"("fix_gamma": "False")", 4}, sum{"elemwise_add", "", 1},
    relu{"Activation", R"("act_type": "relu")", 0}, leaky{"LeakyReLU", R"("act_type": "leaky")", 0},
    clip{"clip", R"("a_min": "0", "a_max": "2")", 0}, absolute{"abs", "", 0};

Chain::Link convolution(bool bias) {
  return {"Convolution",
          fmt::format(R"json("kernel": "(3, 3)", "pad": "(1, 1)", "num_filter": "4", "no_bias": "{}")json",
                      bias ? "False" : "True"),
          bias ? 3U : 2U};
}
Chain::Link dense(bool bias) {
  return {"FullyConnected", fmt::format(R"("num_hidden": "4", "no_bias": "{}")", bias ? "False" : "True"),
          bias ? 3U : 2U};
}

Sample fused(std::vector<Input> inputs, Attributes attrs, const Chain& chain) {
  return {.inputs = std::move(inputs), .attrs = std::move(attrs), .subgraphs = chain.text()};
}

Input of(kiln::Shape shape, DType dtype) { return Input(shape, {}, dtype); }
Input number() { return of({1}, DType::f32); }
/// The inputs of a quantised call: data, weights, and two numbers for each range.
std::vector<Input> quantized(std::vector<Input> data, std::size_t ranges) {
  for (std::size_t i = 0; i < 2 * ranges; ++i) data.push_back(number());
  return data;
}

}  // namespace

Rows fused_rows() {
  constexpr DType i8 = DType::i8, u8 = DType::u8, f32 = DType::f32;
  const std::vector<Input> normed{of({2, 3, 5, 6}, u8), of({4, 3, 3, 3}, f32), of({4}, f32),
                                  of({4}, f32),         of({4}, f32),          of({4}, f32),
                                  of({2, 4, 5, 6}, i8)};
  const std::vector<Input> rows{of({3, 7}, i8), of({4, 7}, i8), of({4}, i8)};
  const auto with = [](Attributes attrs, bool calibrated) {
    attrs["quantized"] = "True";
    if (calibrated) {
      attrs["min_calib_range"] = "-2";
      attrs["max_calib_range"] = "3";
    }
    return attrs;
  };
  return {
      {{"_sg_mkldnn_conv"},
       {fused({{2, 3, 5, 6}, {4, 3, 3, 3}, {4}}, {}, {{convolution(true)}}),
        fused({{1, 1, 3, 3}, {4, 1, 3, 3}}, {{"with_act", "True"}}, {{convolution(false), leaky}}),
        fused({{2, 3, 5, 6}, {4, 3, 3, 3}, {4}, {4}, {4}, {4}, {2, 4, 5, 6}},
              {{"with_bn", "true"}, {"with_sum", "true"}, {"with_postsum_act", "true"}},
              {{convolution(false), norm, sum, relu}}),
        fused(quantized(normed, 2),
              with({{"with_bn", "true"}, {"with_sum", "true"}, {"with_postsum_act", "true"}}, true),
              {{convolution(false), norm, sum, relu}}),
        fused(quantized({of({2, 3, 5, 6}, i8), of({4, 3, 3, 3}, f32), of({4}, f32)}, 1),
              with({{"with_act", "true"}}, true), {{convolution(true), clip}}),
        fused(quantized({of({1, 17, 3, 3}, i8), of({4, 17, 3, 3}, f32)}, 1), with({}, false),
              {{convolution(false)}})},
       float_dtypes},
      {{"_sg_mkldnn_fully_connected"},
       {fused({{3, 7}, {4, 7}, {4}}, {}, {{dense(true)}}),
        fused({{2, 3, 5}, {4, 15}}, {{"with_eltwise", "True"}}, {{dense(false), relu}}),
        fused(quantized(rows, 3), with({{"with_eltwise", "True"}}, true), {{dense(true), relu}}),
        fused(quantized(rows, 3), with({{"enable_float_output", "True"}}, false), {{dense(true)}}),
        fused(quantized({of({3, 17}, u8), of({4, 17}, i8)}, 2), with({}, false), {{dense(false)}}),
        fused(quantized({of({3, 7}, u8), of({4, 7}, f32), of({4}, f32)}, 1),
              with({{"channel_wise_quantize", "True"}, {"with_eltwise", "True"}}, true),
              {{dense(true), absolute}})},
       float_dtypes},
  };
}

}  // namespace graphs
