// The questions that a program may ask of a tensor.

#include "frontend/call/readable.h"

#include "frontend/call/ended_value.h"
#include "frontend/call/line.h"
#include "frontend/call/trace.h"
#include "frontend/tensor/elements.h"
#include "runtime/messages.h"

namespace kiln {

using detail::Array;
using detail::TensorAccess;

void note_read(const Tensor& t) {
  if (Trace* const trace = Trace::current()) trace->note_read(TensorAccess::array(t));
}

void check_readable(const Tensor& t, const char* what, std::source_location where) {
  const Array* array = TensorAccess::array(t).get();
  if (!array)
    fail(Mistake::undefined_tensor, "{}{} of an undefined Tensor (made by Tensor() and never assigned)",
         line_prefix(where), what);
  const Trace* trace = Trace::current();
  if (array->traced() && array->trace && !is_known_here(*array, trace))
    fail_unknown(*array, fmt::format("{} reads", what), where);
  if (array->traced() && (!trace || !trace->sees(*array) || !trace->shapes_known())) {
    fail(
        "{}{} needs a value, but <Symbol {}> has none: it describes a computation. Bind it to arrays first "
        "(SymbolBlock, or call the network on a Tensor)",
        line_prefix(where), what, array->value.node->name);
  }
  if (array->traced() || (trace && trace->has_written(array))) {
    fail(Mistake::value_while_tracing,
         "{}{} needs a value, but the network is being traced (hybridize): hybrid_forward runs once, on "
         "tensors without values. Keep "
         "it a Tensor, choose between tensors with F.where, or call {} outside of hybrid_forward",
         line_prefix(where), what, what);
  }
  note_read(t);
}

std::byte* host_elements(const Tensor& t, const char* what, std::source_location where) {
  check_readable(t, what, where);
  if (const Device device = TensorAccess::device(t); !device.is_cpu())
    fail("{}{} is an address on the host, and this array is on {}: to(cpu()) copies it", line_prefix(where),
         what, device.str());
  return TensorAccess::data(t);
}

Device common_device(std::span<const Tensor* const> tensors, std::string_view what,
                     const std::function<std::string(std::size_t)>& name, std::source_location where) {
  if (tensors.empty()) return DeviceScope::current();
  const Device first = TensorAccess::device(*tensors[0]);
  for (std::size_t i = 1; i < tensors.size(); ++i)
    if (const Device other = TensorAccess::device(*tensors[i]); !(other == first))
      fail("{}{}: {} is on {} and {} on {}: move one, as in x.to(kiln::{})", line_prefix(where), what,
           name(0), first.str(), name(i), other.str(), first.str());
  return first;
}

const Shape& known_shape(const Tensor& t, const char* what, std::source_location where) {
  const Array* array = TensorAccess::array(t).get();
  if (!array)
    fail(Mistake::undefined_tensor, "{}{} of an undefined Tensor (made by Tensor() and never assigned)",
         line_prefix(where), what);
  if (array->traced() && !array->shape_known) {
    fail(
        "{}{} needs the shape of <Symbol {}>, which is not known: a Symbol has no shapes. Use "
        "net.hybridize() and call "
        "the network on a Tensor, or infer_shape() on the Symbol; in place of x[...] use F.slice_axis or "
        "F.slice, in "
        "place of sizes the codes 0 and -1 of F.reshape",
        line_prefix(where), what, array->value.node->name);
  }
  return TensorAccess::shape(t);
}

void fail_mixed(std::source_location where) {
  fail(
      "{}an array is used with Symbols, which have no values yet: compose with sym::var(\"name\") in its "
      "place, and give the array when the composed network runs",
      line_prefix(where));
}

}  // namespace kiln
