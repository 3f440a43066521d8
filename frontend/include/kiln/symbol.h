#pragma once
#include <kiln/f_options.h>
#include <kiln/tensor.h>

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

namespace detail {
struct SymbolAccess;
}

/// What a symbol's variables and outputs look like when some inputs are known.
struct InferredShapes {
  bool complete = false;  ///< whether every shape is known; what is not has rank 0 or extents 0
  std::vector<Shape> arguments, outputs, auxiliary_states;
};

/// A computation without shapes: one or more outputs of a graph of operators, as MXNet's Symbol. Made by
/// sym::var, by operators and F's functions on symbols (a Symbol converts to the traced Tensor they take, and
/// their result converts back), by `net(symbol)`, or read from a file. Operators between two symbols are
/// elemwise_add and so on, which do not broadcast: use F.broadcast_add for that. A handle to nodes that never
/// change; any thread may read it.
class KILN_API Symbol {
 public:
  /// No symbol; every use but assignment throws.
  Symbol() = default;
  /// A traced tensor without shapes, as a symbol.
  Symbol(const Tensor& traced);
  explicit Symbol(const std::vector<Tensor>& traced);
  /// What F's functions take. Throws for several outputs: choose one with [].
  operator Tensor() const;

  /// Reads PREFIX-symbol.json of any version of MXNet. Throws kiln::Error, naming file, node and attribute.
  /// Operators that Kiln does not have are kept, and cannot be run.
  static Symbol load(const std::string& path);
  /// The same from text; `file` stands for it in errors.
  static Symbol load_json(std::string_view json, const std::string& file = "the JSON text");
  /// Writes tojson() to a file, which appears whole or not at all.
  void save(const std::string& path, bool remove_amp_cast = true) const;
  /// Byte for byte what MXNet 1.9.1 writes. As there, the amp_cast and amp_multicast nodes are left out
  /// unless told otherwise.
  std::string tojson(bool remove_amp_cast = true) const;

  /// The node's name; empty for a group of outputs of several nodes.
  std::string name() const;
  /// An attribute of the node as text; nothing when it has none of that name.
  std::optional<std::string> attr(std::string_view key) const;
  /// Variables in the order in which the graph needs them, without those that operators update.
  std::vector<std::string> list_arguments() const;
  std::vector<std::string> list_outputs() const;
  /// Variables that operators update: BatchNorm's moving statistics.
  std::vector<std::string> list_auxiliary_states() const;
  /// All variables: arguments and auxiliary states in one order.
  std::vector<std::string> list_inputs() const;

  /// A group of every output of every node, variables too.
  Symbol get_internals() const;
  std::size_t size() const;  ///< number of outputs
  /// Output number i; negative counts from the end.
  Symbol operator[](int i) const;
  /// The output of that name ("fc1_output").
  Symbol operator[](std::string_view output_name) const;

  /// The shapes that follow from some variables' shapes, weights from data among them; 0 is an unknown
  /// extent. Throws on a contradiction, naming the node.
  InferredShapes infer_shape(const std::map<std::string, Shape>& known) const;

  /// "<Symbol fc1>", "<Symbol group [fc1, fc2]>".
  std::string str() const;
  /// The graph as Graphviz draws it.
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

 private:
  friend struct detail::SymbolAccess;
  // The one output for an operator: an Operand points to its tensor, and tells no line.
  struct Term {
    Tensor tensor;
    operator Operand() const { return Operand(tensor, std::source_location{}); }
  };
  Term term() const { return {static_cast<Tensor>(*this)}; }
  static Operand operand(Number n) {
    return n.integral() ? Operand(static_cast<std::int64_t>(n.value()), std::source_location{})
                        : Operand(n.value(), std::source_location{});
  }

  struct State;
  explicit Symbol(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const;
  std::shared_ptr<const State> state_;
};

KILN_API std::ostream& operator<<(std::ostream& os, const Symbol& s);

namespace sym {

/// What a variable may declare; recorded as `__shape__`, `__dtype__`, ...
struct VarOptions {
  std::optional<Shape> shape = {};
  std::optional<DType> dtype = {};
  std::optional<double> lr_mult = {}, wd_mult = {};
  std::optional<std::string> init = {};
  std::map<std::string, std::string> attr = {};  ///< further ones; keys begin and end with two underscores
};

KILN_API Symbol var(const std::string& name, const VarOptions& options = {});
/// The outputs of several symbols as one.
KILN_API Symbol group(const std::vector<Symbol>& symbols);
KILN_API Symbol load(const std::string& path);
KILN_API Symbol load_json(std::string_view json);

}  // namespace sym
}  // namespace kiln
