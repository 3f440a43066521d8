// Views that several blocks, loops and branches read: gradients have the same bits whichever of them is
// compiled. A gradient is a chain of additions for each value, so that they must agree on the values.
#include "view_programs.h"

using namespace kiln;
using namespace view_programs;

namespace {

using Results = struct F::contrib::Results;

Tensor uses_in_loop(F& f, const Tensor& rows, const Tensor& captured) {
  return f.sum(f.contrib()
                   .foreach (
                       [&](const Tensors& row, const Tensors&) -> Results {
                         return {{uses(f, captured) * row[0]}, {row[0]}};
                       },
                       {rows}, {rows[0]})
                   .outputs[0]);
}

}  // namespace

TEST_CASE("a view that each block cuts out for itself") {
  const Net::Body block = [](F& f, const Tensors& in) -> Tensors {
    return {uses(f, in[0][slice(0, 1)]) + f.square(in[0][slice(0, 1)])};
  };
  check({{block, block},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensor first = uses(f, in[0][slice(0, 1)]);
           const Tensor a = blocks[0](in[0]), b = blocks[1](in[0]);
           return {first * a + b + uses(f, in[0][slice(0, 1)]), f.exp(in[0] * 0.125)};
         }},
        {{3, 4}});
}

TEST_CASE("a view as an argument of several blocks, alone and beside its array") {
  const Net::Body one = [](F& f, const Tensors& in) -> Tensors { return {uses(f, in[0])}; };
  const Net::Body both = [](F& f, const Tensors& in) -> Tensors {
    // The same elements through three handles, of two values.
    return {uses(f, in[1]) * in[0][slice(1, 3)] + f.square(in[0][slice(1, 3)]) + in[1][slice(0, 1)]};
  };
  for (const bool reshaped : {false, true}) {
    CAPTURE(reshaped);
    check({{one, both, one},
           [=](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             const Tensor view = reshaped ? in[0].reshape({2, 2, 3})[slice(1, 2)].reshape({2, 3})
                                          : Tensor(in[0][slice(1, 3)]);
             const Tensor a = blocks[0](view), b = blocks[1](in[0], view), c = blocks[2](view);
             return {a + b * c, uses(f, view), uses(f, in[0])};
           }},
          {{4, 3}});
  }
}

TEST_CASE("a part of an argument is the whole array behind the argument") {
  const Net::Body block = [](F& f, const Tensors& in) -> Tensors {
    const Tensor row = in[0][0], flat = in[0].reshape({-1});
    return {uses(f, row) + uses(f, in[0])[0] * uses(f, flat), uses(f, row)};
  };
  check({{block, block},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensor before = uses(f, in[0]), view = in[0].reshape({1, 5});
           Tensors out = blocks[0](Tensors{view});
           for (const Tensor& t : blocks[1](Tensors{in[0].reshape({1, -1})})) out.push_back(t);
           out.insert(out.end(), {before, uses(f, in[0]), uses(f, view)});
           return out;
         }},
        {{5}});
}

TEST_CASE("a view that a block returns") {
  const Net::Body part = [](F& f, const Tensors& in) -> Tensors {
    return {uses(f, in[0][slice(0, 2)]), in[0][slice(0, 2)], in[0]};
  };
  check({{part, part},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensors a = blocks[0](Tensors{in[0]}), b = blocks[1](Tensors{in[0][slice(1, 4)]});
           return {a[0] + uses(f, a[1]), b[0] + uses(f, b[1]), uses(f, a[2]), uses(f, b[2])};
         }},
        {{5, 3}});
}

TEST_CASE("loops over the rows of one array, of a view of it, and of an argument") {
  const Net::Body block = [](F& f, const Tensors& in) -> Tensors {
    return {uses_in_loop(f, in[0], in[0][0]), uses_in_loop(f, in[0][slice(1, 3)], in[0][slice(1, 2)])};
  };
  check({{block, block},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensors a = blocks[0](Tensors{in[0]}), b = blocks[1](Tensors{in[0][slice(0, 3)]});
           return {a[0] * b[1], a[1] + b[0], uses_in_loop(f, in[0], in[0][0]), uses(f, in[0][0])};
         }},
        {{4, 3}});
}

