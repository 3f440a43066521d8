#include "ir/result_types.h"

#include "ir/at.h"
#include "runtime/fail.h"

#include <array>

namespace kiln::ir {
namespace {

bool has_axis(const Shape& shape, std::int64_t axis) { return axis >= 0 && axis < shape.rank(); }
std::string no_axis(const Shape& shape, std::int64_t axis) {
  return kiln::compose("axis {} does not exist in rank {}", axis, shape.rank());
}
std::string mixed(DType a, DType b) {
  return kiln::compose("mixes the element types {} and {}", name_of(a), name_of(b));
}
/// The text for a list whose length is not the rank.
std::string wrong_count(std::string_view list, const Shape& shape, const Shape& values) {
  return kiln::compose("needs {} values in `{}`, has {}", shape.rank(), list, values.rank());
}

// Overflow-checked sums of extents, which may come from a file.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) fail("an extent does not fit in 64 bits");
  return a;
}

/// The shape of x with `axis` replaced by the axes of `indices`.
Shape gathered(const Shape& x, const Shape& indices, std::int64_t axis) {
  Shape to;
  for (std::int64_t i = 0; i < axis; ++i) to.push_back(x[at(i)]);
  for (std::int64_t d : indices) to.push_back(d);
  for (std::int64_t i = axis + 1; i < x.rank(); ++i) to.push_back(x[at(i)]);
  return to;
}
bool is_index(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

// Limit of window attributes: a product of two of them does not overflow.
constexpr std::int64_t window_limit = std::int64_t{1} << 30;

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

/// The result's shape: batch, `channels`, and the number of window positions along each spatial axis.
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

}  // namespace

const TensorType& ResultType::value() const {
  if (const Mismatch* m = mismatch())
    throw Error(m->call, m->internal ? Error::Kind::internal : Error::Kind::user);
  return std::get<TensorType>(content_);
}

ResultType compare_type(const TensorType& a, const TensorType& b) {
  if (!(a == b))
    return Mismatch{
        kiln::compose("a comparison takes operands of one shape and dtype, got {} and {}", a.str(), b.str()),
        "compares operands of two types"};
  return TensorType{DType::boolean, a.shape};
}
ResultType select_type(const TensorType& condition, const TensorType& a, const TensorType& b) {
  if (!(a == b))
    return Mismatch{
        kiln::compose("select takes operands of one shape and dtype, got {} and {}", a.str(), b.str()),
        "chooses from operands of two types"};
  const bool is_bool = condition.dtype == DType::boolean;
  if (!is_bool || condition.shape != a.shape)
    return Mismatch{
        kiln::compose("select needs a bool condition of shape {}, got {}", a.shape.str(), condition.str()),
        is_bool ? "needs a condition of its operands' shape" : "needs a condition of i1"};
  return a;
}

ResultType iota_type(const TensorType& type, std::int64_t axis) {
  if (!has_axis(type.shape, axis))
    return Mismatch{kiln::compose("iota along axis {} of {}", axis, type.str()), no_axis(type.shape, axis),
                    true};
  return type;
}
ResultType random_uniform_type(const TensorType& type) {
  if (type.dtype != DType::f32 && type.dtype != DType::f64 && type.dtype != DType::i64)
    return Mismatch{kiln::compose("random numbers of dtype {}", name_of(type.dtype)), "gives f32, f64 or i64",
                    true};
  return type;
}

ResultType broadcast_type(const TensorType& x, const Shape& to, const Shape& dims) {
  const Shape& from = x.shape;
  const auto misplaced = [&](std::string operation) {
    return Mismatch{kiln::compose("broadcast of {} with axes {}", x.str(), dims.str()), std::move(operation),
                    true};
  };
  if (dims.rank() != from.rank()) return misplaced(wrong_count("dims", from, dims));
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!has_axis(to, dims[i])) return misplaced(no_axis(to, dims[i]));
    if (i > 0 && dims[i] <= dims[i - 1]) return misplaced("dims must ascend");
    if (from[i] != 1 && from[i] != to[at(dims[i])])
      return Mismatch{kiln::compose("cannot broadcast shape {} to {}", from.str(), to.str()),
                      kiln::compose("cannot repeat extent {} to {}", from[i], to[at(dims[i])])};
  }
  return TensorType{x.dtype, to};
}
ResultType reshape_type(const TensorType& x, const Shape& to) {
  if (x.elements() != to.elements())
    return Mismatch{
        kiln::compose("cannot reshape {} to {}: the number of elements differs", x.shape.str(), to.str()),
        "must keep the number of elements"};
  return TensorType{x.dtype, to};
}
ResultType transpose_type(const TensorType& x, const Shape& permutation) {
  const Shape& from = x.shape;
  const auto refused = [&](std::string operation) {
    return Mismatch{kiln::compose("cannot transpose {} by {}", from.str(), permutation.str()),
                    std::move(operation)};
  };
  if (permutation.rank() != from.rank()) return refused(wrong_count("permutation", from, permutation));
  Shape to;
  unsigned seen = 0;
  for (std::int64_t axis : permutation) {
    if (!has_axis(from, axis)) return refused(no_axis(from, axis));
    if (seen & (1u << axis)) return refused(kiln::compose("names axis {} twice", axis));
    seen |= 1u << axis;
    to.push_back(from[at(axis)]);
  }
  return TensorType{x.dtype, to};
}
ResultType slice_type(const TensorType& x, const Shape& start, const Shape& limit, const Shape& step) {
  const Shape& from = x.shape;
  for (auto [name, list] : {std::pair("start", &start), {"limit", &limit}, {"step", &step}})
    if (list->rank() != from.rank())
      return Mismatch{
          kiln::compose("slice of {} from {} to {} by {}", from.str(), start.str(), limit.str(), step.str()),
          wrong_count(name, from, *list), true};
  const auto refused = [&](std::string operation) {
    return Mismatch{kiln::compose("the slice from {} to {} by {} does not fit the shape {}", start.str(),
                                  limit.str(), step.str(), from.str()),
                    std::move(operation)};
  };
  Shape to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (step[i] < 1) return refused("needs steps above 0");
    if (start[i] < 0 || start[i] > limit[i] || limit[i] > from[i])
      return refused(kiln::compose("leaves axis {} of extent {}", i, from[i]));
    const std::int64_t length = limit[i] - start[i];
    to.push_back(length == 0 ? 0 : (length - 1) / step[i] + 1);
  }
  return TensorType{x.dtype, to};
}
ResultType reverse_type(const TensorType& x, const Shape& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!has_axis(x.shape, axes[i]))
      return Mismatch{kiln::compose("axis {} is not one of {}", axes[i], x.shape.str()),
                      no_axis(x.shape, axes[i])};
    if (i > 0 && axes[i - 1] >= axes[i])
      return Mismatch{kiln::compose("reverse of {} along {}", x.str(), axes.str()), "axes must ascend", true};
  }
  return x;
}
ResultType pad_type(const TensorType& x, const Shape& low, const Shape& high) {
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
ResultType extend_type(Extend how, const TensorType& x, const Shape& low, const Shape& high) {
  ResultType to = pad_type(x, low, high);
  if (to.mismatch()) return to;
  for (std::size_t i = 0; i < low.size(); ++i) {
    // What a side needs: an edge is one element, a reflection does not repeat it.
    const std::int64_t most = std::max(low[i], high[i]), needed = how == Extend::edge ? 1 : most + 1;
    if (most > 0 && x.shape[i] < needed)
      return Mismatch{
          kiln::compose("cannot extend axis {} of {} by {} and {} elements", i, x.shape.str(), low[i],
                        high[i]),
          kiln::compose("axis {} of {} is too short to be extended by {} elements", i, x.shape.str(), most)};
  }
  return to;
}
ResultType concatenate_type(std::span<const TensorType> parts, std::int64_t axis) {
  if (parts.empty()) return Mismatch{"nothing to concatenate", "needs a part"};
  TensorType to = parts[0];
  if (!has_axis(to.shape, axis))
    return Mismatch{kiln::compose("cannot concatenate along axis {} of {}", axis, to.shape.str()),
                    no_axis(to.shape, axis)};
  for (const TensorType& part : parts.subspan(1)) {
    const auto refused = [&](std::string operation) {
      return Mismatch{
          kiln::compose(
              "cannot concatenate {} and {} along axis {}: dtypes and all other extents must be equal",
              parts[0].str(), part.str(), axis),
          std::move(operation)};
    };
    const Shape& s = part.shape;
    if (part.dtype != to.dtype) return refused(mixed(to.dtype, part.dtype));
    if (s.rank() != to.shape.rank()) return refused("mixes ranks");
    for (std::size_t i = 0; i < s.size(); ++i)
      if (i != at(axis) && s[i] != to.shape[i])
        return refused(kiln::compose("mixes extents {} and {} on axis {}", to.shape[i], s[i], i));
    to.shape[at(axis)] = plus(to.shape[at(axis)], s[at(axis)]);
  }
  return to;
}
ResultType insert_type(const TensorType& x, const TensorType& update, const Shape& start, const Shape& step) {
  const Shape &into = x.shape, &part = update.shape;
  const auto unlike = [&](std::string operation) {
    return Mismatch{kiln::compose("cannot write {} into {}", update.str(), x.str()), std::move(operation)};
  };
  if (x.dtype != update.dtype) return unlike(mixed(x.dtype, update.dtype));
  if (part.rank() != into.rank()) return unlike("needs an update of the same rank");
  for (auto [name, list] : {std::pair("start", &start), {"step", &step}})
    if (list->rank() != into.rank()) return unlike(wrong_count(name, into, *list));
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto last = product_of(std::array{part[i] - 1, step[i]});
    if (start[i] < 0 || step[i] < 1 || (part[i] > 0 && (!last || *last >= into[i] - start[i])))
      return Mismatch{kiln::compose("cannot write {} into {} from {} by {}", part.str(), into.str(),
                                    start.str(), step.str()),
                      kiln::compose("leaves axis {} of extent {}", i, into[i])};
  }
  return x;
}
ResultType gather_type(const TensorType& x, const TensorType& indices, std::int64_t axis) {
  const Shape& from = x.shape;
  if (!has_axis(from, axis))
    return Mismatch{kiln::compose("cannot take along axis {} of {}", axis, from.str()), no_axis(from, axis)};
  if (!is_index(indices.dtype))
    return Mismatch{kiln::compose("gather needs integer indices, got {}", indices.str()),
                    "needs indices of i32 or i64"};
  if (from[at(axis)] == 0 && indices.elements() > 0)
    return Mismatch{kiln::compose("cannot take from axis {} of {}: it is empty", axis, from.str()),
                    kiln::compose("takes from axis {}, which is empty", axis)};
  return TensorType{x.dtype, gathered(from, indices.shape, axis)};
}
ResultType check_bounds_type(const TensorType& indices) {
  if (indices.dtype != DType::i64)
    return Mismatch{kiln::compose("a check of bounds needs int64 indices, got {}", indices.str()),
                    "needs indices of i64"};
  return indices;
}
ResultType scatter_type(const TensorType& x, const TensorType& indices, const TensorType& updates,
                        std::int64_t axis) {
  if (!has_axis(x.shape, axis))
    return Mismatch{kiln::compose("cannot scatter along axis {} of {}", axis, x.shape.str()),
                    no_axis(x.shape, axis)};
  if (!is_index(indices.dtype))
    return Mismatch{kiln::compose("scatter needs integer indices, got {}", indices.str()),
                    "needs indices of i32 or i64"};
  const TensorType expected{x.dtype, gathered(x.shape, indices.shape, axis)};
  if (!(updates == expected))
    return Mismatch{kiln::compose("to scatter by indices {} along axis {} of {} takes updates {}, got {}",
                                  indices.shape.str(), axis, x.str(), expected.str(), updates.str()),
                    updates.shape != expected.shape ? "needs updates of the shape of a gather"
                                                    : mixed(x.dtype, updates.dtype)};
  return x;
}

