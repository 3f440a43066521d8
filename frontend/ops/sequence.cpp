// Operators on sequences of different lengths: data is (T, N, ...), or (N, T, ...) with axis 1.
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

std::size_t sequence_inputs(const Attrs& a) { return a.boolean("use_sequence_length") ? 2 : 1; }

int time_axis(Primitives& p, Args in, const Attrs& a) {
  const Shape& shape = p.shape(in[0]);
  std::int64_t axis = a.integer("axis");
  if (axis < 0 || axis > 1 || shape.rank() < 2)
    fail("sequences run along axis 0 or 1 of (T, N, ...), got axis {} of {}", axis, shape.str());
  if (a.boolean("use_sequence_length") && !(p.shape(in[1]) == Shape{shape[at(1 - static_cast<int>(axis))]}))
    fail(Mistake::operand_shape, "{} sequences need as many lengths, got {}",
         shape[at(1 - static_cast<int>(axis))], p.shape(in[1]).str());
  return static_cast<int>(axis);
}

/// The output has the data's shape, or that shape without the time axis. One length per sequence.
template <bool loses_time>
void sequence_shape(ShapeFacts& f, const Attrs& a) {
  const std::int64_t axis = a.integer("axis");
  if (axis != 0 && axis != 1) return;
  if (loses_time)
    without_axis(f, f.in[0], f.out[0], axis);
  else
    f.same(f.in[0], f.out[0]);
  if (f.in.size() < 2) return;
  f.rank(f.in[1], 1);
  f.same(Axis{f.in[1], 0}, Axis{f.in[0], 1 - static_cast<int>(axis)});
}

/// Infinite lengths, and numbers that int64 does not have, become long ones of their sign; NaN the least.
Value lengths(Primitives& p, Args in) {
  Value length = in[1];
  if (is_floating(p.dtype(length))) {
    constexpr double longest = 0x1p62;
    length = widen(p, length);
    length = p.binary(Binary::max, length, p.like(length, -longest));
    length = p.binary(Binary::min, length, p.like(length, longest));
  }
  return convert(p, length, DType::i64);
}

Values mask(Primitives& p, Args in, const Attrs& a) {
  if (!a.boolean("use_sequence_length")) return {in[0]};
  const Shape shape = p.shape(in[0]);
  int axis = time_axis(p, in, a);
  Value length = p.broadcast_along(lengths(p, in), shape, 1 - axis);
  Value alive = p.compare(Compare::lt, p.iota({DType::i64, shape}, axis), length);
  return {p.select(alive, in[0], p.like(in[0], a.real("value")))};
}

/// x[time[i], i, ...] for each position i of `time`'s last axis: a gather of rows of x with its first two
/// axes merged.
Value steps(Primitives& p, Value x, Value time, int time_axis) {
  const Shape& shape = p.shape(x);
  const std::int64_t T = shape[at(time_axis)], N = shape[at(1 - time_axis)];
  Shape rows{times(T, N)};
  for (std::int64_t d : shape.dims().subspan(2)) rows.push_back(d);
  Value sequence = p.iota(p.type(time), p.shape(time).rank() - 1);
  Value row = time_axis == 0 ? p.add(p.mul(time, p.full_integer(p.type(time), N)), sequence)
                             : p.add(p.mul(sequence, p.full_integer(p.type(time), T)), time);
  return p.gather(p.reshape(x, rows), row, 0);
}

Values last(Primitives& p, Args in, const Attrs& a) {
  const Shape shape = p.shape(in[0]);
  int axis = time_axis(p, in, a);
  const std::int64_t T = shape[at(axis)];
  if (T == 0) fail("SequenceLast needs at least one step, got {}", shape.str());
  if (a.boolean("use_sequence_length")) {
    Value time = p.sub(lengths(p, in), p.full_integer({DType::i64, {shape[at(1 - axis)]}}, 1));
    time = p.binary(Binary::min, p.binary(Binary::max, time, p.like(time, 0)),
                    p.full_integer(p.type(time), T - 1));
    return {steps(p, in[0], time, axis)};
  }
  Shape start = Shape::filled(shape.rank(), 0), to;
  start[at(axis)] = T - 1;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) to.push_back(shape[at(i)]);
  return {p.reshape(p.slice(in[0], start, shape, Shape::filled(shape.rank(), 1)), to)};
}

