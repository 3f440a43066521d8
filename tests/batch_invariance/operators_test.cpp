// Every operator that keeps rows apart: a row's results, and the gradients of its inputs, have the same bits
// alone and in batches of 23 sizes, eagerly and compiled. Whether an operator keeps rows apart along an axis
// is tried: in a batch of one size, no row's results follow the numbers of another row.
#include "batch_invariance/rows.h"
#include "graphs/samples.h"
#include "operator_call.h"
#include "same_bits.h"

#include <kiln/op_docs.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

using namespace kiln;
using namespace batch_invariance;

namespace {

/// Operators whose results follow the number of a row by their definition, and why.
const std::map<std::string, std::string> follow_the_row_number = {
    {"_slice_assign", "writes into the rows of a range"},
    {"_slice_assign_scalar", "writes into the rows of a range"},
};

/// Operators whose gradient follows the number of rows by its definition, and why.
const std::map<std::string, std::string> gradient_follows_the_batch = {};

/// A sample as a call with rows along an axis.
struct Trial {
  Call call;
  Tensors inputs;  // with rows
};

Shape with_extent(Shape shape, int axis, std::int64_t extent) {
  shape[axis] = extent;
  return shape;
}

Tensors inputs_of(const graphs::Sample& sample, const Call& call, std::int64_t count, std::uint64_t seed) {
  Tensors inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const graphs::Input& input = sample.inputs[i];
    const Shape shape = call.batched[i] ? with_extent(input.shape, call.axis, count) : input.shape;
    inputs.push_back(graphs::make_values(shape, input.dtype.value_or(DType::f32), input.values,
                                         i * 31 + (call.batched[i] ? seed : 0), false));
  }
  return inputs;
}

/// The same, but the rows that are not `kept` have other numbers.
Tensors exchanged(const Call& call, const Tensors& inputs, const Tensors& others, std::int64_t kept,
                  std::int64_t count) {
  Tensors all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!call.batched[i]) {
      all.push_back(inputs[i]);
      continue;
    }
    Tensors parts;
    const int axis = call.axis;
    for (std::int64_t r = 0; r < count; ++r)
      parts.push_back((r == kept ? inputs : others)[i].slice_axis({.axis = axis, .begin = r, .end = r + 1}));
    all.push_back(F::concat(parts, axis));
  }
  return all;
}

/// Whether each result has a row for each of `count` rows.
bool has_rows(const Call& call, const Tensors& results, std::int64_t count) {
  return std::all_of(results.begin(), results.end(), [&](const Tensor& t) {
    return t.shape().rank() > call.axis && t.shape()[static_cast<std::size_t>(call.axis)] == count;
  });
}

/// Whether rows of the results follow the same rows of the inputs alone. `others`: inputs of other numbers.
bool keeps_rows_apart(const Call& call, const Tensors& inputs, const std::vector<Tensors>& others) {
  constexpr std::int64_t count = 19;  // no extent of a sample
  const Tensors first = rows_of(call, inputs, 0, count), usual = run(call, first, 0);
  if (!has_rows(call, usual, count) || !has_rows(call, run(call, rows_of(call, inputs, 0, 1), 0), 1))
    return false;
  for (const Tensors& other : others)
    for (const std::int64_t kept : {std::int64_t{0}, count - 1}) {
      const Tensors changed =
          run(call, exchanged(call, first, rows_of(call, other, 0, count), kept, count), 0);
      if (changed.size() != usual.size()) return false;
      for (std::size_t i = 0; i < usual.size(); ++i)
        if (row_bits(changed[i], call.axis, kept) != row_bits(usual[i], call.axis, kept)) return false;
    }
  return true;
}

/// A call of the operator whose rows stay apart, if the sample has such rows.
std::optional<Trial> trial_of(const std::string& op, const graphs::Row& row, const graphs::Sample& sample,
                              bool train, bool gradients) {
  const std::size_t inputs = sample.inputs.size() - row.states;
  for (const int axis : {std::size_t{0}, std::size_t{1}})
    for (const bool all : {true, false}) {
      Call call;
      call.axis = axis;
      call.train = train;
      call.gradients = gradients;
      std::size_t batched = 0;
      for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
        const Shape& shape = sample.inputs[i].shape;
        call.batched.push_back(i < inputs && shape.rank() > axis && (i == 0 || all) &&
                               shape[axis] == sample.inputs[0].shape[axis]);
        batched += call.batched.back();
      }
      if (batched == 0 || !call.batched[0] || (!all && batched == inputs)) continue;
      try {
        const Tensors values = inputs_of(sample, call, most_rows, 1000);
        const std::vector<Tensors> others{inputs_of(sample, call, most_rows, 2000),
                                          inputs_of(sample, call, most_rows, 3000),
                                          inputs_of(sample, call, most_rows, 4000)};
        std::vector<graphs::OperatorInput> types;
        for (const Tensor& t : values) types.push_back({t.shape(), t.dtype()});
        SymbolBlock block = graphs::operator_block(op, sample.attrs, types, sample.subgraphs);
        call.function = [block](const Tensors& x) mutable { return Tensors(block(x)); };
        if (keeps_rows_apart(call, values, others)) return Trial{call, values};
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::user) throw;
      }
    }
  return {};
}

