// Runs an autograd::Function and computes its gradients.
#include "frontend/autograd/function_call.h"

#include "frontend/autograd/run_body.h"
#include "frontend/autograd/tape.h"
#include "frontend/call/call_site.h"
#include "frontend/call/function_checks.h"
#include "frontend/call/line.h"
#include "frontend/tensor/elements.h"
#include "runtime/accelerator.h"
#include "runtime/fail.h"

#include <kiln/autograd.h>

namespace kiln::detail {
namespace {

/// A new array with the elements of `t`, in the same memory.
Tensor borrowed(const Tensor& t) {
  struct Lender {
    std::shared_ptr<Array> array;
    Storage::Reading contents{*array};
  };
  const auto lender = std::make_shared<const Lender>(TensorAccess::array(t));
  const Shape& shape = TensorAccess::shape(t);
  Buffer memory(
      lender->contents.data() + TensorAccess::byte_offset(t), TensorAccess::bytes(t), [lender] {},
      lender->array->device());
  return TensorAccess::make(std::make_shared<Array>(std::move(memory), shape), 0, shape,
                            TensorAccess::dtype(t));
}

/// Gives an array that borrows memory a copy of it.
void own_memory(Array& array, const TensorType& type) {
  Buffer memory(type, array.device());
  copy_bytes(accelerator_of(array.device()), memory.data(), array.data(), memory.bytes());
  array.reset(std::move(memory));
}

TensorType type_of(const Tensor& t) { return {TensorAccess::dtype(t), TensorAccess::shape(t)}; }

/// A result as an array that nobody else has.
Tensor alone(const Tensor& t) {
  const std::shared_ptr<Array>& array = TensorAccess::array(t);
  return array.use_count() == 1 && TensorAccess::is_whole(t) && !array->external() ? t : t.copy();
}

/// While it lives, arrays that a function kept lead to an entry of the tape. After it the entry, which owns
/// the function, would own itself.
class Histories {
 public:
  void set(const std::weak_ptr<Array>& kept, const TapeLink& link) {
    const std::shared_ptr<Array> array = kept.lock();
    if (!array) return;
    set(*array, link);
    arrays_.push_back(array);
  }
  ~Histories() {
    for (const std::shared_ptr<Array>& array : arrays_) set(*array, {});
  }
  Histories() = default;
  Histories(const Histories&) = delete;

 private:
  static void set(Array& array, const TapeLink& link) {
    ArrayTape& tape = tape_of(array);
    tape.link = link;
    const std::lock_guard lock(history_mutex(array));
    tape.views.clear();
  }
  std::vector<std::shared_ptr<Array>> arrays_;
};

class NodeCall final : public FunctionCall {
 public:
  NodeCall(const ir::Node& node, std::vector<Tensor> known, std::source_location where)
      : FunctionCall(node.op->differentiable_inputs(node.attrs)),
        bodies_(node.subgraphs),
        forward_places_(node.attrs.integers("forward_locs")),
        backward_places_(node.attrs.integers("backward_locs")),
        gradient_places_(node.attrs.integers("gradient_locs")),
        results_(static_cast<std::size_t>(node.attrs.integer("num_outputs"))),
        known_(std::move(known)),
        where_(where) {}

  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) override {
    std::vector<Tensor> in;
    for (const std::int64_t i : forward_places_) in.push_back(inputs[static_cast<std::size_t>(i)]);
    values_ = run(*bodies_[0], in);
    for (std::size_t k = 0; k < known_.size(); ++k)
      if (known_[k].defined()) values_[k] = known_[k].copy();
    known_.clear();
    given_ = inputs;
    return {values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(results_)};
  }

 protected:
  std::vector<Tensor> backward(const std::vector<Tensor>& heads) override {
    std::vector<Tensor> all = values_;
    all.insert(all.end(), heads.begin(), heads.end());
    all.insert(all.end(), given_.begin(), given_.end());
    std::vector<Tensor> in;
    for (const std::int64_t i : backward_places_) in.push_back(all[static_cast<std::size_t>(i)]);
    const std::vector<Tensor> terms = run(*bodies_[1], in);
    std::vector<Tensor> out(given_.size());
    for (std::size_t i = 0; i < gradient_places_.size(); ++i)
      if (gradient_places_[i] >= 0) out[i] = terms[static_cast<std::size_t>(gradient_places_[i])];
    return out;
  }

