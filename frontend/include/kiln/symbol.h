// Symbol: operator graphs of MXNet's files.
#pragma once
#include <kiln/f_options.h>
#include <kiln/tensor.h>

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

namespace detail {
struct SymbolAccess;
}

/// The result of shape inference: shapes of variables and outputs.
struct InferredShapes {
  bool complete = false;  ///< whether every shape is known; unknown ones have rank 0 or extents 0
  std::vector<Shape> arguments, outputs, auxiliary_states;  ///< in the order of the list_ functions
};

/// MXNet's Symbol: one or more outputs of an operator graph without shapes. Created by sym::var, by operators
/// and F's functions on symbols (a Symbol converts to a traced Tensor and back), by `net(symbol)`, or from a
/// file. Operators between two symbols are elemwise_add etc., which do not broadcast: use F.broadcast_add. A
/// handle to immutable nodes. Thread rule: any thread may read it.
class KILN_API Symbol {
 public:
  /// An empty handle; every use except assignment throws.
  Symbol() = default;
  /// A traced tensor without shapes, as a symbol.
  Symbol(const Tensor& traced);
  explicit Symbol(const std::vector<Tensor>& traced);
  /// Converts to an argument of F's functions. Throws for several outputs: select one with [].
  operator Tensor() const;

  /// Reads PREFIX-symbol.json of any version of MXNet. Throws kiln::Error, naming file, node and attribute.
  /// Unknown operators are kept but cannot be run.
  static Symbol load(const std::string& path, std::source_location where = std::source_location::current());
  /// The same from text; errors show `file`.
  static Symbol load_json(std::string_view json, const std::string& file = "the JSON text",
                          std::source_location where = std::source_location::current());
  /// Writes tojson() to a file, atomically.
  void save(const std::string& path, bool remove_amp_cast = true,
            std::source_location where = std::source_location::current()) const;
  /// JSON, byte-identical to MXNet 1.9.1's. As there, amp_cast and amp_multicast nodes are removed by
  /// default.
  std::string tojson(bool remove_amp_cast = true) const;

  /// The node's name; empty for a group.
  std::string name() const;
  /// An attribute of the node as text; nothing if it does not exist.
  std::optional<std::string> attr(std::string_view key) const;
  /// Variables in topological order, without auxiliary states.
  std::vector<std::string> list_arguments() const;
  /// The names of the results, in order: "fc1_output".
  std::vector<std::string> list_outputs() const;
  /// Variables updated by operators: BatchNorm's moving statistics.
  std::vector<std::string> list_auxiliary_states() const;
  /// All variables, arguments and auxiliary states, in topological order.
  std::vector<std::string> list_inputs() const;

  /// A group of all outputs of all nodes, variables included.
  Symbol get_internals() const;
  std::size_t size() const;  ///< number of outputs
  /// Output number i; negative counts from the end.
  Symbol operator[](int i) const;
  /// The output with that name ("fc1_output").
  Symbol operator[](std::string_view output_name) const;

  /// Infers shapes, in both directions, from the given shapes of variables; extent 0 is unknown. Throws on a
  /// contradiction, naming the node.
  InferredShapes infer_shape(const std::map<std::string, Shape>& known,
                             std::source_location where = std::source_location::current()) const;

  /// "<Symbol fc1>", "<Symbol group [fc1, fc2]>".
  std::string str() const;
  /// The graph in Graphviz's language.
  std::string dot() const;

