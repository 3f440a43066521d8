// Resolves the codes of a reshape into steps over the axes of the old shape.
#include "frontend/ops/reshape_codes.h"

#include "frontend/ops/common.h"

#include <algorithm>
#include <array>
#include <span>

namespace kiln::ops {
namespace {

/// Infers the extent at `hole` (-1: none) of `to`, and checks the number of elements.
Shape filled_in(const Shape& from, const Shape& code, Shape to, int hole) {
  if (hole >= 0) {
    to[at(hole)] = 1;
    const std::int64_t known = to.elements();
    if (known == 0 || from.elements() % known != 0)
      fail(Mistake::no_reshape, "reshape {} to {}: the elements do not divide", from.str(), code.str());
    to[at(hole)] = from.elements() / known;
  }
  if (to.elements() != from.elements())
    fail(Mistake::no_reshape, "reshape {} to {}: {} elements cannot become {}", from.str(), code.str(),
         from.elements(), to.elements());
  return to;
}

/// Maps codes to steps: `kinds` has the step of `first_code`, then of the next lower code, and so on; other
/// numbers are extents.
std::optional<ReshapeSteps> steps_by(const Shape& code, std::int64_t first_code,
                                     std::span<const ReshapeStep::Kind> kinds) {
  ReshapeSteps steps;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] > first_code) {
      steps.push_back({ReshapeStep::fixed, code[i]});
      continue;
    }
    const auto number = static_cast<std::uint64_t>(first_code - code[i]);
    if (number >= kinds.size()) return {};
    steps.push_back({kinds[number]});
    if (kinds[number] != ReshapeStep::split) continue;
    if (i + 2 >= code.size()) return {};
    steps.back().first = code[++i];
    steps.back().second = code[++i];
  }
  return steps;
}

}  // namespace

Shape reshape_target(const Shape& from, const Shape& code) {
  const auto refuse = [&](std::string_view why) {
    fail(Mistake::no_reshape, "cannot make {} of shape {}: {}", code.str(), from.str(), why);
  };
  Shape to;
  std::size_t next = 0;  // the next axis of `from`
  int hole = -1;         // the position of -1
  const auto take = [&](std::string_view why) {
    if (next >= from.size()) refuse(why);
    return from[next++];
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::int64_t c = code[i];
    if (c > 0) {
      to.push_back(c);
      ++next;
    } else if (c == 0) {
      to.push_back(take("0 keeps an extent that is not there"));
    } else if (c == -1) {
      if (hole >= 0) refuse("only one extent can be -1");
      hole = to.rank();
      to.push_back(1);
      ++next;
    } else if (c == -2) {
      while (next < from.size()) to.push_back(from[next++]);
    } else if (c == -3) {
      const std::int64_t first = take("-3 merges two extents that are not there");
      to.push_back(times(first, take("-3 merges two extents that are not there")));
    } else if (c == -4) {
      if (i + 2 >= code.size()) refuse("-4 needs the two extents that it splits into");
      const std::int64_t whole = take("-4 splits an extent that is not there");
      std::int64_t a = code[++i], b = code[++i];
      if (a == -1 && b == -1) refuse("-4 with two -1");
      if (a == -1 && b > 0) a = whole / b;
      if (b == -1 && a > 0) b = whole / a;
      if (a < 0 || b < 0 || times(a, b) != whole) refuse("-4 does not split the extent evenly");
      to.push_back(a);
      to.push_back(b);
    } else {
      refuse("codes go from -4 to 0");
    }
  }
  const std::int64_t n = from.elements();
  if (hole >= 0) {
    const std::int64_t known = to.elements();
    if (known == 0 || n % known != 0) refuse("the elements do not fill it");
    to[at(hole)] = n / known;
  }
  if (to.elements() != n) refuse(fmt::format("{} elements cannot become {}", n, to.elements()));
  return to;
}

Shape numpy_reshape_target(const Shape& from, const Shape& code) {
  int hole = -1;
  for (int i = 0; i < code.rank(); ++i) {
    if (code[at(i)] >= 0) continue;
    if (code[at(i)] != -1 || hole >= 0) fail("reshape to {}: one extent may be -1", code.str());
    hole = i;
  }
  return filled_in(from, code, code, hole);
}

Shape npx_reshape_target(const Shape& from, const Shape& code) {
  Shape to;
  int hole = -1;
  std::size_t next = 0;
  const auto take = [&] {
    if (next >= from.size())
      fail("reshape {} to {}: the codes use more axes than there are", from.str(), code.str());
    return from[next++];
  };
  const auto open = [&] {
    if (hole >= 0) fail("reshape to {}: one extent may be -1", code.str());
    hole = to.rank();
    to.push_back(1);
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    switch (code[i]) {
      case -1:
        open();
        next = std::min(next + 1, from.size());
        break;
      case -2:
        to.push_back(take());
        break;
      case -3:
        if (take() != 1) fail("reshape {} to {}: -3 drops an extent of 1 only", from.str(), code.str());
        break;
      case -4:
        while (next < from.size()) to.push_back(take());
        break;
      case -5: {
        const std::int64_t first = take();
        to.push_back(times(first, take()));
        break;
      }
      case -6: {
        if (i + 2 >= code.size()) fail("reshape to {}: -6 is followed by two extents", code.str());
        std::int64_t whole = take(), first = code[i + 1], second = code[i + 2];
        i += 2;
        if (first == -1 && second > 0) first = whole / second;
        if (second == -1 && first > 0) second = whole / first;
        if (first < 0 || second < 0 || times(first, second) != whole)
          fail("reshape {} to {}: {} is not {} times {}", from.str(), code.str(), whole, first, second);
        to.push_back(first);
        to.push_back(second);
        break;
      }
      default:
        if (code[i] < 0) fail("reshape to {}: {} is no code", code.str(), code[i]);
        to.push_back(code[i]);
        next = std::min(next + 1, from.size());
    }
  }
  return filled_in(from, code, to, hole);
}
std::optional<ReshapeSteps> reshape_steps(const Shape& code) {
  using enum ReshapeStep::Kind;
  return steps_by(code, 0, std::array{keep, hole, rest, merge, split});
}

std::optional<ReshapeSteps> numpy_reshape_steps(const Shape& code) {
  return steps_by(code, -1, std::array{ReshapeStep::hole});
}

std::optional<ReshapeSteps> npx_reshape_steps(const Shape& code) {
  using enum ReshapeStep::Kind;
  return steps_by(code, -1, std::array{hole, keep, drop, rest, merge, split});
}

}  // namespace kiln::ops
