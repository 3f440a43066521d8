// Makes programs about gradients, smaller ones of them, and runs them.
#include "history_program.h"

#include "block_gradients.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <random>

namespace program_fuzz {

using namespace kiln;

namespace {

using Kind = Statement::Kind;
using Results = struct F::contrib::Results;

const Shape shape{2, 3};
/// An operand of a body that is one of the body's arguments.
constexpr int argument = 10000;

// --- making

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  HistoryProgram make() {
    for (Statements& child : program_.children)
      child = statements(1 + pick(3), pick(3) == 0 ? 1 : 0, /*in_child=*/true);
    program_.main = statements(2 + pick(4), 2, /*in_child=*/false);
    for (int i = 1 + pick(2); i > 0; --i) program_.results.push_back(operand());
    program_.pass = static_cast<HistoryProgram::Pass>(pick(4));
    program_.in_record = pick(7) > 0;
    program_.given_views = pick(2) == 0;
    program_.writes_input = pick(4) == 0;
    program_.writes_result = pick(4) == 0;
    program_.views_result = pick(3) == 0;
    return std::move(program_);
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  /// One of the last three values, or any.
  int operand() { return pick(3) > 0 ? -1 - pick(3) : pick(1000); }
  /// The same, or an argument of the body.
  int returned() { return pick(4) == 0 ? argument + pick(3) : operand(); }

  Kind kind(int depth, bool in_child) {
    static constexpr Kind usual[] = {Kind::unary,   Kind::unary,    Kind::unary, Kind::binary, Kind::binary,
                                     Kind::view,    Kind::write,    Kind::scope, Kind::scope,  Kind::constant,
                                     Kind::dropout, Kind::function, Kind::child},
                          structures[] = {Kind::foreach, Kind::while_loop, Kind::cond};
    if (depth > 0 && pick(5) == 0) return structures[pick(3)];
    const Kind found = usual[pick(std::size(usual))];
    return found == Kind::child && in_child ? Kind::binary : found;
  }

  Statements statements(int count, int depth, bool in_child) {
    Statements list;
    while (count-- > 0) list.push_back(statement(depth, in_child));
    return list;
  }

  Statement statement(int depth, bool in_child) {
    Statement s{.kind = kind(depth, in_child), .id = program_.statements++, .choice = pick(12)};
    s.a = operand();
    s.b = operand();
    s.steps = pick(4);
    const bool loops = s.kind == Kind::foreach || s.kind == Kind::while_loop;
    if (s.kind == Kind::scope) s.body = statements(1 + pick(2), depth, in_child);
    if (loops) {
      s.body = statements(1 + pick(4), depth - 1, in_child);
      for (int i = 1 + pick(3); i > 0; --i) {
        s.states.push_back(operand());
        s.returned.push_back(returned());
      }
      for (int i = pick(3); i > 0; --i) s.outputs.push_back(returned());
    }
    if (s.kind == Kind::cond) {
      s.body = statements(1 + pick(4), depth - 1, in_child);
      s.otherwise = statements(1 + pick(3), depth - 1, in_child);
      for (int i = 1 + pick(3); i > 0; --i) {
        s.outputs.push_back(operand());
        s.returned.push_back(operand());
      }
    }
    return s;
  }

  std::mt19937 random_;
  HistoryProgram program_;
};

void remove(Statements& list, const Skipped& skipped) {
  std::erase_if(list, [&](const Statement& s) { return skipped.contains(s.id); });
  for (Statement& s : list) {
    remove(s.body, skipped);
    remove(s.otherwise, skipped);
  }
}

void print(const Statements& list, int indent, std::string& text) {
  static constexpr const char* names[] = {"unary",    "binary",  "child",    "view",    "write",      "scope",
                                          "function", "dropout", "constant", "foreach", "while_loop", "cond"};
  for (const Statement& s : list) {
    text += fmt::format("{:{}}{} {} of {}, {}, steps {}", "", indent, names[static_cast<int>(s.kind)],
                        s.choice, s.a, s.b, s.steps);
    if (!s.states.empty()) text += fmt::format(", states {}", s.states);
    if (!s.outputs.empty()) text += fmt::format(", outputs {}", s.outputs);
    if (!s.returned.empty()) text += fmt::format(", returned {}", s.returned);
    text += "\n";
    print(s.body, indent + 2, text);
    if (!s.otherwise.empty()) text += fmt::format("{:{}}else\n", "", indent);
    print(s.otherwise, indent + 2, text);
  }
}

// --- running

/// Keeps its input.
struct Doubled : autograd::Function {
  Tensors forward(const Tensors& x) override { return {F::tanh(x_ = x[0]) * 2}; }
  Tensors backward(const Tensors& dy) override { return {dy[0] * (1 - F::square(F::tanh(x_))) * 2}; }
  Tensor x_;
};
/// Keeps its inputs and a result.
struct Product : autograd::Function {
  Tensors forward(const Tensors& x) override {
    x_ = x;
    return {y_ = x[0] * x[1], x[0] + x[1]};
  }
  Tensors backward(const Tensors& dy) override {
    return {dy[0] * x_[1] + dy[1], dy[0] * x_[0] + dy[1] + y_ * 0};
  }
  Tensors x_;
  Tensor y_;
};

struct Scopes {
  std::optional<autograd::Pause> pause;
  std::optional<autograd::Record> record;
  std::optional<autograd::TrainMode> train;
  std::optional<autograd::PredictMode> predict;
  explicit Scopes(int choice) {
    switch (choice % 6) {
      case 0:
        pause.emplace();
        break;
      case 1:
        pause.emplace(true);
        break;
      case 2:
        record.emplace();
        break;
      case 3:
        record.emplace(false);
        break;
      case 4:
        train.emplace();
        break;
      default:
        predict.emplace();
    }
  }
};

/// Runs statements on the values so far.
class Interpreter {
 public:
  Interpreter(F& f, std::vector<Net>& children) : f_(f), children_(children) {}