  friend Symbol operator+(const Symbol& a, const Symbol& b) { return a.term() + b.term(); }
  friend Symbol operator+(const Symbol& a, Number b) { return a.term() + operand(b); }
  friend Symbol operator+(Number a, const Symbol& b) { return operand(a) + b.term(); }
  friend Symbol operator-(const Symbol& a, const Symbol& b) { return a.term() - b.term(); }
  friend Symbol operator-(const Symbol& a, Number b) { return a.term() - operand(b); }
  friend Symbol operator-(Number a, const Symbol& b) { return operand(a) - b.term(); }
  friend Symbol operator*(const Symbol& a, const Symbol& b) { return a.term() * b.term(); }
  friend Symbol operator*(const Symbol& a, Number b) { return a.term() * operand(b); }
  friend Symbol operator*(Number a, const Symbol& b) { return operand(a) * b.term(); }
  friend Symbol operator/(const Symbol& a, const Symbol& b) { return a.term() / b.term(); }
  friend Symbol operator/(const Symbol& a, Number b) { return a.term() / operand(b); }
  friend Symbol operator/(Number a, const Symbol& b) { return operand(a) / b.term(); }
  friend Symbol operator%(const Symbol& a, const Symbol& b) { return a.term() % b.term(); }
  friend Symbol operator%(const Symbol& a, Number b) { return a.term() % operand(b); }
  friend Symbol operator%(Number a, const Symbol& b) { return operand(a) % b.term(); }
  friend Symbol operator==(const Symbol& a, const Symbol& b) { return a.term() == b.term(); }
  friend Symbol operator==(const Symbol& a, Number b) { return a.term() == operand(b); }
  friend Symbol operator==(Number a, const Symbol& b) { return operand(a) == b.term(); }
  friend Symbol operator!=(const Symbol& a, const Symbol& b) { return a.term() != b.term(); }
  friend Symbol operator!=(const Symbol& a, Number b) { return a.term() != operand(b); }
  friend Symbol operator!=(Number a, const Symbol& b) { return operand(a) != b.term(); }
  friend Symbol operator<(const Symbol& a, const Symbol& b) { return a.term() < b.term(); }
  friend Symbol operator<(const Symbol& a, Number b) { return a.term() < operand(b); }
  friend Symbol operator<(Number a, const Symbol& b) { return operand(a) < b.term(); }
  friend Symbol operator<=(const Symbol& a, const Symbol& b) { return a.term() <= b.term(); }
  friend Symbol operator<=(const Symbol& a, Number b) { return a.term() <= operand(b); }
  friend Symbol operator<=(Number a, const Symbol& b) { return operand(a) <= b.term(); }
  friend Symbol operator>(const Symbol& a, const Symbol& b) { return a.term() > b.term(); }
  friend Symbol operator>(const Symbol& a, Number b) { return a.term() > operand(b); }
  friend Symbol operator>(Number a, const Symbol& b) { return operand(a) > b.term(); }
  friend Symbol operator>=(const Symbol& a, const Symbol& b) { return a.term() >= b.term(); }
  friend Symbol operator>=(const Symbol& a, Number b) { return a.term() >= operand(b); }
  friend Symbol operator>=(Number a, const Symbol& b) { return operand(a) >= b.term(); }
  friend Symbol operator-(const Symbol& a) { return -a.term(); }
  // F::logical_and, F::logical_or and F::logical_not, as the operators of tensors.
  friend Symbol operator&&(const Symbol& a, const Symbol& b) {
    const Term x = a.term(), y = b.term();
    return x.truth() && y.truth();
  }
  friend Symbol operator&&(const Symbol& a, Number b) { return a.term().truth() && truth(b); }
  friend Symbol operator&&(Number a, const Symbol& b) { return truth(a) && b.term().truth(); }
  friend Symbol operator||(const Symbol& a, const Symbol& b) {
    const Term x = a.term(), y = b.term();
    return x.truth() || y.truth();
  }
  friend Symbol operator||(const Symbol& a, Number b) { return a.term().truth() || truth(b); }
  friend Symbol operator||(Number a, const Symbol& b) { return truth(a) || b.term().truth(); }
  friend Symbol operator!(const Symbol& a) { return !a.term().truth(); }

 private:
  friend struct detail::SymbolAccess;
  // The single output as an operator's argument: an Operand points to its tensor and carries no line.
  struct Term {
    Tensor tensor;
    operator Operand() const { return Operand(tensor, std::source_location{}); }
    TensorOperand truth() const { return TensorOperand(tensor, std::source_location{}); }
  };
  Term term() const { return {static_cast<Tensor>(*this)}; }
  static Operand operand(Number n) {
    return n.integral() ? Operand(static_cast<std::int64_t>(n.value()), std::source_location{})
                        : Operand(n.value(), std::source_location{});
  }
  static NumberOperand truth(Number n) {
    return n.integral() ? NumberOperand(static_cast<std::int64_t>(n.value()), std::source_location{})
                        : NumberOperand(n.value(), std::source_location{});
  }

  struct State;
  explicit Symbol(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  InferredShapes shapes_for(const std::map<std::string, Shape>& known) const;
  const State& state() const;
  std::shared_ptr<const State> state_;
};

/// Prints `<Symbol name>`, as MXNet.
KILN_API std::ostream& operator<<(std::ostream& os, const Symbol& s);

namespace sym {

/// Declarations of a variable, recorded as `__shape__`, `__dtype__`, ...
struct VarOptions {
  std::optional<Shape> shape = {};                   ///< 0: unknown extent
  std::optional<DType> dtype = {};                   ///< of the elements
  std::optional<double> lr_mult = {}, wd_mult = {};  ///< factors of learning rate and weight decay
  std::optional<std::string> init = {};              ///< the initializer's text
  std::map<std::string, std::string> attr = {};      ///< others; keys start and end with two underscores
};

/// A variable.
KILN_API Symbol var(const std::string& name, const VarOptions& options = {});
/// One symbol with the outputs of several.
KILN_API Symbol group(const std::vector<Symbol>& symbols,
                      std::source_location where = std::source_location::current());
/// The symbol of a file, or of its text. Throws for text that is no graph, naming the place.
/// @{
KILN_API Symbol load(const std::string& path, std::source_location where = std::source_location::current());
KILN_API Symbol load_json(std::string_view json,
                          std::source_location where = std::source_location::current());
/// @}

}  // namespace sym
}  // namespace kiln
