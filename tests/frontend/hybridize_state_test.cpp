// The state that hybrid_forward can read or scope through the public headers, as README lists it. A change of
// it between two calls is followed, as by an eager network, or it is baked in and Check::recording finds it.
#include "function_net.h"

#include <cstring>
#include <map>
#include <sstream>

using namespace kiln;

namespace {

/// Code that runs under another state than before.
using Around = std::function<void(const std::function<void()>&)>;

struct State {
  std::string name;
  std::function<double()> read;  ///< in hybrid_forward
  Around changed;                ///< runs a call in the changed state
  bool leaves = true;            ///< whether the change ends with the call
};

Around after(std::function<void()> change) {
  return [=](const std::function<void()>& call) {
    change();
    call();
  };
}

Tensor result(Net& net, const Tensor& x, const Around& around = {}) {
  Tensor y;
  if (around)
    around([&] { y = net({x})[0]; });
  else
    y = net({x})[0];
  return y;
}

Net::Body times(const std::function<double()>& read) {
  return [=](F&, const Tensors& in) { return Tensors{in[0] * read()}; };
}

const Tensor x{1, 2, 3};

/// The network and its eager twin agree before the change, in the changed state and when it is back.
void check_followed(const State& s, bool compiled = true) {
  CAPTURE(s.name);
  Net eager(times(s.read)), hybrid(times(s.read));
  hybrid.hybridize();
  const auto same = [&](const Around& around) {
    Tensor a, b;
    const auto both = [&] {
      a = eager({x})[0];
      b = hybrid({x})[0];
    };
    around ? around(both) : both();
    CAPTURE(a.to_vector<float>(), b.to_vector<float>());
    CHECK(same_bits(a, b));
    return a;
  };
  const Tensor before = same({});
  same({});
  const int runs = hybrid.runs();
  if (compiled) CHECK(runs == 1);
  CHECK_FALSE(same_bits(same(s.changed), before));
  same({});
  same(s.changed);
  if (compiled)
    for (const CompiledCall& call : hybrid.compiled_calls()) CHECK(call.compiled);
}

void check_baked_in(const State& s) {
  CAPTURE(s.name);
  Net hybrid(times(s.read)), checked(times(s.read));
  hybrid.hybridize();
  checked.hybridize({.check = Check::recording});
  const Tensor before = result(hybrid, x);
  CHECK(same_bits(result(checked, x), before));
  s.changed([&] {
    CHECK(same_bits(result(hybrid, x), before));
    CHECK_THROWS_WITH(result(checked, x), Catch::Contains("does not compute what was recorded"));
  });
}

double number_in(const std::string& text) {
  return std::stod(text.substr(text.find_first_of("-0123456789")));
}

Parameter weight() {
  Parameter p("weight", {1});
  p.initialize(init::One());
  return p;
}

}  // namespace

TEST_CASE("modes of a call") {
  const auto in_mode = [](auto make) -> Around {
    return [=](const std::function<void()>& call) {
      const auto mode = make();
      call();
    };
  };
  const auto train = [] { return std::make_shared<autograd::TrainMode>(); };
  const auto record = [] { return std::make_shared<autograd::Record>(false); };
  const auto numpy = [](const std::function<void()>& call) {
    F::npx::set_np();
    call();
    F::npx::reset_np();
  };
  Tensor other{1};
  check_followed({"is_training()", [] { return autograd::is_training() ? 2 : 3; }, in_mode(train)});
  check_followed({"is_recording()", [] { return autograd::is_recording() ? 2 : 3; }, in_mode(record)});
  check_followed({"is_np_shape()", [] { return F::npx::is_np_shape() ? 2 : 3; }, numpy});
  check_followed({"is_np_array()", [] { return F::npx::is_np_array() ? 2 : 3; }, numpy});
  check_followed({"is_recorded()", [&] { return autograd::is_recorded(other) ? 2 : 3; },
                  [&](const std::function<void()>& call) {
                    other.attach_grad();
                    call();
                    other.attach_grad(GradReq::null);
                  }});
}

