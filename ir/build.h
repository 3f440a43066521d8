// Builds the dialect from a graph.
#pragma once
#include "ir/algorithm.h"
#include "ir/differentiate.h"
#include "ir/graph.h"
#include "ir/step_graph.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace kiln::ir {

/// DenseBoolArray of a joint function: whether the graph adds a term to each sum. A folded term is no longer
/// visible: x + (-0.0) is x.
inline constexpr llvm::StringLiteral terms_attr = "kiln.terms";

// `target` and the precision of a node choose the algorithm of its contractions (ir/contraction.h). A
// contraction counts as half precision only if its node widens the operands itself. Operands widened by other
// nodes are f32, as the program asked.

/// Builds the graph in the kiln dialect: a module with one function `@name`. Its arguments are the graph's
/// inputs. Its results are the outputs, then the new contents of the inputs listed in `kiln.writes`
/// (auxiliary states, in-place writes). `context` must have the dialects loaded. Throws kiln::Error naming
/// the node if an operator rejects its operands.
mlir::OwningOpRef<mlir::ModuleOp> build_module(mlir::MLIRContext& context, const Graph& graph,
                                               const ContractionTarget& target);

/// Builds the graph and its gradients as one function, the joint function, with the attribute `kiln.joint`:
/// the numbers of the graph's inputs and outputs. Its arguments are the graph's inputs, the heads of
/// `request` (a gradient of each marked output), and one running sum for each sum. Its results are the
/// graph's outputs, the sums, then the new contents of inputs (`kiln.writes`). `request.heads` counts the
/// graph's outputs, then its writes.
mlir::OwningOpRef<mlir::ModuleOp> build_joint_module(mlir::MLIRContext& context, const Graph& graph,
                                                     const GradientRequest& request,
                                                     const ContractionTarget& target);

/// Builds a step as one function. Its arguments are the inputs of the graph, then the update's inputs that
/// the caller gives. Its results are the graph's outputs, then the writes of both (`kiln.writes`).
mlir::OwningOpRef<mlir::ModuleOp> build_step_module(mlir::MLIRContext& context, const StepGraph& step,
                                                    const ContractionTarget& target);

}  // namespace kiln::ir
