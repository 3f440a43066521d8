#pragma once
// The kiln dialect in C++: the generated classes and the helpers that all its users need.
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
#include "ir/KilnEnumAttributes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/KilnAttributes.h.inc"
#define GET_OP_CLASSES
#include "ir/KilnOps.h.inc"

namespace kiln::ir {

// Attributes of a function that is a graph.
inline constexpr llvm::StringLiteral name_attr = "kiln.name";  // StringAttr of an argument
inline constexpr llvm::StringLiteral writes_attr =
    "kiln.writes";  // DenseI64Array: the inputs replaced by the last results, in ascending order
inline constexpr llvm::StringLiteral parameter_attr = "kiln.parameter";  // UnitAttr of an argument
inline constexpr llvm::StringLiteral draws_attr = "kiln.random_draws";   // I64: random counters per call
/// I64 of a result or argument that the entries of joint code share (passes/joint.h): its offset in the saved
/// part of the arena. Such arguments are the last; such results follow the graph's outputs.
inline constexpr llvm::StringLiteral saved_attr = "kiln.saved";
inline constexpr llvm::StringLiteral saved_bytes_attr = "kiln.saved_bytes";  // I64, on their function
/// DenseI64Array of a joint function (ir/build.h): its numbers of inputs and outputs of the graph.
inline constexpr llvm::StringLiteral joint_attr = "kiln.joint";

// Written by buffer assignment (passes/plan_buffers.h).
inline constexpr llvm::StringLiteral buffers_attr = "kiln.buffers";  // array of places, on an operation
inline constexpr llvm::StringLiteral arena_bytes_attr = "kiln.arena_bytes";              // I64, on a function
inline constexpr llvm::StringLiteral arena_lower_bound_attr = "kiln.arena_lower_bound";  // I64, on a function

/// The number of the child block that made an operation of a joint function (Node::child_block): the metadata
/// of its location. 0: none.
std::int64_t child_block_of(mlir::Operation* op);

/// Conversion of element and tensor types between MLIR and runtime/tensor_type.h.
mlir::Type element_type(mlir::MLIRContext* context, DType dtype);
mlir::RankedTensorType tensor_type(mlir::MLIRContext* context, const TensorType& type);
DType dtype_of_element(mlir::Type element);
TensorType to_tensor_type(mlir::Type type);
inline mlir::RankedTensorType ranked(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
/// The type of an array of v's elements with another shape.
inline mlir::RankedTensorType with_shape(mlir::Value v, llvm::ArrayRef<std::int64_t> shape) {
  return mlir::RankedTensorType::get(shape, ranked(v).getElementType());
}

/// Whether the array has at most Shape::max_rank axes and max_array_bytes bytes.
bool is_countable(mlir::Type type);
/// Size of the array in bytes.
inline std::int64_t bytes_of(mlir::Value v) { return to_tensor_type(v.getType()).bytes(); }
/// The value of a constant whose elements are all one number; null for any other value.
mlir::SplatElementsAttr splat_of(mlir::Value v);

/// Whether each element of the result depends only on the operands' elements at the same index.
bool is_pointwise(mlir::Operation* op);
/// A view (layout) operation: broadcast, transpose, slice, reverse or reshape.
bool is_view_op(mlir::Operation* op);

/// The type of `scratch`, the second result of a sort of x for the first `count` of each row.
mlir::RankedTensorType sort_scratch(mlir::Value x, std::int64_t count);
/// Whether a sort gives the first elements of each row only. Its kernel keeps sort_candidates() of them at a
/// time, among which there is room for a group of others; rows are longer.
bool sorts_part(SortOp op);
inline constexpr std::int64_t sort_group = 64;
inline std::int64_t sort_candidates(std::int64_t count) { return 2 * count + sort_group; }
/// Whether a sort of x packs key and index into one i64: elements of at most 32 bits, rows of less than 2^31
/// elements.
bool sorts_packed(mlir::Value x);
/// The binary operation of a reduction.
Binary combiner(Reduce kind);
/// The identity of that operation: the start of a reduction, and its result over no elements.
mlir::TypedAttr identity_of(Reduce kind, mlir::Type element);
/// Whether a pack is of a convolution's weights, which it reads through any view; else it is B of a dot.
bool packs_weights(PackOp op);
/// Values of k of a step of Algorithm::paired32.
inline constexpr std::int64_t step_of_pairs = 32;
/// Bytes, values of k, of a word of PackKind::words.
inline constexpr std::int64_t bytes_of_word = 4;
/// Values of k in an element of a pack: 4 of `words` and 2 of `pairs`, whose elements are i32; else 1.
std::int64_t values_of_word(PackKind kind);
/// The shape of a pack (PackOp) of an array of shape `x`.
llvm::SmallVector<std::int64_t> packed_shape(PackKind kind, llvm::ArrayRef<std::int64_t> x,
                                             std::int64_t panel, std::int64_t groups);
/// A dot by tensor_cores, whose kernel reads both operands as views.
bool is_on_tensor_cores(mlir::Operation* op);
/// A contraction that is the root of a kernel: PackedDotOp, PackedConvolutionOp, DepthwiseOp,
/// WeightsProductOp, WinogradOp, or a dot by tensor_cores. A reduce_window that is left for a kernel is one,
/// too: to fusion it is a depthwise convolution without weights.
bool is_product(mlir::Operation* op);
/// Values of k in an element of packed B, for a packed contraction of `lhs` to `result`. There are four where
/// it multiplies bytes (PackKind::words), two by paired32 (PackKind::pairs), else one.
std::int64_t values_of_word(mlir::Value lhs, mlir::Value result);
/// Whether the convolution is depthwise: as many groups as channels.
bool is_depthwise(PackedConvolutionOp op);
/// The type of one step's slice of a scanned input or stacked output.
mlir::RankedTensorType row_type(mlir::Type stacked);

/// Creates a fusion that copies `v`.
mlir::Value create_copy(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value v);
/// The operand of the fusion's yield for `result`.
mlir::OpOperand& yielded_as(mlir::OpResult result);

/// The window of a convolution or reduce_window without MLIR types.
Window window_of(ConvolutionOp op);
Window window_of(ConvolutionWeightsOp op);
Window window_of(ReduceWindowOp op);

/// Loads the kiln and func dialects.
void load_dialects(mlir::MLIRContext& context);

}  // namespace kiln::ir
