#pragma once
// The kiln dialect in C++: generated classes and the small things every user of it needs.
#include "ir/primitives.h"
#include "runtime/tensor_type.h"

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "ir/KilnDialect.h.inc"
#include "ir/KilnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/KilnAttributes.h.inc"
#define GET_OP_CLASSES
#include "ir/KilnOps.h.inc"

namespace kiln::ir {

// Attributes of a function that is a graph.
inline constexpr llvm::StringLiteral writes_attr =
    "kiln.writes";  // DenseI64Array: inputs that the last results replace
inline constexpr llvm::StringLiteral parameter_attr = "kiln.parameter";  // UnitAttr of an argument
inline constexpr llvm::StringLiteral draws_attr = "kiln.random_draws";   // I64: random counters a call takes

// Written by buffer assignment (passes/plan_buffers.h).
inline constexpr llvm::StringLiteral buffers_attr = "kiln.buffers";  // array of places, of an operation
inline constexpr llvm::StringLiteral arena_bytes_attr = "kiln.arena_bytes";              // I64, of a function
inline constexpr llvm::StringLiteral arena_lower_bound_attr = "kiln.arena_lower_bound";  // I64, of a function

/// Element and tensor types between the two worlds.
mlir::Type element_type(mlir::MLIRContext* context, DType dtype);
mlir::RankedTensorType tensor_type(mlir::MLIRContext* context, const TensorType& type);
DType dtype_of_element(mlir::Type element);
TensorType to_tensor_type(mlir::Type type);
inline mlir::RankedTensorType ranked(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}

/// Whether the array has at most Shape::max_rank axes and max_array_bytes bytes.
bool is_countable(mlir::Type type);
/// Of the array in memory.
inline std::int64_t bytes_of(mlir::Value v) { return to_tensor_type(v.getType()).bytes(); }
/// The value of a constant whose elements are all one number; null for any other value.
mlir::SplatElementsAttr splat_of(mlir::Value v);

/// Whether the operation computes each element of its result from the elements at the same place.
bool is_pointwise(mlir::Operation* op);
/// Broadcast, transpose, slice, reverse or reshape: the same elements at other places.
bool is_movement(mlir::Operation* op);

/// The type of the second result of a sort of x.
mlir::RankedTensorType sort_scratch(mlir::Value x);
/// Whether such a sort packs key and index into one i64: elements of at most 32 bits, less than 2^31 of them
/// in a row.
bool sorts_packed(mlir::Value x);
/// What a reduction combines two elements by.
BinaryKind combiner(ReduceKind kind);
/// The element that such a combination leaves as it is: where a reduction starts, and its result over no
/// elements.
mlir::TypedAttr identity_of(ReduceKind kind, mlir::Type element);
/// The shape of a pack (PackOp) of an array of shape `x`.
llvm::SmallVector<std::int64_t> packed_shape(PackKind kind, llvm::ArrayRef<std::int64_t> x,
                                             std::int64_t panel, std::int64_t groups);
/// A product with a packed right operand.
bool is_product(mlir::Operation* op);
/// Whether each channel is convolved with one kernel of its own.
bool is_depthwise(PackedConvolutionOp op);
/// Of what a loop stacks, one step's part.
mlir::RankedTensorType row_type(mlir::Type stacked);

/// A kernel that copies `v`.
mlir::Value create_copy(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value v);
/// What a fusion yields as its result.
mlir::OpOperand& yielded_as(mlir::OpResult result);

/// The window of a convolution or reduce_window as plain data.
Window window_of(ConvolutionOp op);
Window window_of(ReduceWindowOp op);

/// Prepares a context: the kiln and func dialects, one thread.
void load_dialects(mlir::MLIRContext& context);

}  // namespace kiln::ir
