// Einstein's sum convention: "ij,jk->ik". Operands are combined from left to right. An axis is summed as soon
// as neither the result nor a later operand has its label.
#include "frontend/ops/numpy.h"
#include "frontend/ops/reference.h"

#include <algorithm>
#include <map>
#include <string>

namespace kiln::ops {
namespace {

/// Labels are letters. The axes of "..." are numbered from the right: '1' is the last.
struct Operand {
  Value value;
  std::string labels;
};

bool has(std::string_view labels, char c) { return labels.find(c) != std::string_view::npos; }
std::size_t place(std::string_view labels, char c) { return labels.find(c); }

/// The labels of one operand with "..." replaced by labels for its `hidden` axes.
std::string expanded(std::string_view term, int hidden, std::string_view all) {
  std::string out;
  bool dots = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == '.') {
      if (dots || term.substr(i, 3) != "...") fail("einsum '{}': dots must be one group of three", all);
      dots = true;
      i += 2;
      for (int k = hidden; k > 0; --k) out += static_cast<char>('0' + k);
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out += c;
    } else {
      fail("einsum '{}': '{}' is no label; labels are letters", all, c);
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

struct Plan {
  std::vector<std::string> operands;
  std::string result;
};

Plan parse(Primitives& p, Args in, const std::string& subscripts) {
  std::string text = subscripts;
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::vector<std::string_view> terms = split(std::string_view(text).substr(0, arrow));
  if (terms.size() != in.size())
    fail("einsum '{}' names {} operands, but there are {}", subscripts, terms.size(), in.size());
  Plan plan;
  int most = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int rank = p.shape(in[i]).rank();
    const bool dots = has(terms[i], '.');
    const int named = static_cast<int>(terms[i].size()) - (dots ? 3 : 0), hidden = rank - named;
    if (hidden < 0 || (hidden > 0 && !dots))
      fail("einsum '{}': operand {} of shape {} does not match '{}'", subscripts, i, p.shape(in[i]).str(),
           terms[i]);
    most = std::max(most, hidden);
    plan.operands.push_back(expanded(terms[i], hidden, subscripts));
  }
  if (arrow != std::string::npos) {
    plan.result = expanded(std::string_view(text).substr(arrow + 2), most, subscripts);
  } else {
    // An implicit result has the axes of "...", then the labels that occur once, in alphabetical order.
    std::map<char, int> counts;
    for (const std::string& labels : plan.operands)
      for (char c : labels) ++counts[c];
    for (int k = most; k > 0; --k) plan.result += static_cast<char>('0' + k);
    for (const auto& [label, count] : counts)
      if (count == 1 && label > '9') plan.result += label;
  }
  for (std::size_t i = 0; i < plan.result.size(); ++i) {
    const char c = plan.result[i];
    const auto with = [&](const std::string& labels) { return has(labels, c); };
    if (place(plan.result, c) != i || std::none_of(plan.operands.begin(), plan.operands.end(), with))
      fail("einsum '{}': the result has the label '{}' twice, or no operand has it", subscripts, c);
  }
  return plan;
}

/// Takes the diagonal of axes with equal labels until all labels are distinct.
Operand without_repeats(Primitives& p, Operand x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const std::size_t j = x.labels.find(x.labels[i], i + 1);
    if (j == std::string::npos) continue;
    const Shape from = p.shape(x.value);
    if (from[i] != from[j]) fail("einsum: axes {} and {} of {} share a label and differ", i, j, from.str());
    // Both axes are moved to the end and merged; the diagonal is every (n + 1)-th element.
    Shape order = other_axes({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)}, from.rank()), flat;
    for (std::int64_t axis : order) flat.push_back(from[static_cast<std::size_t>(axis)]);
    order.push_back(static_cast<std::int64_t>(i));
    order.push_back(static_cast<std::int64_t>(j));
    const std::int64_t n = from[i];
    flat.push_back(times(n, n));
    Shape step = Shape::filled(flat.rank(), 1);
    step[flat.size() - 1] = n + 1;
    x.value =
        p.slice(p.reshape(p.transpose(x.value, order), flat), Shape::filled(flat.rank(), 0), flat, step);
    const char label = x.labels[i];
    std::erase(x.labels, label);
    x.labels += label;
    --i;
  }
  return x;
}

/// Sums the axes whose labels are not in `kept`.
Operand summed(Primitives& p, const Operand& x, std::string_view kept) {
  Shape axes;
  Operand out;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (has(kept, x.labels[i]))
      out.labels += x.labels[i];
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  out.value = axes.empty() ? x.value : p.reduce(Reduce::sum, x.value, axes);
  return out;
}

