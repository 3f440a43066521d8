// Contractions of MXNet's classic operators: dot, batch_dot, linalg.
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

#include <cmath>

namespace kiln::ops {
namespace {

/// Half precision is computed in float32 and rounded once.
Value product(Primitives& p, Value a, Value b, bool transpose_a, bool transpose_b) {
  DType d = p.dtype(a);
  return convert(p, p.dot(widen_factor(p, a), widen_factor(p, b), {transpose_a, transpose_b}), d);
}

Values dot(Primitives& p, Args in, const Attrs& a) {
  Value lhs = in[0], rhs = in[1];
  require_one_dtype(p, lhs, rhs, "dot");
  Shape l = p.shape(lhs), r = p.shape(rhs);
  bool ta = a.boolean("transpose_a"), tb = a.boolean("transpose_b");
  if (l.empty() || r.empty()) fail("dot needs arrays of at least one axis, got {} and {}", l.str(), r.str());
  // Contracts one axis of each: the last of lhs and the first of rhs; if transposed, the first of lhs or the
  // last of rhs.
  std::int64_t k = ta ? l[0] : l.back(), rhs_k = tb ? r.back() : r[0];
  if (k != rhs_k)
    fail(Mistake::no_product, "dot cannot multiply {} by {}{}: {} and {} differ", l.str(), r.str(),
         ta || tb ? " with these transposes" : "; dot(a, b, {.transpose_b = true}) multiplies rows by rows",
         k, rhs_k);
  Shape to;
  for (std::size_t i = ta ? 1 : 0; i < l.size() - (ta ? 0 : 1); ++i) to.push_back(l[i]);
  for (std::size_t i = tb ? 0 : 1; i < r.size() - (tb ? 1 : 0); ++i) to.push_back(r[i]);
  std::int64_t m = k ? l.elements() / k : 0, n = k ? r.elements() / k : 0;
  if (k == 0) return {p.full({p.dtype(lhs), to.empty() ? Shape{1} : to}, 0)};
  Value x = p.reshape(lhs, ta ? Shape{k, m} : Shape{m, k}),
        y = p.reshape(rhs, tb ? Shape{n, k} : Shape{k, n});
  return {p.reshape(product(p, x, y, ta, tb), to.empty() ? Shape{1} : to)};
}

void dot_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &l = f.in[0], &r = f.in[1];
  const int m = l.extents.rank() - 1, n = r.extents.rank() - 1;
  if (!l.ranked || !r.ranked || m < 0 || n < 0 || m + n > Shape::max_rank) return;
  const bool ta = a.boolean("transpose_a"), tb = a.boolean("transpose_b");
  f.same(Axis{l, ta ? 0 : -1}, Axis{r, tb ? -1 : 0});
  if (m + n == 0) return f.is(f.out[0], Shape{1});
  f.rank(f.out[0], m + n);
  for (int i = 0; i < m; ++i) f.same(Axis{l, i + ta}, Axis{f.out[0], i});
  for (int i = 0; i < n; ++i) f.same(Axis{r, i + !tb}, Axis{f.out[0], m + i});
}

/// Contracts matrices in the last two axes; the leading axes are batch axes.
Values batched(Primitives& p, Args in, const Attrs& a, std::string_view what) {
  require_one_dtype(p, in[0], in[1], what);
  const Shape &l = p.shape(in[0]), &r = p.shape(in[1]);
  if (l.rank() < 2 || l.rank() != r.rank())
    fail("{} takes stacks of matrices of one rank, got {} and {}", what, l.str(), r.str());
  const bool ta = a.boolean("transpose_a"), tb = a.boolean("transpose_b");
  const int rows = l.rank() - 2, columns = l.rank() - 1;
  const std::int64_t k = l[at(ta ? rows : columns)], rhs_k = r[at(tb ? columns : rows)];
  if (k != rhs_k)
    fail(Mistake::no_product, "{} cannot multiply {} by {}{}: {} and {} differ", what, l.str(), r.str(),
         ta || tb ? " with these transposes" : "; {.transpose_b = true} multiplies rows by rows", k, rhs_k);
  for (int i = 0; i < rows; ++i)
    if (l[at(i)] != r[at(i)])
      fail(Mistake::no_product, "{} cannot multiply {} by {}: the batch axes, all but the last two, differ",
           what, l.str(), r.str());
  return {product(p, in[0], in[1], ta, tb)};
}
/// Matrices in the last axis and the attribute `axis`, by default the last but one.
void batched_shape(ShapeFacts& f, const Attrs& a) {
  PartialShape &l = f.in[0], &r = f.in[1], &out = f.out[0];
  f.ranks(l, out);
  f.ranks(r, out);
  const int last = out.extents.rank() - 1;
  const auto rows = axis_in(a.find("axis") ? a.integer("axis") : -2, last + 1);
  if (!rows || *rows == last) return;
  for (int i = 0; i < last; ++i) {
    if (i == *rows) continue;
    f.same(Axis{l, i}, Axis{out, i});
    f.same(Axis{r, i}, Axis{out, i});
  }
  const bool ta = a.boolean("transpose_a"), tb = a.boolean("transpose_b");
  f.same(Axis{l, ta ? *rows : last}, Axis{r, tb ? last : *rows});
  f.same(Axis{l, ta ? last : *rows}, Axis{out, *rows});
  f.same(Axis{r, tb ? *rows : last}, Axis{out, last});
  if (f.in.size() > 2) f.same(f.in[2], out);
}
Values batch_dot(Primitives& p, Args in, const Attrs& a) { return batched(p, in, a, "batch_dot"); }

Value scaled_by(Primitives& p, Value x, double factor) {
  return factor == 1 ? x : p.mul(x, p.like(x, factor));
}
/// Swaps axis `rows` with the last but one; an involution.
Value with_rows_at(Primitives& p, Value x, int rows) {
  const int rank = p.shape(x).rank();
  if (rows == rank - 2) return x;
  Shape order;
  for (int i = 0; i < rank; ++i) order.push_back(i == rows ? rank - 2 : i == rank - 2 ? rows : i);
  return p.transpose(x, order);
}
/// alpha A B, with the rows of matrices along `axis` and columns along the last axis.
Value scaled_product(Primitives& p, Args in, const Attrs& a, std::string_view what) {
  const int rank = p.shape(in[0]).rank(), rows = axis_of(a.integer("axis"), rank);
  if (rows == rank - 1 || p.shape(in[1]).rank() != rank)
    fail(
        "{} takes stacks of matrices of one rank with rows along axis {} and columns along the last, got {} "
        "and {}",
        what, a.integer("axis"), p.shape(in[0]).str(), p.shape(in[1]).str());
  const Value matrices[] = {with_rows_at(p, in[0], rows), with_rows_at(p, in[1], rows)};
  return with_rows_at(p, scaled_by(p, batched(p, matrices, a, what)[0], a.real("alpha")), rows);
}
Values gemm2(Primitives& p, Args in, const Attrs& a) { return {scaled_product(p, in, a, "linalg_gemm2")}; }
Values gemm(Primitives& p, Args in, const Attrs& a) {
  Value ab = scaled_product(p, in.first(2), a, "linalg_gemm");
  return {p.add(ab, scaled_by(p, in[2], a.real("beta")))};
}
Values syrk(Primitives& p, Args in, const Attrs& a) {
  bool t = a.boolean("transpose");
  return {scaled_by(p, product(p, in[0], in[0], t, !t), a.real("alpha"))};
}

Values khatri_rao(Primitives& p, Args in, const Attrs&) {
  Value y = in[0];
  for (Value x : in.subspan(1)) {
    const Shape &a = p.shape(y), &b = p.shape(x);
    if (a.rank() != 2 || b.rank() != 2 || a[1] != b[1])
      fail("khatri_rao needs matrices with equal numbers of columns, got {} and {}", a.str(), b.str());
    const std::int64_t rows = times(a[0], b[0]), columns = a[1];
    Shape both{a[0], b[0], columns};
    y = p.reshape(p.mul(p.broadcast(y, both, {0, 2}), p.broadcast(x, both, {1, 2})), {rows, columns});
  }
  return {y};
}

// Self attention of GluonNLP: (T, N, heads * 3 * d) holds queries, keys and values, interleaved by head.

/// Queries (0), keys (1) or values (2) as (N * heads, T, d).
Value part_of_qkv(Primitives& p, Value qkv, std::int64_t heads, std::int64_t part) {
  const Shape shape = p.shape(qkv);
  if (shape.rank() != 3 || heads < 1 || heads > 1 << 20 || shape[2] % (heads * 3) != 0)
    fail("needs (T, N, heads * 3 * d) with {} heads, got {}", heads, shape.str());
  const std::int64_t T = shape[0], N = shape[1], d = shape[2] / (heads * 3);
  Value x = p.slice(p.reshape(qkv, {T, N, heads, 3, d}), {0, 0, 0, part, 0}, {T, N, heads, part + 1, d},
                    Shape::filled(5, 1));
  return p.reshape(p.transpose(p.reshape(x, {T, N, heads, d}), {1, 2, 0, 3}), {times(N, heads), T, d});
}
Values selfatt_qk(Primitives& p, Args in, const Attrs& a) {
  const std::int64_t heads = a.integer("heads");
  Value q = widen(p, part_of_qkv(p, in[0], heads, 0)), k = widen(p, part_of_qkv(p, in[0], heads, 1));
  q = p.div(q, p.like(q, std::sqrt(static_cast<double>(p.shape(q)[2]))));
  return {convert(p, p.dot(q, k, {false, true}), p.dtype(in[0]))};
}
Values selfatt_valatt(Primitives& p, Args in, const Attrs& a) {
  const std::int64_t heads = a.integer("heads");
  require_one_dtype(p, in[0], in[1], "_contrib_interleaved_matmul_selfatt_valatt");
  Value v = widen(p, part_of_qkv(p, in[0], heads, 2)), attention = widen(p, in[1]);
  const Shape to = p.shape(v), weights = p.shape(attention);
  if (!(weights == Shape{to[0], to[1], to[1]}))
    fail("the attention on {} has the shape {}, got {}", p.shape(in[0]).str(),
         Shape{to[0], to[1], to[1]}.str(), weights.str());
  const std::int64_t T = to[1], N = p.shape(in[0])[1];
  Value y = p.reshape(p.dot(attention, v, {}), {N, heads, T, to[2]});
  return {convert(p, p.reshape(p.transpose(y, {2, 0, 1, 3}), {T, N, times(heads, to[2])}), p.dtype(in[0]))};
}

}  // namespace