 private:
  std::vector<Tensor> run(const ir::Subgraph& body, const std::vector<Tensor>& in) const {
    return run_body(body, in, [&](const ir::Node& node, const std::vector<Tensor>& inputs) {
      return run_node(node, inputs, where_);
    });
  }

  std::vector<ir::SubgraphPtr> bodies_;
  std::vector<std::int64_t> forward_places_, backward_places_, gradient_places_;
  std::size_t results_;
  std::vector<Tensor> known_, values_, given_;
  std::source_location where_;
};

}  // namespace

std::vector<Tensor> FunctionCall::gradients(const std::shared_ptr<TapeEntry>& entry,
                                            std::span<const Tensor> heads, bool history) {
  const std::string line = line_prefix(entry->where);
  std::vector<Tensor> given;
  std::vector<std::uint64_t> versions;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    given.push_back(heads[k].defined() ? heads[k] : filled(outputs_[k].type, 0, outputs_[k].device));
    versions.push_back(TensorAccess::array(given[k])->version());
  }
  Histories histories;
  // An array that is several of these is an input first, then the first of its results.
  for (std::size_t k = history ? outputs_.size() : 0; k-- > 0;)
    histories.set(outputs_[k].array, {entry, static_cast<std::uint32_t>(k), nullptr});
  for (std::size_t i = 0; history && i < inputs_.size(); ++i)
    histories.set(inputs_[i].array, entry->inputs[i]);
  std::vector<Tensor> terms = backward(given);
  for (std::size_t k = 0; k < given.size(); ++k)
    if (TensorAccess::array(given[k])->version() != versions[k])
      fail(
          "{}the backward of a Function writes into an array that it did not make: return new arrays instead",
          line);
  std::vector<Tensor> types;
  for (const Known& input : inputs_)
    types.push_back(TensorAccess::make(std::make_shared<Array>(Buffer::none(input.device), input.type.shape),
                                       0, input.type.shape, input.type.dtype));
  check_function_gradients(terms, types, line);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (!is_floating(inputs_[i].type.dtype)) terms[i] = {};
  return terms;
}

std::vector<Tensor> run_function(const std::shared_ptr<FunctionCall>& call, const std::vector<Tensor>& inputs,
                                 std::source_location where) {
  const std::string line = line_prefix(where);
  std::vector<TapeLink> links(inputs.size());
  bool recorded = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) fail("{}input {} of a Function is an undefined Tensor", line, i);
    if (!is_recording() || !has_link(inputs[i])) continue;
    links[i] = link_of(inputs[i], where);
    recorded = recorded || (links[i] && i < call->differentiable_);
  }
  std::vector<Tensor> own;
  for (const Tensor& t : inputs) own.push_back(borrowed(t));
  std::vector<Tensor> out;
  {
    const autograd::Pause pause(is_training());
    std::vector<Tensor> results = call->forward(own);
    check_function_results(results, line);
    for (const Tensor& t : own)
      if (TensorAccess::array(t)->version() != 1)
        fail(
            "{}the forward of a Function writes into an array that it did not make: return new arrays "
            "instead",
            line);
    for (Tensor& t : results) {
      out.push_back(alone(t));
      const bool kept =
          TensorAccess::is_whole(t) && TensorAccess::array(out.back()) != TensorAccess::array(t);
      call->outputs_.push_back(
          {type_of(t), TensorAccess::device(t), kept ? TensorAccess::array(t) : nullptr});
      t = {};
    }
  }
  for (Tensor& t : own) {
    const std::shared_ptr<Array> array = TensorAccess::array(t);
    const TensorType type = type_of(t);
    t = {};
    call->inputs_.push_back({type, array->device(), array});
    if (array.use_count() > 1) own_memory(*array, type);
  }
  if (!recorded) return out;
  auto entry = std::make_shared<TapeEntry>(call, links.size(), out.size());
  entry->train = CallContext::current().training;
  entry->where = CallSite::resolve(where);
  std::move(links.begin(), links.end(), entry->inputs.begin());
  entry->number = take_numbers(1);
  for (std::size_t k = 0; k < out.size(); ++k) {
    ArrayTape& tape = tape_of(*TensorAccess::array(out[k]));
    tape.link = {entry, static_cast<std::uint32_t>(k), nullptr};
    tape.views.clear();
  }
  return out;
}

std::shared_ptr<FunctionCall> function_call(const ir::Node& node, std::vector<Tensor> known,
                                            std::source_location where) {
  return std::make_shared<NodeCall>(node, std::move(known), where);
}

}  // namespace kiln::detail
