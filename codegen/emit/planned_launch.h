// The launch of a contraction's kernel, whose key and whose code are of one plan.
#pragma once
#include "codegen/emit/epilogue.h"
#include "codegen/emit/launch.h"
#include "codegen/emit/plan_fields.h"

namespace kiln::codegen {

/// `Emitter(e, plan, epilogue, args).run()` emits the code. `family`: the first word of the key, which tells
/// apart the plans of families that have the same members.
template <class Emitter, PlanData Plan>
Launch planned_launch(ir::FusionOp fusion, std::string_view family, const Plan& plan,
                      const Epilogue& epilogue) {
  Launch launch{
      {name_of_location(fusion.getLoc()), plan_key(family, plan, epilogue.plan()), fusion.getLoc(), {}}, {}};
  launch.request.emit = [plan, epilogue](KernelBuilder& e, const KernelArgs& args) {
    Epilogue own = epilogue;
    Emitter(e, plan, own, args).run();
  };
  return launch;
}

}  // namespace kiln::codegen