ResultType sort_type(const TensorType& x) {
  if (x.shape.empty())
    return Mismatch{kiln::compose("sort needs an array of at least one axis, got {}", x.str()),
                    "needs an axis"};
  return TensorType{DType::i64, x.shape};
}
ResultType cumulative_type(const TensorType& x, std::int64_t axis) {
  if (!has_axis(x.shape, axis))
    return Mismatch{kiln::compose("cannot accumulate along axis {} of {}", axis, x.shape.str()),
                    no_axis(x.shape, axis)};
  return x;
}

ResultType reduce_type(const TensorType& x, const Shape& axes) {
  const Shape& from = x.shape;
  Shape to;
  std::size_t next = 0;
  for (int i = 0; i < from.rank(); ++i) {
    if (next < axes.size() && axes[next] == i)
      ++next;
    else
      to.push_back(from[at(i)]);
  }
  if (next != axes.size())
    return Mismatch{kiln::compose("cannot reduce axes {} of shape {}", axes.str(), from.str()),
                    has_axis(from, axes[next]) ? "axes must ascend" : no_axis(from, axes[next])};
  return TensorType{x.dtype, to};
}
ResultType dot_type(const TensorType& lhs, const TensorType& rhs, const DotSpec& spec) {
  const Shape &a = lhs.shape, &b = rhs.shape;
  const auto refused = [&](std::string operation) {
    return Mismatch{
        kiln::compose("cannot multiply {}{} by {}{}", lhs.str(), spec.transpose_lhs ? " transposed" : "",
                      rhs.str(), spec.transpose_rhs ? " transposed" : ""),
        std::move(operation)};
  };
  if (a.rank() < 2 || a.rank() != b.rank()) return refused("needs matrices of one rank");
  if (lhs.dtype != rhs.dtype) return refused(mixed(lhs.dtype, rhs.dtype));
  const std::size_t row = a.size() - 2, column = a.size() - 1;
  Shape to;
  for (std::size_t i = 0; i < row; ++i) {
    if (a[i] != b[i]) return refused("needs equal batch axes");
    to.push_back(a[i]);
  }
  const std::int64_t ka = a[spec.transpose_lhs ? row : column], kb = b[spec.transpose_rhs ? column : row];
  if (ka != kb) return refused(kiln::compose("contracts extents {} and {}", ka, kb));
  to.push_back(a[spec.transpose_lhs ? column : row]);
  to.push_back(b[spec.transpose_rhs ? row : column]);
  return TensorType{lhs.dtype, to};
}
ResultType convolution_type(const TensorType& x, const TensorType& w, const ConvSpec& spec) {
  const Shape &in = x.shape, &weight = w.shape, &kernel = spec.window.kernel;
  if (auto mismatch = check_window(spec.window, x)) return *mismatch;
  const auto refused = [&](std::string operation) {
    return Mismatch{kiln::compose("cannot convolve {} with {} in {} groups", x.str(), w.str(), spec.groups),
                    std::move(operation)};
  };
  if (x.dtype != w.dtype) return refused(mixed(x.dtype, w.dtype));
  if (weight.rank() != in.rank()) return refused("needs (n, c, spatial...) and (o, c / groups, kernel...)");
  if (spec.groups < 1 || in[1] % spec.groups != 0 || in[1] / spec.groups != weight[1] ||
      weight[0] % spec.groups != 0)
    return refused("has groups that do not divide its channels");
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (weight[i + 2] != kernel[i])
      return Mismatch{kiln::compose("the weight {} is not of kernel {}", weight.str(), kernel.str()),
                      "has a weight of another kernel"};
  return slid(x, weight[0], spec.window);
}
ResultType convolution_weights_type(const TensorType& x, const TensorType& g, const ConvSpec& spec) {
  if (auto mismatch = check_window(spec.window, x)) return *mismatch;
  const auto refused = [&](std::string operation) {
    return Mismatch{kiln::compose("{} is no gradient of a convolution of {} with a kernel of {} in {} groups",
                                  g.str(), x.str(), spec.window.kernel.str(), spec.groups),
                    std::move(operation)};
  };
  if (x.dtype != g.dtype) return refused(mixed(x.dtype, g.dtype));
  if (g.shape.rank() != x.shape.rank()) return refused("needs (n, c, spatial...) and (n, o, spatial'...)");
  const std::int64_t channels = x.shape[1];
  if (spec.groups != 1 && (spec.groups != channels || g.shape[1] != channels))
    return refused("has groups that are neither one nor its channels");
  const ResultType convolved = slid(x, g.shape[1], spec.window);
  if (convolved.mismatch()) return convolved;
  if (!(convolved.value().shape == g.shape)) return refused("has a gradient of another shape");
  Shape to{g.shape[1], channels / spec.groups};
  for (const std::int64_t extent : spec.window.kernel) to.push_back(extent);
  return TensorType{x.dtype, to};
}
ResultType reduce_window_type(const TensorType& x, const Window& window) {
  if (auto mismatch = check_window(window, x)) return *mismatch;
  return slid(x, x.shape[1], window);
}

}  // namespace kiln::ir
