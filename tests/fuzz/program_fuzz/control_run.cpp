// Runs a program of loops and branches, and prints it: the two faces of a statement stand beside each other.
#include "control_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace program_fuzz {

using namespace kiln;

namespace {

using Tensors = F::Tensors;
using Results = struct F::contrib::Results;
using Kind = Step::Kind;
/// The tensors of the variables. Each body has its own, as a function has its locals: they end with it.
using Variables = std::vector<Tensor>;

/// A variable in the form that a statement needs.
struct Conversion {
  const char* text;
  Tensor (*run)(const Tensor& t);
};

Conversion conversion(Form from, Form to) {
  static const Conversion table[3][4] = {
      {{"{}[0]", [](const Tensor& t) -> Tensor { return t[0]; }},
       {"{}", [](const Tensor& t) { return t; }},
       {"{}", [](const Tensor& t) { return t; }},  // which is broadcast
       {"{}.reshape({{2, -1}})",
        [](const Tensor& t) {
          return t.reshape({2, -1});
        }}},
      {{"{}[0][1]", [](const Tensor& t) -> Tensor { return t[0][1]; }},
       {"{}[1]", [](const Tensor& t) -> Tensor { return t[1]; }},
       {"{}", [](const Tensor& t) { return t; }},
       {"{}.reshape({{2, -1}})[0]",
        [](const Tensor& t) -> Tensor {
          return t.reshape({2, -1})[0];
        }}},
      {{"{}[1].reshape({{-1}})", [](const Tensor& t) { return t[1].reshape({-1}); }},
       {"{}.reshape({{-1}})", [](const Tensor& t) { return t.reshape({-1}); }},
       {"F.concat({{{0}, {0}}}, 0)",
        [](const Tensor& t) {
          return F::concat({t, t}, 0);
        }},
       {"{}", [](const Tensor& t) { return t; }}},
  };
  return table[static_cast<std::size_t>(to) - 1][static_cast<std::size_t>(from)];
}

/// The operands of a statement. `b` has the form of `a`, `row` is a row of it.
struct Operands {
  Tensor a, b, row;
  double number;
  std::int64_t k;  ///< 0 or 1
};
template <class Result>
struct Statement {
  const char* text;
  Result (*run)(F& F, Operands& o);
};

const Statement<Tensor> computations[] = {
    {"{a} * {number} + {b}", [](F&, Operands& o) { return o.a * o.number + o.b; }},
    {"F.clip({a} - {b}, -20, 20)", [](F& F, Operands& o) { return F.clip(o.a - o.b, -20, 20); }},
    {"F.where({a} > {number}, {a}, {a} + {b})",
     [](F& F, Operands& o) { return F.where(o.a > o.number, o.a, o.a + o.b); }},
    {"F.flip({a}, 0)", [](F& F, Operands& o) { return F.flip(o.a, 0); }},
    {"{a}.copy()", [](F&, Operands& o) { return o.a.copy(); }},
};
/// Into (2, n).
const Statement<void> writes[] = {
    {"{a} += {b}", [](F&, Operands& o) { o.a += o.b; }},
    {"{a} *= {number}", [](F&, Operands& o) { o.a *= o.number; }},
    {"{a}[slice()] = {b} * {number}", [](F&, Operands& o) { o.a[slice()] = o.b * o.number; }},
    {"{a}[{k}] = {row}", [](F&, Operands& o) { o.a[o.k] = o.row; }},
    {"{a}[slice({k}, {k} + 1)] -= {row}", [](F&, Operands& o) { o.a[slice(o.k, o.k + 1)] -= o.row; }},
    {"{a}.reshape({{-1}})[slice({k}, {k} + 1)] = {number}",
     [](F&, Operands& o) { o.a.reshape({-1})[slice(o.k, o.k + 1)] = o.number; }},
    {"{a}({{slice(), 0}}) = {number}",
     [](F&, Operands& o) {
       o.a({slice(), 0}) = o.number;
     }},
    {"{a}[slice({{}}, {{}}, -1)] = {a}", [](F&, Operands& o) { o.a[slice({}, {}, -1)] = o.a; }},
};
/// Into (n,) and (2n,).
const Statement<void> line_writes[] = {
    {"{a} += {b}", [](F&, Operands& o) { o.a += o.b; }},
    {"{a} *= {number}", [](F&, Operands& o) { o.a *= o.number; }},
    {"{a}[slice()] = {b} * {number}", [](F&, Operands& o) { o.a[slice()] = o.b * o.number; }},
    {"{a}[slice(0, 1)] = {number}", [](F&, Operands& o) { o.a[slice(0, 1)] = o.number; }},
    {"{a}[slice({{}}, {{}}, -1)] = {a}", [](F&, Operands& o) { o.a[slice({}, {}, -1)] = o.a; }},
};

template <class T, std::size_t N>
const T& chosen(const T (&list)[N], int choice) {
  return list[static_cast<std::size_t>(choice) % N];
}
const Statement<void>& write_of(Form form, int choice) {
  return form == Form::full ? chosen(writes, choice) : chosen(line_writes, choice);
}

/// A view in the form of the variable that it defines.
Conversion view_of(const Step& step, Form from, Form to) {
  if (from == Form::full && to == Form::row && step.choice % 2 == 0)
    return {"{}[0]", [](const Tensor& t) -> Tensor { return t[0]; }};
  if (from == Form::steps && to == Form::full && step.choice % 2 == 0)
    return {"{}[slice(0, 1)].reshape({{2, -1}})", [](const Tensor& t) {
              return t[slice(0, 1)].reshape({2, -1});
            }};
  return conversion(from, to);
}

class Interpreter {
 public:
  Interpreter(const Program& program, F& F) : program_(program), f_(F) {}

