#include "runtime/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

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
  explicit Bounds(const BoundsCheck& check) : check_(check) {}

  void run(void* const* operands) const override {
    const std::span indices(static_cast<const std::int64_t*>(operands[0]),
                            static_cast<std::size_t>(check_.shape.elements()));
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
};

}  // namespace

ValueError::ValueError(const std::string& line, std::string message)
    : Error(line.empty() ? message : line + ": " + message), message_(std::move(message)) {}

std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check) {
  return std::make_unique<Bounds>(check);
}

}  // namespace kiln
