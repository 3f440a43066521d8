// Containers of blocks, and Lambda.
#include "frontend/call/call_site.h"
#include "frontend/call/invoke.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/tensor/text.h"
#include "runtime/fail.h"
#include "runtime/log.h"

#include <kiln/containers.h>

#include <algorithm>

namespace kiln::nn {
namespace {

/// Throws for an operator that Kiln does not have.
void require_operator(std::string_view kind, const std::string& name) {
  if (ir::find_op(name)) return;
  const std::string_view nearest = ir::nearest_op(name);
  fail("{}: there is no operator '{}'{}; `kiln ops` lists the operators", kind, name,
       nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest));
}

/// The children selected by a slice, with the lines that added them.
std::vector<detail::Added> sliced(const Block& block, Slice s) {
  const auto children = block.children();
  const auto& lines = detail::BlockAccess::state(block).added_at;
  const auto n = static_cast<std::int64_t>(children.size());
  const std::int64_t step = s.step.value_or(1);
  if (step == 0) fail("slice step cannot be zero");
  const auto clamp = [&](std::int64_t i) {
    if (i < 0) i += n;
    return step > 0 ? std::clamp<std::int64_t>(i, 0, n) : std::clamp<std::int64_t>(i, -1, n - 1);
  };
  const std::int64_t begin = s.begin ? clamp(*s.begin) : step > 0 ? 0 : n - 1;
  const std::int64_t end = s.end ? clamp(*s.end) : step > 0 ? n : -1;
  std::vector<detail::Added> out;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    const std::shared_ptr<Block>& child = children[static_cast<std::size_t>(i)].second;
    const auto line = lines.find(child.get());
    out.emplace_back(child, line == lines.end() ? s.where : line->second);
  }
  return out;
}

/// Calls `run` with each child. A child may change the list of children: the running child is kept alive, and
/// children appended meanwhile run too.
template <class Run>
void for_each_child(const Block& block, Run run) {
  const auto& children = detail::BlockAccess::state(block).children;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::shared_ptr<Block> child = children[i].second;
    run(*child);
  }
}

/// The child's operators have the line that added it to the container. If a block of the library runs the
/// container (a network of the model zoo), they have the line that called that block.
Tensors call_child(const Block& container, Block& child, const Tensors& inputs) {
  const auto& added = detail::BlockAccess::state(container).added_at;
  const auto line = added.find(&child);
  if (line == added.end() || !CallSite::called_by_program())
    return detail::BlockAccess::call(child, inputs, std::source_location::current());
  const CallSite own_line(std::nullopt, CallSite::caller());
  return detail::BlockAccess::call(child, inputs, line->second);
}

Tensors run_in_order(const Block& block, const Tensors& inputs) {
  Tensors x = inputs;
  for_each_child(block, [&](Block& child) { x = call_child(block, child, x); });
  return x;
}

Tensors join(const Block& block, const Tensors& inputs, int axis) {
  Tensors parts;
  for_each_child(block, [&](Block& child) {
    for (Tensor& t : call_child(block, child, inputs)) parts.push_back(std::move(t));
  });
  if (parts.empty()) fail("{} has no children", block.class_name());
  return {F::concat(parts, {.dim = axis})};
}

}  // namespace
}  // namespace kiln::nn

void kiln::detail::add_children(Block& container, std::span<const Added> blocks) {
  std::vector<const Block*> made;
  for (const Added& a : blocks) made.push_back(a.made_for_call ? a.block.get() : nullptr);
  if (made.size() > 1) BlockAccess::number_in_order(made);
  for (const Added& a : blocks) at_line(a.where, [&] { BlockAccess::add(container, a.block, a.where); });
}

