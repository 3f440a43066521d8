// Helpers that call an operator by its name, for the functions of F.
#pragma once
#include "frontend/call/invoke.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/call/op_named.h"

#include <kiln/f.h>

namespace kiln {

/// Calls the operator named `name`; generated node names start with it.
template <OpName name, std::size_t N = 1>
Tensor call(std::initializer_list<const Tensor*> inputs, const CallAttributes<N>& given,
            std::source_location where, std::string_view node_name = {}) {
  return invoke_one({.op = op_named<name>(),
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

/// The same in numpy mode.
template <OpName name, std::size_t N = 1>
Tensor np_call(std::initializer_list<const Tensor*> inputs, const CallAttributes<N>& given,
               std::source_location where, std::string_view node_name = {}) {
  const NumpyScope scope;
  return call<name>(inputs, given, where, node_name);
}
template <OpName name>
Tensor np_call(std::initializer_list<const Tensor*> inputs, std::source_location where) {
  return np_call<name>(inputs, CallAttributes<1>(), where);
}

/// call() for operators with several results.
template <OpName name, std::size_t N>
F::Tensors call_all(std::span<const Tensor* const> inputs, const CallAttributes<N>& given,
                    std::source_location where, std::string_view node_name = {}) {
  return invoke_all({.op = op_named<name>(),
                     .inputs = inputs,
                     .given = given.items(),
                     .where = where,
                     .name = node_name,
                     .hint = name.view()});
}
template <OpName name, std::size_t N>
F::Tensors call_all(std::initializer_list<const Tensor*> inputs, const CallAttributes<N>& given,
                    std::source_location where, std::string_view node_name = {}) {
  return call_all<name>(std::span<const Tensor* const>(inputs.begin(), inputs.size()), given, where,
                        node_name);
}
template <OpName name, std::size_t N>
F::Tensors call_list_all(const F::Tensors& inputs, const CallAttributes<N>& given, std::source_location where,
                         std::string_view node_name = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return call_all<name>(std::span<const Tensor* const>(pointers), given, where, node_name);
}

/// call() for operators with a list of inputs.
template <OpName name, std::size_t N>
Tensor call_list(const std::vector<Tensor>& inputs, const CallAttributes<N>& given,
                 std::source_location where, std::string_view node_name = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return invoke_one({.op = op_named<name>(),
                     .inputs = pointers,
                     .given = given.items(),
                     .where = where,
                     .name = node_name,
                     .hint = name.view()});
}

}  // namespace kiln
