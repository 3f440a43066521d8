#include "runtime/check.h"

#include "runtime/accelerator.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace kiln {
namespace {

/// The index vector of element `number`, in C order.
Shape place_in(const Shape& shape, std::int64_t number) {
  Shape place = shape;
  for (std::size_t i = shape.size(); i-- > 0;) {
    place[i] = number % shape[i];
    number /= shape[i];
  }
  return place;
}

class Bounds final : public Control {
 public:
  Bounds(const BoundsCheck& check, Accelerator* accelerator) : check_(check), accelerator_(accelerator) {}

  void run(void* const* operands) const override {
    const auto count = static_cast<std::size_t>(check_.shape.elements());
    std::vector<std::int64_t> copy;
    if (accelerator_) {
      copy.resize(count);
      accelerator_->download(copy.data(), static_cast<const std::byte*>(operands[0]),
                             count * sizeof(std::int64_t));
    }
    const std::span indices(accelerator_ ? copy.data() : static_cast<const std::int64_t*>(operands[0]),
                            count);
    const auto wrong = std::find_if(indices.begin(), indices.end(), [&](std::int64_t i) {
      return static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(check_.extent);
    });
    if (wrong == indices.end()) return;
    throw ValueError(
        check_.line,
        fmt::format("{}: the index {}, element {} of the indices, is out of range: the axis has {} elements, "
                    "numbered from 0 to {}. The modes 'clip' and 'wrap' take any index",
                    check_.node, *wrong, place_in(check_.shape, wrong - indices.begin()).str(), check_.extent,
                    check_.extent - 1));
  }

 private:
  BoundsCheck check_;
  Accelerator* accelerator_;
};

}  // namespace

ValueError::ValueError(const std::string& line, std::string message)
    : Error(line.empty() ? message : line + ": " + message), message_(std::move(message)) {}

std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, Accelerator* accelerator) {
  return std::make_unique<Bounds>(check, accelerator);
}

}  // namespace kiln
