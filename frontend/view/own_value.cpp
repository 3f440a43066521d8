// Views that are separate values (frontend/tensor/view_scope.h): arguments and results of calls.
#include "frontend/call/trace.h"
#include "frontend/call/view_recorder.h"
#include "frontend/view/view.h"

#include <algorithm>

namespace kiln {

using detail::Array;
using detail::TensorAccess;

Tensor own_behind(const Tensor& t) {
  if (TensorAccess::alias(t) == 0) return {};
  if (recorder_of(t).has_own_value(t)) return t;
  const auto origin = origin_of(t);
  return origin ? own_behind(base_of(t, *origin)) : Tensor();
}

std::vector<Tensor> own_values(std::span<const Tensor> list, std::uint64_t call, std::source_location where) {
  std::vector<Tensor> own;
  own.reserve(list.size());
  for (const Tensor& given : list) {
    if (TensorAccess::is_array(given)) {
      own.push_back(given);
      continue;
    }
    Trace* const trace = Trace::current();
    const Tensor t = trace ? trace->resolve(given) : given;
    const Array& array = *TensorAccess::array(t);
    const bool has_value = !TensorAccess::is_array(t) && array.shape_known;
    own.push_back(has_value ? recorder_of(t).own_value(t, t, call, where) : t);
  }
  return own;
}

namespace {

Tensor returned_value(const Tensor& t, std::span<const Tensor> given, std::span<const Tensor> arguments,
                      std::uint64_t call, std::source_location where) {
  const std::uint32_t alias = TensorAccess::alias(t);
  const auto argument = std::find_if(arguments.begin(), arguments.end(),
                                     [&](const Tensor& a) { return TensorAccess::alias(a) == alias; });
  Tensor out = t;
  TensorAccess::set_alias(out, 0);
  if (argument != arguments.end()) {
    const Tensor& as_given = given[static_cast<std::size_t>(argument - arguments.begin())];
    return same_view(t, *argument) && TensorAccess::array(as_given) == TensorAccess::array(t) ? as_given
                                                                                              : out;
  }
  if (!own_behind(t).defined()) return out;
  // A trace has no values of concrete arrays.
  if (!TensorAccess::array(t)->traced() && Trace::current()) return out;
  return recorder_of(t).own_value(out, t, call, where);
}

}  // namespace

bool same_own_value(const Tensor& a, const Tensor& b) {
  return TensorAccess::alias(a) != 0 && TensorAccess::alias(a) == TensorAccess::alias(b) && same_view(a, b);
}

std::vector<Tensor> returned_values(std::vector<Tensor> results, std::span<const Tensor> given,
                                    std::span<const Tensor> arguments, std::uint64_t call,
                                    std::source_location where) {
  struct Returned {
    Tensor inside;
    std::size_t number;
  };
  std::vector<Returned> own;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (TensorAccess::alias(results[i]) == 0) continue;
    const Tensor t = results[i];
    const auto known = std::find_if(own.begin(), own.end(),
                                    [&](const Returned& before) { return same_own_value(before.inside, t); });
    results[i] =
        known == own.end() ? returned_value(t, given, arguments, call, where) : results[known->number];
    own.push_back({t, i});
  }
  return results;
}

}  // namespace kiln
