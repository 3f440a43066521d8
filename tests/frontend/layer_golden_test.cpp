// Every layer, cell and loss with a case in MXNet's reference data. Built here it writes the file that MXNet
// exported, byte for byte, takes MXNet's parameters and gives MXNet's outputs, the same bits eagerly and
// hybridized.
#include "golden_files.h"
#include "same_bits.h"

#include <kiln/kiln.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>

using namespace kiln;

namespace {

using Net = std::shared_ptr<HybridBlock>;
template <class B>
std::function<Net()> make(std::function<B()> build) {
  return [build] { return std::static_pointer_cast<HybridBlock>(std::make_shared<B>(build())); };
}
#define NET(...) make(std::function([] { return __VA_ARGS__; }))

/// A cell run over a sequence: inputs (sequence, states...), outputs (sequence, states...). `length` 0: one
/// step.
class Unrolled : public HybridBlock {
 public:
  template <class MakeCell>
  Unrolled(std::int64_t length, const std::string& layout, MakeCell make_cell)
      : HybridBlock({.prefix = "u_"}), length_(length), layout_(layout) {
    auto scope = name_scope();
    const auto cell = make_cell();
    auto shared = std::make_shared<std::remove_cv_t<decltype(cell)>>(cell);
    cell_ = shared;
    register_child(std::static_pointer_cast<Block>(shared), "cell");
  }

 protected:
  Tensors hybrid_forward(F&, const Tensors& inputs) override {
    const Tensors states(inputs.begin() + 1, inputs.end());
    Tensors out;
    if (length_ == 0) {
      cell_->reset();  // counts steps from 0, as in the first call
      rnn::StepOutput step = (*cell_)(inputs[0], states);
      out = {step.output};
      out.insert(out.end(), step.states.begin(), step.states.end());
      return out;
    }
    rnn::UnrollOutput all =
        cell_->unroll(length_, inputs[0], {.begin_state = states, .layout = layout_, .merge_outputs = true});
    out = {all.outputs};
    out.insert(out.end(), all.states.begin(), all.states.end());
    return out;
  }

 private:
  std::int64_t length_;
  std::string layout_;
  std::shared_ptr<rnn::HybridRecurrentCell> cell_;
};

class LanguageModel : public HybridBlock {
 public:
  LanguageModel() : HybridBlock({.prefix = "lm_"}) {
    auto scope = name_scope();
    embedding = nn::Embedding(20, 8);
    cell = rnn::LSTMCell(12);
    dense = nn::Dense(6, {.flatten = false});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const auto [y, states] = cell->unroll(5, embedding(x), {.merge_outputs = true});
    return F.log_softmax(dense(y));
  }