namespace kiln::nn {

Sequential::Sequential(const BlockOptions& options) : Sequential(options, "sequential") {}
Sequential::Sequential(const BlockOptions& options, std::string_view kind) : Block(options, kind) {
  detail::BlockAccess::unnamed_state(*this).container = true;
}
Sequential Sequential::operator[](Slice s) const {
  Sequential out(BlockOptions{.prefix = prefix()});
  detail::add_children(out, sliced(*this, s));
  return out;
}
Tensors Sequential::forward(const Tensors& inputs) { return run_in_order(*this, inputs); }
void Sequential::set_active(const HybridizeOptions& options) const {
  const auto list = children();
  if (!list.empty() && options.active && std::all_of(list.begin(), list.end(), [](const auto& c) {
        return detail::BlockAccess::state(*c.second).hybrid;
      }))
    warn_once("sequential " + prefix(),
              "All children of this Sequential layer '" + prefix() +
                  "' are HybridBlocks. Consider using HybridSequential for the best performance.");
}

HybridSequential::HybridSequential(const BlockOptions& options)
    : HybridSequential(options, "hybridsequential") {}
HybridSequential::HybridSequential(const BlockOptions& options, std::string_view kind)
    : HybridBlock(options, kind) {
  detail::BlockAccess::unnamed_state(*this).container = true;
}
HybridSequential HybridSequential::operator[](Slice s) const {
  HybridSequential out(BlockOptions{.prefix = prefix()});
  detail::add_children(out, sliced(*this, s));
  return out;
}
Tensors HybridSequential::hybrid_forward(F&, const Tensors& inputs) { return run_in_order(*this, inputs); }

Concurrent::Concurrent(int axis, const BlockOptions& options)
    : Sequential(options, "concurrent"), axis_(axis) {}
Tensors Concurrent::forward(const Tensors& inputs) { return join(*this, inputs, axis_); }

HybridConcurrent::HybridConcurrent(int axis, const BlockOptions& options)
    : HybridSequential(options, "hybridconcurrent"), axis_(axis) {}
Tensors HybridConcurrent::hybrid_forward(F&, const Tensors& inputs) { return join(*this, inputs, axis_); }

Tensor Identity::hybrid_forward(F&, const Tensor& x) { return x; }

HybridLambda::HybridLambda(const std::string& op_name, const BlockOptions& options, Where where)
    : HybridBlock(options, "hybridlambda"), op_name_(op_name) {
  at_line(where, [&] { require_operator("HybridLambda", op_name); });
}
HybridLambda::HybridLambda(std::size_t arity, Function fn, const BlockOptions& options)
    : HybridBlock(options, "hybridlambda"), arity_(arity), op_name_("<lambda>"), fn_(std::move(fn)) {}
std::string HybridLambda::str() const { return "HybridLambda(" + op_name_ + ")"; }

Tensors HybridLambda::hybrid_forward(F& F, const Tensors& inputs) {
  if (fn_) {
    if (inputs.size() != arity_) fail("{} takes {} tensors, got {}", str(), arity_, inputs.size());
    const CallSite own_lines(std::nullopt, CallSite::caller());
    return fn_(F, inputs);
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return invoke_all({.op = find_op_or_throw(op_name_),
                     .inputs = pointers,
                     .given = {},
                     .where = std::source_location::current(),
                     .hint = op_name_});
}

Lambda::Lambda(const std::string& op_name, const BlockOptions& options, Where where)
    : Block(options, "lambda"), op_name_(op_name) {
  at_line(where, [&] { require_operator("Lambda", op_name); });
}
Lambda::Lambda(Function fn, const BlockOptions& options)
    : Block(options, "lambda"), op_name_("<lambda>"), fn_(std::move(fn)) {}
std::string Lambda::str() const { return "Lambda(" + op_name_ + ")"; }
Tensor Lambda::forward(const Tensor& x) {
  if (!fn_) return invoke(op_name_, {x}, {}, std::source_location::current());
  const CallSite own_lines(std::nullopt, CallSite::caller());
  return fn_(x);
}

}  // namespace kiln::nn
