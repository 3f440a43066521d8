// Compares the gradients of a program around a graph, eager and hybridized.
#include "gradient_check.h"

#include "frontend/tensor/array.h"
#include "graphs/compare.h"
#include "native_at_end.h"
#include "statement_block.h"
#include "writing_block.h"

#include <kiln/random.h>
#include <kiln/version.h>

#include <algorithm>
#include <fmt/format.h>
#include <random>

namespace graphs {

using namespace kiln;

namespace {

/// A program around a block, the same each time it is run.
class Program {
 public:
  explicit Program(const Graph& graph) : train_(graph.train), seed_(graph.seed) {
    const Symbol symbol = Symbol::load_json(to_json(graph));
    std::map<std::string, Tensor> values;
    for (const Node& node : graph.nodes)
      if (node.is_variable()) values[node.name] = node.value;
    const std::vector<std::string> states = symbol.list_auxiliary_states();
    std::vector<Symbol> inputs;
    for (const std::string& name : symbol.list_inputs()) {
      if (!values.contains(name)) return;  // a graph that is being reduced
      inputs.push_back(sym::var(name));
      arguments_.push_back(values.at(name));
      is_state_.push_back(std::find(states.begin(), states.end(), name) != states.end());
      names_.push_back(name);
    }
    if (inputs.empty()) return;
    if (has_control_flow(graph) && graph.seed % 4 < 3)
      block_ = statements_ = std::make_shared<StatementBlock>(graph, names_);
    else
      block_ = std::make_shared<SymbolBlock>(symbol, inputs);
  }

  bool runs() const { return block_ != nullptr; }
  /// Whether loops and branches are calls of F::contrib, not nodes.
  bool has_statements() const { return statements_ != nullptr; }

  /// By head of the last run: whether it is recorded.
  const std::vector<bool>& recorded() const { return recorded_; }

  /// The gradients, or the error for the user that the program meets. On DeviceScope's device.
  Result run(bool hybridize, Recompute recompute, Coverage* coverage) {
    std::mt19937_64 random(seed_);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const auto met = [&](const char* what) {
      if (coverage) ++(*coverage)[what];
    };
    recorded_.clear();
    if (statements_) statements_->count_in(coverage);
    random::seed(seed_);
    Tensors x;
    std::vector<bool> wants;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      x.push_back(arguments_[i].copy().to(DeviceScope::current()));
      const bool floating = is_floating(x.back().dtype());
      const std::size_t drawn = pick(5);
      wants.push_back(floating && !is_state_[i] && drawn > 0);
      if (wants[i]) {
        x[i].attach_grad(drawn == 4 ? GradReq::add : GradReq::write);
        x[i].grad() += 7;  // stays where nothing leads to the input
      }
      if (wants[i] && drawn == 4) met("gradients that are added");
    }
    const std::size_t calls = 1 + pick(2), writes = pick(3), passes = 1 + pick(2);
    std::vector<WritingBlock::Write> written;
    std::vector<Place> places(x.size(), Place::own);
    if (pick(3) == 0)
      for (std::size_t i = 0; i < x.size(); ++i) {
        static constexpr Place all[] = {Place::own, Place::rows, Place::row, Place::reshaped};
        places[i] = all[pick(std::size(all))];
        const bool one = pick(2) == 0, after = pick(3) == 0;
        const std::size_t kind = pick(WritingBlock::kinds);
        if (one && wants[i] && !x[i].shape().empty() && x[i].size() > 0) written.push_back({i, kind, after});
      }
    const std::shared_ptr<HybridBlock> block =
        written.empty() ? block_ : std::make_shared<WritingBlock>(block_, written);
    block->hybridize({.active = hybridize, .recompute = recompute});
    Tensors heads, gradients, behind;
    {
      const autograd::Record record(train_);
      Tensors before;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (const bool used = pick(3) == 0; used && wants[i]) {
          before.push_back(x[i] * x[i]);
          met("values that are used before the block");
        }
      Tensors given = x;
      for (const WritingBlock::Write& w : written) {
        const WrittenInput input = written_input(x[w.input], places[w.input]);
        given[w.input] = input.input;
        behind.push_back(input.behind);
        met("inputs that the block writes");
        if (places[w.input] != Place::own) met("views that the block writes");
      }
      for (std::size_t call = 0; call < calls; ++call) {
        Tensors results = (*block)(given);
        if (call > 0) met("values that are used by two blocks");
        for (Tensor& y : results) {
          if (const bool written = pick(3) < writes; written && is_floating(y.dtype()) && y.size() > 0 &&
                                                     !y.shape().empty() && !aliases(y, x) &&
                                                     !aliases(y, given)) {
            const std::int64_t first =
                static_cast<std::int64_t>(pick(static_cast<std::size_t>(y.shape()[0])));
            y[slice(first, first + 1)] *= 2;
            met("writes through views of results");
          }
          if (pick(3) > 0) heads.push_back(y);
        }
      }
      for (Tensor& b : before)
        if (!heads.empty() && is_floating(heads[0].dtype()) && heads[0].dtype() == b.dtype())
          heads.push_back(heads[0].sum() * b);
        else
          heads.push_back(b);
      for (std::size_t i = 0; i < behind.size(); ++i) {
        heads.push_back(behind[i] * behind[i]);
        heads.push_back(F::tanh(given[written[i].input]));
      }
      for (std::size_t i = 0; i < x.size(); ++i)
        if (const bool used = pick(4) == 0; used && wants[i]) {
          heads.push_back(x[i] + x[i]);
          met("values that are used after the block");
        }
    }
    // All are drawn, so that the rest of the program does not depend on what is recorded.
    std::erase_if(heads, [](const Tensor& t) { return !is_floating(t.dtype()); });
    Tensors recorded;
    Result out;
    for (const Tensor& h : heads) {
      const bool given = pick(2) == 0;
      const Tensor gradient = given ? random::normal(0, 1, h.shape()).astype(h.dtype()) : Tensor();
      recorded_.push_back(autograd::is_recorded(h));
      if (!recorded_.back()) continue;
      recorded.push_back(h);
      gradients.push_back(gradient);
      if (given) met("heads with gradients of their own");
    }
    if (recorded.empty()) return out;
    for (std::size_t pass = 0; pass < passes; ++pass)
      autograd::backward(recorded, gradients, {.retain_graph = pass + 1 < passes});
    if (passes > 1) met("second backward passes");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (wants[i]) {
        out.arrays.push_back(x[i].grad().copy().to(cpu()));
        out.names.push_back("the gradient of " + names_[i]);
        met("gradients");
      } else if (is_state_[i]) {
        out.arrays.push_back(x[i].copy().to(cpu()));
        out.names.push_back(names_[i]);
      }
    }
    return out;
  }

