// Arrays of every dtype with every kind of number under every operator: the dtype of the result, its
// elements, in place and not, eagerly and compiled.
#include "function_net.h"

using namespace kiln;

namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,   DType::u8,
                            DType::i8,  DType::i32, DType::i64, DType::boolean};

/// A number as a program writes it.
struct Written {
  const char* text;
  Operand number;
  bool integer;
};
const std::vector<Written>& numbers() {
  static const std::vector<Written> all{
      {"3", 3, true}, {"-2", -2, true}, {"0.5f", 0.5f, false}, {"-1.75", -1.75, false}};
  return all;
}

Tensor sample(DType dtype) { return Tensor({0, 1, 2, 5, -3, 100, 0.5}, DType::f64).astype(dtype); }

using Function = Tensor (*)(const Operand&, const Operand&);
struct Operator {
  const char* text;
  Function apply;
};
constexpr Operator arithmetic[] = {
    {"+", [](const Operand& a, const Operand& b) { return a + b; }},
    {"-", [](const Operand& a, const Operand& b) { return a - b; }},
    {"*", [](const Operand& a, const Operand& b) { return a * b; }},
    {"/", [](const Operand& a, const Operand& b) { return a / b; }},
    {"%", [](const Operand& a, const Operand& b) { return a % b; }},
};
constexpr Operator comparisons[] = {
    {"==", [](const Operand& a, const Operand& b) { return a == b; }},
    {"!=", [](const Operand& a, const Operand& b) { return a != b; }},
    {"<", [](const Operand& a, const Operand& b) { return a < b; }},
    {"<=", [](const Operand& a, const Operand& b) { return a <= b; }},
    {">", [](const Operand& a, const Operand& b) { return a > b; }},
    {">=", [](const Operand& a, const Operand& b) { return a >= b; }},
};
constexpr const char* in_place_text[] = {"+=", "-=", "*=", "/=", "%="};
/// `X`: Tensor& or what x[...] gives.
template <class X>
void in_place(std::size_t op, X&& x, const Operand& n) {
  switch (op) {
    case 0:
      x += n;
      break;
    case 1:
      x -= n;
      break;
    case 2:
      x *= n;
      break;
    case 3:
      x /= n;
      break;
    default:
      x %= n;
      break;
  }
}

/// MXNet's rule (its inference for operators with a number): the array's dtype, but int64 for bool. The
/// number is converted to that, so that a fraction is cut off.
DType classic_result(DType dtype) { return dtype == DType::boolean ? DType::i64 : dtype; }

Tensor as_array(const Operand& number, DType dtype) {
  return Tensor({number.number()}, DType::f64).astype(dtype);
}

}  // namespace

TEST_CASE("an operator with a number is the operator with an array of that number", "[scalar]") {
  for (const DType dtype : dtypes)
    for (const Written& n : numbers()) {
      CAPTURE(name_of(dtype), n.text);
      const DType wanted = classic_result(dtype);
      const Tensor x = sample(dtype), wide = x.astype(wanted), array = as_array(n.number, wanted);
      const Tensors got = everywhere(
          [&](F&, const Tensors& in) {
            Tensors out;
            for (const Operator& op : arithmetic) {
              out.push_back(op.apply(in[0], n.number));
              out.push_back(op.apply(n.number, in[0]));
            }
            for (const Operator& op : comparisons) {
              out.push_back(op.apply(in[0], n.number));
              out.push_back(op.apply(n.number, in[0]));
            }
            return out;
          },
          {x});
      std::size_t at = 0;
      const auto check = [&](const Operator& op) {
        CAPTURE(op.text);
        CHECK(got[at].dtype() == wanted);
        CHECK(same_bits(got[at++], op.apply(wide, array)));
        CHECK(same_bits(got[at++], op.apply(array, wide)));
      };
      for (const Operator& op : arithmetic) check(op);
      for (const Operator& op : comparisons) check(op);
    }
}

TEST_CASE("true is 1, and every integral type is an integer", "[scalar]") {
  for (const DType dtype : {DType::f32, DType::i32, DType::boolean})
    everywhere(
        [](F&, const Tensors& in) {
          const Tensor& x = in[0];
          CHECK((x + true).dtype() == (x + 1).dtype());
          return Tensors{x + true - (x + 1), x * std::size_t{2} - x * 2, x / std::int64_t{7}, x % 0, x < 3u};
        },
        {sample(dtype)});
}

TEST_CASE("an operator in place gives what the operator gives, in the array", "[scalar]") {
  for (const DType dtype : dtypes) {
    if (dtype == DType::boolean) continue;  // the next test
    for (const Written& n : numbers()) {
      CAPTURE(name_of(dtype), n.text);
      const Tensors got = everywhere(
          [&](F&, const Tensors& in) {
            Tensors out;
            for (std::size_t op = 0; op < 5; ++op) {
              Tensor whole = in[0].copy(), part = in[0].copy();
              const Tensor view = whole[slice(1, 3)];
              in_place(op, whole, n.number);
              in_place(op, part[slice(2, 4)], n.number);
              out.insert(out.end(), {whole, view, part});
            }
            return out;
          },
          {sample(dtype)});
      const Tensor x = sample(dtype);
      for (std::size_t op = 0; op < 5; ++op) {
        CAPTURE(in_place_text[op]);
        const Tensor all = arithmetic[op].apply(x, n.number);
        CHECK(same_bits(got[3 * op], all));
        CHECK(same_bits(got[3 * op + 1], all[slice(1, 3)]));
        CHECK(same_bits(got[3 * op + 2], F::concat({x[slice(0, 2)], all[slice(2, 4)], x[slice(4, 7)]}, 0)));
      }
    }
  }
}

