// The backward pass over the tape: entry by entry, from the last to the first.
#include "frontend/autograd/backward.h"

#include "frontend/autograd/expand.h"
#include "frontend/autograd/function_call.h"
#include "frontend/call/array_call.h"
#include "frontend/call/call_site.h"
#include "frontend/call/invoke.h"
#include "frontend/call/op_named.h"
#include "frontend/call/trace.h"
#include "frontend/ops/gradient.h"
#include "frontend/tensor/elements.h"
#include "frontend/view/view.h"
#include "runtime/accelerator.h"
#include "runtime/messages.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace kiln::detail {
namespace {

/// The thread's modes while a backward pass makes calls.
struct CallModes : autograd::detail::ModeScope {
  CallModes(bool recording, bool training) : ModeScope(recording, training) {}
};

[[noreturn]] void fail_unrecorded(std::source_location where) {
  fail(Mistake::not_recorded,
       "{}Cannot differentiate node because it is not in a computational graph: it was computed outside of "
       "autograd::Record, or from no array with a gradient (attach_grad(), parameters with a grad_req)",
       line_prefix(where));
}
[[noreturn]] void fail_consumed(std::source_location where) {
  fail(Mistake::record_is_used,
       "{}Cannot differentiate node because it is not in a computational graph any more: an earlier "
       "backward() or grad() has dropped what was recorded. Record it again for each pass, or give the "
       "earlier one retain_graph = true",
       line_prefix(where));
}

const ir::OpDef& gradient_op() { return op_named<"_vjp">(); }

/// The numbers in `read` that are saved. Gradients read a loop or branch as a whole, so the gradients of some
/// outputs may read more than the gradients of all outputs, for which the call saved its values. They do not
/// depend on the values that are not saved: these are zeros to them.
std::vector<std::int64_t> saved_of(const std::vector<std::int64_t>& read,
                                   const std::vector<std::int64_t>& saved) {
  std::vector<std::int64_t> both;
  std::copy_if(read.begin(), read.end(), std::back_inserter(both),
               [&](std::int64_t i) { return std::find(saved.begin(), saved.end(), i) != saved.end(); });
  return both;
}

class Pass {
 public:
  Pass(const BackwardPass& options, std::source_location where) : options_(options), where_(where) {}

  void add_head(const Tensor& head, const Tensor& gradient) {
    const TapeLink link = link_of(head, where_);
    // A node of an expanded block may have none: a state that the block writes.
    if (!resolved(link)) fail_unrecorded(where_);
    if (is_consumed(link)) fail_consumed(where_);
    const TensorType type{TensorAccess::dtype(head), TensorAccess::shape(head)};
    if (gradient.defined()) {
      if (!(gradient.device() == head.device()))
        fail("{}a head is on {} and its gradient on {}: move one with to()", line_prefix(where_),
             head.device().str(), gradient.device().str());
      const TensorType given{gradient.dtype(), gradient.shape(where_)};
      if (!(given == type))
        fail("{}the gradient of a head of {} is {}: shape and dtype must be equal", line_prefix(where_),
             type.str(), given.str());
    }
    add_term(sum_of(link), gradient.defined() ? gradient : filled(type, 1, head.device()));
  }

  /// Computes only the terms that lead to `variables`, and keeps their gradients.
  void want(std::span<const Tensor> variables) {
    for (const Tensor& v : variables) {
      const TapeLink link = link_of(v, where_);
      if (!link)
        fail(
            "{}one of the variables is neither recorded nor has it a gradient attached: call attach_grad() "
            "before it is used inside autograd::Record",
            line_prefix(where_));
      wanted_.push_back(link);
    }
  }

  void run() {
    if (!wanted_.empty()) {
      std::vector<std::shared_ptr<TapeEntry>> heads;
      for (const auto& [number, open] : open_) heads.push_back(open.entry);
      for (const std::shared_ptr<TapeEntry>& entry : heads) find_leading(entry);
    }
    while (!open_.empty()) {
      const auto last = std::prev(open_.end());
      const std::shared_ptr<TapeEntry> entry = last->second.entry;
      std::vector<Tensor> heads = std::move(last->second.sums);
      open_.erase(last);
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        if (resolved(wanted_[i]).entry == entry) found_[i] = heads.at(resolved(wanted_[i]).output);
      if (std::none_of(heads.begin(), heads.end(), [](const Tensor& t) { return t.defined(); })) continue;
      if (entry->consumed) fail_consumed(where_);
      if (goes_through_nodes(*entry)) {
        expand_nodes(*entry, heads);
        continue;
      }
      if (entry->function)
        step_function(entry, heads);
      else
        step(entry, heads);
      if (!options_.retain) entry->consume();
    }
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (wanted_[i].variable) found_[i] = sum_of(wanted_[i]);
  }

