// Helpers of the rules of several primitives.
#include "ir/type_rules.h"

#include <utility>

namespace kiln::ir {

void require_same(const char* what, const TensorType& a, const TensorType& b) {
  if (!(a == b)) fail("{} takes operands of one shape and dtype, got {} and {}", what, a.str(), b.str());
}

bool has_axis(const Shape& shape, std::int64_t axis) { return axis >= 0 && axis < shape.rank(); }
std::string no_axis(const Shape& shape, std::int64_t axis) {
  return kiln::compose("axis {} does not exist in rank {}", axis, shape.rank());
}
std::string mixed(DType a, DType b) {
  return kiln::compose("mixes the element types {} and {}", name_of(a), name_of(b));
}
std::string wrong_count(std::string_view list, const Shape& shape, const Shape& values) {
  return kiln::compose("needs {} values in `{}`, has {}", shape.rank(), list, values.rank());
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) fail("an extent does not fit in 64 bits");
  return a;
}

Shape gathered(const Shape& x, const Shape& indices, std::int64_t axis) {
  Shape to;
  for (std::int64_t i = 0; i < axis; ++i) to.push_back(x[at(i)]);
  for (std::int64_t d : indices) to.push_back(d);
  for (std::int64_t i = axis + 1; i < x.rank(); ++i) to.push_back(x[at(i)]);
  return to;
}
ResultType padded_type(const TensorType& x, const Shape& low, const Shape& high) {
  for (auto [name, list] : {std::pair("low", &low), {"high", &high}})
    if (list->rank() != x.shape.rank())
      return Mismatch{
          kiln::compose("padding {} and {} does not fit the shape {}", low.str(), high.str(), x.shape.str()),
          wrong_count(name, x.shape, *list)};
  Shape to;
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (low[i] < 0 || high[i] < 0)
      return Mismatch{kiln::compose("padding {} and {} must not be negative", low.str(), high.str()),
                      "cannot cut: pads are not negative"};
    to.push_back(plus(plus(x.shape[i], low[i]), high[i]));
  }
  return TensorType{x.dtype, to};
}

bool is_index(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

// Limit of window attributes: a product of two of them does not overflow.
static constexpr std::int64_t window_limit = std::int64_t{1} << 30;

std::optional<Mismatch> check_window(const Window& w, const TensorType& x) {
  const int spatial = x.shape.rank() - 2;
  const auto parts = {&w.kernel, &w.stride, &w.dilate, &w.pad_low, &w.pad_high};
  if (spatial < 1)
    return Mismatch{kiln::compose("a window needs an array of at least 3 axes, got {}", x.str()),
                    "needs (n, c, spatial...)"};
  for (const Shape* s : parts)
    if (s->rank() != spatial)
      return Mismatch{kiln::compose("a window over {} needs {} extents, got {}", x.str(), spatial, s->str()),
                      kiln::compose("needs {} values for each part of its window", spatial)};
  constexpr const char* out_of_range = "has a window out of range";
  for (std::size_t i = 0; i < at(spatial); ++i)
    if (w.kernel[i] < 1 || w.stride[i] < 1 || w.dilate[i] < 1)
      return Mismatch{kiln::compose("kernel {}, stride {} and dilation {} must be positive", w.kernel.str(),
                                    w.stride.str(), w.dilate.str()),
                      out_of_range};
  for (std::size_t i = 0; i < at(spatial); ++i)
    if (w.pad_low[i] < 0 || w.pad_high[i] < 0)
      return Mismatch{
          kiln::compose("padding {} and {} must not be negative", w.pad_low.str(), w.pad_high.str()),
          out_of_range};
  for (const Shape* s : parts)
    for (std::int64_t v : *s)
      if (v >= window_limit)
        return Mismatch{kiln::compose("{} is too large for a window over {}", v, x.str()), out_of_range};
  return {};
}

ResultType slid(const TensorType& x, std::int64_t channels, const Window& w) {
  Shape to{x.shape[0], channels};
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilate[i] + 1;
    const std::int64_t room = plus(x.shape[i + 2], w.pad_low[i] + w.pad_high[i]) - reach;
    if (room < 0)
      return Mismatch{
          kiln::compose("the kernel {} is larger than the padded input {}", w.kernel.str(), x.shape.str()),
          "has a window larger than its input"};
    to.push_back(room / w.stride[i] + 1);
  }
  return TensorType{x.dtype, to};
}

}  // namespace kiln::ir
