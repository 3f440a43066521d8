#pragma once
#include "frontend/eager/invoke.h"

#include <kiln/f.h>

#include <algorithm>

namespace kiln {

/// A string as a template argument.
template <std::size_t N>
struct OpName {
  char text[N];
  constexpr OpName(const char (&s)[N]) { std::copy_n(s, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// Calls the operator named `name`. Its definition is looked up once per name; generated node names start
/// with it.
template <OpName name, std::size_t N = 1>
Tensor call(std::initializer_list<const Tensor*> inputs, const CallAttributes<N>& given,
            std::source_location where, std::string_view node_name = {}) {
  static const ir::OpDef& op = find_op_or_throw(name.view());
  return invoke_one({.op = op,
                     .inputs = {inputs.begin(), inputs.size()},
                     .given = given.items(),
                     .where = where,
                     .name = node_name,
                     .hint = name.view()});
}
template <OpName name>
Tensor call(std::initializer_list<const Tensor*> inputs, std::source_location where) {
  return call<name>(inputs, CallAttributes<1>(), where);
}

/// The same for operators with a list of inputs.
template <OpName name, std::size_t N>
Tensor call_list(const std::vector<Tensor>& inputs, const CallAttributes<N>& given,
                 std::source_location where, std::string_view node_name = {}) {
  static const ir::OpDef& op = find_op_or_throw(name.view());
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return invoke_one({.op = op,
                     .inputs = pointers,
                     .given = given.items(),
                     .where = where,
                     .name = node_name,
                     .hint = name.view()});
}

}  // namespace kiln
