// Must not compile: a member of the plan is not listed, or, with KILN_TWICE, another is listed in its place.
#include "codegen/emit/plan_fields.h"

namespace kiln::codegen {

struct ForgetfulPlan {
  int rows, columns;
  static constexpr auto fields() {
#ifdef KILN_TWICE
    return std::tuple(PlanField{"rows", &ForgetfulPlan::rows}, PlanField{"columns", &ForgetfulPlan::rows});
#else
    return std::tuple(PlanField{"rows", &ForgetfulPlan::rows});
#endif
  }
};

std::string text() { return plan_text(ForgetfulPlan{1, 2}); }

}  // namespace kiln::codegen
