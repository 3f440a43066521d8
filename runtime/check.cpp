// The check that indices are in range.
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

void check_bounds(const BoundsCheck& check, std::span<const std::int64_t> indices) {
  const auto wrong = std::ranges::find_if(indices, [&](std::int64_t i) {
    return static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(check.extent);
  });
  if (wrong == indices.end()) return;
  throw ValueError(
      check.line,
      fmt::format("{}: the index {}, element {} of the indices, is out of range: the axis has {} elements, "
                  "numbered from 0 to {}. The modes 'clip' and 'wrap' of take and pick accept any index",
                  check.node, *wrong, place_in(check.shape, wrong - indices.begin()).str(), check.extent,
                  check.extent - 1));
}

class HostBounds final : public Control {
 public:
  explicit HostBounds(const BoundsCheck& check) : check_(check) {}

  void run(void* const* operands) const override {
    check_bounds(check_, {static_cast<const std::int64_t*>(operands[0]),
                          static_cast<std::size_t>(check_.shape.elements())});
  }

 private:
  BoundsCheck check_;
};

class DeviceBounds final : public Control {
 public:
  DeviceBounds(const BoundsCheck& check, Accelerator& accelerator)
      : check_(check), accelerator_(accelerator) {}

  void run(void* const* operands) const override {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(check_.shape.elements()));
    accelerator_.download(indices.data(), static_cast<const std::byte*>(operands[0]),
                          indices.size() * sizeof(std::int64_t));
    check_bounds(check_, indices);
  }

 private:
  BoundsCheck check_;
  Accelerator& accelerator_;
};

}  // namespace

ValueError::ValueError(const std::string& line, std::string message)
    : Error(line.empty() ? message : line + ": " + message), message_(std::move(message)) {}

std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, HostMemory&) {
  return std::make_unique<HostBounds>(check);
}
std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, Accelerator& accelerator) {
  return std::make_unique<DeviceBounds>(check, accelerator);
}

}  // namespace kiln