 private:
  Child<nn::Embedding> embedding{this, "embedding"};
  Child<rnn::LSTMCell> cell{this, "cell"};
  Child<nn::Dense> dense{this, "dense"};
};

const nn::PoolOptions ceil_pool{
    .pool_size = 3, .strides = 2, .padding = 1, .ceil_mode = true, .prefix = "p_"};
const nn::PoolOptions no_pad{
    .pool_size = 3, .strides = 1, .padding = 1, .count_include_pad = false, .prefix = "p_"};

const std::map<std::string, std::function<Net()>>& nets() {
  static const std::map<std::string, std::function<Net()>> all{
      {"Dense__a", NET(nn::Dense(4, {.prefix = "d_"}))},
      {"Dense__relu", NET(nn::Dense(4, {.activation = "relu", .prefix = "d_"}))},
      {"Dense__tanh", NET(nn::Dense(3, {.activation = "tanh", .prefix = "d_"}))},
      {"Dense__flat4", NET(nn::Dense(4, {.prefix = "d_"}))},
      {"Conv2D__grp", NET(nn::Conv2D(6, {.kernel_size = 3, .groups = 3, .in_channels = 3, .prefix = "c_"}))},
      {"Conv1D__a", NET(nn::Conv1D(4, {.kernel_size = 3, .strides = 2, .padding = 1, .prefix = "c_"}))},
      {"Conv3D__a", NET(nn::Conv3D(2, {.kernel_size = 2, .prefix = "c_"}))},
      {"Conv2DTranspose__outpad",
       NET(nn::Conv2DTranspose(
           2, {.kernel_size = 3, .strides = 2, .padding = 1, .output_padding = 1, .prefix = "c_"}))},
      {"Conv1DTranspose__a", NET(nn::Conv1DTranspose(3, {.kernel_size = 3, .strides = 2, .prefix = "c_"}))},
      {"MaxPool1D__ceil", NET(nn::MaxPool1D(ceil_pool))},
      {"MaxPool2D__ceil", NET(nn::MaxPool2D(ceil_pool))},
      {"MaxPool3D__a", NET(nn::MaxPool3D({.prefix = "p_"}))},
      {"AvgPool1D__ceil", NET(nn::AvgPool1D(ceil_pool))},
      {"AvgPool2D__ceil", NET(nn::AvgPool2D(ceil_pool))},
      {"AvgPool2D__nopad", NET(nn::AvgPool2D(no_pad))},
      {"AvgPool3D__ceil", NET(nn::AvgPool3D(ceil_pool))},
      {"AvgPool3D__nopad", NET(nn::AvgPool3D(no_pad))},
      {"GlobalMaxPool1D__a", NET(nn::GlobalMaxPool1D({.prefix = "p_"}))},
      {"GlobalMaxPool2D__a", NET(nn::GlobalMaxPool2D({.prefix = "p_"}))},
      {"GlobalMaxPool3D__a", NET(nn::GlobalMaxPool3D({.prefix = "p_"}))},
      {"GlobalAvgPool1D__a", NET(nn::GlobalAvgPool1D({.prefix = "p_"}))},
      {"GlobalAvgPool2D__a", NET(nn::GlobalAvgPool2D({.prefix = "p_"}))},
      {"GlobalAvgPool3D__a", NET(nn::GlobalAvgPool3D({.prefix = "p_"}))},
      {"ReflectionPad2D__b", NET(nn::ReflectionPad2D({0, 0, 0, 0, 1, 2, 0, 1}, {.prefix = "p_"}))},
      {"BatchNorm__a", NET(nn::BatchNorm({.prefix = "b_"}))},
      {"BatchNorm__a_train", NET(nn::BatchNorm({.prefix = "b_"}))},
      {"BatchNorm__noscale", NET(nn::BatchNorm({.scale = false, .prefix = "b_"}))},
      {"BatchNorm__noscale_train", NET(nn::BatchNorm({.scale = false, .prefix = "b_"}))},
      {"BatchNorm__glob",
       NET(nn::BatchNorm({.momentum = 0.5, .epsilon = 1e-3, .use_global_stats = true, .prefix = "b_"}))},
      {"BatchNorm__glob_train",
       NET(nn::BatchNorm({.momentum = 0.5, .epsilon = 1e-3, .use_global_stats = true, .prefix = "b_"}))},
      {"BatchNorm__axis_train", NET(nn::BatchNorm({.axis = -1, .prefix = "b_"}))},
      {"LayerNorm__axis", NET(nn::LayerNorm({.axis = 1, .epsilon = 1e-3, .prefix = "n_"}))},
      {"InstanceNorm__axis", NET(nn::InstanceNorm({.axis = -1, .prefix = "n_"}))},
      {"GroupNorm__a", NET(nn::GroupNorm({.num_groups = 2, .prefix = "n_"}))},
      {"Embedding__a", NET(nn::Embedding(6, 3, {.prefix = "e_"}))},
      {"Flatten__a", NET(nn::Flatten({.prefix = "f_"}))},
      {"LeakyReLU__b", NET(nn::LeakyReLU(0.2, {.prefix = "f_"}))},
      {"PReLU__b", NET(nn::PReLU(init::Constant(0.25), 1, {.prefix = "f_"}))},
      {"ELU__a", NET(nn::ELU(0.7, {.prefix = "f_"}))},
      {"SELU__a", NET(nn::SELU({.prefix = "f_"}))},
      {"Swish__b", NET(nn::Swish(1.3, {.prefix = "f_"}))},
      {"GELU__b", NET(nn::GELU({.prefix = "f_"}))},
      {"Dropout__a", NET(nn::Dropout(0, {.prefix = "f_"}))},
      {"HybridLambda__a",
       NET(nn::HybridLambda([](F& F, const Tensor& x) { return F.exp(x) + 1; }, {.prefix = "f_"}))},
      {"HybridLambda__str", NET(nn::HybridLambda("tanh", {.prefix = "f_"}))},
      {"Activation__relu", NET(nn::Activation("relu", {.prefix = "f_"}))},
      {"Activation__tanh", NET(nn::Activation("tanh", {.prefix = "f_"}))},
      {"HybridSequential__conv", make(std::function([] {
         nn::HybridSequential s({.prefix = "s_"});
         auto scope = s.name_scope();
         s.add(nn::Conv2D(3, 3), nn::BatchNorm(), nn::Activation("relu"), nn::MaxPool2D(), nn::Flatten(),
               nn::Dense(2));
         return s;
       }))},
      {"HybridConcurrent__conv", make(std::function([] {
         nn::HybridConcurrent c({.axis = 1, .prefix = "c_"});
         auto scope = c.name_scope();
         c.add(nn::Conv2D(2, 1), nn::Conv2D(3, {.kernel_size = 3, .padding = 1}), nn::AvgPool2D(3, 1, 1));
         return c;
       }))},
      {"PixelShuffle2D__a", NET(contrib::nn::PixelShuffle2D(2))},
      {"RNNCell__unroll5tnc", NET(Unrolled(5, "TNC", [] { return rnn::RNNCell(4); }))},
      {"LSTMCell__unroll3", NET(Unrolled(3, "NTC", [] { return rnn::LSTMCell(4); }))},
      {"LSTMCell__unroll5tnc", NET(Unrolled(5, "TNC", [] { return rnn::LSTMCell(4); }))},
      {"GRUCell__unroll3", NET(Unrolled(3, "NTC", [] { return rnn::GRUCell(4); }))},
      {"GRUCell__unroll5tnc", NET(Unrolled(5, "TNC", [] { return rnn::GRUCell(4); }))},
      {"RNNCellRelu__step", NET(Unrolled(0, "NTC", [] { return rnn::RNNCell(4, {.activation = "relu"}); }))},
      {"RNNCellRelu__unroll5tnc",
       NET(Unrolled(5, "TNC", [] { return rnn::RNNCell(4, {.activation = "relu"}); }))},
      {"SequentialRNNCell__unroll2",
       NET(Unrolled(2, "NTC",
                    [] {
                      rnn::HybridSequentialRNNCell stack;
                      stack.add(rnn::LSTMCell(3, {.input_size = 3}));
                      stack.add(rnn::ResidualCell(rnn::GRUCell(3, {.input_size = 3})));
                      return stack;
                    }))},
      {"BidirectionalCell__unroll3", NET(Unrolled(3, "NTC",
                                                  [] {
                                                    const rnn::RNNCell forward(2), backward(2);
                                                    return rnn::BidirectionalCell(forward, backward);
                                                  }))},
      {"fusedLSTM__a", NET(rnn::LSTM(4, {.prefix = "r_"}))},
      {"fusedGRU__a", NET(rnn::GRU(4, {.num_layers = 2, .prefix = "r_"}))},
      {"fusedRNN__a", NET(rnn::RNN(3, {.layout = "NTC", .bidirectional = true, .prefix = "r_"}))},
      {"loss__L1Loss", NET(loss::L1Loss({.prefix = "l1loss0_"}))},
      {"loss__SigmoidBCEFromSig",
       NET(loss::SigmoidBCELoss({.from_sigmoid = true, .prefix = "sigmoidbinarycrossentropyloss0_"}))},
      {"loss__SoftmaxCEDense",
       NET(loss::SoftmaxCELoss({.sparse_label = false, .prefix = "softmaxcrossentropyloss0_"}))},
      {"loss__SoftmaxCEFromLogits",
       NET(loss::SoftmaxCELoss({.from_logits = true, .prefix = "softmaxcrossentropyloss0_"}))},
      {"loss__KLDivLoss", NET(loss::KLDivLoss({.prefix = "kldivloss0_"}))},
      {"loss__KLDivLossNo", NET(loss::KLDivLoss({.from_logits = false, .prefix = "kldivloss0_"}))},
      {"loss__HuberLoss", NET(loss::HuberLoss({.rho = 0.5, .prefix = "huberloss0_"}))},
      {"loss__HingeLoss", NET(loss::HingeLoss({.prefix = "hingeloss0_"}))},
      {"loss__SquaredHingeLoss", NET(loss::SquaredHingeLoss({.prefix = "squaredhingeloss0_"}))},
      {"loss__CosineEmbeddingLoss", NET(loss::CosineEmbeddingLoss({.prefix = "cosineembeddingloss0_"}))},
  };
  return all;
}

bool close(const Tensor& got, const Tensor& expected, double rtol, double atol) {
  if (got.shape() != expected.shape()) return false;
  const auto a = got.to_vector<double>(), b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i]))) return false;
  return true;
}

