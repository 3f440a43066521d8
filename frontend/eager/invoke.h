#pragma once
#include "frontend/eager/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/random_state.h"
#include "ir/graph.h"

#include <kiln/f_options.h>

#include <array>
#include <exception>
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

/// Runs the call or records a node, as `invoke` in trace.h. Returns the first visible output.
Tensor invoke_one(const OpCall& call);
/// Returns all visible outputs.
std::vector<Tensor> invoke_all(const OpCall& call);

/// The two cases of invoke. Eager inputs and results are concrete. Random numbers start from `random`: null
/// for counters of the thread's stream. Inside autograd::Record the call is an entry of the tape too.
void run_eagerly(const OpCall& call, std::span<Tensor> outputs, const RandomState* random = nullptr);
std::vector<Tensor> record_node(const OpCall& call);
/// An entry of the tape for a call that changes layout alone, without computing it: the first output has a
/// shape and a history, and no elements.
Tensor record_on_tape(const OpCall& call);

/// The device of an eager call: that of its inputs, which must be on one; DeviceScope's without any.
Device device_of(const OpCall& call);

/// The operator's definition. Throws if there is none: F declares more of MXNet's operators than are defined.
const ir::OpDef& find_op_or_throw(std::string_view op_name);

/// The given attributes, and the count attribute of a list of inputs.
ir::Attrs given_attrs(const OpCall& call);

/// "net.cpp:12: " of the resolved call site; nothing for a line of Kiln's own, or of the standard library.
std::string line_prefix(std::source_location where);

/// The location, as "net.cpp:12: ", with which a message begins; empty if there is none.
std::string_view place_of(std::string_view message);

/// Rethrows the current exception: an Error with the program's line, unless it starts with a location
/// already; std::bad_alloc as an Error.
[[noreturn]] void rethrow_at_line(std::source_location where);

/// Returns body(); its errors name the program's line `where`.
template <class Body>
auto at_line(std::source_location where, Body&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    rethrow_at_line(where);
  }
}

}  // namespace kiln
