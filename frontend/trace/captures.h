// The captured arrays of a trace.
#pragma once
#include "frontend/call/trace.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace kiln {

/// A part of an array, in elements.
struct ArrayPart {
  std::int64_t offset;
  Shape shape;
  /// Its derivation as a view, from the last step to the first.
  std::vector<detail::Array::Origin> steps = {};
  bool covers(const ArrayPart& o) const {
    return offset <= o.offset && o.offset + o.shape.elements() <= offset + shape.elements();
  }
  /// The number of steps that are ranges.
  std::ptrdiff_t ranges() const;
};

/// A variable of a trace.
struct TracedVariable {
  ir::NodePtr variable;
  Tensor traced;                        ///< a view of its whole array, with the current value
  std::vector<ArrayPart> written = {};  ///< the parts that the program replaces, in its order

  /// With the shape of `type` if known, else with its dtype only.
  static TracedVariable make(Trace& trace, const std::string& name, const TensorType& type, bool shape_known,
                             const Trace::HiddenAttrs& hidden_attrs = {});
  /// Whether the program wrote into its array.
  bool is_written() const;
  void add_written(const ArrayPart& part);
};

/// A variable for a captured array, or for a separate value (frontend/tensor/view_scope.h).
struct Captured : TracedVariable {
  Tensor tensor;  ///< the captured value: a view of its whole array, or a handle with an alias number
  bool parameter = false;
  /// Derives the variable's views as the captured array's views are derived.
  void keep_origins() const;
};

/// The captured arrays of a trace: one variable per array, shared by all its views.
class Captures {
 public:
  const std::vector<Captured>& list() const { return list_; }
  /// Null if the array is not captured.
  const Captured* find(const detail::Array* array) const;
  const Captured& add(Captured captured);
  /// Null if the handle, which has an alias number, is not captured as a separate value.
  const Captured* find_own(const Tensor& t) const;
  const Captured& add_own(Captured captured) { return list_.emplace_back(std::move(captured)); }

  /// Captures a concrete tensor in `trace`, the owner of these captures; see Trace::capture.
  Tensor take(Trace& trace, const Tensor& concrete, const std::string& name, bool parameter,
              const Trace::HiddenAttrs& hidden_attrs);
  bool has_written(const detail::Array* array) const;
  /// Notes that the program replaces a part of a variable's array.
  void add_written(const detail::Array& array, const ArrayPart& part);

 private:
  std::vector<Captured> list_;
  std::unordered_map<const detail::Array*, std::size_t> index_;
};

}  // namespace kiln
