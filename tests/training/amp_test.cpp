// Automatic mixed precision: its lists, casts and scaled losses. amp::init() holds for a process, so that the
// cases of a dtype run by themselves.
#include "function_net.h"
#include "golden_files.h"
#include "json_array.h"
#include "log_lines.h"
#include "temporary_folder.h"

using namespace kiln;
using Catch::Contains;
using golden::error_of;

namespace {

struct Layers : HybridBlock {
  Child<nn::Conv2D> convolution{this, "convolution"};
  Child<nn::BatchNorm> norm{this, "norm"};
  Child<nn::Dense> hidden{this, "hidden"}, out{this, "out"};
  Layers() : HybridBlock({.prefix = "net_"}) {
    const auto scope = name_scope();
    convolution = nn::Conv2D(8, {.kernel_size = 3, .padding = 1});
    norm = nn::BatchNorm();
    hidden = nn::Dense(20, {.activation = "relu"});
    out = nn::Dense(5);
  }
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor y = hidden(F.relu(norm(convolution(x))));
    return out(F.dot(y, F.ones({20, 20}) * 0.1) + y);
  }
};

enum class How { eager, hybrid, one_call };
/// The losses and the parameters of some steps.
Tensors trained(How how) {
  random::seed(5);
  Layers net;
  net.initialize();
  if (how != How::eager) net.hybridize();
  Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.05});
  amp::init_trainer(trainer);
  loss::SoftmaxCrossEntropyLoss loss;
  TrainStep step = net.train_step(loss, trainer);
  Tensors all;
  for (int i = 0; i < 3; ++i) {
    const Tensor x = random::normal(0, 1, {6, 4, 8, 8}), label = random::randint(0, 5, {6});
    if (how == How::one_call) {
      all.push_back(step(x, label));
      continue;
    }
    {
      const autograd::Record record;
      all.push_back(loss(net(x), label));
      amp::scale_loss(all.back(), trainer).backward();
    }
    trainer.step(6);
  }
  for (const Parameter& p : net.collect_params()) {
    CHECK(p.dtype() == DType::f32);
    all.push_back(p.data());
  }
  return all;
}

bool equal(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// A weight of one element, whose gradient is `gradient`, and its trainer.
struct Scalar {
  Parameter weight{"weight", Shape{1}};
  Trainer trainer;
  explicit Scalar(bool scaled = true) : trainer(made(), "sgd", {.learning_rate = 1}) {
    if (scaled) amp::init_trainer(trainer);
  }
  std::vector<Parameter> made() {
    weight.initialize(init::Zero());
    return {weight};
  }
  void compute(double gradient) {
    const autograd::Record record;
    amp::scale_loss(weight.data() * gradient, trainer).backward();
  }
  void step(double gradient) {
    compute(gradient);
    trainer.step(1);
  }
  float value() const { return weight.data().item<float>(); }
};

/// Changes the JSON text in a file of states.
void edit_states(const std::string& file, const std::function<void(nlohmann::json&)>& change) {
  edit_json_array(file, "kiln:json", change);
}

/// A run with checkpoints, in which the gradients of the third step overflow.
struct Run {
  Layers net;
  Trainer trainer;
  Run() : trainer(made(), "adam", {.learning_rate = 0.01}) { amp::init_trainer(trainer); }
  ParameterDict made() {
    net.initialize();
    net.hybridize();
    return net.collect_params();
  }
  void step(int i) {
    const Tensor x = F::ones({6, 4, 8, 8}) * (i == 2 ? 1e30 : 0.1 * i), label = F::arange(0, 6) * 0.5;
    const loss::SoftmaxCrossEntropyLoss loss;
    {
      const autograd::Record record;
      amp::scale_loss(loss(net(x), label), trainer).backward();
    }
    trainer.step(6);
  }
};

}  // namespace

