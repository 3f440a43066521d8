// Connectionist temporal classification (Graves et al., 2006): the probability that a sequence of classes,
// without blanks and repetitions, equals the label. The recursions over the steps sum over all alignments in
// logarithms.
#include "frontend/ops/reference.h"
#include "ir/gradients.h"

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

/// log(sum of exp) over the places of x (N, S).
Value log_sum_of_places(Primitives& p, Value x) {
  const Shape shape = p.shape(x);
  Value shift = shift_of(p, p.reduce(Reduce::max, x, {1}));
  Value sum = p.reduce(Reduce::sum,
                       p.unary(Unary::exp_nonpositive, p.sub(x, p.broadcast_along(shift, shape, 0))), {1});
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
Value moved_right(Primitives& p, Value x, std::int64_t places) {
  const std::int64_t rows = p.shape(x)[0], columns = p.shape(x)[1];
  Value wide = p.pad(x, minus_infinity, {0, places}, {0, 0});
  return p.slice(wide, {0, 0}, {rows, columns}, {1, 1});
}
Value moved_left(Primitives& p, Value x, std::int64_t places) {
  const std::int64_t rows = p.shape(x)[0], columns = p.shape(x)[1];
  Value wide = p.pad(x, minus_infinity, {0, 0}, {0, places});
  return p.slice(wide, {0, places}, {rows, columns + places}, {1, 1});
}

std::size_t ctc_inputs(const Attrs& a) {
  return 2 + a.boolean("use_data_lengths") + a.boolean("use_label_lengths");
}

/// The alignments of a batch. A place is a class of the label or a blank around it: S = 2 * length + 1.
struct Alignments {
  Value logs;        // (T, N * classes): log softmax
  Value column;      // (N, S): which of the N * classes a place stands for
  Value emissions;   // (T, N, S): log p of each place's symbol
  Value skips;       // (N, S) bool: a transition from two places before is allowed
  Value ends;        // (N, S) bool: an alignment may end here
  Value step_count;  // (N), i64
  /// (T, N, S): the forward variables, log p of all alignment prefixes that reach a place at a step. Constant
  /// after a sequence's last step. Only with `with_alphas`.
  Value alphas;
  Value log_probability;  // (N); minus infinity if there is no alignment
};

/// Whether a sequence has step `step` (a scalar): bool like x (N, S).
Value running(Primitives& p, Value step, const Alignments& z) {
  const Shape shape = p.shape(z.skips);
  return p.broadcast_along(p.compare(Compare::lt, p.broadcast_to(step, {shape[0]}), z.step_count), shape, 0);
}

Alignments align(Primitives& p, Args in, const Attrs& a, bool with_alphas) {
  Alignments z;
  const Shape data = p.shape(in[0]), label = p.shape(in[1]);
  if (data.rank() != 3 || label.rank() != 2 || data[1] != label[0])
    fail(Mistake::operand_shape,
         "CTCLoss needs data of (steps, batch, classes) and labels of (batch, length), got {} and {}",
         data.str(), label.str());
  const std::int64_t steps = data[0], batch = data[1], classes = data[2], length = label[1];
  if (classes < 2) fail("CTCLoss needs a class beside the blank, got {}", data.str());
  const std::int64_t places = times(2, length) + 1;
  if (steps < length)
    fail("CTCLoss cannot align labels {} with the {} steps of data {}", label.str(), steps, data.str());
  const bool blank_first = a.word("blank_label") == "first";
  const Shape labels{batch, length}, extended{batch, places};
  std::size_t next = 2;
  auto lengths = [&](const char* what) {
    Value v = convert(p, in[next++], DType::i64);
    if (!(p.shape(v) == Shape{batch}))
      fail(Mistake::operand_shape, "{} must have the shape ({},), got {}", what, batch, p.shape(v).str());
    return v;
  };
  auto integers = [&](const Shape& shape, std::int64_t v) { return p.full_integer({DType::i64, shape}, v); };

  z.step_count = a.boolean("use_data_lengths") ? lengths("data_lengths") : integers({batch}, steps);
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
  z.logs = p.reshape(log_softmax_of_classes(p, widen(p, in[0])), {steps, times(batch, classes)});
  z.column = p.add(p.mul(p.iota({DType::i64, extended}, 0), integers(extended, classes)), symbols);
  z.emissions = p.gather(z.logs, z.column, 1);

  // A transition may skip the blank between two different classes.
  Value place = p.iota({DType::i64, extended}, 1);
  Value before = p.slice(p.pad(symbols, -1, {0, 2}, {0, 0}), {0, 0}, extended, {1, 1});
  Value odd =
      p.compare(Compare::eq, p.binary(Binary::mod, place, integers(extended, 2)), integers(extended, 1));
  Value differ = p.compare(Compare::ne, symbols, before);
  z.skips = p.binary(Binary::logical_and, odd, differ);

  // Initially the whole probability is at the first position.
  const TensorType state{p.dtype(z.emissions), extended};
  Value nothing = p.full(state, minus_infinity);
  Value initial = p.select(p.compare(Compare::eq, place, integers(extended, 0)), p.full(state, 0), nothing);
  std::vector<Value> rows{z.emissions, p.iota({DType::i64, {steps}}, 0)}, carries{initial};
  const Values last = p.loop(steps, carries, rows, {}, [&](Args carried, Args row) -> ir::LoopStep {
    Value skipped = p.select(z.skips, moved_right(p, carried[0], 2), nothing);
    Value reached = p.add(row[0], log_sum(p, {carried[0], moved_right(p, carried[0], 1), skipped}));
    Value alpha = p.select(running(p, row[1], z), reached, carried[0]);
    return {{alpha}, with_alphas ? Values{alpha} : Values{}, {}};
  });
  if (with_alphas) z.alphas = last[1];

  // An alignment ends at the last class or at the blank after it.
  Value end = p.broadcast_along(p.mul(label_count, integers({batch}, 2)), extended, 0);
  z.ends = p.binary(Binary::logical_or, p.compare(Compare::eq, place, end),
                    p.compare(Compare::eq, place, p.sub(end, integers(extended, 1))));
  z.log_probability = log_sum_of_places(p, p.select(z.ends, last[0], nothing));
  return z;
}

Values ctc_loss(Primitives& p, Args in, const Attrs& a) {
  Value loss = p.unary(Unary::neg, align(p, in, a, false).log_probability);
  return {convert(p, loss, p.dtype(in[0])), Value{}};
}

/// The derivative of -log p in the logits of step t: softmax - posterior. The posterior of a class is the sum
/// of exp(alpha_t + beta_t - log p) over its places. beta_t is the logarithm of the probability of all ends
/// of alignments that are at a place after step t:
///   beta_t(s) = log sum exp(v(s), v(s + 1), v(s + 2) if it may skip),  v = beta_{t+1} + emission_{t+1},
/// and after the last step 0 at the places where an alignment may end. The derivative is 0 for steps after a
/// sequence's end, and for the logits of a sequence without an alignment, whose loss is infinite.
Values ctc_gradient(Primitives& p, const ir::GradientArgs& args) {
  Values out(args.in.size());
  if (!args.heads[0].valid()) return out;
  const Alignments z = align(p, args.in, args.attrs, true);
  const Shape data = p.shape(args.in[0]), places = p.shape(z.skips);
  const std::int64_t steps = data[0], batch = data[1];

  Value possible = p.compare(Compare::ne, z.log_probability, p.like(z.log_probability, minus_infinity));
  Value total = p.select(possible, z.log_probability, p.like(z.log_probability, 0));
  const TensorType state{p.dtype(z.logs), places};
  Value nothing = p.full(state, minus_infinity);
  std::vector<Value> carries{p.select(z.ends, p.full(state, 0), nothing)};
  std::vector<Value> rows{z.emissions, p.iota({DType::i64, {steps}}, 0), z.alphas};
  for (Value& v : rows) v = p.reverse(v, {0});
  const Values last = p.loop(steps, carries, rows, {}, [&](Args carried, Args row) -> ir::LoopStep {
    Value beta = carried[0], v = p.add(beta, row[0]);
    Value skipped = moved_left(p, p.select(z.skips, v, nothing), 2);
    Value before = log_sum(p, {v, moved_left(p, v, 1), skipped});
    Value both = p.sub(p.add(row[2], beta), p.broadcast_along(total, places, 0));
    return {{p.select(running(p, row[1], z), before, beta)}, {p.unary(Unary::exp, both)}, {}};
  });
  Value of_places = p.reverse(last[1], {0});
  Value posterior = p.scatter(ir::Scatter::add, p.like(z.logs, 0),
                              ir::clamped(p, z.column, times(batch, data[2])), of_places, 1);
  Value slope = p.reshape(p.sub(p.unary(Unary::exp_nonpositive, z.logs), posterior), data);

  const TensorType step_type{DType::i64, {steps, batch}};
  Value used =
      p.compare(Compare::lt, p.iota(step_type, 0), p.broadcast_along(z.step_count, step_type.shape, 1));
  used = p.binary(Binary::logical_and, used, p.broadcast_along(possible, step_type.shape, 1));
  Value head = p.broadcast_along(widen(p, args.heads[0]), data, 1);
  Value d_data = p.select(p.broadcast(used, data, {0, 1}), p.mul(head, slope), p.like(slope, 0));
  out[0] = convert(p, d_data, p.dtype(args.in[0]));
  return out;
}

}  // namespace

