// The errors for values of traces that are over.
#include "frontend/call/ended_value.h"

#include "frontend/call/line.h"
#include "frontend/call/trace.h"
#include "runtime/messages.h"

#include <algorithm>
#include <array>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;

struct BodyKind {
  std::string_view subgraph, kind, remedy;
};
constexpr std::string_view loop_remedy = "make it a state of the loop, or return it as an output";
constexpr auto body_kinds = std::to_array<BodyKind>({
    {"foreach", "the body of the foreach", loop_remedy},
    {"while_loop_func", "the body of the while_loop", loop_remedy},
    {"while_loop_cond", "the condition of the while_loop", "compute it in the body, as a state of the loop"},
    {"cond_then", "a branch of the cond", "return it from both branches"},
    {"cond_else", "a branch of the cond", "return it from both branches"},
    {"function_forward", "the forward of the Function", "return it as a result"},
    {"function_backward", "the backward of the Function", "return it as a gradient"},
});

/// Null for the name of no body, as of a graph of a file.
const BodyKind* kind_of(std::string_view subgraph_name) {
  const std::size_t digits = subgraph_name.find_last_not_of("0123456789") + 1;
  const auto found = std::find_if(body_kinds.begin(), body_kinds.end(), [&](const BodyKind& k) {
    return k.subgraph == subgraph_name.substr(0, digits);
  });
  return found == body_kinds.end() ? nullptr : &*found;
}

/// The body that made a value. Without its call, a node tells the kind and a variable nothing.
Trace::Body body_of(const Array& traced) {
  const Trace* const trace = Trace::current();
  if (const Trace::Body* const body = trace ? trace->body(traced.serial) : nullptr) return *body;
  const auto& text = traced.value.node->attr_text;
  const auto name = text.find("__subgraph_name__");
  return {traced.serial, name == text.end() ? std::string() : name->second, {}};
}

}  // namespace

std::string_view body_kind(std::string_view subgraph_name) {
  const BodyKind* const kind = kind_of(subgraph_name);
  return kind ? kind->kind : "a body";
}

bool is_known_here(const Array& traced, const Trace* trace) {
  if (!trace) return !traced.trace;
  return trace->sees(traced) || (!traced.trace && !trace->shapes_known());
}

void fail_unknown(const Array& traced, std::string_view use, std::source_location where) {
  const ir::Node& node = *traced.value.node;
  const std::string begin = fmt::format("{}{} <Symbol {}>", line_prefix(where), use, node.name);
  if (!traced.trace)
    fail("{}, composed outside of hybrid_forward: it has no elements here. Pass an array as an input instead",
         begin);
  const std::string place = node.location.str(), at = place.empty() ? place : " at " + place;
  const Trace::Body body = body_of(traced);
  if (const BodyKind* const kind = kind_of(body.subgraph_name))
    fail(Mistake::body_value,
         "{}, made{} in {}{}{}. The values of a body end with it, also in a variable from outside of it: {}",
         begin, at, kind->kind, body.place.empty() ? "" : " at ", body.place, kind->remedy);
  fail(Mistake::ended_value,
       "{}, made{} by hybrid_forward in a call that is over. A recording gives its results alone, and no "
       "other tensor that hybrid_forward stored: return it as a further result",
       begin, at);
}

void check_known(const Tensor& t, const Trace* trace, std::string_view use, std::source_location where) {
  const Array& array = *TensorAccess::array(t);
  if (array.traced() && !is_known_here(array, trace)) fail_unknown(array, use, where);
}

}  // namespace kiln
