// Composite cells: stacked, and bidirectional.
#include "frontend/gluon/rnn/rnn_cell.h"
#include "frontend/tensor/text.h"
#include "runtime/fail.h"

namespace kiln::rnn {

using kiln::detail::CellAccess;
using kiln::detail::cells_of;

namespace {

std::vector<StateInfo> joined_info(const Block& block, std::int64_t batch_size) {
  std::vector<StateInfo> all;
  for (const auto& cell : cells_of(block))
    for (StateInfo& info : cell->state_info(batch_size)) all.push_back(std::move(info));
  return all;
}

Tensors joined_states(const RecurrentCell& owner, const Block& block, const BeginStateOptions& options) {
  kiln::detail::check_not_modified(owner);
  Tensors all;
  for (const auto& cell : cells_of(block))
    for (Tensor& t : cell->begin_state(options)) all.push_back(std::move(t));
  return all;
}

std::string list(const Block& block) {
  std::string lines;
  for (const auto& [key, child] : block.children())
    lines += (lines.empty() ? "(" : "\n(") + key + "): " + kiln::detail::indent(child->str(), 2);
  return block.class_name() + "(\n" + lines + "\n)";
}

/// The states divided among the cells, in order.
class Shares {
 public:
  explicit Shares(const Tensors& states) : states_(states) {}
  Tensors next(const RecurrentCell& cell) {
    const auto begin = states_.begin() + at_;
    at_ += static_cast<std::ptrdiff_t>(cell.state_info().size());
    return {begin, states_.begin() + at_};
  }

 private:
  const Tensors& states_;
  std::ptrdiff_t at_ = 0;
};

StepOutput step_all(const Block& block, const Tensor& x, const Tensors& states) {
  Shares shares(states);
  StepOutput out{x, {}};
  for (const auto& cell : cells_of(block)) {
    StepOutput step = (*cell)(out.output, shares.next(*cell));
    out.output = std::move(step.output);
    for (Tensor& t : step.states) out.states.push_back(std::move(t));
  }
  return out;
}

UnrollOutput unroll_all(RecurrentCell& owner, const Block& block, std::int64_t length, const Sequence& inputs,
                        const UnrollOptions& options) {
  const auto cells = cells_of(block);
  if (cells.empty()) fail("{} {} has no cells: add() some before unroll()", block.class_name(), block.name());
  owner.reset();
  const Tensors begin = kiln::detail::first_states(owner, inputs, options);
  Shares shares(begin);
  UnrollOutput out{inputs, {}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    UnrollOptions one = options;
    one.begin_state = shares.next(*cells[i]);
    if (i + 1 < cells.size()) one.merge_outputs.reset();
    UnrollOutput layer = CellAccess::unroll(*cells[i], length, out.outputs, one);
    out.outputs = std::move(layer.outputs);
    for (Tensor& t : layer.states) out.states.push_back(std::move(t));
  }
  return out;
}

}  // namespace

std::vector<StateInfo> SequentialRNNCell::state_info(std::int64_t n) const { return joined_info(*this, n); }
Tensors SequentialRNNCell::begin_state(const BeginStateOptions& o) const {
  return joined_states(*this, *this, o);
}
std::string SequentialRNNCell::str() const { return list(*this); }
Tensors SequentialRNNCell::forward(const Tensors& inputs) {
  StepOutput out = step_all(*this, inputs.at(0), {inputs.begin() + 1, inputs.end()});
  Tensors flat{std::move(out.output)};
  flat.insert(flat.end(), out.states.begin(), out.states.end());
  return flat;
}
UnrollOutput SequentialRNNCell::unroll_steps(std::int64_t length, const Sequence& inputs,
                                             const UnrollOptions& o) {
  return unroll_all(*this, *this, length, inputs, o);
}

std::vector<StateInfo> HybridSequentialRNNCell::state_info(std::int64_t n) const {
  return joined_info(*this, n);
}
Tensors HybridSequentialRNNCell::begin_state(const BeginStateOptions& o) const {
  return joined_states(*this, *this, o);
}
std::string HybridSequentialRNNCell::str() const { return list(*this); }
StepOutput HybridSequentialRNNCell::hybrid_forward(F&, const Tensor& x, const Tensors& states) {
  return step_all(*this, x, states);
}
UnrollOutput HybridSequentialRNNCell::unroll_steps(std::int64_t length, const Sequence& inputs,
                                                   const UnrollOptions& o) {
  return unroll_all(*this, *this, length, inputs, o);
}

BidirectionalCell::BidirectionalCell(std::shared_ptr<HybridRecurrentCell> l_cell,
                                     std::shared_ptr<HybridRecurrentCell> r_cell,
                                     const std::string& output_prefix, Where where)
    : HybridRecurrentCell({.prefix = ""}, "bidirectionalcell"), output_prefix_(output_prefix) {
  register_child(std::move(l_cell), "l_cell", where);
  register_child(std::move(r_cell), "r_cell", where);
}
std::vector<StateInfo> BidirectionalCell::state_info(std::int64_t n) const { return joined_info(*this, n); }
Tensors BidirectionalCell::begin_state(const BeginStateOptions& o) const {
  return joined_states(*this, *this, o);
}
std::string BidirectionalCell::str() const {
  return fmt::format("{}(forward={}, backward={})", class_name(), child("l_cell").str(),
                     child("r_cell").str());
}
StepOutput BidirectionalCell::hybrid_forward(F&, const Tensor&, const Tensors&) {
  fail("Bidirectional cannot be stepped. Please use unroll");
}

UnrollOutput BidirectionalCell::unroll_steps(std::int64_t length, const Sequence& inputs,
                                             const UnrollOptions& o) {
  reset();
  const int axis = kiln::detail::SequenceLayout(o.layout).time;
  const Tensors steps = kiln::detail::to_steps(length, inputs, axis);
  const Tensors backwards = kiln::detail::reversed(steps, o.valid_length);
  const Tensors begin = kiln::detail::first_states(*this, inputs, o);
  Shares shares(begin);
  const auto cells = cells_of(*this);
  UnrollOptions left = o, right = o;
  left.begin_state = shares.next(*cells[0]);
  right.begin_state = shares.next(*cells[1]);
  right.merge_outputs = false;
  UnrollOutput l = CellAccess::unroll(*cells[0], length, Sequence(steps), left);
  UnrollOutput r = CellAccess::unroll(*cells[1], length, Sequence(backwards), right);
  const Tensors r_outputs = kiln::detail::reversed(r.outputs.steps(), o.valid_length);

  const bool merge = o.merge_outputs.value_or(l.outputs.merged());
  Sequence outputs;
  if (merge) {
    const Tensor joined = F::stack(r_outputs, {.axis = axis});
    outputs = Sequence(F::concat({kiln::detail::to_tensor(l.outputs, axis), joined},
                                 {.dim = 2, .name = output_prefix_ + "out"}));
  } else {
    const Tensors l_outputs = kiln::detail::to_steps(length, l.outputs, axis);
    Tensors joined;
    for (std::size_t i = 0; i < l_outputs.size(); ++i)
      joined.push_back(F::concat({l_outputs[i], r_outputs[i]},
                                 {.dim = 1, .name = fmt::format("{}t{}", output_prefix_, i)}));
    outputs = Sequence(std::move(joined));
  }
  if (o.valid_length.defined()) outputs = kiln::detail::masked(outputs, length, o.valid_length, axis, merge);
  Tensors states = std::move(l.states);
  states.insert(states.end(), r.states.begin(), r.states.end());
  return {outputs, std::move(states)};
}

}  // namespace kiln::rnn