TEST_CASE("in place, a bool array cannot become int64", "[scalar]") {
  const Tensor x = sample(DType::boolean);
  const auto check_refused = [&](Net& net) {
    CHECK_THROWS_WITH(net(Tensors{x}), Catch::Contains("scalar_arithmetic_test.cpp") &&
                                           Catch::Contains("the dtype bool to int64") &&
                                           Catch::Contains("write x = x"));
  };
  for (const Written& n : numbers())
    for (std::size_t op = 0; op < 5; ++op)
      for (const bool hybrid : {false, true}) {
        CAPTURE(n.text, in_place_text[op], hybrid);
        Net whole([&](F&, const Tensors& in) {
          Tensor y = in[0].copy();
          in_place(op, y, n.number);
          return Tensors{y};
        });
        Net part([&](F&, const Tensors& in) {
          Tensor y = in[0].copy();
          in_place(op, y[0], n.number);
          return Tensors{y};
        });
        whole.hybridize(hybrid);
        part.hybridize(hybrid);
        check_refused(whole);
        check_refused(part);
      }
  CHECK(same_bits(x, sample(DType::boolean)));
}

TEST_CASE("the remedies for a bool array", "[scalar]") {
  everywhere(
      [](F&, const Tensors& in) {
        Tensor y = in[0].copy();
        y[slice()] = y + 1;
        CHECK(y.dtype() == DType::boolean);
        Tensor z = in[0];
        z = z + 1;
        CHECK(z.dtype() == DType::i64);
        return Tensors{y, z};
      },
      {sample(DType::boolean)});
}

TEST_CASE("numpy mode: a fraction makes integers float64, a comparison is bool", "[scalar]") {
  using NumpyFunction = Tensor (*)(const Operand&, const Operand&, F::Where);
  constexpr NumpyFunction functions[] = {F::numpy::add, F::numpy::subtract, F::numpy::multiply, F::numpy::mod,
                                         F::numpy::power};
  for (const DType dtype : dtypes)
    for (const Written& n : numbers()) {
      CAPTURE(name_of(dtype), n.text);
      const bool keeps = is_floating(dtype) || (n.integer && dtype != DType::boolean);
      const DType wanted = keeps ? dtype : n.integer ? DType::i64 : DType::f64;
      const Tensors got = everywhere(
          [&](F& F, const Tensors& in) {
            Tensors out;
            for (const NumpyFunction f : functions) {
              out.push_back(f(in[0], n.number, {}));
              out.push_back(f(n.number, in[0], {}));
            }
            out.push_back(F.np().true_divide(in[0], n.number));
            out.push_back(F.np().less(in[0], n.number));
            out.push_back(F.np().equal(n.number, in[0]));
            return out;
          },
          {sample(dtype)});
      for (std::size_t i = 0; i < 2 * std::size(functions); ++i) CHECK(got[i].dtype() == wanted);
      const std::size_t rest = 2 * std::size(functions);
      CHECK(got[rest].dtype() == (is_floating(dtype) ? dtype : DType::f32));
      CHECK(got[rest + 1].dtype() == DType::boolean);
      CHECK(got[rest + 2].dtype() == DType::boolean);
    }
}

TEST_CASE("a write converts the value to the array's dtype", "[scalar]") {
  // The result of a conversion, out of range too: Tensor::astype.
  const Tensor values = Tensor({300, -1, 1e10, 0.5, 2.75, 0}, DType::f64);
  for (const DType dtype : dtypes)
    for (const DType from : dtypes) {
      CAPTURE(name_of(dtype), name_of(from));
      const Tensor value = values.astype(from);
      const Tensors got = everywhere(
          [&](F& F, const Tensors& in) {
            Tensor whole = F.zeros({6}, dtype), part = F.zeros({8}, dtype), table = F.zeros({6, 2}, dtype);
            whole[slice()] = in[0];
            part[slice(1, 7)] = in[0];
            table({slice(), 1}) = in[0];
            Tensor held = F.zeros({6}, dtype);
            held[slice(0, 6, 2)] = in[0][slice(0, 3)];
            return Tensors{whole, part, table, held};
          },
          {value});
      const Tensor wanted = value.astype(dtype);
      for (const Tensor& t : got) CHECK(t.dtype() == dtype);
      CHECK(same_bits(got[0], wanted));
      CHECK(same_bits(got[1][slice(1, 7)], wanted));
      CHECK(same_bits(got[2]({slice(), 1}), wanted));
    }
}

TEST_CASE("a write of a number converts it as an array of float64 is converted", "[scalar]") {
  for (const DType dtype : dtypes)
    for (const double number : {300.0, -1.0, 1e10, -1e300, 0.5, 2.75}) {
      CAPTURE(name_of(dtype), number);
      const Tensors got = everywhere(
          [&](F& F, const Tensors& in) {
            Tensor x = in[0].copy();
            x[slice()] = number;
            Tensor y = in[0].copy();
            y[1] = number;
            return Tensors{x, y, F.full({3}, number, dtype)};
          },
          {nd::zeros({3}, dtype)});
      const Tensor wanted = Tensor({number, number, number}, DType::f64).astype(dtype);
      CHECK(same_bits(got[0], wanted));
      CHECK(same_bits(got[1][slice(1, 2)], wanted[slice(1, 2)]));
      CHECK(same_bits(got[2], wanted));
    }
}
