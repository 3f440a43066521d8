#include "graph_fuzz/gradient_check.h"

#include "graph_fuzz/block_check.h"
#include "graphs/compare.h"

#include <kiln/random.h>
#include <kiln/version.h>

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
    if (!inputs.empty()) block_.emplace(symbol, inputs);
  }

  bool runs() const { return block_.has_value(); }

  /// The gradients, or the error for the user that the program meets.
  Result run(bool hybridize, Recompute recompute, Coverage* coverage) {
    std::mt19937_64 random(seed_);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const auto met = [&](const char* what) {
      if (coverage) ++(*coverage)[what];
    };
    block_->hybridize({.active = hybridize, .recompute = recompute});
    random::seed(seed_);
    Tensors x;
    std::vector<bool> wants;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      x.push_back(arguments_[i].copy());
      const bool floating = is_floating(x.back().dtype());
      const std::size_t drawn = pick(5);
      wants.push_back(floating && !is_state_[i] && drawn > 0);
      if (wants[i]) x[i].attach_grad(drawn == 4 ? GradReq::add : GradReq::write);
      if (wants[i] && drawn == 4) met("gradients that are added");
    }
    const std::size_t calls = 1 + pick(2), writes = pick(3), passes = 1 + pick(2);
    Tensors heads, gradients;
    {
      const autograd::Record record(train_);
      Tensors before;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (const bool used = pick(3) == 0; used && wants[i]) {
          before.push_back(x[i] * x[i]);
          met("values that are used before the block");
        }
      for (std::size_t call = 0; call < calls; ++call) {
        Tensors results = (*block_)(x);
        if (call > 0) met("values that are used by two blocks");
        for (Tensor& y : results) {
          if (const bool written = pick(3) < writes;
              written && is_floating(y.dtype()) && y.size() > 0 && !y.shape().empty() && !aliases(y, x)) {
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
      for (std::size_t i = 0; i < x.size(); ++i)
        if (const bool used = pick(4) == 0; used && wants[i]) {
          heads.push_back(x[i] + x[i]);
          met("values that are used after the block");
        }
    }
    std::erase_if(heads, [](const Tensor& t) { return !is_floating(t.dtype()) || !has_history(t); });
    for (const Tensor& h : heads) {
      const bool given = pick(2) == 0;
      gradients.push_back(given ? random::normal(0, 1, h.shape()).astype(h.dtype()) : Tensor());
      if (given) met("heads with gradients of their own");
    }
    Result out;
    if (heads.empty()) return out;
    for (std::size_t pass = 0; pass < passes; ++pass)
      autograd::backward(heads, gradients, {.retain_graph = pass + 1 < passes});
    if (passes > 1) met("second backward passes");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (wants[i]) {
        out.arrays.push_back(x[i].grad().copy());
        out.names.push_back("the gradient of " + names_[i]);
        met("gradients");
      } else if (is_state_[i]) {
        out.arrays.push_back(x[i].copy());
        out.names.push_back(names_[i]);
      }
    }
    return out;
  }

 private:
  /// Whether a head can be differentiated: by its gradient with respect to itself.
  static bool has_history(const Tensor& t) {
    try {
      autograd::grad({t}, {t}, {.retain_graph = true});
      return true;
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user) throw;
      return false;
    }
  }
  static bool aliases(const Tensor& y, const Tensors& x) {
    for (const Tensor& t : x) {
      const auto* begin = static_cast<const std::byte*>(t.data());
      const auto* at = static_cast<const std::byte*>(y.data());
      if (at >= begin && at < begin + static_cast<std::size_t>(t.size()) * size_of(t.dtype())) return true;
    }
    return false;
  }

  std::optional<SymbolBlock> block_;
  Tensors arguments_;
  std::vector<bool> is_state_;
  std::vector<std::string> names_;
  bool train_;
  std::uint64_t seed_;
};

/// The run, or the text of the error that the program made.
struct Outcome {
  Result result;
  std::string error;
};
Outcome outcome_of(Program& program, bool hybridize, Recompute recompute, Coverage* coverage) {
  try {
    return {program.run(hybridize, recompute, coverage), {}};
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    return {{}, e.what()};
  }
}

/// Sets the instruction set back when it goes.
struct NativeAtEnd {
  NativeAtEnd() = default;
  NativeAtEnd(const NativeAtEnd&) = delete;
  ~NativeAtEnd() { set_target_cpu("native"); }
};

}  // namespace

std::optional<std::string> gradient_difference(const Graph& graph, Coverage& coverage) {
  Program program(graph);
  if (!program.runs()) return {};
  static constexpr std::pair<Recompute, const char*> policies[] = {{Recompute::none, "none"},
                                                                   {Recompute::cheap, "cheap"},
                                                                   {Recompute::all, "all"},
                                                                   {Recompute::blocks, "blocks"}};
  const auto [recompute, policy] = policies[graph.seed / 3 % std::size(policies)];
  const Outcome eager = outcome_of(program, false, recompute, &coverage);
  const std::vector<std::string> cpus = target_cpus();
  const std::string& cpu = cpus[graph.seed % cpus.size()];
  const int threads = 1 + static_cast<int>(graph.seed / 7 % 2);
  const NativeAtEnd native;
  set_target_cpu(cpu);
  const ThreadLimit limit(threads);
  const Outcome hybridized = outcome_of(program, true, recompute, nullptr);
  if (eager.error.empty() != hybridized.error.empty())
    return fmt::format("of the gradients' runs one throws: eager '{}', hybridized '{}'", eager.error,
                       hybridized.error);
  if (!eager.error.empty()) {
    ++coverage["graphs without gradients: " + eager.error.substr(0, 160)];
    return {};
  }
  ++coverage["graphs with equal gradients"];
  ++coverage[cpu + " code"];
  ++coverage[fmt::format("recompute {}", policy)];
  if (auto text = first_difference(eager.result, hybridized.result))
    return fmt::format("gradients, {} code on {} threads, recompute {}: {}", cpu, threads, policy, *text);
  return {};
}

}  // namespace graphs