  std::vector<Tensor> wanted_gradients() {
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      Tensor& found = found_[i];
      if (!found.defined())
        fail("{}no head depends on variable {}: it has no gradient", line_prefix(where_), i);
      out.push_back(found);
    }
    return out;
  }

  void write_variables() {
    for (auto& [variable, sum] : variables_) {
      GradVariable& v = *variable;
      if (!sum.defined()) continue;
      v.fresh = true;
      if (v.req == GradReq::add && v.grad.defined()) {
        add_term(sum, {}, v.grad);
      }
      // A handle that the program has of the gradient sees the new elements.
      const bool alone = !v.grad.defined() || TensorAccess::array(v.grad).use_count() == 1;
      const bool own = TensorAccess::array(sum).use_count() == 1 && TensorAccess::is_whole(sum);
      if (alone && own)
        v.grad = std::move(sum);
      else
        write_view(gradient_of(v), sum, where_);
    }
  }

 private:
  struct Open {
    std::shared_ptr<TapeEntry> entry;
    std::vector<Tensor> sums;  // by output
  };

  /// The sum of a value's terms so far.
  Tensor& sum_of(const TapeLink& of) {
    const TapeLink& link = resolved(of);
    if (link.variable) {
      const auto [at, added] = variable_numbers_.try_emplace(link.variable.get(), variables_.size());
      if (added) variables_.emplace_back(link.variable, Tensor());
      return variables_[at->second].second;
    }
    Open& open = open_[link.entry->number];
    open.entry = link.entry;
    open.sums.resize(link.entry->outputs);
    return open.sums[link.output];
  }

  void add_term(Tensor& sum, const Tensor& term) { add_term(sum, term, sum); }
  /// sum = before + (term, or the sum itself)
  void add_term(Tensor& sum, const Tensor& term, const Tensor& before) {
    const CallModes modes(options_.create_graph, is_training());
    const Tensor last = term.defined() ? term : sum;
    if (!before.defined()) {
      sum = last;
      return;
    }
    const Tensor first = before;
    const Tensor* inputs[] = {&first, &last};
    sum = invoke_one(
        {.op = op_named<"elemwise_add">(), .inputs = inputs, .given = {}, .where = where_, .np_shape = true});
  }

  bool is_wanted(const TapeLink& of) const {
    if (!of) return false;
    if (wanted_.empty()) return true;
    const TapeLink& link = resolved(of);
    if (std::any_of(wanted_.begin(), wanted_.end(), [&](const TapeLink& w) { return resolved(w) == link; }))
      return true;
    return link.entry && leading_.contains(link.entry.get());
  }