/// The case's files and net agree in everything.
void check_case(const std::string& folder, const nlohmann::json& row, const std::function<Net()>& build) {
  const std::string name = row["name"];
  INFO(name);
  const std::string base = golden::path(folder + "/" + name);
  const bool has_params = std::filesystem::exists(base + "-0000.params");
  const bool train = row["train"];
  Net net = build();
  std::vector<Symbol> variables;
  for (const auto& input : row["inputs"]) variables.push_back(sym::var(input));
  CHECK((*net)(variables).tojson() == golden::read_text(base + "-symbol.json"));

  const std::vector<NamedArray> io = load_arrays(base + "-io.params");
  Tensors inputs;
  for (const auto& input : row["inputs"]) inputs.push_back(*find_array(io, "in:" + input.get<std::string>()));
  const auto load = [&] {
    if (has_params) net->collect_params().load(base + "-0000.params");
  };
  const autograd::TrainMode mode(train);
  load();
  const Tensors eager = (*net)(inputs);
  REQUIRE(eager.size() == row["outputs"].get<std::size_t>());
  for (std::size_t i = 0; i < eager.size(); ++i) {
    INFO("output " << i);
    CHECK(close(eager[i], *find_array(io, "out:" + std::to_string(i)), row["rtol"], row["atol"]));
  }
  load();  // training has moved the statistics
  net->hybridize();
  const Tensors compiled = (*net)(inputs);
  for (std::size_t i = 0; i < eager.size(); ++i) {
    INFO("output " << i);
    CHECK(same_bits(compiled[i], eager[i]));
  }
  net->export_model("exported");
  CHECK(golden::read_text("exported-symbol.json") == golden::read_text(base + "-symbol.json"));
}

}  // namespace

