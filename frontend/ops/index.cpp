#include "frontend/ops/common.h"

#include <limits>

namespace kiln::ops {
namespace {

/// Indices of any dtype as i64, within [0, extent): clamped, or counted around.
Value wrapped(Primitives& p, Value indices, const std::string& mode, std::int64_t extent) {
  Value i = convert(p, indices, DType::i64);
  return mode == "wrap" ? p.binary(Binary::mod, i, p.full_integer(p.type(i), extent)) : i;
}

Values take(Primitives& p, Args in, const Attrs& a) {
  int axis = axis_of(a.integer("axis"), p.shape(in[0]).rank());
  return {p.gather(in[0], wrapped(p, in[1], a.word("mode"), p.shape(in[0])[at(axis)]), axis)};
}
Values one_hot(Primitives& p, Args in, const Attrs& a) {
  Shape to = p.shape(in[0]);
  int last = to.rank();
  to.push_back(a.integer("depth"));
  Shape dims;
  for (int i = 0; i < last; ++i) dims.push_back(i);
  Value hit = p.compare(Compare::eq, p.broadcast(convert(p, in[0], DType::i64), to, dims),
                        p.iota({DType::i64, to}, last));
  TensorType type{a.dtype("dtype"), to};
  return {p.select(hit, p.full(type, a.real("on_value")), p.full(type, a.real("off_value")))};
}
/// x[..., index, ...] along one axis: the elements whose place is the index, and their sum is that element.
Value pick_along(Primitives& p, Value x, Value index, int axis) {
  const Shape shape = p.shape(x);
  Value last = p.full_integer(p.type(index), shape[at(axis)] - 1);
  Value i = p.binary(Binary::max, p.binary(Binary::min, index, last), p.like(index, 0));
  Value place = p.broadcast_to(p.keep_dims(i, shape, {axis}), shape);
  Value hit = p.compare(Compare::eq, p.iota({DType::i64, shape}, axis), place);
  // A maximum and not a sum: it returns the element itself, -0 included.
  if (is_floating(p.dtype(x)))
    return p.reduce(Reduce::max, p.select(hit, x, p.like(x, -std::numeric_limits<double>::infinity())),
                    {axis});
  return p.reduce(Reduce::sum, p.select(hit, x, p.like(x, 0)), {axis});
}
Values pick(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  Value x = in[0];
  int axis;
  if (a.is_none("axis")) {
    x = p.reshape(x, {shape.elements()});
    axis = 0;
  } else {
    axis = axis_of(a.integer("axis"), shape.rank());
  }
  Shape without = p.shape(x), kept = without;
  kept[at(axis)] = 1;
  Shape gone;
  for (int i = 0; i < without.rank(); ++i)
    if (i != axis) gone.push_back(without[at(i)]);
  if (p.shape(in[1]).elements() != gone.elements())
    fail("pick needs an index for each of {} places, got {}", gone.str(), p.shape(in[1]).str());
  Value index = p.reshape(wrapped(p, in[1], a.word("mode"), without[at(axis)]), gone);
  Value r = pick_along(p, x, index, axis);
  return {a.boolean("keepdims") ? p.reshape(r, kept) : at_least_1d(p, r)};
}
Values batch_take(Primitives& p, Args in, const Attrs&) {
  const Shape& s = p.shape(in[0]);
  if (s.rank() != 2 || p.shape(in[1]).elements() != s[0])
    fail("batch_take needs (n, k) and n indices, got {} and {}", s.str(), p.shape(in[1]).str());
  return {pick_along(p, in[0], p.reshape(convert(p, in[1], DType::i64), {s[0]}), 1)};
}
Values sequence_mask(Primitives& p, Args in, const Attrs& a) {
  if (!a.boolean("use_sequence_length")) return {in[0]};
  const Shape shape = p.shape(in[0]);
  int axis = static_cast<int>(a.integer("axis"));
  if (axis < 0 || axis > 1 || shape.rank() < 2)
    fail("SequenceMask runs along axis 0 or 1 of (T, N, ...), got {}", shape.str());
  Value length = p.broadcast_along(convert(p, in[1], DType::i64), shape, 1 - axis);
  Value alive = p.compare(Compare::lt, p.iota({DType::i64, shape}, axis), length);
  return {p.select(alive, in[0], p.like(in[0], a.real("value")))};
}
std::size_t sequence_inputs(const Attrs& a) { return a.boolean("use_sequence_length") ? 2 : 1; }

}  // namespace

std::span<const OpDef> index_ops() {
  static const std::vector<OpDef> rows{
      {.name = "take",
       .aliases = {"_npi_take"},
       .summary = "Parts along an axis chosen by indices.",
       .inputs = {"a", "indices"},
       .attrs = {int_attr("axis", 0), word_attr("mode", "clip", {"clip", "raise", "wrap"})},
       .compose = take},
      {.name = "one_hot",
       .aliases = {"_npx_one_hot"},
       .summary = "A row with one on_value for each index.",
       .inputs = {"indices"},
       .attrs = {required("depth", AttrKind::integer), real_attr("on_value", 1), real_attr("off_value", 0),
                 dtype_attr("float32")},
       .compose = one_hot},
      {.name = "pick",
       .aliases = {"_npx_pick", "choose_element_0index"},
       .summary = "One element along an axis for each index.",
       .inputs = {"data", "index"},
       .attrs = {{"axis", AttrKind::integer, std::int64_t{-1}, true},
                 bool_attr("keepdims", false),
                 word_attr("mode", "clip", {"clip", "wrap"})},
       .compose = pick},
      {.name = "batch_take",
       .summary = "a[i, indices[i]]",
       .inputs = {"a", "indices"},
       .compose = batch_take},
      {.name = "SequenceMask",
       .aliases = {"_npx_sequence_mask"},
       .summary = "Steps behind each sequence's end set to a value.",
       .inputs = {"data", "sequence_length"},
       .active_inputs = sequence_inputs,
       .attrs = {bool_attr("use_sequence_length", false), real_attr("value", 0), int_attr("axis", 0)},
       .compose = sequence_mask},
  };
  return rows;
}

}  // namespace kiln::ops
