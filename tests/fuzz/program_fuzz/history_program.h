// Random programs about gradients.
#pragma once
#include "function_net.h"
#include "seen.h"

#include <kiln/kiln.h>

#include <string>
#include <vector>

/// Programs about gradients as plain data: made from a seed, printed, run. All values have one shape. A
/// statement takes its operands from the values before it, by numbers that any list of values can serve: each
/// part of a program is a program.
namespace program_fuzz {

struct Statement {
  enum class Kind {
    unary,
    binary,
    child,     ///< a call of a child, whose results are its last value and another one
    view,      ///< a value computed with views of another
    write,     ///< a part of a copy is replaced
    scope,     ///< the body within Pause, Record, TrainMode or PredictMode
    function,  ///< an autograd::Function
    dropout,
    constant,  ///< a value without a history
    foreach,   ///< the body as a step: with `states` from outside, it returns `outputs` and `returned`
    while_loop,
    cond,  ///< the body returns `outputs`, `otherwise` returns `returned`
  } kind;
  int id = 0;
  int choice = 0;  ///< among the forms of its kind
  int a = 0, b = 0, steps = 0;
  std::vector<Statement> body = {}, otherwise = {};
  std::vector<int> outputs = {}, states = {}, returned = {};
};
using Statements = std::vector<Statement>;

struct HistoryProgram {
  static constexpr int child_count = 2, input_count = 2;
  Statements children[child_count], main;
  std::vector<int> results;
  int statements = 0;
  /// The pass is backward(), or grad() with a graph, followed by passes through it.
  enum class Pass { backward, second, second_with_heads, third } pass = Pass::backward;
  bool in_record = true;      ///< the call is within autograd::Record
  bool given_views = false;   ///< the inputs are rows of a recorded array
  bool writes_input = false;  ///< inside Pause, between the call and the pass
  bool writes_result = false, views_result = false;
};

HistoryProgram make_history_program(unsigned seed);
HistoryProgram without(const HistoryProgram& program, const Skipped& skipped);
std::string to_text(const HistoryProgram& program);

/// The hybridized blocks.
struct Hybrid {
  bool children, whole;
};
/// The outcome of two calls with their passes: results, whether they are recorded, gradients.
std::vector<Seen> run(const HistoryProgram& program, Hybrid hybrid);

}  // namespace program_fuzz
