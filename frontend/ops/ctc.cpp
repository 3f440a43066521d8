// Connectionist temporal classification (Graves et al., 2006): the probability that a sequence of classes,
// without blanks and repetitions, equals the label. The forward recursion sums over all alignments in
// logarithms.
#include "frontend/ops/common.h"

#include <limits>

namespace kiln::ops {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// The shift of terms before exp, which makes the largest 1. It is 0 if all terms are minus infinity: their
/// difference would be NaN.
Value shift_of(Primitives& p, Value largest) {
  Value nothing = p.compare(Compare::eq, largest, p.like(largest, minus_infinity));
  return p.select(nothing, p.like(largest, 0), largest);
}

/// Elementwise log(sum of exp) of the terms; minus infinity if all are.
Value log_sum(Primitives& p, std::vector<Value> terms) {
  Value largest = terms[0];
  for (Value t : terms) largest = p.binary(Binary::max, largest, t);
  Value shift = shift_of(p, largest);
  Value sum;
  for (Value t : terms) {
    Value e = p.unary(Unary::exp_nonpositive, p.sub(t, shift));
    sum = sum.valid() ? p.add(sum, e) : e;
  }
  return p.add(shift, p.unary(Unary::log, sum));
}

Value log_softmax_of_classes(Primitives& p, Value x) {
  const Shape shape = p.shape(x), axes{2};
  auto spread = [&](Value r) { return p.broadcast_to(p.keep_dims(r, shape, axes), shape); };
  Value centred = below_largest(p, x, axes);
  return p.sub(
      centred,
      spread(p.unary(Unary::log, p.reduce(Reduce::sum, p.unary(Unary::exp_nonpositive, centred), axes))));
}

/// x (N, S) shifted right by `places`, filled with minus infinity.
Value moved(Primitives& p, Value x, std::int64_t places) {
  const std::int64_t rows = p.shape(x)[0], columns = p.shape(x)[1];
  Value wide = p.pad(x, minus_infinity, {0, places}, {0, 0});
  return p.slice(wide, {0, 0}, {rows, columns}, {1, 1});
}

std::size_t ctc_inputs(const Attrs& a) {
  return 2 + a.boolean("use_data_lengths") + a.boolean("use_label_lengths");
}

Values ctc_loss(Primitives& p, Args in, const Attrs& a) {
  const Shape data = p.shape(in[0]), label = p.shape(in[1]);
  if (data.rank() != 3 || label.rank() != 2 || data[1] != label[0])
    fail("CTCLoss needs data of (steps, batch, classes) and labels of (batch, length), got {} and {}",
         data.str(), label.str());
  const std::int64_t steps = data[0], batch = data[1], classes = data[2], length = label[1];
  if (classes < 2) fail("CTCLoss needs a class beside the blank, got {}", data.str());
  const std::int64_t places = times(2, length) + 1;
  const bool blank_first = a.word("blank_label") == "first";
  const Shape labels{batch, length}, extended{batch, places};
  std::size_t next = 2;
  auto lengths = [&](const char* what) {
    Value v = convert(p, in[next++], DType::i64);
    if (!(p.shape(v) == Shape{batch}))
      fail("{} must have the shape ({},), got {}", what, batch, p.shape(v).str());
    return v;
  };
  auto integers = [&](const Shape& shape, std::int64_t v) { return p.full_integer({DType::i64, shape}, v); };

  Value step_count = a.boolean("use_data_lengths") ? lengths("data_lengths") : integers({batch}, steps);
  Value given = convert(p, in[1], DType::i64);
  Value place_in_label = p.iota({DType::i64, labels}, 1);
  Value label_count;
  if (a.boolean("use_label_lengths")) {
    label_count = lengths("label_lengths");
  } else {
    // A label ends at the first padding value: 0 if the blank is class 0, else -1.
    Value padding = p.compare(Compare::eq, given, integers(labels, blank_first ? 0 : -1));
    Value ends = p.select(padding, place_in_label, integers(labels, length));
    label_count = length == 0 ? integers({batch}, 0) : p.reduce(Reduce::min, ends, {1});
  }

  // The label with blanks before, between and after its classes.
  Value blank = integers({batch, length, 1}, blank_first ? 0 : classes - 1);
  Value alive = p.compare(Compare::lt, place_in_label, p.broadcast_along(label_count, labels, 0));
  Value used = p.select(alive, given, p.reshape(blank, labels));
  std::vector<Value> pair{blank, p.reshape(used, {batch, length, 1})};
  std::vector<Value> parts{p.reshape(p.concatenate(pair, 2), {batch, times(2, length)}),
                           integers({batch, 1}, blank_first ? 0 : classes - 1)};
  Value symbols = p.concatenate(parts, 1);

  // Emissions (T, N, S): log p(symbol) at each step.
  Value logs = p.reshape(log_softmax_of_classes(p, widen(p, in[0])), {steps, times(batch, classes)});
  Value column = p.add(p.mul(p.iota({DType::i64, extended}, 0), integers(extended, classes)), symbols);
  Value emissions = p.gather(logs, column, 1);

  // A transition may skip the blank between two different classes.
  Value place = p.iota({DType::i64, extended}, 1);
  Value before = p.slice(p.pad(symbols, -1, {0, 2}, {0, 0}), {0, 0}, extended, {1, 1});
  Value odd =
      p.compare(Compare::eq, p.binary(Binary::mod, place, integers(extended, 2)), integers(extended, 1));
  Value differ = p.compare(Compare::ne, symbols, before);
  Value skips = p.binary(Binary::logical_and, odd, differ);

  // Initially the whole probability is at the first position.
  const TensorType state{p.dtype(emissions), extended};
  Value nothing = p.full(state, minus_infinity);
  Value initial = p.select(p.compare(Compare::eq, place, integers(extended, 0)), p.full(state, 0), nothing);
  std::vector<Value> rows{emissions, p.iota({DType::i64, {steps}}, 0)}, carries{initial};
  Value alpha = p.loop(steps, carries, rows, {}, [&](Args carried, Args row) -> ir::LoopStep {
    Value skipped = p.select(skips, moved(p, carried[0], 2), nothing);
    Value reached = p.add(row[0], log_sum(p, {carried[0], moved(p, carried[0], 1), skipped}));
    Value running = p.compare(Compare::lt, p.broadcast_to(row[1], {batch}), step_count);
    return {{p.select(p.broadcast_along(running, extended, 0), reached, carried[0])}, {}, {}};
  })[0];

  // An alignment ends at the last class or at the blank after it.
  Value last = p.broadcast_along(p.mul(label_count, integers({batch}, 2)), extended, 0);
  Value ends = p.binary(Binary::logical_or, p.compare(Compare::eq, place, last),
                        p.compare(Compare::eq, place, p.sub(last, integers(extended, 1))));
  Value at_end = p.select(ends, alpha, nothing);
  Value shift = shift_of(p, p.reduce(Reduce::max, at_end, {1}));
  Value sum =
      p.reduce(Reduce::sum,
               p.unary(Unary::exp_nonpositive, p.sub(at_end, p.broadcast_along(shift, extended, 0))), {1});
  Value loss = p.unary(Unary::neg, p.add(shift, p.unary(Unary::log, sum)));
  return {convert(p, loss, p.dtype(in[0])), Value{}};
}

}  // namespace

std::span<const OpDef> ctc_ops() {
  static const std::vector<OpDef> rows{
      {.name = "CTCLoss",
       .aliases = {"_contrib_CTCLoss", "_contrib_ctc_loss", "ctc_loss"},
       .summary = "Connectionist temporal classification: minus the log probability of the label.",
       .inputs = {"data", "label", "data_lengths", "label_lengths"},
       .active_inputs = ctc_inputs,
       .attrs = {bool_attr("use_data_lengths", false), bool_attr("use_label_lengths", false),
                 word_attr("blank_label", "first", {"first", "last"})},
       .counted_outputs = outputs<2>,
       .compose = ctc_loss},
  };
  return rows;
}

}  // namespace kiln::ops