  Results run(const Body& body, Variables v, const Tensors& arguments) {
    set(v, body.arguments, arguments);
    for (const Step& step : body.steps) run(step, v);
    return {taken(v, body.outputs), taken(v, body.states)};
  }

 private:
  static Tensor& at(Variables& v, int i) { return v[static_cast<std::size_t>(i)]; }
  static void set(Variables& v, const std::vector<int>& which, const Tensors& values) {
    for (std::size_t i = 0; i < which.size(); ++i) at(v, which[i]) = values.at(i);
  }
  static Tensors taken(Variables& v, const std::vector<int>& which) {
    Tensors out;
    for (const int i : which) out.push_back(at(v, i));
    return out;
  }
  Form form(int i) const { return program_.forms[static_cast<std::size_t>(i)]; }
  Tensor converted(Variables& v, int i, Form to) const { return conversion(form(i), to).run(at(v, i)); }

  void run(const Step& step, Variables& v) {
    const auto operands = [&](Form to) {
      return Operands{at(v, step.a), converted(v, step.b, to), converted(v, step.b, Form::row), step.number,
                      step.choice / 16 % 2};
    };
    switch (step.kind) {
      case Kind::view:
        at(v, step.made[0]) = view_of(step, form(step.a), form(step.made[0])).run(at(v, step.a));
        return;
      case Kind::compute: {
        Operands o = operands(Form::full);
        at(v, step.made[0]) = chosen(computations, step.choice).run(f_, o);
        return;
      }
      case Kind::draw: {
        const Shape shape{2, program_.n};
        at(v, step.made[0]) = is_floating(program_.dtype) ? f_.random_uniform(-1, 1, shape, program_.dtype)
                                                          : f_.random_randint(-3, 4, shape, program_.dtype);
        return;
      }
      case Kind::write: {
        Operands o = operands(form(step.a));
        return write_of(form(step.a), step.choice).run(f_, o);
      }
      case Kind::foreach:
        return set(v, step.made, loop(step, v));
      case Kind::while_loop:
        return set(v, step.made, conditional_loop(step, v));
      case Kind::cond:
        return set(v, step.made,
                   f_.contrib().cond(
                       f_.sum(converted(v, step.a, Form::row)) > step.number,
                       [&] { return run(step.bodies[0], v, {}).states; },
                       [&] { return run(step.bodies[1], v, {}).states; }));
    }
  }

  static Tensors joined(Results r) {
    r.outputs.insert(r.outputs.end(), r.states.begin(), r.states.end());
    return r.outputs;
  }

  Tensors loop(const Step& step, Variables& v) {
    const Tensors inputs = taken(v, step.inputs);
    return joined(f_.contrib().foreach (
        [&](const Tensors& rows, const Tensors& states) {
          Tensors arguments = rows;
          arguments.insert(arguments.end(), states.begin(), states.end());
          return run(step.bodies[0], v, arguments);
        },
        {inputs[0]}, Tensors(inputs.begin() + 1, inputs.end())));
  }

