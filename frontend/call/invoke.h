// Applying an operator to tensors: the mode of the call is chosen here, and nowhere else.
#pragma once
#include "frontend/call/line.h"
#include "frontend/call/mode.h"
#include "frontend/call/op_call.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace kiln {

/// Applies an operator to tensors; the only entry point for F, the operators of Tensor and the layers. A call
/// with a traced input, or within a trace of this thread, becomes a node (trace_mode()). Other calls run on
/// arrays. A call that runs inside autograd::Record, with an input that has a history, is also an entry of
/// the tape (tape_mode()). The tape also runs a call that updates an array with a history, which ends it. All
/// other calls only run (eager_mode()). Returns the first visible output.
Tensor invoke_one(const OpCall& call);
/// Returns all visible outputs.
std::vector<Tensor> invoke_all(const OpCall& call);

/// The same for a call on arrays that is not recorded as a node, with the first visible outputs. Random
/// numbers start from `random`: null for counters of the thread's stream.
void run_on_arrays(const OpCall& call, std::span<Tensor> outputs, const RandomState* random = nullptr);

/// The same for attributes in a file or graph, without the casts of amp::init(). `given` are the attributes
/// in the program, which exported files show; the operator's defaults complete them. `bodies` are a control
/// flow operator's subgraphs. The default `name` is the operator's name in lower case with a number.
/// `np_shape` is as in ir::Node.
std::vector<Tensor> invoke(const ir::OpDef& op, std::span<const Tensor> inputs, const ir::Attrs& given,
                           std::source_location where, std::string name = {},
                           std::span<const ir::SubgraphPtr> bodies = {}, bool np_shape = false);
/// The same, returning the first output. `op_name` must be the name of an operator.
Tensor invoke(std::string_view op_name, std::initializer_list<Tensor> inputs, const ir::Attrs& given,
              std::source_location where, std::string name = {});

}  // namespace kiln
