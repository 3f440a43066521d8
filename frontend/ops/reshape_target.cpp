#include "frontend/ops/reshape_target.h"

#include "frontend/ops/common.h"

namespace kiln::ops {

Shape reshape_target(const Shape& from, const Shape& code) {
  const auto refuse = [&](std::string_view why) {
    fail("cannot make {} of shape {}: {}", code.str(), from.str(), why);
  };
  Shape to;
  std::size_t next = 0;  // the next axis of `from`
  int hole = -1;         // where -1 stands
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

}  // namespace kiln::ops
