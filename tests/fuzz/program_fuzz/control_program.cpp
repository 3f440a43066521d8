// Makes programs of loops and branches, and smaller ones of them.
#include "control_program.h"

#include <algorithm>
#include <random>

namespace program_fuzz {

using namespace kiln;

namespace {

using Kind = Step::Kind;
using Scope = std::vector<int>;  ///< the variables that a statement can use

/// A call with a branch or while_loop that writes into an array from outside of it runs eagerly. Few programs
/// do so. In the others each variable has a level: the least number of such bodies around a statement that
/// made an array which it may be. Only variables of the level of the innermost body are written to.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    static const std::int64_t small[] = {1, 2, 3, 5};
    program_.seed = seed;
    program_.dtype = pick(3) > 0 ? DType::f32 : pick(2) == 0 ? DType::f16 : DType::i32;
    program_.n = pick(12) == 0 ? 20000 : small[pick(4)];
    program_.loop_steps = 1 + pick(3);
    program_.shared_inputs = pick(10) == 0;
    writes_anywhere_ = pick(20) == 0;
    draws_ = pick(4) == 0;
    plain_ = pick(4) > 0;
  }

  Program make() {
    Scope scope;
    for (const Form form : {Form::steps, Form::full, Form::full, Form::full, Form::full})
      scope.push_back(variable(form, 0));
    program_.main.arguments = scope;
    add_steps(program_.main, scope, 5 + pick(4), 0, 0);
    for (int i = 2 + pick(3); i > 0; --i) program_.main.outputs.push_back(any(scope));
    return std::move(program_);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int variable(Form form, int level, bool is_array = false) {
    program_.forms.push_back(form);
    levels_.push_back(level);
    is_array_.push_back(is_array);
    return program_.variables++;
  }
  Form form(int i) const { return program_.forms[static_cast<std::size_t>(i)]; }
  int level(int i) const { return levels_[static_cast<std::size_t>(i)]; }

  /// One of the variables, a late one more often; -1 where none will do.
  template <class Will>
  int choose(const Scope& scope, Will&& will) {
    Scope fit;
    std::copy_if(scope.begin(), scope.end(), std::back_inserter(fit), will);
    if (fit.empty()) return -1;
    const auto count = static_cast<int>(fit.size()), late = std::min(count, 4);
    return fit[static_cast<std::size_t>(pick(2) == 0 ? pick(count) : count - 1 - pick(late))];
  }
  int any(const Scope& scope) {
    return choose(scope, [](int) { return true; });
  }
  int of_form(const Scope& scope, Form wanted, int min_level = 0) {
    return choose(scope, [&](int i) { return form(i) == wanted && level(i) >= min_level; });
  }
  double number() {
    const int whole = pick(5) - 2;
    return is_floating(program_.dtype) ? whole + 0.5 : whole;
  }

  Step step(Kind kind, const Scope& scope) {
    return {.kind = kind,
            .id = program_.steps++,
            .choice = pick(1024),
            .a = any(scope),
            .b = any(scope),
            .number = number()};
  }
  void define(Step& step, Scope& scope, Form form, int level) {
    step.made.push_back(variable(form, level, step.kind == Kind::compute || step.kind == Kind::draw));
    scope.push_back(step.made.back());
  }

  void add_steps(Body& body, Scope& scope, int count, int depth, int level) {
    for (; count > 0; --count) {
      const int kind = pick(20);
      if (depth < 2 && kind < (depth == 0 ? 9 : 5))
        add_control(body, scope, depth, level);
      else if (kind < 12)
        add_write(body, scope, any(scope), level);
      else if (kind < 14)
        add_view(body, scope);
      else if (kind < 17 || !draws_)
        add_computation(body, scope, level);
      else
        add_draw(body, scope, level);
    }
  }

  void add_control(Body& body, Scope& scope, int depth, int level) {
    const int kind = pick(5);
    if (kind < 2) return add_foreach(body, scope, depth, level);
    if (kind < 3) return add_while(body, scope, depth, level);
    add_cond(body, scope, depth, level);
  }

  void add_write(Body& body, const Scope& scope, int operand, int min_level) {
    const int target = choose(
        scope, [&](int i) { return form(i) != Form::steps && (writes_anywhere_ || level(i) >= min_level); });
    if (target < 0) return;
    Step s = step(Kind::write, scope);
    s.a = target;
    s.b = operand;
    body.steps.push_back(std::move(s));
  }

  void add_view(Body& body, Scope& scope) {
    Step s = step(Kind::view, scope);
    const Form from = form(s.a);
    if (from == Form::row) return;
    const Form to = from != Form::full ? Form::full : pick(2) == 0 ? Form::row : Form::flat;
    define(s, scope, to, level(s.a));
    body.steps.push_back(std::move(s));
  }

  void add_computation(Body& body, Scope& scope, int level) {
    Step s = step(Kind::compute, scope);
    s.a = of_form(scope, Form::full);
    if (s.a < 0) return;
    define(s, scope, Form::full, level);
    body.steps.push_back(std::move(s));
  }

  void add_draw(Body& body, Scope& scope, int level) {
    Step s = step(Kind::draw, scope);
    define(s, scope, Form::full, level);
    const int drawn = s.made[0];
    body.steps.push_back(std::move(s));
    if (pick(2) == 0) add_write(body, scope, drawn, level);
  }

  /// A body runs eagerly where its results do not use, in their order, the steps that take random numbers, as
  /// branches and while_loops always do. So one more tensor is made of all these, to be returned first.
  bool use_draws(Body& body, Scope& scope, int level) {
    std::vector<int> drawn;
    for (const Step& s : body.steps)
      if (s.kind == Kind::draw || s.kind == Kind::cond || s.kind == Kind::while_loop)
        drawn.push_back(s.made[0]);
    if (pick(8) == 0) drawn.clear();
    int sum = program_.main.arguments[1];  // which uses none of them out of turn
    for (const int i : drawn) {
      Step s = step(Kind::compute, scope);
      s.choice = pick(2);  // one that uses both
      s.a = sum;
      s.b = i;
      define(s, scope, Form::full, level);
      sum = s.made[0];
      body.steps.push_back(std::move(s));
    }
    return !drawn.empty();
  }

  /// The variable that a body returns for `wanted`, sometimes one that it returned before.
  int returned(const Scope& scope, const std::vector<int>& before, Form wanted, int min_level = 0) {
    if (!before.empty() && pick(4) == 0 && form(before.back()) == wanted && level(before.back()) >= min_level)
      return before.back();
    return of_form(scope, wanted, min_level);
  }

  void add_foreach(Body& body, Scope& scope, int depth, int level) {
    Step s = step(Kind::foreach, scope);
    s.inputs.push_back(choose(scope, [&](int i) { return form(i) == Form::steps || form(i) == Form::full; }));
    const bool through_rows = form(s.inputs[0]) == Form::full;
    const Form row = through_rows ? Form::row : Form::full;
    // Steps that write into a state which may be an array from outside are recorded one by one. Within a
    // branch they would then write outside of it.
    const bool writes_states = level > 0 && pick(2) == 0;
    const int min_level = writes_states ? level : 0;
    Scope inner = scope;
    Body loop;
    const auto argument = [&](Form form, int of_level) {
      loop.arguments.push_back(variable(form, of_level));
      inner.push_back(loop.arguments.back());
    };
    argument(row, level);
    for (int states = pick(3); states > 0; --states) {
      const int state = choose(scope, [&](int i) { return form(i) != Form::steps; });
      if (state < 0) break;
      s.inputs.push_back(state);
      argument(form(state), min_level);
    }
    add_steps(loop, inner, 1 + pick(4), depth + 1, level);
    if (use_draws(loop, inner, level)) loop.outputs.push_back(fresh(loop, inner, row, level, {}));
    for (int outputs = pick(3); outputs > 0; --outputs)
      loop.outputs.push_back(returned(inner, loop.outputs, row));
    for (std::size_t i = 1; i < loop.arguments.size(); ++i)
      loop.states.push_back(returned(inner, loop.states, form(loop.arguments[i]), min_level));
    if (loop.outputs.empty() && loop.states.empty()) loop.outputs.push_back(loop.arguments[0]);
    for (std::size_t i = 0; i < loop.outputs.size(); ++i)
      define(s, scope, through_rows ? Form::full : Form::steps, level);
    for (const int state : loop.states) define(s, scope, form(state), std::min(level, this->level(state)));
    s.bodies.push_back(std::move(loop));
    body.steps.push_back(std::move(s));
  }

  /// A variable for a tensor that the body makes, none of `taken`.
  int fresh(Body& body, Scope& scope, Form wanted, int level, const std::vector<int>& taken) {
    const auto is_new = [&](int i, Form form) {
      return this->form(i) == form && this->level(i) >= level && is_array_[static_cast<std::size_t>(i)] &&
             std::find(taken.begin(), taken.end(), i) == taken.end();
    };
    const bool last = is_new(scope.back(), Form::full);
    const int found = choose(scope, [&](int i) { return is_new(i, wanted); });
    if (found >= 0 && !last) return found;
    if (!last) add_computation(body, scope, level);
    if (wanted == Form::full) return scope.back();
    Step s = step(Kind::view, scope);
    s.a = scope.back();
    define(s, scope, wanted, level);
    body.steps.push_back(std::move(s));
    return scope.back();
  }

  void add_while(Body& body, Scope& scope, int depth, int level) {
    Step s = step(Kind::while_loop, scope);
    if (plain_) s.choice |= 1;  // the condition does not write
    // Where a variable may be another array and the body writes into it, calls run eagerly.
    const bool writes = !plain_ || pick(2) == 0;
    Scope inner = scope;
    Body loop;
    for (int variables = 1 + pick(3); variables > 0; --variables) {
      const int initial = choose(scope, [&](int i) { return form(i) != Form::steps; });
      s.inputs.push_back(initial);
      loop.arguments.push_back(variable(form(initial), writes ? level + 1 : 0, /*is_array=*/writes));
      inner.push_back(loop.arguments.back());
    }
    add_steps(loop, inner, 1 + pick(4), depth + 1, level + 1);
    if (use_draws(loop, inner, level + 1)) loop.outputs.push_back(inner.back());
    for (int outputs = pick(2); outputs > 0; --outputs) loop.outputs.push_back(of_form(inner, Form::full));
    for (const int argument : loop.arguments)
      loop.states.push_back(plain_ ? fresh(loop, inner, form(argument), level + 1, loop.states)
                                   : returned(inner, loop.states, form(argument)));
    for (std::size_t i = 0; i < loop.outputs.size(); ++i) define(s, scope, Form::steps, level);
    for (const int state : loop.states) define(s, scope, form(state), std::min(level, this->level(state)));
    s.bodies.push_back(std::move(loop));
    body.steps.push_back(std::move(s));
  }

  void add_cond(Body& body, Scope& scope, int depth, int level) {
    Step s = step(Kind::cond, scope);
    const auto count = static_cast<std::size_t>(1 + pick(3));
    std::vector<int> like, least(count, level);
    for (std::size_t i = 0; i < count; ++i)
      like.push_back(choose(scope, [&](int v) { return form(v) != Form::steps; }));
    // The results of both branches in a place: the same variable from outside, the result before, or new
    // arrays. Then no values decide which results are one array.
    std::vector<int> ways;
    for (std::size_t i = 0; i < count; ++i)
      ways.push_back(i > 0 && form(like[i]) == form(like[i - 1]) ? pick(3) : pick(3) > 0);
    for (int branch = 0; branch < 2; ++branch) {
      Scope inner = scope;
      Body taken;
      add_steps(taken, inner, pick(4), depth + 1, level + 1);
      use_draws(taken, inner, level + 1);
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<int>& states = taken.states;
        const Form wanted = form(like[i]);
        states.push_back(!plain_        ? returned(inner, states, wanted)
                         : ways[i] == 0 ? like[i]
                         : ways[i] == 1 ? fresh(taken, inner, wanted, level + 1, states)
                                        : states.back());
        least[i] = std::min(least[i], this->level(states[i]));
      }
      s.bodies.push_back(std::move(taken));
    }
    for (std::size_t i = 0; i < count; ++i) define(s, scope, form(like[i]), least[i]);
    body.steps.push_back(std::move(s));
  }