  static Tensor value(const Tensors& values, int operand) {
    const auto count = static_cast<int>(values.size());
    const int at = operand < 0 ? count - 1 - (-1 - operand) % count : operand % count;
    return values[static_cast<std::size_t>(at)];
  }

  void run(const Statements& list, Tensors& values) const {
    for (const Statement& s : list) statement(s, values);
  }

 private:
  void statement(const Statement& s, Tensors& values) const {
    const Tensor x = value(values, s.a), y = value(values, s.b);
    switch (s.kind) {
      case Kind::unary:
        return values.push_back(unary(s.choice, x));
      case Kind::binary:
        return values.push_back(binary(s.choice, x, y));
      case Kind::child:
        return append(values, children_[static_cast<std::size_t>(s.choice % 2)](Tensors{x, y}));
      case Kind::view:
        return values.push_back(viewed(s, x));
      case Kind::write:
        return values.push_back(written(s, x, y));
      case Kind::scope: {
        const Scopes scopes(s.choice);
        return run(s.body, values);
      }
      case Kind::function:
        return append(values,
                      s.choice % 2 ? autograd::apply<Doubled>({x}) : autograd::apply<Product>({x, y}));
      case Kind::dropout:
        return values.push_back(f_.Dropout(x, {.p = 0.3}));
      case Kind::constant:
        return values.push_back(s.choice % 2 ? f_.BlockGrad(x) : x.detach());
      case Kind::foreach:
        return append(values, foreach_of(s, values));
      case Kind::while_loop:
        return append(values, while_of(s, values));
      case Kind::cond:
        return append(values, cond_of(s, values));
    }
  }
  static void append(Tensors& values, const Tensors& more) {
    values.insert(values.end(), more.begin(), more.end());
  }

  Tensor unary(int choice, const Tensor& x) const {
    switch (choice) {
      case 0:
        return f_.tanh(x);
      case 1:
        return f_.sigmoid(x) * 2;
      case 2:
        return f_.square(x) * 0.5;
      case 3:
        return f_.sin(x);
      case 4:
        return f_.identity(x);
      case 5:
        return -x;
      case 6:
        return f_.tanh(x) * x;
      case 7:
        return f_.mean(x, {.axis = 1, .keepdims = true}) + x;
      case 8:
        return f_.softmax(x);
      case 9:
        return x[slice()];
      default:
        return x;
    }
  }
  Tensor binary(int choice, const Tensor& x, const Tensor& y) const {
    switch (choice % 4) {
      case 0:
        return x + y;
      case 1:
        return x * y;
      case 2:
        return x - f_.tanh(y);
      default:
        return f_.maximum(x, y) * 0.5 + f_.sin(y);
    }
  }
  Tensor viewed(const Statement& s, const Tensor& x) const {
    const std::int64_t row = s.steps % 2;
    switch (s.choice % 3) {
      case 0:
        return (x + f_.tanh(x[row]).reshape({1, 3})) * 0.5;
      case 1:
        return f_.sin(x.reshape({3, 2})).reshape({2, 3}) + x;
      default:
        return x * f_.sum(x[slice(row, 2)], {.axis = 0, .keepdims = true}) * 0.3 +
               (x + x[slice(row, row + 1)]);
    }
  }
  Tensor written(const Statement& s, const Tensor& x, const Tensor& y) const {
    Tensor copy = x.copy();
    const std::int64_t row = s.steps % 2;
    switch (s.choice % 3) {
      case 0:
        copy[row] = f_.tanh(y[row]);
        return copy;
      case 1:
        copy[slice(row, 2)] = y[slice(0, 2 - row)];
        return copy;
      default: {
        Tensor part = copy[slice(row, row + 1)];
        part *= y[slice(row, row + 1)];
        return copy + part;
      }
    }
  }