TEST_CASE("elements of arrays") {
  using Read = std::function<double(const Tensor&)>;
  const std::vector<std::pair<std::string, Read>> reads{
      {"item()", [](const Tensor& t) { return t.item<float>(); }},
      {"item() of an element", [](const Tensor& t) { return Tensor(t[0]).item<double>(); }},
      {"item<int>()", [](const Tensor& t) { return t.item<int>(); }},
      {"to_vector()", [](const Tensor& t) { return t.to_vector<double>()[0]; }},
      {"copy_to()",
       [](const Tensor& t) {
         double d = 0;
         t.copy_to(&d, DType::f64);
         return d;
       }},
      {"data()", [](const Tensor& t) { return *static_cast<const float*>(t.data()); }},
      {"operator<<",
       [](const Tensor& t) {
         std::ostringstream text;
         text << t;
         return number_in(text.str());
       }},
      {"to_string()", [](const Tensor& t) { return number_in(to_string(t)); }},
      {"array_str()", [](const Tensor& t) { return number_in(F::numpy::array_str(t)); }},
      {"format_arrays()",
       [](const Tensor& t) {
         const NamedArray named[] = {{"a", t}};
         const std::string bytes = format_arrays(named);
         return parse_arrays(std::as_bytes(std::span(bytes)), "text")[0].array.item<double>();
       }},
      {"save_arrays()",
       [](const Tensor& t) {
         const NamedArray named[] = {{"a", t}};
         save_arrays("read.params", named);
         return load_arrays("read.params")[0].array.item<double>();
       }},
  };
  for (const auto& [name, read] : reads) {
    Tensor array{1};
    const Around write = after([&] { array += 1; });
    check_followed({"captured array: " + name, [&] { return read(array); }, write});
    Parameter p = weight();
    const Around set = after([&] { p.set_data(p.data() + 1); });
    check_followed({"parameter: " + name, [&] { return read(p.data()); }, set});
  }
}

TEST_CASE("arrays that are read and then written, replaced or made") {
  // In every way that a program may write.
  Tensor array{1};
  const std::function<double()> read = [&] { return array.item<float>(); };
  check_followed({"x[...] = ...", read, after([&] { array[slice()] = array.item<float>() + 1; })});
  check_followed({"x *= ...", read, after([&] { array *= 3; })});
  check_followed({"copy_from()", read, after([&] {
                    const float v = array.item<float>() + 1;
                    array.copy_from(&v, DType::f32);
                  })});
  check_followed({"mutable_data()", read, after([&] { *static_cast<float*>(array.mutable_data()) += 1; })});
  check_followed({"another array", read, after([&] { array = Tensor{array.item<float>() + 1}; })});
  Net writer([&](F&, const Tensors& in) {
    array += in[0];
    return Tensors{in[0] * 2};
  });
  writer.hybridize();
  check_followed({"a hybridized network", read, after([&] { writer({ones({1})}); })});

  // An array of hybrid_forward itself is baked in, and costs no recording.
  Net own([](F&, const Tensors& in) { return Tensors{in[0] * Tensor{4}.item<float>()}; });
  own.hybridize();
  for (int i = 0; i < 3; ++i) CHECK(result(own, x).to_vector<float>()[0] == 4);
  CHECK(own.runs() == 1);
}

TEST_CASE("values decide between two graphs") {
  struct Gate : HybridBlock {
    Parameter gate;
    Gate() : HybridBlock({.prefix = "gate_"}) { gate = params().get("gate", {1}, {.init = init::One()}); }
    Tensor hybrid_forward(F&, const Tensor& x) override {
      return gate.data().item<float>() > 0 ? x * 2 : x * 3;
    }
  };
  Gate net;
  net.initialize();
  net.hybridize();
  auto bound = net.bind({x});
  CHECK(bound().to_vector<float>()[1] == 4);
  CHECK(net(x).to_vector<float>()[1] == 4);
  net.gate.set_data(Tensor{-1});
  CHECK(net(x).to_vector<float>()[1] == 6);
  CHECK_THROWS_WITH(bound(), Catch::Contains("bind it again"));
  net.gate.set_data(Tensor{1});
  CHECK(net(x).to_vector<float>()[1] == 4);
}

TEST_CASE("options of parameters, and parts of networks") {
  Parameter p = weight();
  check_followed({"grad_req()", [&] { return p.grad_req() == GradReq::null ? 2 : 3; },
                  [&](const std::function<void()>& call) {
                    p.set_grad_req(GradReq::null);
                    call();
                    p.set_grad_req(GradReq::write);
                  }});
  check_followed({"lr_mult()", [&] { return p.lr_mult(); }, after([&] { p.set_lr_mult(p.lr_mult() + 1); })});
  check_followed({"wd_mult()", [&] { return p.wd_mult(); }, after([&] { p.set_wd_mult(p.wd_mult() + 1); })});
  check_followed({"init()", [&] { return p.init().defined() ? 2 : 3; },
                  [&](const std::function<void()>& call) {
                    p.set_init(init::One());
                    call();
                    p.set_init({});
                  }});
  check_followed({"dtype()", [&] { return p.dtype() == DType::f64 ? 2 : 3; },
                  [&](const std::function<void()>& call) {
                    p.cast(DType::f64);
                    call();
                    p.cast(DType::f32);
                  }});
  struct Parent : HybridBlock {
    nn::HybridSequential list;
    Attr<double> scale{this, 2.};
    Parent() : HybridBlock({.prefix = "parent_"}) { register_child(list, "list"); }
    Tensor hybrid_forward(F&, const Tensor& x) override {
      return x * static_cast<double>(list.size() + 1) * static_cast<double>(scale) *
             static_cast<double>(collect_params().size() + 1);
    }
  };
  Parent net;
  net.hybridize();
  CHECK(net(x).to_vector<float>()[0] == 2);
  net.list.add(nn::Activation("relu"));
  CHECK(net(x).to_vector<float>()[0] == 4);
  net.scale = 5;
  CHECK(net(x).to_vector<float>()[0] == 10);
}