std::span<const OpDef> ctc_ops() {
  static const std::vector<OpDef> rows{
      {.name = "CTCLoss",
       .aliases = {"_contrib_CTCLoss", "_contrib_ctc_loss", "ctc_loss"},
       .summary = "The loss of connectionist temporal classification: minus the logarithm of the probability "
                  "of the label.",
       .reference =
           {
               .shapes = "data (T, N, C), label (N, S), data_lengths (N), label_lengths (N) -> (N). C "
                         "classes, the blank among them, 2 or more. T < S throws.",
               .dtypes = "Any; the result has the dtype of data. The other inputs may have other dtypes. "
                         "Half precision is computed in float32 and rounded once.",
               .nan = "A NaN or +inf in a step of a sequence makes its loss and its gradients NaN; after the "
                      "end of the sequence it changes nothing.",
               .empty = "No sequences give none. The empty label has the loss of T blanks, 0 if T = 0.",
               .integers = truncated_integers,
               .gradient =
                   "data: g (softmax(data) - the posterior probability of each class at each step); 0 after "
                   "the end of a sequence, and for a sequence without an alignment. Other inputs: zeros.",
               .formula = "y[n] = -log(sum of the probabilities of all sequences of T classes that give "
                          "label n once repetitions are merged and blanks removed), with the probabilities "
                          "softmax(data[t, n]). Without label_lengths a label ends at its first padding: 0 "
                          "if the blank is first, else -1. y is +inf if no sequence gives the label. Labels "
                          "must be classes: others stand for classes of other samples.",
               .source = "MXNet 1.9.1 (src/operator/nn/ctc_loss.cc); Graves et al. 2006.",
           },
       .inputs = {"data", "label", "data_lengths", "label_lengths"},
       .active_inputs = ctc_inputs,
       .attrs = {bool_attr("use_data_lengths", false,
                           "Whether the input data_lengths is given. False: every sequence has T steps."),
                 bool_attr("use_label_lengths", false,
                           "Whether the input label_lengths is given. False: padding ends a label."),
                 word_attr("blank_label", "first", {"first", "last"},
                           "The class of the blank: 0, or C - 1.")},
       .counted_outputs = outputs<2>,
       .compose = ctc_loss,
       .gradient = ctc_gradient},
  };
  return rows;
}

}  // namespace kiln::ops
