// The definition, the attributes and the device of an operator call.

#include "frontend/call/op_call.h"

#include "frontend/call/readable.h"
#include "runtime/fail.h"

namespace kiln {

ir::Attrs given_attrs(const OpCall& call) {
  ir::Attrs given;
  for (const ir::Attrs::Item& item : call.given) given.set(item.name, item.value);
  if (call.op.variadic && !call.op.count_attr.empty() && !given.find(call.op.count_attr))
    given.set(call.op.count_attr,
              static_cast<std::int64_t>(call.inputs.size() / call.op.inputs_per_count + call.op.bodies));
  return given;
}

std::string input_name(const OpCall& call, std::size_t i) {
  const auto names = call.op.input_names(call.op.complete(given_attrs(call)));
  if (i >= names.size()) return "number " + std::to_string(i);
  return "'" + std::string(names[i]) + "'";
}

Device device_of(const OpCall& call) {
  return common_device(
      call.inputs, call.op.name, [&](std::size_t i) { return "the input " + input_name(call, i); },
      call.where);
}

const ir::OpDef& find_op_or_throw(std::string_view op_name) {
  const ir::OpDef* op = ir::find_op(op_name);
  if (!op) fail("this version of Kiln has no operator {}; `kiln ops` lists the operators", op_name);
  return *op;
}

}  // namespace kiln