TEST_CASE("a loop captures a reshaped argument, and a view of it") {
  const Net::Body block = [](F& f, const Tensors& in) -> Tensors {
    const Tensor again = in[0].reshape({3, 2});
    return {uses_in_loop(f, in[1], in[0][slice(0, 1)]), uses_in_loop(f, in[1], in[0]), uses(f, in[0]),
            uses_in_loop(f, again, again[0]) + uses(f, again[1])};
  };
  check({{block, block},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           const Tensor view = in[0].reshape({2, 3});
           Tensors out = blocks[0](Tensors{view, in[1]});
           for (const Tensor& t : blocks[1](Tensors{view, view})) out.push_back(t);
           out.push_back(uses(f, in[0]) + uses(f, view.reshape({6})));
           return out;
         }},
        {{6}, {2, 3}});
}

TEST_CASE("a branch returns an array from outside, a part of it, and one array twice") {
  for (const double sign : {1., -1.}) {
    CAPTURE(sign);
    const Net::Body block = [=](F& f, const Tensors& in) -> Tensors {
      const auto flag = [&] { return f.sum(f.BlockGrad(f.square(in[0]))) * sign > 0; };
      const Tensor always = f.contrib().cond(
                       flag(), [&] { return Tensors{in[0]}; }, [&] { return Tensors{in[0]}; })[0],
                   perhaps = f.contrib().cond(
                       flag(), [&] { return Tensors{in[0]}; }, [&] { return Tensors{f.exp(in[0])}; })[0];
      const Tensors two = f.contrib().cond(
          flag(),
          [&] {
            const Tensor made = in[0] * in[1];
            return Tensors{made, made, made[slice(0, 1)], in[0][slice(0, 1)]};
          },
          [&] {
            const Tensor made = f.sigmoid(in[0]);
            return Tensors{made, made, made[slice(0, 1)], in[0][slice(0, 1)]};
          });
      Tensors out{uses(f, always), uses(f, perhaps), uses(f, in[0]), uses_in_loop(f, in[1], always)};
      for (const Tensor& t : two) out.push_back(uses(f, t) + f.square(always)[slice(0, 1)]);
      return out;
    };
    check({{block, block},
           [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
             Tensors out = blocks[0](in);
             for (const Tensor& t : blocks[1](Tensors{in[1], in[0]})) out.push_back(t);
             out.push_back(uses(f, in[0] + in[1]));
             return out;
           }},
          {{2, 3}, {2, 3}});
  }
}

TEST_CASE("a view is read, its array is written, and it is read again") {
  const Net::Body read = [](F& f, const Tensors& in) -> Tensors {
    return {uses(f, in[0][slice(0, 2)]) + f.square(in[0][slice(0, 2)])};
  };
  check({{read, read},
         [](F& f, const Tensors& in, std::vector<Net>& blocks) -> Tensors {
           Tensor x = in[0] * 2;
           Tensor view = x[slice(0, 2)];
           const Tensor before = uses(f, view) + blocks[0](x);
           view *= in[1];
           const Tensor after = uses(f, view) + blocks[1](x);
           return {before, after, uses(f, x)};
         }},
        {{3, 2}, {2, 2}});
}

TEST_CASE("views of an array that outlives its calls keep nothing of them") {
  Tensor x = numbers({4, 3}, 1);
  x.attach_grad();
  Net block([](F& f, const Tensors& in) -> Tensors {
    return {uses_in_loop(f, in[0], in[0][slice(0, 1)]) + f.sum(in[0].reshape({-1})[slice(1, 3)])};
  });
  const auto record = [&] { return autograd::record([&] { return block(x[slice(1, 4)]) + block(x); }); };
  record();
  const std::size_t before = memory_report().live_bytes;
  for (int i = 0; i < 50; ++i) record();
  CHECK(memory_report().live_bytes == before);
}