TEST_CASE("amp: the lists are MXNet's") {
  CHECK(amp::list_lp16_ops(DType::bf16) == std::vector<std::string>{"Convolution", "FullyConnected"});
  CHECK(amp::list_lp16_ops(DType::f16) ==
        std::vector<std::string>{"Convolution", "Deconvolution", "FullyConnected", "RNN"});
  CHECK(contains(amp::list_fp32_ops(DType::f16), "softmax"));
  CHECK(contains(amp::list_fp32_ops(DType::bf16), "RNN"));
  CHECK(contains(amp::list_widest_type_cast(DType::f16), "dot"));
  CHECK(contains(amp::list_lp16_fp32_ops(DType::f16), "BatchNorm"));
  CHECK(amp::list_conditional_fp32_ops(DType::f16).at(0).attribute == "act_type");
  std::vector<std::string> known;
  for (const OpDoc& op : op_docs()) known.push_back(op.name);
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const auto& list : {amp::list_lp16_ops(dtype), amp::list_fp32_ops(dtype),
                             amp::list_lp16_fp32_ops(dtype), amp::list_widest_type_cast(dtype)})
      for (const std::string& name : list) {
        INFO(name);
        CHECK(contains(known, name));
      }
}

TEST_CASE("amp: mistakes before init()") {
  nn::Dense net(1, {.in_units = 1});
  net.initialize();
  Trainer trainer(net.collect_params(), "sgd");
  CHECK_THAT(error_of([&] { amp::init_trainer(trainer); }),
             Contains("amp_test.cpp:") && Contains("call amp::init()"));
  CHECK_THAT(error_of([&] { (void)amp::scale_loss(ones({1}), trainer); }), Contains("amp::init_trainer()"));
  CHECK_THAT(error_of([&] { amp::unscale(trainer); }), Contains("amp::init_trainer()"));
  CHECK(amp::loss_scale(trainer) == 1);
  CHECK_THAT(error_of([] { amp::init(DType::i32); }), Contains("float16 and bfloat16, not int32"));
  CHECK_THAT(error_of([] { (void)amp::list_fp32_ops(DType::f32); }), Contains("not float32"));
  CHECK_THAT(error_of([] { amp::init(DType::f16, {.fp32_ops = {{"sotfmax"}}}); }), Contains("'sotfmax'"));
  CHECK_THAT(error_of([] {
               amp::init(DType::f16, {.fp32_ops = {{"softmax", "amp_cast"}}});
             }),
             Contains("'amp_cast'") && Contains("leave it out"));
  CHECK_THAT(error_of([] {
               amp::init(DType::f16, {.conditional_fp32_ops = {{{"Activation", "nosuch", {"relu"}}}}});
             }),
             Contains("attribute 'nosuch', which Activation does not have"));
  net.hybridize();
  net(ones({1, 1}));
  CHECK_THAT(error_of([] { amp::init(); }), Contains("before"));
}

TEST_CASE("amp: bfloat16 rounds operands of the target list", "[.bf16]") {
  amp::init();
  amp::init(DType::bf16);
  CHECK_THAT(error_of([] { amp::init(DType::f16); }), Contains("was called for bfloat16"));
  random::seed(1);
  const Tensor x = random::normal(0, 1, {4, 30}), w = random::normal(0, 1, {7, 30});
  const auto dense = [&] { return F::FullyConnected(x, w, {.num_hidden = 7, .no_bias = true}); };
  const auto dot = [&] { return F::dot(x, w, {.transpose_b = true}); };
  const Tensor exact = dot();
  const PrecisionScope scope(Precision::bf16);
  const Tensor rounded = dot();
  CHECK_FALSE(same_bits(rounded, exact));
  const PrecisionScope inner(Precision::exact);
  CHECK(same_bits(dense(), rounded));
  CHECK(same_bits(dot(), exact));
  const Tensors eager = trained(How::eager);
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    for (const How how : {How::hybrid, How::one_call}) CHECK(equal(trained(how), eager));
  }
}

