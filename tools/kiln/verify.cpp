// kiln verify: compares eager and compiled runs, or two devices, bit by bit, and finds the first differing
// node. Or it tells how far a model is from another one.
#include "frontend/tensor/bits.h"
#include "tools/kiln/agreement.h"
#include "tools/kiln/command.h"
#include "tools/kiln/first_difference.h"
#include "tools/kiln/gradients.h"
#include "tools/kiln/model_arguments.h"

#include <kiln/random.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace kiln::tool {
namespace {

struct VerifyArguments {
  ModelArguments model;
  std::vector<int> threads = {1, 2};
  bool train = false, grad = false;
  Device device;
  std::optional<Precision> precision = Precision::exact;  // the bits of the CPU
  std::optional<Device> against;
  std::string against_model, against_params;  // the symbol file of another model, and its parameters
};

/// A run that is compared, and its name in messages.
struct ComparedRun {
  RunOptions options;
  std::string what;
};

/// Eager and compiled runs on all numbers of threads, and on the device.
std::vector<ComparedRun> compared_runs(const VerifyArguments& a, bool train) {
  std::vector<ComparedRun> runs;
  const auto add = [&](RunOptions options, const std::string& where) {
    for (const RunMode mode : {RunMode::eager, RunMode::compiled}) {
      options.mode = mode;
      runs.push_back({options, (mode == RunMode::eager ? "eager on " : "compiled on ") + where});
    }
  };
  for (const int threads : a.threads)
    add({.threads = threads, .train = train}, fmt::format("{} threads", threads));
  if (!a.device.is_cpu()) add({.train = train, .device = a.device}, a.device.str());
  return runs;
}

/// Outputs and, after a training call, auxiliary states, by name.
std::vector<NamedArray> results(const Model& model, const std::map<std::string, Tensor>& inputs,
                                const RunOptions& options) {
  PreparedModel prepared = model.prepare(inputs, options);
  std::vector<NamedArray> all;
  std::vector<std::string> names = model.output_names();
  random::seed(0);  // both modes draw the same numbers
  std::vector<Tensor> outputs = prepared.run();
  for (std::size_t i = 0; i < outputs.size(); ++i) all.push_back({names.at(i), outputs[i]});
  if (options.train)
    for (NamedArray& a : prepared.auxiliary_states()) all.push_back(a);
  return all;
}

void report(const Difference& d, const std::string& what) {
  fmt::print("{} {}", what, d.name);
  if (d.element < 0)
    fmt::print(": shape {} {} and {} {}\n", d.expected.shape().str(), name_of(d.expected.dtype()),
               d.got.shape().str(), name_of(d.got.dtype()));
  else
    fmt::print(", element {} of {}: {} and {}\n", d.element, d.expected.size(),
               detail::element_text(d.expected, d.element), detail::element_text(d.got, d.element));
}

void report_first(const Model& model, const Difference& d, const std::string& gradient_of) {
  const std::string node = model.describe_node(d.name);
  report({gradient_of.empty() ? node : fmt::format("{}: grad:{}", node, gradient_of), d.element, d.expected,
          d.got},
         "first node that differs:");
}

/// Compares gradients of all inputs and parameters, with ones as gradients of the outputs. The number of
/// them; nothing if some differ.
std::optional<std::size_t> verify_gradients(const VerifyArguments& a, const Model& model,
                                            const std::map<std::string, Tensor>& inputs) {
  const HeadGradients heads =
      a.model.input.empty() ? HeadGradients() : read_head_gradients(a.model.input, model);
  const auto run = [&](const RunOptions& options) {
    random::seed(0);  // both modes draw the same numbers
    return run_gradients(model, inputs, heads, options, a.model.input).gradients;
  };
  RunOptions reference{.mode = RunMode::eager, .threads = a.threads.front(), .train = true};
  const std::vector<NamedArray> expected = run(reference);
  for (const auto& [options, what] : compared_runs(a, /*train=*/true)) {
    const std::vector<NamedArray> got = run(options);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto element = detail::first_difference(expected[i].array, got[i].array);
      if (!element) continue;
      fmt::print("gradients: {} differs from eager on {}\n", what, reference.threads);
      report({expected[i].name, *element, expected[i].array, got[i].array}, "gradient of");
      std::optional<GradientDifference> first;
      for (const std::string& output : model.output_names())
        if (!first) first = first_differing_gradient(model, inputs, reference, options, output);
      if (first)
        report_first(model, *first, first->array);
      else
        fmt::print(
            "no node's gradient differs when the network ends there: the difference depends on fusion\n");
      return {};
    }
  }
  return expected.size();
}

/// The results of one run, for comparison with others.
class Reference {
 public:
  /// `what` is the run, for messages.
  Reference(const Model& model, const std::map<std::string, Tensor>& inputs, const RunOptions& options,
            std::string what)
      : model_(model),
        inputs_(inputs),
        options_(options),
        what_(std::move(what)),
        expected_(results(model, inputs, options)) {}

  std::size_t size() const { return expected_.size(); }

