// Random programs of loops and branches.
#pragma once
#include "seen.h"

#include <kiln/kiln.h>

#include <string>
#include <vector>

/// Programs of loops and branches as plain data: made from a seed, printed, run.
namespace program_fuzz {

/// All tensors of a program have one of few shapes, so that most can take each other's place.
enum class Form {
  steps,  ///< (steps, 2, n): what foreach goes through
  full,   ///< (2, n)
  row,    ///< (n,)
  flat,   ///< (2n,)
};

struct Body;

/// A statement. Variables are numbers: v0, v1, ...
struct Step {
  enum class Kind {
    view,        ///< made[0] is a view of a
    compute,     ///< made[0] is a new tensor of a and b
    draw,        ///< made[0] is a tensor of random numbers
    write,       ///< a part of a is replaced, by b or `number`
    foreach,     ///< made are the outputs and states of a loop through inputs[0]; its states are the others
    while_loop,  ///< the same of a loop with the variables `inputs`
    cond         ///< made is what one of two bodies returns; a decides
  } kind;
  int id = 0;        ///< its number in the program
  int choice = 0;    ///< among the forms of its kind
  int a = 0, b = 0;  ///< variables
  double number = 0;
  std::vector<int> made = {};  ///< the variables that it defines
  std::vector<int> inputs = {};
  std::vector<Body> bodies;
};

struct Body {
  std::vector<int> arguments = {};
  std::vector<Step> steps = {};
  std::vector<int> outputs = {}, states = {};
};

struct Program {
  unsigned seed;
  kiln::DType dtype;
  std::int64_t n, loop_steps;
  bool shared_inputs;  ///< two inputs of the network are overlapping parts of one array
  int variables = 0, steps = 0;
  std::vector<Form> forms = {};  ///< of the variables
  /// Its arguments are three inputs of the network and two captured tensors, which overlap; its outputs the
  /// results of the network.
  Body main = {};
};

constexpr int network_inputs = 3;

Program make_program(unsigned seed);
/// The program without some steps; numbers from program.steps on stand for results of the network. Nothing
/// where another step uses what one of them defines.
std::optional<Program> without(const Program& program, const Skipped& skipped);
std::string to_text(const Program& program);

/// The program's hybrid_forward: the results for all arguments of `main`.
kiln::F::Tensors run_main(const Program& program, kiln::F& F, const kiln::F::Tensors& arguments);

}  // namespace program_fuzz
