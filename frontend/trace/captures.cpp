// Captures concrete tensors as variables.
#include "frontend/trace/captures.h"

#include "frontend/view/view.h"
#include "runtime/fail.h"

#include <algorithm>
#include <mutex>

namespace kiln {

using detail::Array;
using detail::TensorAccess;

TracedVariable TracedVariable::make(Trace& trace, const std::string& name, const TensorType& type,
                                    bool shape_known, const Trace::HiddenAttrs& hidden_attrs) {
  auto node = std::make_shared<ir::Node>();
  node->name = name;
  for (const auto& [key, value] : hidden_attrs) node->attr_text[key] = value;
  if (shape_known) node->types = {type};
  auto array = std::make_shared<Array>(&trace, ir::Entry{node, 0, 0}, type.shape, shape_known);
  return {node, TensorAccess::make(array, 0, type.shape, type.dtype)};
}

bool TracedVariable::is_written() const { return TensorAccess::array(traced)->value.node != variable; }

std::ptrdiff_t ArrayPart::ranges() const {
  return std::count_if(steps.begin(), steps.end(), [](const Array::Origin& o) {
    return std::holds_alternative<detail::RowRange>(o.step);
  });
}

void TracedVariable::add_written(const ArrayPart& part) {
  // A write into a range of a range adds 0 to the gradient of the elements around it.
  const auto is_known = [&](const ArrayPart& w) { return w.covers(part) && w.ranges() >= part.ranges(); };
  if (std::none_of(written.begin(), written.end(), is_known)) written.push_back(part);
}

void Captured::keep_origins() const {
  std::vector<Array::Origin>& known = TensorAccess::array(traced)->origins;
  const auto lock = std::lock_guard(detail::history_mutex(*TensorAccess::array(tensor)));
  for (const Array::Origin& origin : TensorAccess::array(tensor)->origins) {
    if (origin.call != detail::ViewScope::call()) continue;
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const Array::Origin& o) {
      return o.offset == origin.offset && o.shape == origin.shape && o.alias == origin.alias &&
             o.call == origin.call;
    });
    if (!is_known) known.push_back(origin);
  }
}

const Captured* Captures::find(const Array* array) const {
  const auto found = index_.find(array);
  return found == index_.end() ? nullptr : &list_[found->second];
}

const Captured& Captures::add(Captured captured) {
  index_.emplace(TensorAccess::array(captured.tensor).get(), list_.size());
  return list_.emplace_back(std::move(captured));
}

const Captured* Captures::find_own(const Tensor& t) const {
  for (const Captured& captured : list_) {
    const Tensor& own = captured.tensor;
    if (TensorAccess::alias(own) == TensorAccess::alias(t) &&
        TensorAccess::array(own) == TensorAccess::array(t) &&
        TensorAccess::offset(own) == TensorAccess::offset(t) &&
        TensorAccess::shape(own) == TensorAccess::shape(t))
      return &captured;
  }
  return nullptr;
}

Tensor Captures::take(Trace& trace, const Tensor& concrete, const std::string& name, bool parameter,
                      const Trace::HiddenAttrs& hidden_attrs) {
  const std::shared_ptr<Array>& array = TensorAccess::array(concrete);
  if (!array || array->traced()) fail_internal("capture() takes a concrete tensor");
  const Shape& shape = TensorAccess::shape(concrete);
  const std::int64_t offset = TensorAccess::offset(concrete);
  const DType dtype = TensorAccess::dtype(concrete);
  const auto name_here = [&] { return name.empty() ? "captured" + std::to_string(list_.size()) : name; };
  // Only the structure of a loop or branch is recorded in the call that has such a value.
  if (const Tensor own = own_behind(concrete); own.defined()) {
    const Captured* captured = find_own(own);
    if (!captured)
      captured =
          &add_own({TracedVariable::make(trace, name_here(), {dtype, TensorAccess::shape(own)}, true), own});
    return view_of(captured->traced, offset - TensorAccess::offset(own), shape);
  }
  const Captured* captured = find(array.get());
  if (!captured) {
    // The variable is the whole array, so that other views of it are views of the same variable.
    const Tensor whole = TensorAccess::make(array, 0, array->shape, dtype);
    captured = &add({TracedVariable::make(trace, name_here(), {dtype, TensorAccess::shape(whole)},
                                          trace.shapes_known(), hidden_attrs),
                     whole, parameter});
  }
  if (!trace.shapes_known()) return captured->traced;
  captured->keep_origins();
  return view_of(captured->traced, offset, shape);
}

void Captures::add_written(const Array& array, const ArrayPart& part) {
  for (Captured& captured : list_)
    if (TensorAccess::array(captured.traced).get() == &array) captured.add_written(part);
}

bool Captures::has_written(const Array* array) const {
  const Captured* captured = find(array);
  return captured && captured->is_written();
}

}  // namespace kiln