TEST_CASE("amp: bfloat16 scales no loss", "[.bf16]") {
  amp::init();
  Scalar s;
  CHECK(amp::loss_scale(s.trainer) == 1);
  s.compute(3);
  CHECK(s.weight.grad().item<float>() == 3);
  amp::unscale(s.trainer);
  s.trainer.step(1);
  CHECK(s.value() == -3);
}

TEST_CASE("amp: float16 casts the inputs of calls", "[.f16]") {
  amp::init(DType::f16);
  random::seed(2);
  const Tensor x = random::normal(0, 1, {4, 30}), w = random::normal(0, 1, {7, 30});
  const Tensor y = F::FullyConnected(x, w, {.num_hidden = 7, .no_bias = true});
  CHECK(y.dtype() == DType::f16);
  CHECK(same_bits(y, F::dot(x.astype(DType::f16), w.astype(DType::f16), {.transpose_b = true})));
  CHECK(F::relu(y).dtype() == DType::f16);
  CHECK(F::softmax(y).dtype() == DType::f32);
  CHECK((y + y).dtype() == DType::f16);
  CHECK((y + F::ones({4, 7})).dtype() == DType::f32);
  CHECK(F::Activation(y, {.act_type = "softrelu"}).dtype() == DType::f32);
  CHECK(F::Activation(y, {.act_type = "tanh"}).dtype() == DType::f16);
  CHECK(F::FullyConnected(x.astype(DType::f64), w.astype(DType::f64), {.num_hidden = 7, .no_bias = true})
            .dtype() == DType::f64);
  nn::Dense net(7, {.in_units = 30});
  net.initialize();
  const Symbol symbol = net(sym::var("data"));
  CHECK(symbol.get_internals().list_outputs().size() == 4);

  const Tensors eager = trained(How::eager);
  CHECK(eager[0].dtype() == DType::f32);
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    for (const How how : {How::eager, How::hybrid, How::one_call}) CHECK(equal(trained(how), eager));
  }
}

TEST_CASE("amp: float16 scales losses, and skips steps that overflow", "[.f16]") {
  amp::init(DType::f16);
  Scalar s;
  CHECK(amp::loss_scale(s.trainer) == 65536);
  CHECK_THAT(error_of([&] { (void)amp::scale_loss(Tensor(), s.trainer); }), Contains("without an array"));
  CHECK_THAT(error_of([&] { (void)amp::scale_loss(ones({1}, DType::i32), s.trainer); }),
             Contains("and not int32"));
  s.compute(3);
  CHECK(s.weight.grad().item<float>() == 3 * 65536);
  s.trainer.step(1);
  CHECK(s.value() == -3);
  // As for clip_global_norm().
  s.compute(2);
  amp::unscale(s.trainer);
  CHECK(s.weight.grad().item<float>() == 2);
  s.trainer.step(1);
  CHECK(s.value() == -5);
  s.compute(1e38);
  {
    // The step is skipped: an overflow is no fault.
    const LogLines log;
    amp::unscale(s.trainer);
    clip_global_norm({s.weight.grad()}, 1);
    CHECK(log.warnings.empty());
  }
  s.trainer.step(1);
  CHECK(s.value() == -5);
  CHECK(s.trainer.num_update() == 2);
  CHECK(amp::loss_scale(s.trainer) == 32768);
  for (int step = 0; step < 2000; ++step) {
    CHECK(amp::loss_scale(s.trainer) == 32768);
    s.compute(0);
    s.trainer.step(1);
  }
  CHECK(amp::loss_scale(s.trainer) == 65536);
  s.compute(1);
  s.trainer.step(1);
  CHECK(s.value() == -6);
  // No scale helps against NaN.
  std::string error;
  for (int step = 0; step < 40 && error.empty(); ++step) {
    s.compute(NAN);
    error = error_of([&] { s.trainer.step(1); });
  }
  CHECK_THAT(error, Contains("'weight'") && Contains("NaN"));
  CHECK(s.value() == -6);
}

