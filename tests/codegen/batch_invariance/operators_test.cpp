// Every operator that keeps rows apart: a row's results, and the gradients of its inputs, have the same bits
// alone and in batches of 23 sizes, eagerly and compiled. Whether an operator keeps rows apart along an axis
// is tried: in a batch of one size, no row's results follow the numbers of another row.
#include "graphs/samples.h"
#include "operator_call.h"
#include "rows.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <set>

using namespace kiln;
using namespace batch_invariance;

namespace {

/// Calls whose rows do not follow the numbers of others, but the number of the row or how many there are: by
/// the definition of the operator. Each difference that is found must stand here, and each that stands here
/// be found.
struct Exception {
  std::string why;
  std::function<bool(const graphs::Sample&, const Call&)> of;
};

std::string attribute(const graphs::Sample& sample, const std::string& name, const std::string& otherwise) {
  for (const auto& [key, value] : sample.attrs)
    if (key == name) return value;
  return otherwise;
}
bool always(const graphs::Sample&, const Call&) { return true; }
/// Of two axes or more the second is one of a row's outputs.
bool gradient_along_outputs(const graphs::Sample&, const Call& call) {
  return call.gradients && call.axis == 1;
}
bool last_axis(const graphs::Sample& sample, const Call& call) {
  return call.axis == sample.inputs[0].shape.rank() - 1;
}
bool one_axis(const graphs::Sample& sample, const Call&) { return sample.inputs[0].shape.rank() == 1; }

const std::map<std::string, Exception>& exceptions() {
  static const std::map<std::string, Exception> all = [] {
    std::map<std::string, Exception> all{
        {"Dropout",
         {"draws a number for each element",
          [](const auto& sample, const Call& call) {
            return call.train || attribute(sample, "mode", "training") == "always";
          }}},
        {"LeakyReLU",
         {"draws a slope for each element",
          [](const auto& sample, const Call& call) {
            return call.train && attribute(sample, "act_type", "leaky") == "rrelu";
          }}},
        {"RNN",
         {"drops elements between layers",
          [](const auto& sample, const Call& call) {
            return call.train && attribute(sample, "p", "0") != "0";
          }}},
        {"SequenceMask",
         {"a row along the axis of time is kept by its number",
          [](const auto& sample, const Call& call) {
            return attribute(sample, "axis", "0") == std::to_string(call.axis);
          }}},
        {"_contrib_BatchNormWithReLU",
         {"statistics of the batch, which a small gamma hides from the trial",
          [](const auto& sample, const Call& call) {
            return call.train && attribute(sample, "use_global_stats", "False") == "False";
          }}},
        {"_slice_assign_scalar", {"writes into the rows of a range", always}},
        {"_contrib_arange_like", {"counts elements", always}},
        {"_contrib_div_sqrt_dim", {"divides by the root of the last extent", last_axis}},
        {"diag", {"a vector's elements are rows and columns", one_axis}}};
    for (const char* kind : {"Linear", "Logistic", "MAE"})
      all[fmt::format("{}RegressionOutput", kind)] = {"divides the gradient by a row's number of outputs",
                                                      gradient_along_outputs};
    for (const char* distribution : {"exponential", "gamma", "normal", "poisson", "uniform"})
      all[fmt::format("_random_{}_like", distribution)] = {"draws a number for each element", always};
    return all;
  }();
  return all;
}

/// Sizes are shared out by turns. Eagerly, along the first axis, an operator runs each size in one of
/// `own_turns` of its own trials, or in each one if it has fewer. Compiled, where the same kernels run, and
/// along the second axis, each size runs in one of `all_turns` trials of all operators.
constexpr std::size_t own_turns = 2, all_turns = 6;

/// A sample as a call with rows along an axis.
struct Trial {
  const graphs::Sample* sample;
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

/// The rows of `inputs` that are `kept`, among rows of `others`.
Tensors exchanged(const Call& call, const Tensors& inputs, const Tensors& others,
                  const std::vector<std::int64_t>& kept, std::int64_t count) {
  Tensors all = rows_of(call, others, 0, count);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (call.batched[i])
      for (const std::int64_t r : kept) copy_rows(all[i], r, inputs[i], r, 1, call.axis);
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
  const Tensors usual = run(call, rows_of(call, inputs, 0, count), 0);
  if (!has_rows(call, usual, count) || !has_rows(call, run(call, rows_of(call, inputs, 0, 1), 0), 1))
    return false;
  std::vector<std::vector<std::int64_t>> choices{{0}, {count / 2}, {count - 1}, {}, {}};
  for (std::int64_t r = 0; r < count; ++r) choices[3 + static_cast<std::size_t>(r % 2)].push_back(r);
  for (const Tensors& other : others)
    for (const std::vector<std::int64_t>& kept : choices) {
      const Tensors changed = run(call, exchanged(call, inputs, other, kept, count), 0);
      if (changed.size() != usual.size()) return false;
      for (std::size_t i = 0; i < usual.size(); ++i)
        for (const std::int64_t r : kept)
          if (row_bits(changed[i], call.axis, r) != row_bits(usual[i], call.axis, r)) return false;
    }
  return true;
}

SymbolBlock block_of(const std::string& op, const graphs::Sample& sample, const Tensors& inputs) {
  std::vector<graphs::OperatorInput> types;
  for (const Tensor& t : inputs) types.push_back({t.shape(), t.dtype()});
  return graphs::operator_block(op, sample.attrs, types, sample.subgraphs);
}

/// The calls of the operator with independent rows: along either of the first two axes, of all inputs or of
/// the first one. With gradients, if these are independent too.
std::vector<Trial> trials_of(const std::string& op, const graphs::Row& row, const graphs::Sample& sample,
                             bool train) {
  std::vector<Trial> found;
  const std::size_t inputs = sample.inputs.size() - row.states;
  if (sample.inputs.empty()) return found;
  const Shape& first = sample.inputs[0].shape;
  for (const int axis : {0, 1})
    for (const bool all : {true, false}) {
      Call call;
      call.axis = axis;
      call.train = train;
      std::size_t batched = 0;
      for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
        const Shape& shape = sample.inputs[i].shape;
        call.batched.push_back(i < inputs && std::min(shape.rank(), first.rank()) > axis && (i == 0 || all) &&
                               shape[axis] == first[axis]);
        batched += call.batched.back();
      }
      if (!call.batched[0] || (!all && batched == inputs)) continue;
      try {
        const Tensors values = inputs_of(sample, call, max_rows, 1000);
        const std::vector<Tensors> others{inputs_of(sample, call, max_rows, 2000),
                                          inputs_of(sample, call, max_rows, 3000),
                                          inputs_of(sample, call, max_rows, 4000)};
        call.function = [block = block_of(op, sample, values)](const Tensors& x) mutable {
          return Tensors(block(x));
        };
        if (!keeps_rows_apart(call, values, others)) continue;
        call.gradients = true;
        call.gradients = keeps_rows_apart(call, values, others);
        found.push_back({&sample, call, values});
        break;
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::user) throw;
      }
    }
  return found;
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

/// The difference between a row alone and among others, in words. `own`: the number of the trial among the
/// operator's `shares` trials along the first axis, which share the sizes. `turn`: its number among all.
std::optional<std::string> difference_of(const Trial& trial, const std::string& op, std::size_t own,
                                         std::size_t shares, std::size_t turn) {
  const Alone alone = rows_alone(trial.call, trial.inputs);
  SymbolBlock block = block_of(op, *trial.sample, trial.inputs);
  block.hybridize();
  Call compiled = trial.call;
  compiled.function = [block](const Tensors& x) mutable { return Tensors(block(x)); };
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    const bool own_turn = trial.call.axis == 0 && i % shares == own % shares;
    const bool in_turn = i % all_turns == turn % all_turns;
    for (const Call* call : {&trial.call, &std::as_const(compiled)}) {
      if (!in_turn && (call == &compiled || !own_turn)) continue;
      if (const auto found = difference(*call, trial.inputs, sizes[i], alone))
        return fmt::format("{}{}{}, inputs {}, rows along axis {}: {}", op,
                           call == &compiled ? ", compiled" : "", call->train ? ", in training" : "",
                           trial.sample->inputs[0].shape.str(), call->axis, *found);
    }
  }
  return {};
}