/// x with its axes in the order of `labels`, a permutation of its labels.
Value ordered(Primitives& p, const Operand& x, std::string_view labels) {
  Shape order;
  for (char c : labels) order.push_back(static_cast<std::int64_t>(place(x.labels, c)));
  return p.transpose(x.value, order);
}

/// Combines two operands: the result has the labels `kept`; common labels not in `kept` are summed.
Operand joined(Primitives& p, const Operand& a, const Operand& b, std::string_view kept,
               const std::map<char, std::int64_t>& extents) {
  std::string batch, rows, columns, inner;
  for (char c : a.labels) (!has(b.labels, c) ? rows : has(kept, c) ? batch : inner) += c;
  for (char c : b.labels)
    if (!has(a.labels, c)) columns += c;
  const auto count = [&](std::string_view labels) {
    std::int64_t n = 1;
    for (char c : labels) n = times(n, extents.at(c));
    return n;
  };
  const std::int64_t B = count(batch), m = count(rows), n = count(columns), k = count(inner);
  Operand out{p.dot(p.reshape(ordered(p, a, batch + rows + inner), {B, m, k}),
                    p.reshape(ordered(p, b, batch + inner + columns), {B, k, n}), {}),
              batch + rows + columns};
  Shape to;
  for (char c : out.labels) to.push_back(extents.at(c));
  out.value = p.reshape(out.value, to);
  return out;
}

Values einsum(Primitives& p, Args in, const Attrs& a) {
  if (in.empty()) fail("einsum needs an array");
  const Plan plan = parse(p, in, a.word("subscripts"));
  const DType d = p.dtype(in[0]);
  std::vector<Operand> operands;
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < in.size(); ++i) {
    require_one_dtype(p, in[0], in[i], "einsum");
    operands.push_back(without_repeats(p, {widen_factor(p, in[i]), plan.operands[i]}));
    const Operand& x = operands.back();
    for (std::size_t k = 0; k < x.labels.size(); ++k) {
      std::int64_t& extent = extents.emplace(x.labels[k], 1).first->second;
      const std::int64_t here = p.shape(x.value)[k];
      if (here != extent && here != 1 && extent != 1)
        fail("einsum '{}': the label '{}' has the extents {} and {}", a.word("subscripts"), x.labels[k],
             extent, here);
      if (here != 1) extent = here;
    }
  }
  // Extents of 1 broadcast, as everywhere in numpy.
  for (Operand& x : operands) {
    Shape to;
    for (char c : x.labels) to.push_back(extents.at(c));
    x.value = p.broadcast_to(x.value, to);
  }
  Operand so_far = operands[0];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string kept = plan.result;
    for (std::size_t later = i + 1; later < operands.size(); ++later) kept += operands[later].labels;
    if (i > 0) {
      // A label of only one operand that is not kept is summed before the contraction.
      Operand x = summed(p, operands[i], kept + so_far.labels);
      so_far = joined(p, summed(p, so_far, kept + x.labels), x, kept, extents);
    } else {
      so_far = summed(p, so_far, kept);
    }
  }
  return {convert(p, ordered(p, so_far, plan.result), d)};
}

}  // namespace

std::span<const OpDef> numpy_einsum_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_npi_einsum",
       .summary =
           "Einstein's sum convention: multiplies the inputs and sums over the labels that the result lacks.",
       .reference =
           contraction_reference |
           OpReference{
               .shapes = "data: an array for each term of subscripts, with an axis for each label -> the "
                         "axes of the result's labels. A label that occurs twice in a term is the diagonal.",
               .broadcasting = "An axis of extent 1 is repeated to the extent of its label. The axes of ... "
                               "are aligned from the right.",
               .nan = "A NaN makes all results that have it as a factor or term NaN.",
               .empty =
                   "Labels without elements in the result give an empty array; a sum over no elements is 0.",
               .integers = "Products and sums wrap modulo 2^n. A sum of bools, or of their products, is 1 if "
                           "one of them is.",
               .gradient = "data: g times the other inputs, summed over the labels that the input lacks.",
               .formula = "ij,jk->ik: y[i, k] = sum over j of a[i, j] b[j, k]. Inputs are combined from left "
                          "to right; a label is summed as soon as no later input and not the result has it.",
               .source =
                   "MXNet 1.9.1 (src/operator/numpy/np_einsum_op.cc). The order of additions is Kiln's own.",
           },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {required("num_args", AttrKind::integer, "The number of inputs, 1 or more."),
                 meaning({"subscripts", AttrKind::text, std::string()},
                         "A term of letters for each input, separated by commas, and the result after ->. "
                         "Without -> the result has the labels that occur once, in alphabetical order."),
                 ignored(int_attr("optimize", 0, "How MXNet chooses the order of products."),
                         "the operands are multiplied from left to right")},
       .compose = einsum},
  };
  return rows;
}

}  // namespace kiln::ops