TEST_CASE("amp: a file has no mixed precision, and a warning says so", "[.f16]") {
  amp::init(DType::f16);
  nn::Dense net(2, {.in_units = 3});
  net.initialize();
  net.hybridize();
  net(ones({1, 3}));
  const TemporaryFolder folder;
  const LogLines log;
  net.export_model((folder.path / "net").string());
  REQUIRE(log.warnings.size() == 1);
  CHECK_THAT(log.warnings[0], Contains("amp_test.cpp") && Contains("without mixed precision"));
}

TEST_CASE("amp: float16 continues the loss scale of a file of states", "[.f16]") {
  amp::init(DType::f16);
  const TemporaryFolder folder;
  const std::string file = (folder.path / "states.params").string();
  {
    Scalar s;
    s.step(1e38);
    for (int step = 0; step < 5; ++step) s.step(0);
    CHECK(amp::loss_scale(s.trainer) == 32768);
    s.trainer.save_states(file);
  }
  Scalar s;
  s.trainer.load_states(file);
  for (int step = 5; step < 2000; ++step) {
    CHECK(amp::loss_scale(s.trainer) == 32768);
    s.step(0);
  }
  CHECK(amp::loss_scale(s.trainer) == 65536);

  // A trainer without amp::init_trainer() keeps the scale until that call.
  Scalar late(/*scaled=*/false);
  late.trainer.load_states(file);
  CHECK(amp::loss_scale(late.trainer) == 1);
  amp::init_trainer(late.trainer);
  CHECK(amp::loss_scale(late.trainer) == 32768);

  for (const double factor : {0.0, 1e30, -1.0}) {
    edit_states(file, [&](nlohmann::json& json) { json["loss_scale"]["factor"] = factor; });
    CHECK_THAT(error_of([&] { s.trainer.load_states(file); }),
               Contains(file) && Contains("factor of losses"));
  }
  edit_states(file, [&](nlohmann::json& json) { json["loss_scale"] = {{"factor", 2}, {"steps", 2000}}; });
  CHECK_THAT(error_of([&] { s.trainer.load_states(file); }), Contains("2000 steps"));
  edit_states(file, [&](nlohmann::json& json) { json["loss_scale"] = {{"factor", 2}}; });
  CHECK_THAT(error_of([&] { s.trainer.load_states(file); }), Contains("'steps'"));
  // The file of a version that did not save it.
  s.step(1e38);
  CHECK(amp::loss_scale(s.trainer) == 32768);
  edit_states(file, [&](nlohmann::json& json) { json.erase("loss_scale"); });
  s.trainer.load_states(file);
  CHECK(amp::loss_scale(s.trainer) == 65536);
}

TEST_CASE("amp: float16 continues a run from a checkpoint with the same bits", "[.f16]") {
  amp::init(DType::f16);
  const auto numbers = [](const Run& run) {
    Tensors all;
    for (const Parameter& p : run.net.collect_params()) all.push_back(p.data().copy());
    return all;
  };
  constexpr int steps = 6;
  random::seed(5);
  Run whole;
  for (int i = 0; i < steps; ++i) whole.step(i);
  CHECK(whole.trainer.num_update() < steps);
  CHECK(amp::loss_scale(whole.trainer) < 65536);
  for (const int at : {1, 3, 5}) {
    INFO(at);
    const TemporaryFolder folder;
    double scale = 0;
    {
      random::seed(5);
      Run run;
      for (int i = 0; i < at; ++i) run.step(i);
      CheckpointManager(folder.path.string(), run.net, run.trainer).save();
      scale = amp::loss_scale(run.trainer);
    }
    Run run;
    REQUIRE(CheckpointManager(folder.path.string(), run.net, run.trainer).restore());
    CHECK(amp::loss_scale(run.trainer) == scale);
    for (int i = at; i < steps; ++i) run.step(i);
    CHECK(equal(numbers(run), numbers(whole)));
    CHECK(amp::loss_scale(run.trainer) == amp::loss_scale(whole.trainer));
  }
}
