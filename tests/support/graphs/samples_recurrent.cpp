// Recurrent layers, and loops and branches over subgraphs.
#include "graphs/samples.h"

namespace graphs {

namespace {

// new state = tanh(data + state * 0.5 + bias); output = -new state
const char* const step = R"json([{"nodes": [
  {"op": "null", "name": "row", "inputs": []},
  {"op": "null", "name": "state", "inputs": []},
  {"op": "null", "name": "bias", "inputs": []},
  {"op": "_mul_scalar", "name": "half", "attrs": {"scalar": "0.5"}, "inputs": [[1, 0, 0]]},
  {"op": "elemwise_add", "name": "moved", "inputs": [[0, 0, 0], [3, 0, 0]]},
  {"op": "elemwise_add", "name": "biased", "inputs": [[4, 0, 0], [2, 0, 0]]},
  {"op": "tanh", "name": "next", "inputs": [[5, 0, 0]]},
  {"op": "negative", "name": "out", "inputs": [[6, 0, 0]]}],
  "arg_nodes": [0, 1, 2], "heads": [[7, 0, 0], [6, 0, 0]]}])json";

// while count < 3: output = x * 2; x = x * 0.5 + y; count = count + 1
const char* const loop = R"json([{"nodes": [
  {"op": "null", "name": "count", "inputs": []},
  {"op": "_lesser_scalar", "name": "less", "attrs": {"scalar": "3"}, "inputs": [[0, 0, 0]]}],
  "arg_nodes": [0], "heads": [[1, 0, 0]]},
  {"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "null", "name": "count", "inputs": []},
  {"op": "null", "name": "y", "inputs": []},
  {"op": "_mul_scalar", "name": "twice", "attrs": {"scalar": "2"}, "inputs": [[0, 0, 0]]},
  {"op": "_mul_scalar", "name": "half", "attrs": {"scalar": "0.5"}, "inputs": [[0, 0, 0]]},
  {"op": "elemwise_add", "name": "next", "inputs": [[4, 0, 0], [2, 0, 0]]},
  {"op": "_plus_scalar", "name": "counted", "attrs": {"scalar": "1"}, "inputs": [[1, 0, 0]]}],
  "arg_nodes": [0, 1, 2], "heads": [[3, 0, 0], [5, 0, 0], [6, 0, 0]]}])json";

// which > 0 ? x * 2 : relu(x) - 1
const char* const branches = R"json([{"nodes": [
  {"op": "null", "name": "which", "inputs": []},
  {"op": "_greater_scalar", "name": "more", "attrs": {"scalar": "0"}, "inputs": [[0, 0, 0]]}],
  "arg_nodes": [0], "heads": [[1, 0, 0]]},
  {"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "_mul_scalar", "name": "twice", "attrs": {"scalar": "2"}, "inputs": [[0, 0, 0]]}],
  "arg_nodes": [0], "heads": [[1, 0, 0]]},
  {"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "relu", "name": "positive", "inputs": [[0, 0, 0]]},
  {"op": "_minus_scalar", "name": "less", "attrs": {"scalar": "1"}, "inputs": [[1, 0, 0]]}],
  "arg_nodes": [0], "heads": [[2, 0, 0]]}])json";

// x * w + b
const char* const product = R"json([{"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "null", "name": "w", "inputs": []},
  {"op": "null", "name": "b", "inputs": []},
  {"op": "elemwise_mul", "name": "times", "inputs": [[0, 0, 0], [1, 0, 0]]},
  {"op": "elemwise_add", "name": "sum", "inputs": [[3, 0, 0], [2, 0, 0]]}],
  "arg_nodes": [0, 1, 2], "heads": [[4, 0, 0]]}])json";

// |x| * w, and the gradients of x and w; the sign of x is kept
const char* const magnitude = R"json([{"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "null", "name": "w", "inputs": []},
  {"op": "sign", "name": "sign", "inputs": [[0, 0, 0]]},
  {"op": "elemwise_mul", "name": "size", "inputs": [[0, 0, 0], [2, 0, 0]]},
  {"op": "elemwise_mul", "name": "out", "inputs": [[3, 0, 0], [1, 0, 0]]}],
  "arg_nodes": [0, 1], "heads": [[4, 0, 0], [2, 0, 0]]},
  {"nodes": [
  {"op": "null", "name": "head", "inputs": []},
  {"op": "null", "name": "sign", "inputs": []},
  {"op": "null", "name": "w", "inputs": []},
  {"op": "null", "name": "x", "inputs": []},
  {"op": "elemwise_mul", "name": "signed", "inputs": [[0, 0, 0], [1, 0, 0]]},
  {"op": "elemwise_mul", "name": "dx", "inputs": [[4, 0, 0], [2, 0, 0]]},
  {"op": "elemwise_mul", "name": "dw", "inputs": [[4, 0, 0], [3, 0, 0]]}],
  "arg_nodes": [0, 1, 2, 3], "heads": [[5, 0, 0], [6, 0, 0]]}])json";

Sample with_bodies(std::vector<Input> inputs, Attributes attrs, const char* subgraphs) {
  return {.inputs = std::move(inputs), .attrs = std::move(attrs), .subgraphs = subgraphs};
}

