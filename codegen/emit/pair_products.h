// The arithmetic of paired32.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "ir/dialect.h"

namespace kiln::codegen {

/// The operations of Algorithm::paired32 (kiln.dot in ir/KilnOps.td) on registers of `lanes` lanes. Operands
/// are words of two values, the even element of k in the lower half.
///
/// They flush subnormals: by their instructions where the target has such (GPUs), else by the mode of the
/// thread, in the body of a FlushingFunction.
class PairProducts {
 public:
  using Value = mlir::Value;
  enum class Part { even, odd };
  static constexpr std::int64_t words_of_step = ir::step_of_pairs / 2;

  PairProducts(KernelBuilder& builder, int lanes) : e(builder), lanes_(lanes) {}

  /// The even or the odd elements of words, as f32.
  Value part(Value words, Part part);
  /// a * b + sum, in one rounding.
  Value multiply_add(Value a, Value b, Value sum);
  Value add(Value x, Value y);

 private:
  Value flushing(const char* name, mlir::ValueRange operands);

  KernelBuilder& e;
  int lanes_;
};

/// A function beside the kernel, whose body runs with the thread's mode that flushes subnormal operands and
/// results. A call is a border that no operation of the kernel crosses: none of these is flushed. Where
/// instructions flush, there is no mode: the body becomes a part of the kernel at each call.
class FlushingFunction {
 public:
  using Body = std::function<void(KernelBuilder& e, mlir::ValueRange arguments)>;

  FlushingFunction(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}

  /// Emits a call. All calls have arguments of the same types.
  void call(KernelBuilder& e, mlir::ValueRange arguments);

 private:
  mlir::LLVM::LLVMFuncOp define(KernelBuilder& e, mlir::ValueRange arguments) const;

  std::string name_;
  Body body_;
  mlir::LLVM::LLVMFuncOp function_;
};

}  // namespace kiln::codegen
