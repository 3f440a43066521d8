#pragma once
#include "frontend/eager/numpy_scope.h"
#include "frontend/tensor/array.h"
#include "ir/graph.h"

#include <kiln/f_options.h>

#include <array>
#include <exception>
#include <source_location>
#include <span>

namespace kiln {

/// The attributes that one call was given, at most N, kept in place so that a call whose code is known
/// allocates nothing for them. Names must be literals.
template <std::size_t N>
class Given {
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
  /// A tuple; the empty one means that it was not given.
  void set_tuple(std::string_view name, const Shape& value) {
    if (!value.empty()) set(name, ir::AttrValue(value));
  }
  std::span<const ir::Attrs::Item> items() const { return {items_.data(), size_}; }

 private:
  std::array<ir::Attrs::Item, N> items_;
  std::size_t size_ = 0;
};

/// One use of an operator by the program.
struct Call {
  const ir::OpDef& op;
  std::span<const Tensor* const> inputs;
  std::span<const ir::Attrs::Item> given;
  std::source_location where;
  std::span<const ir::SubgraphPtr> bodies = {};  ///< of a control flow operator
  std::string_view name = {};                    ///< what the program called the node, if anything
  std::string_view hint = {};            ///< what a generated name begins with; empty: the operator's name
  bool np_shape = NumpyScope::active();  ///< in MXNet's numpy mode, see ir::Node::np_shape
};

/// Computes at once or records a node, as `invoke` in trace.h says. The first visible output.
Tensor invoke_one(const Call& call);
/// All visible outputs.
std::vector<Tensor> invoke_all(const Call& call);

/// The two halves of it. Eager inputs are concrete, and so are the results.
void run_eagerly(const Call& call, std::span<Tensor> outputs);
std::vector<Tensor> record_node(const Call& call);
/// Whether the call must be recorded. Throws for inputs that no operator can take: undefined tensors, values
/// of a trace that is over.
bool must_record(const Call& call);

/// The row of that name. Throws when Kiln has none: F spells more of MXNet's operators than there are rows.
const ir::OpDef& row(std::string_view op_name);

/// What was given, with the length of a list of inputs.
ir::Attrs given_attrs(const Call& call);

/// "net.cpp:12: ", or nothing; the call sites of layers considered.
std::string line_prefix(std::source_location where);

/// Throws the exception that is being handled again: an Error with the line of the program, unless it begins
/// with a place already, and std::bad_alloc as such an Error.
[[noreturn]] void rethrow_at_line(std::source_location where);

/// What `body` returns; what it throws names the line `where` of the program.
template <class Body>
auto at_line(std::source_location where, Body&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    rethrow_at_line(where);
  }
}

}  // namespace kiln
