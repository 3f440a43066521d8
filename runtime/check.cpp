// The check that indices are in range.
#include "runtime/check.h"

#include "runtime/accelerator.h"
#include "runtime/messages.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace kiln {
namespace {

/// Adds the index vector of element `number`, in C order, as Shape::str() writes it.
void add_place(const Shape& shape, std::int64_t number, FixedText& text) {
  std::int64_t elements = shape.elements();
  text.add("(");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    elements /= shape[i];
    text.add("{}{}", std::string_view(i == 0 ? "" : ", "), number / elements);
    number %= elements;
  }
  text.add("{}", std::string_view(shape.size() == 1 ? ",)" : ")"));
}

/// A check of indices, in any memory.
class Bounds : public Control {
 public:
  explicit Bounds(const BoundsCheck& check) : check_(check) {}

  void explain(const FailedCheck& failed, FixedText& text) const override {
    // The conversion of floating-point indices gives this number for NaN, and for all that are smaller.
    if (failed.value == std::numeric_limits<std::int64_t>::min())
      text.add("{}: the index NaN (or {} or less), element ", check_.node, failed.value);
    else
      text.add("{}: the index {}, element ", check_.node, failed.value);
    add_place(check_.shape, failed.element, text);
    text.add(" of the indices, is out of range: the axis has {} elements", check_.extent);
    if (check_.extent > 0) text.add(", numbered from 0 to {}", check_.extent - 1);
    add_number(text, Mistake::no_index);
  }
  std::string_view line() const override { return check_.line; }

 protected:
  std::size_t count() const { return static_cast<std::size_t>(check_.shape.elements()); }
  FailedCheck check(std::span<const std::int64_t> indices) const {
    const auto wrong = std::ranges::find_if(indices, [&](std::int64_t i) {
      return static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(check_.extent);
    });
    if (wrong == indices.end()) return {};
    return {this, wrong - indices.begin(), *wrong};
  }

 private:
  BoundsCheck check_;
};

class HostBounds final : public Bounds {
 public:
  using Bounds::Bounds;

  FailedCheck run(void* const* operands, StepMemory) const override {
    return check({static_cast<const std::int64_t*>(operands[0]), count()});
  }
};

class DeviceBounds final : public Bounds {
 public:
  DeviceBounds(const BoundsCheck& check, Accelerator& accelerator)
      : Bounds(check), accelerator_(accelerator) {}

  FailedCheck run(void* const* operands, StepMemory) const override {
    std::vector<std::int64_t> indices(count());
    accelerator_.download(indices.data(), static_cast<const std::byte*>(operands[0]),
                          indices.size() * sizeof(std::int64_t));
    return check(indices);
  }

 private:
  Accelerator& accelerator_;
};

}  // namespace

ValueError::ValueError(const std::string& line, std::string message)
    : Error(line.empty() ? message : line + ": " + message), message_(std::move(message)) {}

KILN_API void FailedCheck::fail() const {
  FixedText text;
  check->explain(*this, text);
  throw ValueError(std::string(check->line()), std::string(text.view()));
}

std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, HostMemory&) {
  return std::make_unique<HostBounds>(check);
}
std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, Accelerator& accelerator) {
  return std::make_unique<DeviceBounds>(check, accelerator);
}

}  // namespace kiln