/// Some of an operator's samples, of all ranks that it has.
std::vector<const graphs::Sample*> chosen(const graphs::Row& row) {
  constexpr std::size_t most = 3;
  std::map<std::string, std::vector<const graphs::Sample*>> alike;
  for (const graphs::Sample& sample : row.samples) {
    if (sample.large || sample.inputs.size() <= row.states || sample.inputs[0].shape.rank() == 0) continue;
    std::string key;
    for (const graphs::Input& input : sample.inputs) key += fmt::format("{} ", input.shape.rank());
    for (const auto& [name, value] : sample.attrs) key += name + "=" + value + " ";
    alike[key].push_back(&sample);
  }
  std::vector<const graphs::Sample*> all;
  for (const auto& [key, samples] : alike)
    for (std::size_t i = 0; i < samples.size() && i < most; ++i)
      all.push_back(samples[i * samples.size() / std::min(most, samples.size())]);
  return all;
}

struct Outcome {
  bool has_rows = false;
  std::vector<std::string> differences;
};

void check(const Trial& trial, const std::string& op, const graphs::Sample& sample, Outcome& outcome) {
  outcome.has_rows = true;
  const Alone alone = rows_alone(trial.call, trial.inputs);
  std::vector<graphs::OperatorInput> types;
  for (const Tensor& t : trial.inputs) types.push_back({t.shape(), t.dtype()});
  SymbolBlock block = graphs::operator_block(op, sample.attrs, types, sample.subgraphs);
  block.hybridize();
  const Call& eager = trial.call;
  const Call compiled{[block](const Tensors& x) mutable { return Tensors(block(x)); }, eager.batched,
                      eager.axis, eager.train, eager.gradients};
  for (const std::int64_t size : sizes)
    for (const Call* call : {&eager, &compiled})
      if (const auto found = difference(*call, trial.inputs, size, alone)) {
        outcome.differences.push_back(
            fmt::format("{}{}{}, inputs {}: {}", op, call == &compiled ? ", compiled" : "",
                        call->train ? ", in training" : "", sample.inputs[0].shape.str(), *found));
        return;
      }
}

void check_operators(std::size_t part, std::size_t parts) {
  std::set<std::string> known;
  for (const OpDoc& doc : op_docs()) known.insert(doc.name);
  std::size_t number = 0;
  for (const graphs::Row& row : graphs::sample_rows())
    for (const std::string& op : row.operators) {
      if (number++ % parts != part || !known.contains(op)) continue;
      Outcome outcome;
      for (const graphs::Sample* sample : chosen(row))
        for (const bool train : {false, true}) {
          if (train && !row.train) continue;
          const auto trial = trial_of(op, row, *sample, train, /*gradients=*/false);
          if (!trial) continue;
          if (const auto with_gradients = trial_of(op, row, *sample, train, true);
              with_gradients && !gradient_follows_the_batch.contains(op))
            check(*with_gradients, op, *sample, outcome);
          else
            check(*trial, op, *sample, outcome);
        }
      INFO(op);
      CHECK((outcome.differences.empty() != follow_the_row_number.contains(op)));
      for (const std::string& d : outcome.differences)
        if (!follow_the_row_number.contains(op)) {
          UNSCOPED_INFO(d);
          CHECK(d.empty());
        }
    }
}

}  // namespace

TEST_CASE("rows of operators do not depend on their batch, part 1", "[operators1]") { check_operators(0, 4); }
TEST_CASE("rows of operators do not depend on their batch, part 2", "[operators2]") { check_operators(1, 4); }
TEST_CASE("rows of operators do not depend on their batch, part 3", "[operators3]") { check_operators(2, 4); }
TEST_CASE("rows of operators do not depend on their batch, part 4", "[operators4]") { check_operators(3, 4); }