  /// Finds the entries after `last` that depend on a wanted value. An entry is looked at once. Entries of an
  /// expanded block are found too: they lead to the entries found for the block's inputs.
  void find_leading(const std::shared_ptr<TapeEntry>& last) {
    std::vector<std::shared_ptr<TapeEntry>> found, todo;
    const auto reach = [&](const std::shared_ptr<TapeEntry>& entry) {
      if (entry && seen_.insert(entry.get()).second) todo.push_back(entry);
    };
    reach(last);
    while (!todo.empty()) {
      found.push_back(std::move(todo.back()));
      todo.pop_back();
      for (const TapeLink& link : found.back()->inputs) reach(resolved(link).entry);
    }
    // Inputs first.
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->number < b->number; });
    for (const std::shared_ptr<TapeEntry>& entry : found) {
      if (std::none_of(entry->inputs.begin(), entry->inputs.end(),
                       [&](const TapeLink& l) { return is_wanted(l); }))
        continue;
      leading_.insert(entry.get());
      // If an entry has several outputs, not all need depend on a wanted value.
      if (!goes_through_nodes(*entry) || entry->outputs == 1 || entry->consumed || !entry->expanded.empty())
        continue;
      std::vector<Tensor> heads;  // moved before the last node, which has the block's number, gets a sum
      if (const auto open = open_.find(entry->number); open != open_.end()) {
        heads = std::move(open->second.sums);
        open_.erase(open);
      }
      expand_nodes(*entry, heads);
    }
  }

  /// Second derivatives go through the nodes of a recorded block, as in eager calls.
  bool goes_through_nodes(const TapeEntry& entry) const {
    return options_.create_graph && entry.code && entry.code->expands();
  }
  void expand_nodes(TapeEntry& entry, const std::vector<Tensor>& heads) {
    expand(entry);
    for (std::size_t i = 0; i < heads.size(); ++i)
      if (heads[i].defined() && entry.expanded[i]) add_term(sum_of(entry.expanded[i]), heads[i]);
    if (wanted_.empty()) return;
    for (const TapeLink& link : entry.expanded) find_leading(link.entry);
  }

  Tensor contents(const Tensor& restored, const TapeLink& link) const {
    return options_.create_graph ? with_history(restored, link) : restored;
  }

  /// Whether the backward entry of the call's joint code computes this pass's gradients: of the same outputs,
  /// for all inputs, without history. If not, calls to come are compiled for these outputs.
  bool takes_joint(const TapeEntry& entry, const std::vector<Tensor>& heads) const {
    if (!entry.joint || options_.create_graph) return false;
    for (const TapeLink& link : entry.inputs)
      if (link && !is_wanted(link)) return false;
    const ir::GradientRequest& expected = entry.joint->pair.request;
    ir::GradientRequest found = expected;
    for (std::size_t i = 0; i < heads.size(); ++i) found.heads[i] = heads[i].defined();
    if (found == expected) return true;
    entry.joint->codes->found(found);
    return false;
  }

  /// Runs the backward entry of the call's joint code. It overwrites the saved values: a pass that retains
  /// them runs on a copy.
  void step_joint(TapeEntry& entry, std::vector<Tensor>& heads) {
    const JointCode& joint = *entry.joint->pair.code;
    const SharedSums sums(entry.inputs);
    std::vector<bool> running;
    for (std::size_t i = 0; i < sums.links.size(); ++i)
      running.push_back(joint.sums[i] && sum_of(sums.links[i]).defined());
    const auto backward = [&] {
      const CallSite site(std::nullopt, where_);
      return joint.backward(running);
    };
    const std::shared_ptr<const Executable> executable = backward();
    ArrayCall code(*executable);
    ArgumentList arguments(code);
    std::vector<Tensor> alive;  // until the code has run
    const auto add = [&](Tensor t) {
      arguments.add(t);
      alive.push_back(std::move(t));
    };
    for (const std::int64_t i : joint.inputs) add(restored_input(entry, i));
    for (const std::int64_t i : joint.outputs) add(restored_output(entry, i));
    for (Tensor& head : heads)
      if (head.defined()) add(std::move(head));
    for (std::size_t i = 0; i < running.size(); ++i)
      if (running[i]) add(std::move(sum_of(sums.links[i])));
    std::vector<Tensor> out = code.make_results();
    std::optional<Buffer> copy;
    if (!options_.retain) {
      entry.consumed = true;  // also if the code throws
    } else if (joint.saved_bytes > 0) {
      copy.emplace(joint.saved_bytes, code.device());
      copy_bytes(accelerator_of(code.device()), copy->data(), entry.joint->saved.data(), joint.saved_bytes);
    }
    code.set_saved(copy ? copy->data() : entry.joint->saved.data());
    at_line(entry.where, [&] { code.run(NoTape(), [&](std::int64_t) { return entry.random; }); });
    auto result = out.begin();
    for (std::size_t i = 0; i < sums.links.size(); ++i)
      if (joint.sums[i]) sum_of(sums.links[i]) = std::move(*result++);
  }

  void step(const std::shared_ptr<TapeEntry>& ptr, std::vector<Tensor>& heads) {
    const TapeEntry& entry = *ptr;
    if (takes_joint(entry, heads)) return step_joint(*ptr, heads);
    std::vector<TapeLink> wanted(entry.inputs.begin(), entry.inputs.end());
    for (TapeLink& link : wanted) link = is_wanted(link) ? resolved(link) : TapeLink();
    // Sums to which these heads lead no term are left as they are.
    std::optional<SharedSums> found;
    ir::GradientRequest request;
    const ir::GradientUses* known = nullptr;
    for (bool all = false; !all;) {
      found.emplace(wanted);
      if (found->links.empty()) return;
      request = {{}, found->numbers, {}};
      for (const Tensor& head : heads) request.heads.push_back(head.defined());
      for (const TapeLink& link : found->links) request.running.push_back(sum_of(link).defined());
      known = &entry.code->known(request).uses;
      all = true;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (const std::int64_t sum = request.sums[i];
            sum != ir::GradientRequest::none && !known->sums[static_cast<std::size_t>(sum)]) {
          wanted[i] = {};
          all = false;
        }
    }
    const SharedSums& sums = *found;
    const ir::GradientUses uses{saved_of(known->inputs, entry.uses->inputs),
                                saved_of(known->outputs, entry.uses->outputs)};
    std::vector<Tensor> inputs;
    for (const std::int64_t i : uses.inputs)
      inputs.push_back(contents(restored_input(entry, i), entry.inputs[static_cast<std::size_t>(i)]));
    for (const std::int64_t i : uses.outputs)
      inputs.push_back(contents(restored_output(entry, i), {ptr, static_cast<std::uint32_t>(i), nullptr}));
    for (Tensor& head : heads)
      if (head.defined()) inputs.push_back(std::move(head));
    for (const TapeLink& link : sums.links)
      if (Tensor& sum = sum_of(link); sum.defined()) inputs.push_back(std::move(sum));

    std::vector<const Tensor*> pointers;
    for (const Tensor& t : inputs) pointers.push_back(&t);
    const auto attrs = ops::gradient_attrs(request, uses);
    const ir::SubgraphPtr& code = entry.code->body();
    const CallModes modes(options_.create_graph, entry.train);
    const PrecisionScope precision(entry.code->precision());
    std::vector<Tensor> out(sums.links.size());
    run_on_arrays({.op = gradient_op(),
                   .inputs = pointers,
                   .given = attrs,
                   .where = entry.where,
                   .bodies = {&code, 1},
                   .np_shape = true},
                  out, &entry.random);
    for (std::size_t i = 0; i < out.size(); ++i) sum_of(sums.links[i]) = std::move(out[i]);
  }

  /// The program's gradient of each input is a term of its sum, by input.
  void step_function(const std::shared_ptr<TapeEntry>& entry, const std::vector<Tensor>& heads) {
    const bool wanted = std::any_of(entry->inputs.begin(), entry->inputs.end(),
                                    [&](const TapeLink& link) { return is_wanted(link); });
    if (!wanted) return;
    std::vector<Tensor> terms;
    {
      const CallModes modes(options_.create_graph, entry->train);
      terms = entry->function->gradients(entry, heads, options_.create_graph);
    }
    for (std::size_t i = 0; i < terms.size(); ++i)
      if (terms[i].defined() && is_wanted(entry->inputs[i])) add_term(sum_of(entry->inputs[i]), terms[i]);
  }

  BackwardPass options_;
  std::source_location where_;
  std::map<std::uint64_t, Open> open_;  // entries with a gradient, by number
  std::deque<std::pair<std::shared_ptr<GradVariable>, Tensor>> variables_;
  std::unordered_map<const GradVariable*, std::size_t> variable_numbers_;
  std::vector<TapeLink> wanted_;
  std::map<std::size_t, Tensor> found_;
  std::unordered_set<const TapeEntry*> seen_, leading_;  // by find_leading()
};

}  // namespace

std::vector<Tensor> run_backward(std::span<const Tensor> heads, std::span<const Tensor> head_gradients,
                                 const std::vector<Tensor>* variables, const BackwardPass& options,
                                 std::source_location where) {
  if (heads.empty()) fail("{}backward needs a head", line_prefix(where));
  if (!head_gradients.empty() && head_gradients.size() != heads.size())
    fail("{}{} heads are given {} gradients", line_prefix(where), heads.size(), head_gradients.size());
  if (Trace::current()) abandon_trace(variables ? "autograd::grad()" : "backward()", where);
  Pass pass(options, where);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (!heads[i].defined()) fail("{}head {} is an undefined Tensor", line_prefix(where), i);
    pass.add_head(heads[i], head_gradients.empty() ? Tensor() : head_gradients[i]);
  }
  if (variables) pass.want(*variables);
  pass.run();
  if (variables) return pass.wanted_gradients();
  pass.write_variables();
  return {};
}

}  // namespace kiln::detail