Attributes rnn(const char* mode, Attributes more) {
  more["mode"] = mode;
  more["state_size"] = "3";
  return more;
}

}  // namespace

Rows recurrent_rows() {
  const Attributes each{{"num_args", "4"},        {"num_outputs", "2"},      {"num_out_data", "1"},
                        {"in_data_locs", "(0,)"}, {"in_state_locs", "(1,)"}, {"remain_locs", "(2,)"}};
  const Attributes whiles{{"num_args", "5"},           {"num_outputs", "3"},
                          {"num_out_data", "1"},       {"max_iterations", "5"},
                          {"cond_input_locs", "(1,)"}, {"func_input_locs", "(0, 1, 2)"},
                          {"func_var_locs", "(0, 1)"}};
  const Attributes cond{{"num_args", "5"},
                        {"num_outputs", "1"},
                        {"cond_input_locs", "(0,)"},
                        {"then_input_locs", "(1,)"},
                        {"else_input_locs", "(1,)"}};
  // With a running sum of w's gradient.
  const Attributes gradient{{"inputs", "[0, 1, 2]"},
                            {"outputs", "[]"},
                            {"heads", "[1]"},
                            {"sums", "[0, 1, 2]"},
                            {"running", "[0, 1, 0]"}};
  const Attributes function{{"num_args", "4"},
                            {"num_outputs", "1"},
                            {"num_saved", "1"},
                            {"forward_locs", "[0, 1]"},
                            {"backward_locs", "[2, 1, 4, 3]"},
                            {"gradient_locs", "[0, 1]"}};
  return {
      // data (steps, batch, channels), all weights and biases in one vector, the first states
      {{"RNN"},
       {{{{3, 2, 4}, {108}, {1, 2, 3}, {1, 2, 3}}, rnn("lstm", {{"num_layers", "1"}})},
        {{{3, 2, 4}, {162}, {2, 2, 3}},
         rnn("gru", {{"num_layers", "1"}, {"bidirectional", "True"}, {"state_outputs", "True"}})},
        {{{5, 1, 4}, {51}, {2, 1, 3}}, rnn("rnn_tanh", {{"num_layers", "2"}, {"p", "0.5"}})},
        {{{3, 2, 4}, {27}, {1, 2, 3}, indices({2}, 4)},
         rnn("rnn_relu", {{"num_layers", "1"}, {"use_sequence_length", "True"}, {"state_outputs", "True"}})},
        {{{1, 2, 4}, {102}, {1, 2, 2}, {1, 2, 3}},
         rnn("lstm", {{"num_layers", "1"}, {"projection_size", "2"}, {"state_outputs", "True"}})},
        {{{2, 2, 4}, {108}, {1, 2, 3}, {1, 2, 3}},
         rnn("lstm", {{"num_layers", "1"},
                      {"lstm_state_clip_min", "-0.1"},
                      {"lstm_state_clip_max", "0.2"},
                      {"lstm_state_clip_nan", "True"}})}},
       float_dtypes,
       0,
       true},
      {{"_rnn_param_concat"},
       {{{{6}, {17}}, {{"num_args", "2"}, {"dim", "0"}}},
        {{{3}, {1}, {4}}, {{"num_args", "3"}, {"dim", "0"}}}},
       all_dtypes},
      {{"CTCLoss"},
       {{{{5, 2, 4}, indices({2, 3}, 4)}},
        {{{4, 1, 3}, indices({1, 2}, 2), indices({1}, 5), indices({1}, 3)},
         {{"use_data_lengths", "True"}, {"use_label_lengths", "True"}, {"blank_label", "last"}}}},
       float_dtypes},
      {{"_foreach"},
       {with_bodies({{3, 2, 5}, {2, 5}, {2, 5}}, each, step), with_bodies({{7, 3}, {3}, {3}}, each, step),
        with_bodies({{1, 17}, {17}, {17}}, each, step)},
       float_dtypes},
      {{"_while_loop"},
       {with_bodies({{2, 3}, indices({1}, 5), {2, 3}}, whiles, loop),
        with_bodies({{17}, indices({1}, 2), {17}}, whiles, loop)},
       float_dtypes},
      {{"_cond"},
       {with_bodies({indices({1}, 2), {3, 5}}, cond, branches),
        with_bodies({indices({1}, 3), {17}}, cond, branches)},
       float_dtypes},
      {{"_depends_on"},
       {{{{3, 5}, {17}, {2, 1}}, {{"num_args", "3"}}}, {{{1}, {1}}, {{"num_args", "2"}}}},
       float_dtypes},
      {{"_overwritten"}, {{{{3, 5}, {3, 5}}, {}}, {{{17}, {17}}, {}}}, float_dtypes},
      {{"_function"},
       {with_bodies({{3, 5}, {3, 5}}, function, magnitude), with_bodies({{17}, {17}}, function, magnitude)},
       float_dtypes},
      {{"_vjp"},
       {with_bodies({{3, 5}, {3, 5}, {3, 5}, {3, 5}, {3, 5}}, gradient, product),
        with_bodies({{17}, {17}, {17}, {17}, {17}}, gradient, product)},
       float_dtypes},
  };
}

}  // namespace graphs