std::span<const OpDef> product_ops() {
  static constexpr std::string_view factor_dtypes =
      "Any, one for all inputs; the result has it too. Products of half precision are computed in float32 "
      "and rounded once; factors and sums are rounded after them.";
  static constexpr std::string_view factor_integers =
      "Products and sums wrap modulo 2^n; factors are truncated. A sum of products of bool is 1 if one of "
      "them is.";
  static constexpr OpReference attention_reference =
      contraction_reference |
      OpReference{
          .empty = "No samples give none.",
          .integers = "Products and sums wrap modulo 2^n. sqrt(D) and the quotient are truncated.",
          .source = "MXNet 1.9.1 (src/operator/contrib/transformer.cc), as GluonNLP calls it.",
      };
  static const AttrSpec transpose_a =
                            bool_attr("transpose_a", false, "Whether the first input is transposed."),
                        transpose_b =
                            bool_attr("transpose_b", false, "Whether the second input is transposed."),
                        alpha = real_attr("alpha", 1, "The factor of the product."),
                        rows_axis = int_attr(
                            "axis", -2,
                            "The axis of the rows of all matrices; the columns are along the last axis."),
                        heads =
                            required("heads", AttrKind::integer, "H, the number of heads, from 1 to 2^20.");
  static const std::vector<AttrSpec> transposes{
      transpose_a, transpose_b,
      ignored(meaning({"forward_stype", AttrKind::word, None{}, true, {"csr", "default", "row_sparse"}},
                      "The storage of MXNet's result."),
              "it names a form of storage; Kiln's arrays are dense")};
  static const std::vector<OpDef> rows{
      {.name = "dot",
       .summary = "The matrix product: contracts the last axis of lhs with the first axis of rhs.",
       .reference =
           contraction_reference |
           OpReference{
               .shapes = "lhs (..., K), rhs (K, ...) -> the axes of lhs, then the axes of rhs, without K; of "
                         "two vectors (1). With transpose_a lhs is (K, ...), with transpose_b rhs is (..., "
                         "K); the other axes keep their order.",
               .nan = "A NaN in lhs makes its row of the result NaN, one in rhs its column.",
               .gradient = "lhs: g rhs^T. rhs: lhs^T g, as matrices; transposed where the input is.",
               .formula =
                   "y[m, n] = sum over k of lhs[m, k] rhs[k, n], where m and n run over all other axes.",
               .source = "MXNet 1.9.1 (src/operator/tensor/dot.cc). The order of additions is Kiln's own.",
           },
       .inputs = {"lhs", "rhs"},
       .attrs = transposes,
       .compose = dot,
       .shape_rule = dot_shape},
      {.name = "batch_dot",
       .aliases = {"_npx_batch_dot"},
       .summary = "The matrix product of each pair of matrices in two batches.",
       .reference = contraction_reference |
                    OpReference{
                        .shapes = "lhs (..., M, K), rhs (..., K, N) -> (..., M, N), with equal batch axes. "
                                  "With transpose_a lhs is (..., K, M), with transpose_b rhs is (..., N, K).",
                        .nan = "A NaN in lhs makes its row of its matrix NaN, one in rhs its column.",
                        .gradient = "lhs: g rhs^T. rhs: lhs^T g; transposed where the input is.",
                        .formula = "y[..., m, n] = sum over k of lhs[..., m, k] rhs[..., k, n].",
                        .source = "MXNet 1.9.1 (src/operator/tensor/dot.cc). Any number of batch axes is "
                                  "accepted, none too.",
                    },
       .inputs = {"lhs", "rhs"},
       .attrs = transposes,
       .compose = batch_dot,
       .shape_rule = batched_shape},
      {.name = "_linalg_gemm2",
       .aliases = {"linalg_gemm2"},
       .summary = "The matrix product of each pair of matrices in two batches, times a number.",
       .reference =
           contraction_reference |
           OpReference{
               .shapes = "A (..., M, K), B (..., K, N) -> (..., M, N), with equal batch axes. With "
                         "transpose_a A is (..., K, M), with transpose_b B is (..., N, K).",
               .dtypes = factor_dtypes,
               .nan = "A NaN in A makes its row of its matrix NaN, one in B its column.",
               .integers = factor_integers,
               .gradient = "A: alpha g B^T. B: alpha A^T g; transposed where the input is.",
               .formula = "y = alpha A B, rounded after the product and after the factor.",
               .source = "MXNet 1.9.1 (src/operator/tensor/la_op.cc). The order of additions is Kiln's own.",
           },
       .inputs = {"A", "B"},
       .attrs = {transpose_a, transpose_b, alpha, rows_axis},
       .compose = gemm2,
       .shape_rule = batched_shape},
      {.name = "_linalg_gemm",
       .aliases = {"linalg_gemm"},
       .summary = "The matrix product of each pair of matrices in two batches, times a number, plus a "
                  "multiple of C.",
       .reference =
           contraction_reference |
           OpReference{
               .shapes = "A (..., M, K), B (..., K, N), C (..., M, N) -> (..., M, N), with equal batch axes. "
                         "With transpose_a A is (..., K, M), with transpose_b B is (..., N, K).",
               .dtypes = factor_dtypes,
               .nan = "A NaN in A makes its row of its matrix NaN, one in B its column, one in C its "
                      "element, with beta = 0 too.",
               .integers = factor_integers,
               .gradient = "A: alpha g B^T. B: alpha A^T g; transposed where the input is. C: beta g.",
               .formula = "y = alpha A B + beta C, rounded after each operation.",
               .source = "MXNet 1.9.1 (src/operator/tensor/la_op.cc). The order of additions is Kiln's own.",
           },
       .inputs = {"A", "B", "C"},
       .attrs = {transpose_a, transpose_b, alpha, real_attr("beta", 1, "The factor of C."), rows_axis},
       .compose = gemm,
       .shape_rule = batched_shape},
      {.name = "_linalg_syrk",
       .aliases = {"linalg_syrk"},
       .summary = "The product of each matrix of a batch and its transpose, times a number.",
       .reference =
           contraction_reference |
           OpReference{
               .shapes = "A (..., M, K) -> (..., M, M). With transpose A is (..., K, M).",
               .dtypes = factor_dtypes,
               .nan = "A NaN makes its row and its column of the result NaN.",
               .integers = factor_integers,
               .gradient = "A: alpha (g + g^T) A; with transpose alpha A (g + g^T).",
               .formula = "y = alpha A A^T; with transpose alpha A^T A.",
               .source = "MXNet 1.9.1 (src/operator/tensor/la_op.cc). The order of additions is Kiln's own.",
           },
       .inputs = {"A"},
       .attrs = {bool_attr("transpose", false, "Whether the result is A^T A, and not A A^T."), alpha},
       .compose = syrk},
      {.name = "khatri_rao",
       .summary = "The Khatri-Rao product: the Kronecker product of matrices, column by column.",
       .reference =
           {
               .shapes = "args: matrices (M1, N), (M2, N), ... -> (M1 M2 ..., N).",
               .dtypes = "Any, one for all inputs; the result has it too.",
               .nan = "NaN in all products with it.",
               .empty = "A matrix without rows gives no rows.",
               .integers = "Products wrap modulo 2^n.",
               .gradient =
                   "args: for each matrix the sum of g times the products of the others, over their rows.",
               .formula = "y[i M2 + j, n] = a[i, n] b[j, n], and so on with later matrices; half precision "
                          "is rounded after each product.",
               .source = "MXNet 1.9.1 (src/operator/contrib/krprod.cc).",
           },
       .inputs = {"args"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer, "The number of matrices.")},
       .compose = khatri_rao},
      {.name = "_contrib_interleaved_matmul_selfatt_qk",
       .summary = "The scores of self attention: queries times keys, over the square root of their length.",
       .reference =
           attention_reference |
           OpReference{
               .shapes = "queries_keys_values (T, N, H 3 D) -> (N H, T, T). H heads; each has D queries, D "
                         "keys and D values side by side.",
               .nan = "A NaN in a query makes its row of scores NaN, one in a key its column.",
               .gradient =
                   "queries_keys_values: queries g keys / sqrt(D), keys g^T queries / sqrt(D), values 0.",
               .formula = "y[n H + h, i, j] = sum over d of (q[i, n, h, d] / sqrt(D)) k[j, n, h, d].",
           },
       .inputs = {"queries_keys_values"},
       .attrs = {heads},
       .compose = selfatt_qk},
      {.name = "_contrib_interleaved_matmul_selfatt_valatt",
       .summary = "The results of self attention: the sums of the values, weighted by the attention.",
       .reference =
           attention_reference |
           OpReference{
               .shapes = "queries_keys_values (T, N, H 3 D), attention (N H, T, T) -> (T, N, H D). H heads; "
                         "each has D queries, D keys and D values side by side.",
               .nan = "A NaN in a value makes element d of all results of its head NaN, one in attention the "
                      "row of its query.",
               .integers = wrapping_products,
               .gradient = "attention: g v^T. queries_keys_values: values attention^T g, queries and keys 0.",
               .formula = "y[i, n, h D + d] = sum over j of attention[n H + h, i, j] v[j, n, h, d].",
           },
       .inputs = {"queries_keys_values", "attention"},
       .attrs = {heads},
       .compose = selfatt_valatt},
  };
  return rows;
}

}  // namespace kiln::ops
