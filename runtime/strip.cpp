#include "runtime/strip.h"

#include "runtime/threads.h"

#include <kiln/threads.h>

#include <algorithm>

namespace kiln {
namespace {

class Strip final : public Control {
 public:
  explicit Strip(StripPlan plan) : plan_(std::move(plan)) {}

  std::size_t kernels() const override { return plan_.parts.size(); }

  void run(void* const* operands) const override {
    Call call{plan_, operands};
    if (plan_.rows > plan_.block)
      if (const int threads = num_threads(); threads > 1)
        return parallel_pieces(plan_.rows, plan_.block, threads, run_rows, &call);
    run_rows(&call, 0, 0, plan_.rows);
  }

 private:
  struct Call {
    const StripPlan& plan;
    void* const* operands;
  };

  static void run_rows(void* context, int /*worker*/, std::int64_t begin, std::int64_t end) {
    const Call& call = *static_cast<const Call*>(context);
    for (; begin < end; begin += call.plan.block) {
      const std::int64_t to = std::min(begin + call.plan.block, end);
      void* const* operands = call.operands;
      for (const StripPlan::Part& part : call.plan.parts) {
        part.kernel->entry(operands, part.params.data(), begin * part.per_row, to * part.per_row);
        operands += part.operands;
      }
    }
  }

  StripPlan plan_;
};

}  // namespace

std::shared_ptr<const Control> make_strip(StripPlan plan) { return std::make_shared<Strip>(std::move(plan)); }

}  // namespace kiln