  /// The body in a step that was given `own`, and what it returns.
  Results step(const Statement& s, const Tensors& outside, const Tensors& own, const Tensors& states) const {
    Tensors values = outside;
    append(values, own);
    run(s.body, values);
    const auto of = [&](int operand) {
      return operand >= argument ? value(states, operand - argument) : value(values, operand);
    };
    Results r;
    for (const int i : s.outputs) r.outputs.push_back(of(i));
    for (const int i : s.returned) r.states.push_back(of(i));
    return r;
  }
  Tensors states_of(const Statement& s, const Tensors& values) const {
    Tensors states;
    for (const int i : s.states) states.push_back(value(values, i));
    return states;
  }
  /// Statements after a loop use whole outputs, or rows of them.
  void add_outputs(const Statement& s, const Tensors& outputs, Tensors& made) const {
    for (const Tensor& t : outputs)
      made.push_back(s.choice % 2 ? f_.sum(t, {.axis = 0}) * 0.5 : Tensor(t[0]));
  }

  Tensors foreach_of(const Statement& s, const Tensors& values) const {
    Tensors rows;
    for (int i = 0; i <= s.steps % 3; ++i) rows.push_back(value(values, s.a + 7 * i));
    const Tensor data = f_.stack(rows);
    Tensors all{data};
    if (s.choice % 3 == 0) all.push_back(f_.sin(data));
    const Results r = f_.contrib().foreach (
        [&](const Tensors& given, const Tensors& states) {
          Tensors own = given;
          append(own, states);
          return step(s, values, own, states);
        },
        all, states_of(s, values));
    Tensors made;
    add_outputs(s, r.outputs, made);
    append(made, r.states);
    return made;
  }
  Tensors while_of(const Statement& s, const Tensors& values) const {
    Tensors variables{f_.zeros({1})};
    append(variables, states_of(s, values));
    const auto goes_on = [&](const Tensors& v) {
      const Tensor below = v[0] < s.steps + 0.5;
      return s.choice % 3 == 0 ? below * (f_.sum(f_.tanh(v[1])) > -1.) : below;
    };
    const Results r = f_.contrib().while_loop(
        goes_on,
        [&](const Tensors& v) {
          const Tensors own(v.begin() + 1, v.end());
          Results next = step(s, values, own, own);
          next.states.insert(next.states.begin(), v[0] + 1);
          return next;
        },
        variables, 1 + s.choice % 4);
    Tensors made;
    add_outputs(s, r.outputs, made);
    made.insert(made.end(), r.states.begin() + 1, r.states.end());
    return made;
  }
  Tensors cond_of(const Statement& s, const Tensors& values) const {
    const auto branch = [&](const Statements& body, const std::vector<int>& returned) {
      return [&] {
        Tensors own = values, out;
        run(body, own);
        for (const int i : returned) out.push_back(value(own, i));
        return out;
      };
    };
    const Tensor condition =
        s.choice % 2 ? f_.sum(f_.sin(value(values, s.a))) > 0. : f_.full({1}, s.steps % 2);
    return f_.contrib().cond(condition, branch(s.body, s.outputs), branch(s.otherwise, s.returned));
  }

  F& f_;
  std::vector<Net>& children_;
};

/// One call and its pass.
class Call {
 public:
  Call(const HistoryProgram& program, Net& net, const Tensors& variables, std::vector<Seen>& seen)
      : program_(program), net_(net), variables_(variables), seen_(seen) {}

  void run() {
    const autograd::Record record(program_.in_record);
    Tensors given = variables_;
    Tensor base;
    if (program_.given_views) {
      base = F::stack({variables_[0] * 1.5, variables_[1] * 1.5});
      given = {base[0], base[1]};
    }
    Tensors results = net_(given);
    change(results, base);
    Tensors heads, gradients;
    for (const Tensor& t : results) {
      see("result", t);
      const bool recorded = autograd::is_recorded(t);
      see("whether it is recorded", full({1}, recorded));
      if (!recorded) continue;
      heads.push_back(t);
      gradients.push_back(
          block_gradients::values(t.shape(), t.dtype(), 90 + static_cast<unsigned>(heads.size())));
    }
    if (!heads.empty()) pass(heads, gradients);
  }

