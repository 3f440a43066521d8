// Shared by all recurrent cells: calls, initial states, unrolling, state between steps.
#include "frontend/gluon/rnn/rnn_cell.h"

#include "frontend/api/f_call.h"
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/symbol/symbol_infer.h"
#include "frontend/symbol/symbol_tensor.h"
#include "frontend/trace/symbol_trace.h"
#include "runtime/dynamic_type.h"
#include "runtime/fail.h"

#include <algorithm>
#include <unordered_map>

namespace kiln {

using detail::CellAccess;
using detail::CellMemory;
using detail::TensorAccess;

namespace rnn {

RecurrentCell::RecurrentCell() : cell_(std::make_shared<kiln::detail::CellState>()) {}
RecurrentCell::~RecurrentCell() = default;

StepOutput RecurrentCell::operator()(const Tensor& x, const Tensors& states, Where where) const {
  Block& b = self().block();
  if (const std::size_t n = state_info().size(); states.size() != n)
    fail(
        "{}{} {} takes {} state{}, got {}: pass the states of the step before, for the first step "
        "begin_state(batch_size)",
        line_prefix(where), b.class_name(), b.name(), n, n == 1 ? "" : "s", states.size());
  Tensors inputs{x};
  inputs.insert(inputs.end(), states.begin(), states.end());
  Tensors out = kiln::detail::BlockAccess::call(b, inputs, where);
  if (out.empty()) fail_internal("a cell gave no output");
  return {out[0], {out.begin() + 1, out.end()}};
}

StepOutput RecurrentCell::operator()(const Tensor& x, Where where) const {
  if (state_info().empty()) return (*this)(x, Tensors{}, where);
  fail(
      "{}{} {} is called without states: pass those of the step before, for the first step "
      "begin_state(batch_size), as "
      "in cell(x, cell.begin_state(x.shape()[0]))",
      line_prefix(where), self().block().class_name(), self().block().name());
}

Tensors RecurrentCell::begin_state(const BeginStateOptions& options) const {
  return kiln::detail::make_states(*this, self().block(), state_info(options.batch_size), options);
}

Tensors RecurrentCell::begin_state(std::int64_t batch_size, Where where) const {
  return at_line(where, [&] { return begin_state(BeginStateOptions{.batch_size = batch_size}); });
}

void RecurrentCell::reset() {
  CellMemory& memory = CellAccess::memory(*this);
  memory = {.modifier_calls = memory.modifier_calls};  // a modifier resets its base cell in its own calls
  if (const Trace* trace = Trace::current()) memory.reset_in = trace->serial();
  for (const auto& cell : kiln::detail::cells_of(block())) cell->reset();
}

bool RecurrentCell::keeps_tensors() const {
  const auto cells = kiln::detail::cells_of(self().block());
  return std::any_of(cells.begin(), cells.end(), [](const auto& c) { return c->keeps_tensors(); });
}

UnrollOutput RecurrentCell::unroll(std::int64_t length, const Sequence& inputs, const UnrollOptions& options,
                                   Where where) const {
  const std::source_location line = CallSite::resolve(where);
  const CallSite site(line, line);
  kiln::detail::depend_on_tree(kiln::detail::BlockAccess::state(self().block()));
  const auto run = [&] {
    try {
      kiln::detail::check_length(length, inputs, options);
      return self().unroll_steps(length, inputs, options);
    } catch (const DeferredInitializationError&) {
      throw;  // already names the cell; rethrown to keep its type
    } catch (const Error& e) {
      const std::string prefix = line_prefix(line);
      if (e.kind() != Error::Kind::user || prefix.empty() ||
          std::string_view(e.what()).find(prefix.substr(0, prefix.size() - 2)) != std::string_view::npos)
        throw;
      throw Error(prefix + e.what());
    }
  };
  if (Trace::current() || !kiln::detail::any_symbol(inputs, options)) return run();
  UnrollOutput out;
  {
    const SymbolTrace composition;
    out = run();
  }
  const auto symbol = [](const Tensor& t) {
    return kiln::detail::symbol_tensor(TensorAccess::array(t)->value, t.dtype());
  };
  if (out.outputs.merged()) {
    out.outputs = Sequence(symbol(out.outputs.tensor()));
  } else {
    Tensors steps;
    for (const Tensor& t : out.outputs) steps.push_back(symbol(t));
    out.outputs = Sequence(std::move(steps));
  }
  for (Tensor& t : out.states) t = symbol(t);
  return out;
}

UnrollOutput RecurrentCell::unroll_steps(std::int64_t length, const Sequence& inputs,
                                         const UnrollOptions& options) {
  reset();
  const int axis = kiln::detail::SequenceLayout(options.layout).time;
  const Tensors steps = kiln::detail::to_steps(length, inputs, axis);
  Tensors states = kiln::detail::first_states(*this, inputs, options);
  const bool ends_early = options.valid_length.defined();
  Tensors outputs;
  std::vector<Tensors> history(states.size());  // per state, its value after each step
  for (const Tensor& x : steps) {
    StepOutput out = (*this)(x, states);
    outputs.push_back(std::move(out.output));
    states = std::move(out.states);
    if (ends_early)
      for (std::size_t i = 0; i < states.size(); ++i) history[i].push_back(states[i]);
  }
  Sequence result(std::move(outputs));
  if (ends_early) {
    for (std::size_t i = 0; i < states.size(); ++i)
      states[i] = F::SequenceLast(F::stack(history[i], {.axis = 0}), options.valid_length,
                                  {.use_sequence_length = true, .axis = 0});
    result = kiln::detail::masked(result, length, options.valid_length, axis, true);
  }
  return {kiln::detail::arranged(length, result, axis, options.merge_outputs), std::move(states)};
}

StepOutput HybridRecurrentCell::hybrid_forward(F&, const Tensor&, const Tensors&) {
  fail("{} defines no hybrid_forward() of an input and its states", class_name());
}

Tensors HybridRecurrentCell::hybrid_forward(F& F, const Tensors& inputs) {
  const std::size_t n = state_info().size();
  if (inputs.size() != n + 1)
    fail("{} {} takes its input and {} state{}, got {} tensors", class_name(), name(), n, n == 1 ? "" : "s",
         inputs.size());
  ++CellAccess::memory(*this).step;
  StepOutput out = hybrid_forward(F, inputs[0], {inputs.begin() + 1, inputs.end()});
  if (out.states.size() != n)
    fail("hybrid_forward of {} {} returned {} states where state_info() says {}", class_name(), name(),
         out.states.size(), n);
  Tensors flat{std::move(out.output)};
  flat.insert(flat.end(), out.states.begin(), out.states.end());
  return flat;
}

void HybridRecurrentCell::infer_shape(const Tensors& inputs) {
  const CellMemory before = CellAccess::memory(*this);  // this is no step
  HybridBlock::infer_shape(inputs);
  CellAccess::memory(*this) = before;
}

bool HybridRecurrentCell::records_alone() const { return !keeps_tensors(); }

}  // namespace rnn

namespace detail {

CellMemory& CellAccess::memory(const rnn::RecurrentCell& cell) {
  struct Entry {
    std::weak_ptr<CellState> owner;
    CellMemory memory;
  };
  // Per thread: threads that unroll one cell do not see each other's steps.
  thread_local std::unordered_map<const CellState*, Entry> entries;
  const auto found = entries.find(cell.cell_.get());
  if (found != entries.end() && !found->second.owner.expired()) return found->second.memory;
  std::erase_if(entries, [](const auto& e) { return e.second.owner.expired(); });
  Entry& entry = entries[cell.cell_.get()];
  entry.owner = cell.cell_;
  return entry.memory;
}

std::vector<std::shared_ptr<rnn::RecurrentCell>> cells_of(const Block& block) {
  std::vector<std::shared_ptr<rnn::RecurrentCell>> cells;
  for (const auto& [key, child] : BlockAccess::state(block).children) {
    rnn::RecurrentCell* cell = BlockAccess::recurrent_cell(*child);
    if (!cell) cell = known_cast<rnn::RecurrentCell>(child.get());
    if (cell) cells.emplace_back(child, cell);
    if (!cell && !dynamic_type(*child))
      fail("the cell {} was compiled with -fno-rtti: derive it from rnn::HybridRecurrentCell", child->name());
  }
  return cells;
}

void check_not_modified(const rnn::RecurrentCell& cell) {
  if (CellAccess::modified(cell) && CellAccess::memory(cell).modifier_calls == 0)
    fail(
        "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly. Call the "
        "modifier "
        "cell instead.");
}

Tensor recall(const Block& block, const rnn::RecurrentCell& cell, std::size_t i) {
  const CellMemory& memory = CellAccess::memory(cell);
  const Trace* trace = Trace::current();
  const Tensor kept = i < memory.kept.size() ? memory.kept[i] : Tensor();
  const bool before_this_network =
      trace && (trace->shapes_known() ? memory.reset_in != trace->serial()
                                      : kept.defined() && !TensorAccess::array(kept)->traced());
  const bool after_a_recording = !trace && kept.defined() && TensorAccess::array(kept)->traced();
  if (before_this_network || after_a_recording)
    fail(
        "{} {} keeps tensors from step to step, and here a network {}: call reset() before the first step, "
        "or use "
        "unroll(), which does",
        block.class_name(), block.name(), after_a_recording ? "was recorded in between" : "is recorded");
  return kept;
}

void keep(const rnn::RecurrentCell& cell, std::size_t i, const Tensor& t) {
  CellMemory& memory = CellAccess::memory(cell);
  if (memory.kept.size() <= i) memory.kept.resize(i + 1);
  const Trace* trace = Trace::current();
  // A symbol outlives the composition of one step.
  memory.kept[i] = trace && !trace->shapes_known()
                       ? symbol_tensor(TensorAccess::array(t)->value, TensorAccess::dtype(t))
                       : t;
}

std::vector<Tensor> make_states(const rnn::RecurrentCell& cell, const Block& block,
                                const std::vector<rnn::StateInfo>& infos,
                                const rnn::BeginStateOptions& options) {
  check_not_modified(cell);
  CellMemory& memory = CellAccess::memory(cell);
  const Trace* trace = Trace::current();
  const bool batch_needed = !options.func && !(trace && !trace->shapes_known());
  Tensors states;
  for (const rnn::StateInfo& info : infos) {
    const std::string name = fmt::format("{}begin_state_{}", block.prefix(), ++memory.states);
    if (options.func) {
      states.push_back(options.func(name, info));
      continue;
    }
    if (options.batch_size < 0 || (batch_needed && options.batch_size == 0))
      fail("begin_state() of {} {} needs the size of the batch, as in begin_state(x.shape()[0]), not {}",
           block.class_name(), block.name(), options.batch_size);
    CallAttributes<2> given;
    given.set("shape", ir::AttrValue(options.batch_size == 0 ? open_shape(info) : info.shape));
    given.set("dtype", options.dtype);
    const Tensor zeros = call<"_zeros">({}, given, std::source_location::current(), name);
    if (const ir::NodePtr& node = TensorAccess::array(zeros)->value.node)
      node->attr_text["__layout__"] = info.layout;
    states.push_back(zeros);
  }
  return states;
}

std::vector<Tensor> first_states(rnn::RecurrentCell& cell, const rnn::Sequence& inputs,
                                 const rnn::UnrollOptions& options) {
  const std::vector<rnn::StateInfo> infos = cell.state_info();
  if (!options.begin_state.empty()) {
    if (options.begin_state.size() != infos.size())
      fail("unroll() of {} {} takes {} states as begin_state, got {}", CellAccess::block(cell).class_name(),
           CellAccess::block(cell).name(), infos.size(), options.begin_state.size());
    return options.begin_state;
  }
  const Tensor& x = inputs.merged() ? inputs.tensor() : inputs[0];
  if (!x.defined()) fail("unroll() got an undefined Tensor");
  rnn::BeginStateOptions begin;
  const bool known = TensorAccess::array(x)->shape_known;
  if (known) {
    const Shape& shape = TensorAccess::shape(x);
    const int axis = inputs.merged() ? SequenceLayout(options.layout).batch : 0;
    if (axis >= shape.rank()) fail("unroll() got inputs of shape {}, which have no batch", shape.str());
    begin.batch_size = shape[static_cast<std::size_t>(axis)];
    if (is_floating(TensorAccess::dtype(x))) begin.dtype = TensorAccess::dtype(x);
  }
  const Tensors states = cell.begin_state(begin);
  if (known) mark_open_batch(states, infos);
  return states;
}

void mark_open_batch(const std::vector<Tensor>& states, const std::vector<rnn::StateInfo>& infos) {
  for (std::size_t i = 0; i < states.size() && i < infos.size(); ++i) {
    const ir::NodePtr& node = TensorAccess::array(states[i])->value.node;
    if (!node || node->op_name != "_zeros") continue;
    node->attr_text["shape"] = open_shape(infos[i]).str();
  }
}

Shape open_shape(const rnn::StateInfo& info) {
  return mxnet_shape(partial_shape(info.shape, /*np_shape=*/false), npx::is_np_shape());
}

}  // namespace detail
}  // namespace kiln