void check_operators(std::size_t part, std::size_t parts) {
  std::set<std::string> known;
  for (const OpDoc& doc : op_docs()) known.insert(doc.name);
  std::size_t number = 0, turn = 0;
  for (const graphs::Row& row : graphs::sample_rows())
    for (const std::string& op : row.operators) {
      if (number++ % parts != part || !known.contains(op)) continue;
      std::vector<Trial> trials;
      for (const graphs::Sample* sample : chosen(row))
        for (const bool train : {false, true})
          if (!train || row.train)
            std::ranges::move(trials_of(op, row, *sample, train), std::back_inserter(trials));
      const auto along_first = static_cast<std::size_t>(
          std::ranges::count_if(trials, [](const Trial& t) { return t.call.axis == 0; }));
      const auto exception = exceptions().find(op);
      const std::size_t shares =  // an exception must be found: at all sizes
          exception != exceptions().end() ? 1 : std::clamp<std::size_t>(along_first, 1, own_turns);
      bool excepted = false;
      std::size_t own = 0;
      for (const Trial& trial : trials) {
        const auto found = difference_of(trial, op, own, shares, turn++);
        if (trial.call.axis == 0) ++own;
        if (found && exception != exceptions().end() && exception->second.of(*trial.sample, trial.call)) {
          excepted = true;
          continue;
        }
        INFO(found.value_or(""));
        CHECK(!found);
      }
      INFO(op);
      CHECK(excepted == (exception != exceptions().end()));
    }
}

}  // namespace

TEST_CASE("rows of operators do not depend on their batch, part 1", "[operators1]") { check_operators(0, 4); }
TEST_CASE("rows of operators do not depend on their batch, part 2", "[operators2]") { check_operators(1, 4); }
TEST_CASE("rows of operators do not depend on their batch, part 3", "[operators3]") { check_operators(2, 4); }
TEST_CASE("rows of operators do not depend on their batch, part 4", "[operators4]") { check_operators(3, 4); }
