// autograd::Function: operators with a gradient of the program's own.
#pragma once
#include <kiln/autograd.h>
#include <kiln/export.h>

#include <initializer_list>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln::autograd {

/// A function with a gradient of the program's own, as MXNet's autograd.Function: derive from it and override
/// both methods.
///
///     struct Sigmoid : autograd::Function {
///       Tensors forward(const Tensors& x) override { return {y_ = 1 / (1 + F::exp(-x[0]))}; }
///
///       Tensors backward(const Tensors& dy) override { return {dy[0] * y_ * (1 - y_)}; }
///       Tensor y_;
///     };
///
///     Tensor y = autograd::apply<Sigmoid>({x})[0];
///
/// An object is one call: its members keep what backward() reads. Both methods run inside autograd::Pause. A
/// result of forward() is copied if the object, or anybody else, keeps it. A kept input or result keeps its
/// contents when the program writes into its own arrays.
///
/// forward() takes any number of arrays and returns at least one. The arguments of backward() are the
/// gradients of the results, zeros where there is none. It returns one for each input, of its shape and
/// dtype. An undefined Tensor is no gradient; so is the gradient of an integer input. Neither method may
/// write into its arguments. All other arrays that forward() reads are constants, parameters too: they get no
/// gradient, and a result that depends on no input with a history is not recorded.
///
/// With create_graph, backward() is recorded: the gradient can be differentiated if backward() consists of
/// operators. Kept inputs and results then have a history; kept intermediate values are constants. In a
/// hybridized block this does not work within loops and branches.
///
/// Inside hybrid_forward of a hybridized block both methods are traced with the call. They must not read
/// values or write into any array that they did not make. The bits are the eager call's. Exported files have
/// them as the operator `_function`, which MXNet does not have.
///
/// Thread rule: one thread at a time; the same holds for backward passes through the call.
class KILN_API Function : public std::enable_shared_from_this<Function> {
 public:
  using Tensors = autograd::Tensors;  ///< inputs or results

  Function();
  virtual ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// The results for these inputs. It runs without Record.
  virtual Tensors forward(const Tensors& inputs) = 0;
  /// The gradient of each input, from the gradient of each result.
  virtual Tensors backward(const Tensors& head_gradients) = 0;

  /// Calls forward() and, inside Record, makes backward() the gradient of the results. Throws at the second
  /// call. Recorded calls share the ownership of an object that a shared_ptr owns; another one must live
  /// until the backward pass, which throws otherwise.
  Tensors operator()(const Tensors& inputs, std::source_location where = std::source_location::current());

 private:
  friend class UserFunctionCall;
  std::shared_ptr<const bool> alive_;  // expires with the object
  bool called_ = false;
};

/// The inputs of apply(), and its line.
struct FunctionInputs {
  /// The inputs, and the line that calls.
  /// @{
  FunctionInputs(std::initializer_list<Tensor> list,
                 std::source_location line = std::source_location::current())
      : arrays(list), where(line) {}
  FunctionInputs(Tensors list, std::source_location line = std::source_location::current())
      : arrays(std::move(list)), where(line) {}
  /// @}
  Tensors arrays;              ///< the inputs
  std::source_location where;  ///< the line of the call
};

/// Makes a Function with these arguments and calls it: `apply<Reverse>({x}, 0.5)`.
template <class F, class... Arguments>
Tensors apply(const FunctionInputs& inputs, Arguments&&... arguments) {
  static_assert(std::is_base_of_v<Function, F>, "apply() calls a class derived from autograd::Function");
  return (*std::make_shared<F>(std::forward<Arguments>(arguments)...))(inputs.arrays, inputs.where);
}

}  // namespace kiln::autograd
