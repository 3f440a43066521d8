// autograd::Function: run eagerly, or recorded.
#include "frontend/autograd/function_call.h"
#include "frontend/call/line.h"
#include "frontend/call/trace.h"
#include "frontend/trace/function_trace.h"
#include "runtime/fail.h"

#include <kiln/function.h>

#include <utility>

namespace kiln::autograd {

/// A call of a program's object, which it shares or watches.
class UserFunctionCall final : public kiln::detail::FunctionCall {
 public:
  UserFunctionCall(Function& function, std::source_location where)
      : function_(function),
        shared_(function.weak_from_this().lock()),
        alive_(function.alive_),
        where_(where) {}

  Tensors forward(const Tensors& inputs) override { return function_.forward(inputs); }

 protected:
  Tensors backward(const Tensors& heads) override {
    if (alive_.expired())
      fail(
          "{}the Function of a recorded call is gone before its backward pass: call it with "
          "autograd::apply<...>(inputs), or make it with std::make_shared",
          line_prefix(where_));
    return function_.backward(heads);
  }

 private:
  Function& function_;
  std::shared_ptr<Function> shared_;
  std::weak_ptr<const bool> alive_;
  std::source_location where_;
};

Function::Function() : alive_(std::make_shared<const bool>(true)) {}
Function::~Function() = default;

Tensors Function::operator()(const Tensors& inputs, std::source_location where) {
  return at_line(where, [&]() -> Tensors {
    if (std::exchange(called_, true))
      fail("an object of autograd::Function is one call: make another one for the second call");
    bool symbols = Trace::current() != nullptr;
    for (const Tensor& t : inputs) {
      if (!t.defined()) fail("a Function was given an undefined Tensor");
      symbols = symbols || t.is_traced();
    }
    if (!symbols)
      return kiln::detail::run_function(std::make_shared<UserFunctionCall>(*this, where), inputs, where);
    return record_function(
        {[this](const Tensors& x) { return forward(x); }, [this](const Tensors& dy) { return backward(dy); }},
        inputs, where);
  });
}

}  // namespace kiln::autograd