 private:
  static bool aliases(const Tensor& y, const Tensors& x) {
    using kiln::detail::TensorAccess;
    return std::any_of(x.begin(), x.end(),
                       [&](const Tensor& t) { return TensorAccess::array(t) == TensorAccess::array(y); });
  }

  std::shared_ptr<HybridBlock> block_;
  std::shared_ptr<StatementBlock> statements_;
  Tensors arguments_;
  std::vector<bool> is_state_, recorded_;
  std::vector<std::string> names_;
  bool train_;
  std::uint64_t seed_;
};

/// The run, or the text of the error that the program made.
struct Outcome {
  Result result;
  std::string error;
  std::vector<bool> recorded;
};
Outcome outcome_of(Program& program, bool hybridize, Recompute recompute, Coverage* coverage) {
  try {
    Result result = program.run(hybridize, recompute, coverage);
    return {std::move(result), {}, program.recorded()};
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    return {{}, e.what(), program.recorded()};
  }
}

/// How what is recorded differs.
std::optional<std::string> recording_difference(const Outcome& eager, const Outcome& hybridized) {
  for (std::size_t i = 0; i < eager.recorded.size(); ++i)
    if (eager.recorded[i] != hybridized.recorded.at(i))
      return fmt::format("of the program's values one is {} eagerly and {} hybridized: head {}",
                         eager.recorded[i] ? "recorded" : "no result of a recorded call",
                         hybridized.recorded[i] ? "recorded" : "no result of a recorded call", i);
  return {};
}

}  // namespace

std::optional<std::string> gradient_difference(const Graph& graph, Coverage& coverage, Device device) {
  Program program(graph);
  if (!program.runs()) return {};
  static constexpr std::pair<Recompute, const char*> policies[] = {{Recompute::none, "none"},
                                                                   {Recompute::cheap, "cheap"},
                                                                   {Recompute::all, "all"},
                                                                   {Recompute::blocks, "blocks"}};
  const auto [recompute, policy] = policies[graph.seed / 3 % std::size(policies)];
  Outcome eager = outcome_of(program, false, recompute, &coverage);
  const std::vector<std::string> cpus = target_cpus();
  const std::string& cpu = cpus[graph.seed % cpus.size()];
  const int threads = 1 + static_cast<int>(graph.seed / 7 % 2);
  const NativeAtEnd native;
  set_target_cpu(cpu);
  const ThreadLimit limit(threads);
  Outcome hybridized = [&] {
    const DeviceScope scope(device);
    return outcome_of(program, true, recompute, nullptr);
  }();
  // A node of nested loops and branches has fewer random numbers than its steps may draw one by one.
  if (eager.error.empty() && hybridized.error.find("this one draws more") != std::string::npos) {
    ++coverage["graphs of which a loop or branch may draw too many random numbers"];
    return {};
  }
  if (eager.error.empty() != hybridized.error.empty())
    return fmt::format("of the gradients' runs one throws: eager '{}', hybridized '{}'", eager.error,
                       hybridized.error);
  // Every graph that runs has gradients, except of a few operators, whose error says so.
  if (eager.error.find("_vjp") != std::string::npos && eager.error.find("no gradient") == std::string::npos)
    return fmt::format("the gradients throw: {}", eager.error);
  if (!eager.error.empty()) {
    ++coverage["graphs without gradients: " + eager.error.substr(0, 160)];
    return {};
  }
  if (auto text = recording_difference(eager, hybridized)) return text;
  if (eager.result.arrays.empty()) {
    ++coverage["graphs without a recorded head"];
    return {};
  }
  ++coverage["graphs with equal gradients"];
  count_control_flow(graph, coverage);
  if (has_control_flow(graph))
    ++coverage[program.has_statements() ? "graphs of loops and branches, as statements"
                                        : "graphs of loops and branches, as nodes"];
  ++coverage[cpu + " code"];
  ++coverage[fmt::format("recompute {}", policy)];
  if (auto text = first_difference(eager.result, hybridized.result))
    return fmt::format("gradients, {} code on {} threads, recompute {}: {}", cpu, threads, policy, *text);
  return {};
}

}  // namespace graphs