  std::mt19937 random_;
  Program program_{};
  std::vector<int> levels_;
  std::vector<bool> is_array_;  ///< not a view, nor the result of a loop or branch
  bool writes_anywhere_, draws_;
  bool plain_;  ///< no values decide which arrays are one
};

/// Removes steps from a body. False where what is left uses a variable that is not defined.
bool shorten(Body& body, std::set<int> defined, const Skipped& skipped) {
  const auto known = [&](const std::vector<int>& list) {
    return std::all_of(list.begin(), list.end(), [&](int i) { return defined.contains(i); });
  };
  std::erase_if(body.steps, [&](const Step& s) { return skipped.contains(s.id); });
  defined.insert(body.arguments.begin(), body.arguments.end());
  for (Step& step : body.steps) {
    if (!known(step.inputs) || !known({step.a, step.b})) return false;
    for (Body& inner : step.bodies)
      if (!shorten(inner, defined, skipped)) return false;
    defined.insert(step.made.begin(), step.made.end());
  }
  return known(body.outputs) && known(body.states);
}

}  // namespace

Program make_program(unsigned seed) { return Generator(seed).make(); }

std::optional<Program> without(const Program& program, const Skipped& skipped) {
  Program out = program;
  std::vector<int> outputs;
  for (std::size_t i = 0; i < program.main.outputs.size(); ++i)
    if (!skipped.contains(program.steps + static_cast<int>(i))) outputs.push_back(program.main.outputs[i]);
  out.main.outputs = outputs;
  if (outputs.empty() || !shorten(out.main, {}, skipped)) return {};
  return out;
}

}  // namespace program_fuzz