TEST_CASE("layers, cells and losses are MXNet's", "[layers]") {
  std::set<std::string> left;
  for (const auto& [name, build] : nets()) left.insert(name);
  for (const auto& row : golden::manifest("ops")) {
    const std::string name = row["name"];
    if (!name.starts_with("gluon_")) continue;
    const std::string key = name.substr(6);
    const auto net = nets().find(key);
    if (net == nets().end()) {
      FAIL_CHECK("no net for the case " << name);
      continue;
    }
    left.erase(key);
    try {
      check_case("ops", row, net->second);
    } catch (const Error& e) {
      FAIL_CHECK(name << ": " << e.what());
    }
  }
  for (const std::string& key : left) FAIL_CHECK("no case for the net " << key);
}

TEST_CASE("a network over recurrent layers is MXNet's", "[layers]") {
  const auto build = make(std::function([] {
    nn::HybridSequential net({.prefix = "fl_"});
    auto scope = net.name_scope();
    net.add(rnn::LSTM(10, {.num_layers = 2, .layout = "NTC", .bidirectional = true}), nn::Dense(4));
    return net;
  }));
  for (const auto& row : golden::manifest("models"))
    if (row["name"] == "lstm_fused") check_case("models", row, build);
}

TEST_CASE("a network over an unrolled cell is MXNet's", "[layers]") {
  for (const auto& row : golden::manifest("models"))
    if (row["name"] == "lstm_unrolled") check_case("models", row, NET(LanguageModel()));
}