Values reverse_time(Primitives& p, Args in, const Attrs& a) {
  int axis = time_axis(p, in, a);
  if (axis != 0) fail("SequenceReverse runs along axis 0, got {}", axis);
  if (!a.boolean("use_sequence_length")) return {p.reverse(in[0], {0})};
  const Shape shape = p.shape(in[0]);
  Shape both{shape[0], shape[1]};
  Value time = p.iota({DType::i64, both}, 0);
  Value length = p.broadcast_along(lengths(p, in), both, 1);
  Value mirrored = p.sub(p.sub(length, time), p.full_integer(p.type(time), 1));
  return {steps(p, in[0], p.select(p.compare(Compare::lt, time, length), mirrored, time), 0)};
}

}  // namespace

std::span<const OpDef> sequence_ops() {
  static const AttrSpec use_lengths =
      bool_attr("use_sequence_length", false,
                "Whether the input sequence_length is given. False: every sequence has T steps.");
  static const std::vector<AttrSpec> attrs{
      use_lengths, int_attr("axis", 0, "The axis of the steps: 0, or 1 for data (N, T, ...).")};
  static constexpr OpReference family{
      .dtypes = "Any; the result has the dtype of data. sequence_length may have another dtype.",
      .integers = "Elements are copied. Fractions of lengths are cut off.",
  };
  static const std::vector<OpDef> rows{
      {.name = "SequenceMask",
       .aliases = {"_npx_sequence_mask"},
       .summary = "Sets the steps after the end of each sequence to a value.",
       .reference =
           family |
           OpReference{
               .shapes = "data (T, N, ...), sequence_length (N) -> (T, N, ...). With axis=1 data (N, T, ...) "
                         "-> (N, T, ...).",
               .nan = "A NaN of data stays NaN within its sequence and is replaced after its end. A NaN "
                      "length is below 0.",
               .empty = "An empty array gives an empty array.",
               .gradient = "data: g where t < sequence_length[n], else 0. sequence_length: zeros.",
               .formula = "y[t, n] = t < sequence_length[n] ? data[t, n] : value. Without lengths y = data.",
               .source = "MXNet 1.9.1 (src/operator/sequence_mask.cc).",
           },
       .inputs = {"data", "sequence_length"},
       .active_inputs = sequence_inputs,
       .attrs = {use_lengths,
                 real_attr("value", 0, "The value of masked elements, converted to the dtype of data."),
                 attrs[1]},
       .compose = mask,
       .shape_rule = sequence_shape<false>},
      {.name = "SequenceLast",
       .summary = "Selects the last step of each sequence.",
       .reference = family |
                    OpReference{
                        .shapes = "data (T, N, ...), sequence_length (N) -> (N, ...). With axis=1 data (N, "
                                  "T, ...) -> (N, ...).",
                        .nan = "A NaN of data stays NaN. A NaN length is taken for T.",
                        .empty = "No sequences give none. T = 0 throws.",
                        .gradient = "data: g at the step that was selected, else 0. sequence_length: zeros.",
                        .formula = "y[n] = data[clip(sequence_length[n], 1, T) - 1, n]. Without lengths y[n] "
                                   "= data[T - 1, n].",
                        .source = "MXNet 1.9.1 (src/operator/sequence_last.cc).",
                    },
       .inputs = {"data", "sequence_length"},
       .active_inputs = sequence_inputs,
       .attrs = attrs,
       .compose = last,
       .shape_rule = sequence_shape<true>},
      {.name = "SequenceReverse",
       .summary = "Reverses the steps of each sequence; steps after its end stay in their places.",
       .reference = family |
                    OpReference{
                        .shapes = "data (T, N, ...), sequence_length (N) -> (T, N, ...).",
                        .nan = "A NaN of data stays NaN. A NaN length is below 0.",
                        .empty = "An empty array gives an empty array.",
                        .gradient = "data: g, reversed in the same way. sequence_length: zeros.",
                        .formula = "y[t, n] = t < L ? data[L - 1 - t, n] : data[t, n], with L = "
                                   "sequence_length[n], or T without lengths. L must be at most T: a step "
                                   "beyond it is the last step of the last sequence.",
                        .source = "MXNet 1.9.1 (src/operator/sequence_reverse.cc).",
                    },
       .inputs = {"data", "sequence_length"},
       .active_inputs = sequence_inputs,
       .attrs = attrs,
       .compose = reverse_time,
       .shape_rule = sequence_shape<false>},
  };
  return rows;
}

}  // namespace kiln::ops