  /// Whether another run has the same bits. If not, prints where they differ.
  bool equals(const RunOptions& options, const std::string& what) const {
    const std::vector<NamedArray> got = results(model_, inputs_, options);
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto element = detail::first_difference(expected_[i].array, got[i].array);
      if (!element) continue;
      fmt::print("{} differs from {}\n", what, what_);
      report({expected_[i].name, *element, expected_[i].array, got[i].array}, "output");
      if (auto first = first_differing_node(model_, inputs_, options_, options, expected_[i].name))
        report_first(model_, *first, "");
      else
        fmt::print("no node differs when inner values are outputs: the difference depends on fusion\n");
      return false;
    }
    return true;
  }

 private:
  const Model& model_;
  const std::map<std::string, Tensor>& inputs_;
  RunOptions options_;
  std::string what_;
  std::vector<NamedArray> expected_;
};

bool is_model(const std::string& text) { return text.ends_with(".json"); }

/// Compiled runs on two devices.
int verify_devices(const VerifyArguments& a) {
  const auto [model, inputs] = a.model.load_fed();
  const auto on = [&](Device device) { return RunOptions{.train = a.train, .device = device}; };
  const Reference reference(model, inputs, on(*a.against), a.against->str());
  if (!reference.equals(on(a.device), a.device.str())) return bad_input;
  fmt::print("same bits: {} outputs of {} nodes on {} and {}\n", reference.size(), model.internals().size(),
             a.device.str(), a.against->str());
  return ok;
}

/// How far the outputs are from another model's, as of a network in int8 from the float one.
int verify_models(const VerifyArguments& a) {
  const auto [model, inputs] = a.model.load_fed();
  const Model other = Model::load(
      a.against_model, a.against_params.empty() ? std::nullopt : std::optional(a.against_params), {});
  const RunOptions options{.train = a.train, .device = a.device};
  const std::vector<std::string> names = model.output_names();
  const std::vector<Tensor> got = model.run(inputs, options), expected = other.run(inputs, options);
  if (got.size() != expected.size())
    throw Error(fmt::format("{} has {} outputs, and {} has {}", a.model.symbol, got.size(), a.against_model,
                            expected.size()));
  for (std::size_t i = 0; i < got.size(); ++i) {
    Agreement agreement;
    agreement.add(got[i], expected[i]);
    fmt::print("{}: {}\n", names[i], agreement.str());
  }
  return ok;
}

int verify(const VerifyArguments& a) {
  const auto [model, inputs] = a.model.load_fed();
  const bool train = a.train || a.grad;
  const Reference reference(model, inputs,
                            {.mode = RunMode::eager, .threads = a.threads.front(), .train = train},
                            fmt::format("eager on {}", a.threads.front()));
  for (const auto& [options, what] : compared_runs(a, train))
    if (!reference.equals(options, what)) return bad_input;
  std::string gradients;
  if (a.grad) {
    const auto compared = verify_gradients(a, model, inputs);
    if (!compared) return bad_input;
    gradients = fmt::format(" and {} gradients", *compared);
  }
  fmt::print("equal bit for bit: {} outputs{} of {} nodes, eager and compiled, threads {}{}\n",
             reference.size(), gradients, model.internals().size(), fmt::join(a.threads, ", "),
             a.device.is_cpu() ? "" : ", and " + a.device.str());
  return ok;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto a = std::make_shared<VerifyArguments>();
  CLI::App* c = app.add_subcommand("verify", "Compare eager and compiled runs, or devices, bit by bit");
  a->model.add_model(*c);
  a->model.add_inputs(*c);
  CLI::Option* const threads = add_threads(*c, a->threads);
  c->add_flag("--train", a->train, "As in training; auxiliary states are compared too");
  add_device(*c, a->device, "cuda or cuda:N: runs there too");
  add_precision(*c, a->precision, Precision::exact);
  CLI::Option* const grad =
      c->add_flag("--grad", a->grad, "Gradients too, in training mode, for head_grad:I or ones")
          ->option_text(" ");
  const CLI::Validator other(
      [](const std::string& text) {
        return is_model(text) || device_named(text)
                   ? ""
                   : "use cpu, cuda, cuda:N or a -symbol.json file, not '" + text + "'";
      },
      "");
  const auto set_other = [a](const std::string& text) {
    if (is_model(text))
      a->against_model = text;
    else
      a->against = device_named(text);
  };
  CLI::Option* const against =
      c->add_option_function<std::string>("--against", set_other,
                                          "DEVICE: it and --device alone; MODEL: errors against it")
          ->check(other)
          ->option_text("OTHER");
  against->excludes(threads)->excludes(grad);
  c->add_option("--against-params", a->against_params, "Parameters of that MODEL")
      ->option_text("FILE")
      ->needs(against);
  c->callback([a, &action] {
    if (a->against == a->device)
      throw CLI::ValidationError("--against " + a->against->str() +
                                 " compares it with itself: name another --device");
    if (!a->against_params.empty() && a->against_model.empty())
      throw CLI::ValidationError("--against-params are of a model, and --against names a device");
    action = [a] {
      return with_precision(a->precision, [&] {
        if (!a->against_model.empty()) return verify_models(*a);
        return a->against ? verify_devices(*a) : verify(*a);
      });
    };
  });
}

}  // namespace kiln::tool