  Tensors conditional_loop(const Step& step, Variables& v) {
    const Body& body = step.bodies[0];
    return joined(f_.contrib().while_loop(
        [&](const Tensors& variables) {
          Variables own = v;
          set(own, body.arguments, variables);
          Tensor last = variables.back();
          if (step.choice % 8 == 0) last[slice(0, 1)] = step.number;
          return f_.sum(converted(own, body.arguments[0], Form::row)) < step.number;
        },
        [&](const Tensors& variables) { return run(body, v, variables); }, taken(v, step.inputs),
        program_.loop_steps));
  }

  const Program& program_;
  F& f_;
};

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string text(const Body& body, const std::string& indent, const char* end) const {
    std::string out;
    for (const Step& step : body.steps) out += indent + text(step, indent) + "\n";
    out += indent + end;
    if (!body.outputs.empty()) out += " outputs " + names(body.outputs);
    if (!body.states.empty()) out += " states " + names(body.states);
    return out + "\n";
  }

 private:
  static std::string name(int i) { return fmt::format("v{}", i); }
  static std::string names(const std::vector<int>& which) {
    return fmt::format("v{}", fmt::join(which, ", v"));
  }
  Form form(int i) const { return program_.forms[static_cast<std::size_t>(i)]; }
  std::string converted(int i, Form to) const {
    return fmt::format(fmt::runtime(conversion(form(i), to).text), name(i));
  }

  std::string text(const Step& step, const std::string& indent) const {
    const auto statement = [&](const char* text, Form to) {
      return fmt::format(fmt::runtime(text), fmt::arg("a", name(step.a)),
                         fmt::arg("b", converted(step.b, to)), fmt::arg("row", converted(step.b, Form::row)),
                         fmt::arg("number", step.number), fmt::arg("k", step.choice / 16 % 2));
    };
    const auto body = [&](std::size_t i) {
      return "{\n" + text(step.bodies[i], indent + "  ", "return") + indent + "}";
    };
    const std::string made = step.made.empty() ? "" : names(step.made) + " = ";
    switch (step.kind) {
      case Kind::view:
        return made +
               fmt::format(fmt::runtime(view_of(step, form(step.a), form(step.made[0])).text), name(step.a));
      case Kind::compute:
        return made + statement(chosen(computations, step.choice).text, Form::full);
      case Kind::draw:
        return made + "random numbers";
      case Kind::write:
        return statement(write_of(form(step.a), step.choice).text, form(step.a));
      case Kind::foreach:
        return made +
               fmt::format("foreach ({}) as ({}) ", names(step.inputs), names(step.bodies[0].arguments)) +
               body(0);
      case Kind::while_loop: {
        const std::vector<int>& arguments = step.bodies[0].arguments;
        return made +
               fmt::format("while_loop ({}) as ({}): {}sum({}) < {} ", names(step.inputs), names(arguments),
                           step.choice % 8 == 0
                               ? fmt::format("{}[slice(0, 1)] = {}, ", name(arguments.back()), step.number)
                               : "",
                           converted(arguments[0], Form::row), step.number) +
               body(0);
      }
      case Kind::cond:
        return made + fmt::format("cond sum({}) > {} ", converted(step.a, Form::row), step.number) + body(0) +
               " else " + body(1);
    }
    return "";
  }

  const Program& program_;
};

}  // namespace

Tensors run_main(const Program& program, F& F, const Tensors& arguments) {
  const Variables none(static_cast<std::size_t>(program.variables));
  return Interpreter(program, F).run(program.main, none, arguments).outputs;
}

std::string to_text(const Program& program) {
  return fmt::format(
             "{}, n = {}, {} steps of loops; v0 ({}, 2, n), v1 and v2 (2, n){}, v3 and v4 are "
             "captured[slice(0, 2)] and captured[slice(1, 3)]\n",
             name_of(program.dtype), program.n, program.loop_steps, program.loop_steps,
             program.shared_inputs ? ", which are x[slice(0, 2)] and x[slice(1, 3)]" : "") +
         Printer(program).text(program.main, "  ", "return");
}

}  // namespace program_fuzz