TEST_CASE("gradients and random streams make a call run eagerly") {
  Tensor w{1};
  w.attach_grad();
  check_followed({"grad()", [&] { return w.grad().item<float>() + 1; }, after([&] { w.grad() += 1; })},
                 false);
  const auto seeded = [](F&, const Tensors& in) {
    random::seed(5);
    const double counter = static_cast<double>(random::state().program.counter);
    const Tensor y = in[0] + random::uniform(0, 1, {3}) + counter;
    random::restore(random::State{});
    return Tensors{y};
  };
  Net eager(seeded), hybrid(seeded);
  hybrid.hybridize();
  for (int i = 0; i < 3; ++i) {
    const Tensor a = eager({x})[0], next = random::uniform(0, 1, {3});
    CHECK(same_bits(hybrid({x})[0], a));
    CHECK(same_bits(random::uniform(0, 1, {3}), next));
  }
  CHECK(hybrid.compiled_calls().at(0).eager_because.find("random::seed()") != std::string::npos);
}

TEST_CASE("state that is baked in") {
  double flag = 2;
  check_baked_in({"a variable of the program", [&] { return flag; }, after([&] { ++flag; })});
  nn::Dense layer(1, {.in_units = 1});
  layer.initialize();
  Trainer trainer(layer.collect_params(), "sgd", {.learning_rate = 0.5});
  check_baked_in({"learning_rate()", [&] { return trainer.learning_rate(); },
                  after([&] { trainer.set_learning_rate(0.25); })});
  const auto step = after([&] {
    autograd::record([&] { return layer(ones({1, 1})); }).backward();
    trainer.step(1);
  });
  check_baked_in({"num_update()", [&] { return static_cast<double>(trainer.num_update()); }, step});
  metric::Loss loss;
  loss.update(Tensor{1});
  check_baked_in({"a metric", [&] { return loss.value(); }, after([&] { loss.update(Tensor{3}); })});
  Parameter late("late", {1});
  check_baked_in({"is_initialized()", [&] { return late.is_initialized() ? 2 : 3; },
                  after([&] { late.initialize(init::One()); })});
  Parameter open("open", {0, 2}, {.allow_deferred_init = true});
  check_baked_in(
      {"shape() of a parameter", [&] { return static_cast<double>(open.shape()[0]) + 1; }, after([&] {
         open.set_shape({3, 2});
       })});
  check_baked_in({"is_deferred()", [&] { return open.is_deferred() ? 2 : 3; }, after([&] {
                    open = Parameter("other", {0, 2}, {.allow_deferred_init = true});
                    open.initialize();
                  })});
  check_baked_in({"num_threads()", [] { return num_threads(); },
                  [](const std::function<void()>& call) {
                    const ThreadLimit limit(num_threads() + 1);
                    call();
                  }});
  const std::uint64_t made = stats().recordings_made;
  check_baked_in({"stats()", [&] { return stats().recordings_made > made + 5 ? 2 : 3; }, after([] {
                    for (int i = 0; i < 8; ++i) {
                      Net net([](F&, const Tensors& in) { return Tensors{in[0] + 7}; });
                      net.hybridize();
                      net({x});
                    }
                  })});
  Tensor large;
  check_baked_in({"memory_report()", [] { return memory_report().live_bytes > (1u << 26) ? 2 : 3; },
                  after([&] { large = zeros({1 << 25}); })});
  check_baked_in({"PrecisionScope::current() on the CPU",
                  [] { return PrecisionScope::current() == Precision::tf32 ? 2 : 3; },
                  [](const std::function<void()>& call) {
                    const PrecisionScope scope(Precision::tf32);
                    call();
                  }});
  save_arrays("baked.params", std::vector<NamedArray>{{"a", Tensor{1}}});
  check_baked_in({"a file", [] { return load_arrays("baked.params")[0].array.item<double>(); }, after([] {
                    save_arrays("baked.params", std::vector<NamedArray>{{"a", Tensor{2}}});
                  })});
}

TEST_CASE("scopes that change no bits") {
  for (const bool wide : {false, true}) {
    const auto body = [&](F& f, const Tensors& in) {
      const ThreadLimit threads(wide ? 4 : 1);
      const PrecisionScope precision(wide ? Precision::tf32 : Precision::exact);
      const DeviceScope device(cpu());
      return Tensors{f.dot(in[0], in[0], {.transpose_b = true}) + zeros({1, 1})};
    };
    CHECK(compiles(body, {x.reshape({1, 3})}));
    everywhere(body, {x.reshape({1, 3})});
  }
}
