// Cells that change another cell: dropout, residual connections, zoneout.
#include "frontend/api/f_call.h"
#include "frontend/call/line.h"
#include "frontend/gluon/rnn/rnn_cell.h"
#include "ir/attrs.h"
#include "runtime/dynamic_type.h"
#include "runtime/fail.h"

#include <kiln/contrib.h>

namespace kiln {

using detail::CellAccess;

namespace {

double probability(double p, const char* what, std::source_location where) {
  if (!(p >= 0 && p < 1))
    fail("{}{} needs a probability of at least 0 and less than 1, not {}", line_prefix(where), what, p);
  return p;
}

/// A mask of ones: in training, zero with probability p, the rest scaled up.
Tensor dropout_mask(const Tensor& like, double p) { return F::Dropout(F::ones_like(like), {.p = p}); }

using BaseCell = std::shared_ptr<rnn::HybridRecurrentCell>;

BaseCell not_bidirectional(BaseCell base, const char* modifier, const char* what,
                           std::source_location where) {
  if (known_cast<const rnn::BidirectionalCell>(base.get()))
    fail(
        "{}BidirectionalCell doesn't support {} since it doesn't support step. Please add {} to the cells "
        "underneath instead.",
        line_prefix(where), what, modifier);
  return base;
}

}  // namespace

namespace rnn {

DropoutCell::DropoutCell(double rate, const DropoutCellOptions& o, Where where)
    : HybridRecurrentCell({.prefix = o.prefix}, "dropout"),
      rate_(probability(rate, "DropoutCell", where)),
      axes_(o.axes) {}
std::vector<StateInfo> DropoutCell::state_info(std::int64_t) const { return {}; }
std::string DropoutCell::str() const {
  return fmt::format("{}(rate={}, axes={})", class_name(), ir::python_float(rate_), axes_.str());
}
StepOutput DropoutCell::hybrid_forward(F& F, const Tensor& x, const Tensors& states) {
  if (rate_ == 0) return {x, states};
  CallAttributes<2> given;
  given.set("p", ir::AttrValue(rate_));
  given.set("axes", ir::AttrValue(axes_));
  const std::string name = fmt::format("t{}_fwd", CellAccess::memory(*this).step);
  (void)F;
  return {kiln::call<"Dropout">({&x}, given, std::source_location::current(), name), states};
}
UnrollOutput DropoutCell::unroll_steps(std::int64_t length, const Sequence& inputs, const UnrollOptions& o) {
  reset();
  const int axis = kiln::detail::SequenceLayout(o.layout).time;
  const Sequence x = kiln::detail::arranged(length, inputs, axis, o.merge_outputs);
  if (x.merged()) {
    F f;
    StepOutput out = hybrid_forward(f, x.tensor(), o.begin_state);
    return {Sequence(out.output), std::move(out.states)};
  }
  UnrollOptions own = o;
  own.valid_length = {};
  return HybridRecurrentCell::unroll_steps(length, x, own);
}

ModifierCell::ModifierCell(std::shared_ptr<HybridRecurrentCell> base, std::string_view kind, Where where)
    : HybridRecurrentCell({.prefix = base ? base->prefix() + std::string(kind) : std::string(kind)}, kind),
      base_(std::move(base)) {
  if (!base_) fail("{}A modifier cell needs a cell, not a null pointer", line_prefix(where));
  if (CellAccess::modified(*base_))
    fail("{}Cell {} is already modified. One cell cannot be modified twice", line_prefix(where),
         base_->name());
  CellAccess::set_modified(*base_);
  register_child(base_, "base_cell");
}
std::vector<StateInfo> ModifierCell::state_info(std::int64_t batch_size) const {
  return base_->state_info(batch_size);
}
Tensors ModifierCell::begin_state(const BeginStateOptions& o) const {
  kiln::detail::check_not_modified(*this);
  const kiln::detail::Unmodified usable(*base_);
  return base_->begin_state(o);
}
std::string ModifierCell::str() const { return class_name() + "(" + base_->str() + ")"; }

ResidualCell::ResidualCell(std::shared_ptr<HybridRecurrentCell> base, Where where)
    : ModifierCell(std::move(base), "residualcell", where) {}
StepOutput ResidualCell::hybrid_forward(F&, const Tensor& x, const Tensors& states) {
  StepOutput out = (*base_)(x, states);
  const std::string name = fmt::format("t{}_fwd", CellAccess::memory(*this).step);
  return {kiln::call<"elemwise_add">({&out.output, &x}, CallAttributes<1>(), std::source_location::current(),
                                     name),
          std::move(out.states)};
}
UnrollOutput ResidualCell::unroll_steps(std::int64_t length, const Sequence& inputs, const UnrollOptions& o) {
  reset();
  UnrollOutput out;
  {
    const kiln::detail::Unmodified usable(*base_);
    out = CellAccess::unroll(*base_, length, inputs, o);
  }
  const int axis = kiln::detail::SequenceLayout(o.layout).time;
  const bool merge = o.merge_outputs.value_or(out.outputs.merged());
  Sequence x = kiln::detail::arranged(length, inputs, axis, merge);
  if (o.valid_length.defined()) x = kiln::detail::masked(x, length, o.valid_length, axis, merge);
  if (merge) return {Sequence(F::elemwise_add(out.outputs, x)), std::move(out.states)};
  Tensors sums;
  for (std::size_t i = 0; i < x.size(); ++i) sums.push_back(F::elemwise_add(out.outputs[i], x[i]));
  return {Sequence(std::move(sums)), std::move(out.states)};
}

ZoneoutCell::ZoneoutCell(std::shared_ptr<HybridRecurrentCell> base, double zoneout_outputs,
                         double zoneout_states, Where where)
    : ModifierCell(not_bidirectional(std::move(base), "ZoneoutCell", "zoneout", where), "zoneout", where),
      outputs_(probability(zoneout_outputs, "ZoneoutCell", where)),
      states_(probability(zoneout_states, "ZoneoutCell", where)) {}
std::string ZoneoutCell::str() const {
  return fmt::format("{}(p_out={}, p_state={}, {})", class_name(), ir::python_float(outputs_),
                     ir::python_float(states_), base_->str());
}
bool ZoneoutCell::keeps_tensors() const { return outputs_ != 0 || ModifierCell::keeps_tensors(); }
StepOutput ZoneoutCell::hybrid_forward(F& F, const Tensor& x, const Tensors& states) {
  StepOutput next = (*base_)(x, states);
  StepOutput out = next;
  if (outputs_ != 0) {
    Tensor before = kiln::detail::recall(*this, *this, 0);
    if (!before.defined()) before = F.zeros_like(next.output);
    out.output = F.where(dropout_mask(next.output, outputs_), next.output, before);
    kiln::detail::keep(*this, 0, out.output);
  }
  if (states_ != 0)
    for (std::size_t i = 0; i < states.size(); ++i)
      out.states[i] = F.where(dropout_mask(next.states[i], states_), next.states[i], states[i]);
  return out;
}

}  // namespace rnn

namespace contrib::rnn {

VariationalDropoutCell::VariationalDropoutCell(std::shared_ptr<HybridRecurrentCell> base,
                                               const VariationalDropoutOptions& o, Where where)
    : ModifierCell(o.drop_states == 0 ? std::move(base)
                                      : not_bidirectional(std::move(base), "VariationalDropoutCell",
                                                          "variational state dropout", where),
                   "vardrop", where),
      inputs_(probability(o.drop_inputs, "VariationalDropoutCell", where)),
      states_(probability(o.drop_states, "VariationalDropoutCell", where)),
      outputs_(probability(o.drop_outputs, "VariationalDropoutCell", where)) {}
std::string VariationalDropoutCell::str() const {
  return fmt::format("{}(p_out = {}, p_state = {})", class_name(), ir::python_float(outputs_),
                     ir::python_float(states_));
}
bool VariationalDropoutCell::keeps_tensors() const {
  return inputs_ != 0 || states_ != 0 || outputs_ != 0 || ModifierCell::keeps_tensors();
}
Tensor VariationalDropoutCell::masked(std::size_t place, const Tensor& x, double p) {
  if (p == 0) return x;
  Tensor mask = kiln::detail::recall(*this, *this, place);
  if (!mask.defined()) {
    mask = dropout_mask(x, p);
    kiln::detail::keep(*this, place, mask);
  }
  return x * mask;
}
StepOutput VariationalDropoutCell::hybrid_forward(F&, const Tensor& x, const Tensors& states) {
  Tensors dropped = states;
  if (!dropped.empty()) dropped[0] = masked(0, states[0], states_);  // h, not c
  StepOutput out = (*base_)(masked(1, x, inputs_), dropped);
  out.output = masked(2, out.output, outputs_);
  return out;
}
UnrollOutput VariationalDropoutCell::unroll_steps(std::int64_t length, const Sequence& inputs,
                                                  const UnrollOptions& o) {
  if (states_ != 0) return ModifierCell::unroll_steps(length, inputs, o);
  // Without dropout of states, one mask for all steps is a mask that broadcasts along the time axis.
  reset();
  const int axis = kiln::detail::SequenceLayout(o.layout).time;
  Tensor x = kiln::detail::to_tensor(inputs, axis);
  UnrollOptions own = o;
  own.begin_state = kiln::detail::first_states(*this, inputs, o);
  own.merge_outputs = true;
  if (inputs_ != 0) x = F::Dropout(x, {.p = inputs_, .axes = {axis}});
  UnrollOutput out = CellAccess::unroll(*base_, length, Sequence(x), own);
  Sequence y = out.outputs;
  if (outputs_ != 0) y = Sequence(F::Dropout(y, {.p = outputs_, .axes = {axis}}));
  y = kiln::detail::arranged(length, y, axis, o.merge_outputs);
  if (o.valid_length.defined())
    y = kiln::detail::masked(y, length, o.valid_length, axis, o.merge_outputs.value_or(true));
  return {y, std::move(out.states)};
}

}  // namespace contrib::rnn
}  // namespace kiln
