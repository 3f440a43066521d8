// Tensors as MXNet and its numpy print them: NDArray.__repr__, and numpy's array_str and array_repr with
// MXNet's rule for the dtype.
#include "frontend/tensor/print.h"

#include "frontend/call/line.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "ir/attrs.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <kiln/f_numpy.h>

#include <fmt/format.h>
#include <mutex>
#include <ostream>

namespace kiln {

namespace {

/// Whether `a` has elements to print, as symbols and undefined tensors do not.
bool is_value(const Tensor& a) { return a.defined() && !a.is_traced(); }

/// A number as numpy's scalars print: 2.0, 0.33333334, True.
std::string scalar_text(const Tensor& a) {
  if (a.dtype() == DType::f64) return ir::python_float(real_at(HostElements(a).data(), DType::f64, 0));
  std::string text = elements_text(a);
  if (is_floating(a.dtype()) && text.back() == '.') text += '0';
  return text;
}

/// Whether numpy's repr omits the dtype: nonempty arrays of the types of Python's own numbers.
bool is_implied(const Tensor& a) {
  return a.size() > 0 && (a.dtype() == DType::f64 || a.dtype() == DType::i64 || a.dtype() == DType::boolean);
}

struct SharedPrintOptions {
  Mutex mutex;
  PrintOptions options;
};
SharedPrintOptions& shared_print_options() {
  return once<[] { return SharedPrintOptions(); }>();
}

}  // namespace

PrintOptions print_options() {
  SharedPrintOptions& shared = shared_print_options();
  const std::lock_guard lock(shared.mutex);
  return shared.options;
}

void set_print_options(const PrintOptions& o, std::source_location where) {
  const auto require = [&](bool holds, std::string_view name, std::int64_t value, int least) {
    if (!holds)
      fail("{}set_print_options: {} is {}; it is a number from {} on", line_prefix(where), name, value,
           least);
  };
  require(o.precision >= 0, "precision", o.precision, 0);
  require(o.threshold >= 0, "threshold", o.threshold, 0);
  require(o.edge_items >= 1, "edge_items", o.edge_items, 1);
  require(o.line_width >= 1, "line_width", o.line_width, 1);
  SharedPrintOptions& shared = shared_print_options();
  const std::lock_guard lock(shared.mutex);
  shared.options = o;
}

std::string F::numpy::array_str(const Tensor& a) {
  if (!is_value(a)) return to_string(a);
  return a.ndim() == 0 ? scalar_text(a) : elements_text(a);
}

std::string F::numpy::array_repr(const Tensor& a) {
  if (!is_value(a)) return to_string(a);
  const bool shaped = a.size() > 0 || a.shape() == Shape{0};
  std::string text = "array(" + (shaped ? elements_text(a, {.separator = ", ", .before = 6, .after = 1})
                                        : "[], shape=" + a.shape().str());
  if (a.dtype() == DType::f32 || (a.dtype() == DType::boolean && a.size() > 0)) return text + ")";
  // numpy breaks the line before a dtype that does not fit; MXNet appends the dtypes that numpy omits to the
  // last line.
  const std::string dtype = fmt::format("dtype={})", name_of(a.dtype()));
  const std::size_t last_line = text.size() + 1 - (text.rfind('\n') + 1);
  const bool fits =
      is_implied(a) || last_line + dtype.size() + 1 <= static_cast<std::size_t>(print_options().line_width);
  return text + (fits ? ", " : ",\n      ") + dtype;
}

std::string to_string(const Tensor& t) {
  if (!t.defined()) return "<NDArray without elements>";
  if (t.is_traced()) return "<Symbol " + t.name() + ">";
  if (NumpyScope::program()) return np::array_str(t);
  std::string extents;
  for (std::int64_t d : detail::TensorAccess::shape(t))
    extents += (extents.empty() ? "" : "x") + std::to_string(d);
  return "\n" + elements_text(t) + "\n<NDArray " + extents + " @" + t.device().str() + ">";
}

std::ostream& operator<<(std::ostream& os, const Tensor& t) { return os << to_string(t); }
std::ostream& operator<<(std::ostream& os, const Shape& shape) { return os << shape.str(); }
std::ostream& operator<<(std::ostream& os, DType dtype) { return os << name_of(dtype); }
std::ostream& operator<<(std::ostream& os, const Device& device) { return os << device.str(); }

}  // namespace kiln
