// Tensor::reshape and the rules of MXNet's reshape codes.
#include "frontend/invoke.h"
#include "frontend/numpy_scope.h"
#include "frontend/trace.h"
#include "frontend/view.h"
#include "runtime/fail.h"

namespace kiln {

using detail::Array;
using detail::TensorAccess;

Shape reshaped(const Shape& from, const Shape& spec, std::source_location where) {
  const auto refuse = [&](std::string_view why) {
    fail("{}reshape: cannot make {} of shape {}: {}", line_prefix(where), spec.str(), from.str(), why);
  };
  Shape out;
  std::size_t at = 0;  // the next axis of `from`
  int inferred = -1;   // where -1 stands
  const std::size_t rank = from.size();
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const std::int64_t code = spec[i];
    if (code > 0) {
      out.push_back(code);
      ++at;
    } else if (code == 0) {
      if (at >= rank) refuse("0 keeps an extent that is not there");
      out.push_back(from[at++]);
    } else if (code == -1) {
      if (inferred >= 0) refuse("only one extent can be -1");
      inferred = out.rank();
      out.push_back(1);
      ++at;
    } else if (code == -2) {
      while (at < rank) out.push_back(from[at++]);
    } else if (code == -3) {
      if (at + 1 >= rank) refuse("-3 merges two extents that are not there");
      out.push_back(from[at] * from[at + 1]);
      at += 2;
    } else if (code == -4) {
      if (at >= rank) refuse("-4 splits an extent that is not there");
      if (i + 2 >= spec.size()) refuse("-4 needs the two extents that it splits into");
      std::int64_t first = spec[++i];
      std::int64_t second = spec[++i];
      const std::int64_t extent = from[at++];
      if (first == -1 && second == -1) refuse("-4 with two -1");
      if (first == -1 && second > 0) first = extent / second;
      if (second == -1 && first > 0) second = extent / first;
      if (first <= 0 || second <= 0 || first * second != extent)
        refuse("-4 does not split the extent evenly");
      out.push_back(first);
      out.push_back(second);
    } else {
      refuse("codes go from -4 to 0");
    }
  }
  const std::int64_t n = from.elements();
  if (inferred >= 0) {
    const std::int64_t known = out.elements();
    if (known == 0 || n % known != 0) refuse("the elements do not fill it");
    out[static_cast<std::size_t>(inferred)] = n / known;
  }
  if (out.elements() != n) refuse(fmt::format("{} elements cannot become {}", n, out.elements()));
  return out;
}

namespace {

/// numpy's rule: -1 is what the other extents leave.
Shape numpy_reshaped(const Shape& from, const Shape& spec, std::source_location where) {
  Shape out = spec;
  std::int64_t others = 1;
  int open = -1;
  for (int i = 0; i < spec.rank(); ++i) {
    const std::int64_t extent = spec[static_cast<std::size_t>(i)];
    if (extent >= 0)
      others *= extent;
    else if (extent == -1 && open < 0)
      open = i;
    else
      fail("{}reshape: {} is no shape: one extent may be -1, for what is left", line_prefix(where),
           spec.str());
  }
  const std::int64_t n = from.elements();
  if (open >= 0 && others > 0) out[static_cast<std::size_t>(open)] = n / others;
  if ((open >= 0 && others == 0) || out.elements() != n)
    fail("{}reshape: {} elements of shape {} do not fill {}", line_prefix(where), n, from.str(), spec.str());
  return out;
}

}  // namespace

Tensor Tensor::reshape(const Shape& spec, std::source_location where) const {
  if (!array_) known_shape(*this, "reshape()", where);
  const bool numpy = NumpyScope::program();
  const auto target = [&] {
    return numpy ? numpy_reshaped(shape_, spec, where) : reshaped(shape_, spec, where);
  };
  if (!array_->traced()) return view_of(*this, offset_, target());
  // The node is recorded here and not at the first use, under the codes that the program wrote, as MXNet
  // records it.
  Given<1> given;
  given.set(numpy ? "newshape" : "shape", ir::AttrValue(spec));
  const Tensor* inputs[] = {this};
  const Call call{.op = row(numpy ? "_np_reshape" : "Reshape"),
                  .inputs = inputs,
                  .given = given.items(),
                  .where = where,
                  .hint = "reshape"};
  if (!array_->shape_known) return invoke_one(call);
  const Shape shape = target();
  const Tensor node = invoke_one(call);
  array_->views.push_back({offset_, shape, array_->value, TensorAccess::array(node)->value});
  return view_of(*this, offset_, shape);
}

}  // namespace kiln