 private:
  void see(const char* name, const Tensor& t) { seen_.push_back(program_fuzz::see(name, t)); }

  /// The changes that the program makes between the call and the pass.
  void change(Tensors& results, Tensor& base) {
    if (program_.writes_input) {
      const autograd::Pause pause;
      for (Tensor t : variables_) t *= 0.5;
    }
    if (program_.writes_result)
      for (Tensor& t : results) try {
          t[0] = F::tanh(t[1]);
        } catch (const Error&) {
          see("the result is a variable", ones({1}));
        }
    if (program_.views_result) {
      Tensors views;
      for (const Tensor& t : results) {
        views.push_back(t[slice(0, 1)]);
        views.push_back(t.reshape({3, 2}));
      }
      results.insert(results.end(), views.begin(), views.end());
    }
    if (program_.given_views && program_.writes_input) {
      base[0] = base[1] * 2;
      results.push_back(base);
    }
  }

  void see_gradients() {
    for (const Tensor& v : variables_) see("gradient", v.grad());
  }

  void pass(const Tensors& heads, const Tensors& gradients) {
    if (program_.pass == HistoryProgram::Pass::backward) {
      autograd::backward(heads, gradients);
      return see_gradients();
    }
    autograd::backward(heads, gradients, {.retain_graph = true});
    see_gradients();
    Tensors first;
    try {
      first = autograd::grad(heads, variables_, {.head_gradients = gradients, .create_graph = true});
    } catch (const Error&) {
      return see("a variable that no head depends on", ones({1}));
    }
    Tensors squares;
    for (const Tensor& g : first) {
      see("first derivative", g);
      if (autograd::is_recorded(g)) squares.push_back(F::square(g));
    }
    if (squares.empty()) return;
    if (program_.pass == HistoryProgram::Pass::third) return third(squares);
    if (program_.pass == HistoryProgram::Pass::second_with_heads)
      squares.insert(squares.end(), heads.begin(), heads.end());
    autograd::backward(squares);
    see_gradients();
  }
  void third(const Tensors& squares) {
    Tensor second;
    try {
      second = autograd::grad(squares, {variables_[0]}, {.create_graph = true})[0];
    } catch (const Error&) {
      return see("a variable that no first derivative depends on", ones({1}));
    }
    see("second derivative", second);
    if (!autograd::is_recorded(second)) return;
    autograd::backward({F::square(second)});
    see_gradients();
  }

  const HistoryProgram& program_;
  Net& net_;
  const Tensors& variables_;
  std::vector<Seen>& seen_;
};

}  // namespace

HistoryProgram make_history_program(unsigned seed) { return Generator(seed).make(); }

HistoryProgram without(const HistoryProgram& program, const Skipped& skipped) {
  HistoryProgram smaller = program;
  for (Statements& child : smaller.children) remove(child, skipped);
  remove(smaller.main, skipped);
  return smaller;
}

std::string to_text(const HistoryProgram& program) {
  std::string text;
  for (const Statements& child : program.children) {
    text += "child\n";
    print(child, 2, text);
  }
  text += "main\n";
  print(program.main, 2, text);
  return text +
         fmt::format(
             "results {}, pass {}, in Record {}, views {}, writes input {}, result {}, views of results {}\n",
             program.results, static_cast<int>(program.pass), program.in_record, program.given_views,
             program.writes_input, program.writes_result, program.views_result);
}

std::vector<Seen> run(const HistoryProgram& program, Hybrid hybrid) {
  random::seed(5);
  std::vector<Net> children;
  for (const Statements& child : program.children) {
    children.emplace_back([&](F& f, const Tensors& in) {
      Tensors values = in;
      Interpreter(f, children).run(child, values);
      return Tensors{values.back(), values[values.size() / 2]};
    });
    if (hybrid.children) children.back().hybridize();
  }
  Net net([&](F& f, const Tensors& in) {
    Tensors values = in, out;
    Interpreter(f, children).run(program.main, values);
    for (const int i : program.results) out.push_back(Interpreter::value(values, i));
    return out;
  });
  if (hybrid.whole) net.hybridize();
  Tensors variables;
  for (unsigned i = 0; i < HistoryProgram::input_count; ++i) {
    variables.push_back(block_gradients::values(shape, DType::f32, i + 1));
    variables.back().attach_grad(i == 0 ? GradReq::write : GradReq::add);
  }
  std::vector<Seen> seen;
  for (int call = 0; call < 2; ++call) Call(program, net, variables, seen).run();
  return seen;
}

}  // namespace program_fuzz
