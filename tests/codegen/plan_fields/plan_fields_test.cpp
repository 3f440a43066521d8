// Plans of kernels as data: the text of a plan, its key and its equality follow from the list of its members.
#include "codegen/emit/plan_fields.h"

#include <catch2/catch.hpp>
#include <vector>

namespace kiln::codegen {
namespace {

enum class Order { up, down };
std::string_view word_of(Order order) { return order == Order::up ? "up" : "down"; }

struct Heights {
  int most;
  bool even;
  static constexpr auto fields() {
    return std::tuple(PlanField{"most", &Heights::most}, PlanField{"even", &Heights::even});
  }
};

struct ExamplePlan {
  DType dtype = DType::f32;
  Order order = Order::up;
  bool rolled = false, packed = false;
  Heights heights = {6, true};
  std::optional<Heights> others = {};
  std::optional<std::int64_t> table = {};
  std::vector<std::int64_t> points = {};
  std::vector<bool> axes = {};
  double value = 0;
  std::string expression = {};
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &ExamplePlan::dtype}, PlanField{"order", &ExamplePlan::order},
                      PlanField{"rolled", &ExamplePlan::rolled}, PlanField{"packed", &ExamplePlan::packed},
                      PlanField{"heights", &ExamplePlan::heights}, PlanField{"others", &ExamplePlan::others},
                      PlanField{"table", &ExamplePlan::table}, PlanField{"points", &ExamplePlan::points},
                      PlanField{"axes", &ExamplePlan::axes}, PlanField{"value", &ExamplePlan::value},
                      PlanField{"expression", &ExamplePlan::expression});
  }
};

TEST_CASE("a plan's text has its members by name; what is false, absent or empty has none") {
  ExamplePlan plan;
  CHECK(plan_text(plan) == "{dtype=float32 order=up heights={most=6 even} value=0x0p+0 expression={}}");
  plan = {.dtype = DType::bf16,
          .order = Order::down,
          .rolled = true,
          .heights = {4, false},
          .others = Heights{3, true},
          .table = 2,
          .points = {0, -1},
          .axes = {true, false},
          .value = -1.5,
          .expression = "%0=leaf0:root0:f32;"};
  CHECK(plan_text(plan) ==
        "{dtype=bfloat16 order=down rolled heights={most=4} others={most=3 even} table=2 points=[0,-1] "
        "axes=[+,-] "
        "value=-0x1.8p+0 expression={%0=leaf0:root0:f32;}}");
}

TEST_CASE("each member decides a plan's text, its key and its equality") {
  const ExamplePlan plan;
  std::vector<ExamplePlan> others(12);
  others[0].dtype = DType::f16;
  others[1].order = Order::down;
  others[2].rolled = true;
  others[3].packed = true;
  others[4].heights.most = 7;
  others[5].heights.even = false;
  others[6].others = Heights{0, false};
  others[7].table = 0;
  others[8].points = {0};
  others[9].axes = {false};
  others[10].value = -0.0;
  others[11].expression = "0";
  for (const ExamplePlan& a : others) {
    CHECK(!(a == plan));
    CHECK(plan_key("example", a) != plan_key("example", plan));
    for (const ExamplePlan& b : others) CHECK((plan_text(a) == plan_text(b)) == (&a == &b));
  }
  CHECK((plan == ExamplePlan()));
  CHECK(plan_key("example", plan, Heights{1, true}) == "example " + plan_text(plan) + " {most=1 even}");
}

}  // namespace
}  // namespace kiln::codegen
