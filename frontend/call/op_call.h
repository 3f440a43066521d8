// One operator call of the program, before it is known how the call is carried out.
#pragma once
#include "frontend/call/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "ir/graph.h"

#include <kiln/f_options.h>

#include <array>
#include <source_location>
#include <span>

namespace kiln {

/// The attributes of one call, at most N, stored inline so that a cache hit does not allocate. Names must be
/// literals.
template <std::size_t N>
class CallAttributes {
 public:
  void set(std::string_view name, ir::AttrValue value) {
    items_[size_].name = name;
    items_[size_++].value = std::move(value);
  }
  void set(std::string_view name, const Number& n) {
    n.integral() ? set(name, ir::AttrValue(static_cast<std::int64_t>(n.value())))
                 : set(name, ir::AttrValue(n.value()));
  }
  void set(std::string_view name, DType dtype) { set(name, ir::AttrValue(std::string(name_of(dtype)))); }
  void set(std::string_view name, const Axes& axes) {
    if (!axes.given()) return;
    axes.single() ? set(name, ir::AttrValue(axes.shape()[0])) : set(name, ir::AttrValue(axes.shape()));
  }
  template <class T>
  void set(std::string_view name, const std::optional<T>& value) {
    if (!value) return;
    if constexpr (std::is_same_v<T, Number> || std::is_same_v<T, DType>) {
      set(name, *value);
    } else {
      set(name, ir::AttrValue(*value));
    }
  }
  /// A tuple; an empty one counts as not given.
  void set_tuple(std::string_view name, const Shape& value) {
    if (!value.empty()) set(name, ir::AttrValue(value));
  }
  std::span<const ir::Attrs::Item> items() const { return {items_.data(), size_}; }

 private:
  std::array<ir::Attrs::Item, N> items_;
  std::size_t size_ = 0;
};

/// One operator call of the program.
struct OpCall {
  const ir::OpDef& op;
  std::span<const Tensor* const> inputs;
  std::span<const ir::Attrs::Item> given;
  std::source_location where;
  std::span<const ir::SubgraphPtr> bodies = {};  ///< of a control flow operator
  std::string_view name = {};                    ///< the node's name, if given
  std::string_view hint = {};                    ///< stem of a generated name; default: the operator's name
  bool np_shape = NumpyScope::active();          ///< in MXNet's numpy mode, see ir::Node::np_shape
};

/// The device of a call on arrays: the device of its inputs, which must be on one; DeviceScope's without any.
Device device_of(const OpCall& call);

/// The operator's definition. Throws if there is none: F declares more of MXNet's operators than are defined.
const ir::OpDef& find_op_or_throw(std::string_view op_name);

/// The given attributes, and the count attribute of a list of inputs.
ir::Attrs given_attrs(const OpCall& call);

/// The words of a message for input `i`: its name in quotes, or its number.
std::string input_name(const OpCall& call, std::size_t i);

}  // namespace kiln
