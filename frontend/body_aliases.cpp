#include "frontend/body_aliases.h"

#include "frontend/view.h"

#include <algorithm>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;
using Result = BodyAliases::Result;

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return TensorAccess::array(a) == TensorAccess::array(b) &&
         TensorAccess::offset(a) == TensorAccess::offset(b) &&
         TensorAccess::shape(a) == TensorAccess::shape(b);
}

/// `t` as a part of `of`, a view of the same array; nothing where it is not within it.
std::optional<Result::Part> part_of(const Tensor& t, const Tensor& of, std::size_t index) {
  const std::int64_t offset = TensorAccess::offset(t) - TensorAccess::offset(of);
  const Shape& shape = TensorAccess::shape(t);
  if (offset < 0 || offset + shape.elements() > TensorAccess::shape(of).elements()) return {};
  return Result::Part{index, offset, shape};
}

Result alias_of(const Trace& body, std::span<const Tensor> results, std::size_t i) {
  Result out;
  const std::shared_ptr<Array>& array = TensorAccess::array(results[i]);
  out.outside = body.outside_of(results[i]);
  if (out.outside.defined()) return out;
  for (std::size_t j = 0; j < i; ++j) {
    const std::shared_ptr<Array>& other = TensorAccess::array(results[j]);
    if (other == array && !out.part) out.part = part_of(results[i], results[j], j);
    if (!out.part && body.possible_aliases().may_be_one(*array, *other)) out.may_be_result.push_back(j);
  }
  for (const auto& [inside, outside] : body.brought_in())
    if (body.possible_aliases().may_be_one(*array, *TensorAccess::array(inside)))
      out.may_be_outside.push_back(outside);
  return out;
}

bool agree(std::span<const BodyAliases> ways, std::size_t i) {
  const Result& first = ways[0].results[i];
  return std::all_of(ways.begin(), ways.end(), [&](const BodyAliases& way) {
    const Result& r = way.results[i];
    return same_tensor(r.outside, first.outside) && r.part == first.part && r.may_be_outside.empty() &&
           r.may_be_result.empty();
  });
}

}  // namespace

bool BodyAliases::any() const {
  return std::any_of(results.begin(), results.end(), [](const Result& r) { return !r.is_new(); });
}

BodyAliases aliases_of(Trace& body, std::span<const Tensor> results) {
  std::vector<Tensor> inside;
  for (const Tensor& t : results) inside.push_back(body.resolve(t));
  BodyAliases out;
  for (std::size_t i = 0; i < inside.size(); ++i) out.results.push_back(alias_of(body, inside, i));
  return out;
}

void share_arrays(std::span<Tensor> results, std::span<const BodyAliases> ways, bool may_not_run) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& first = ways[0].results[i];
    if (!may_not_run && agree(ways, i)) {
      if (first.outside.defined()) results[i] = first.outside;
      if (first.part) {
        const Tensor& of = results[first.part->result];
        results[i] = view_of(of, TensorAccess::offset(of) + first.part->offset, first.part->shape);
      }
      continue;
    }
    std::vector<std::shared_ptr<Array>> sources;
    for (const BodyAliases& way : ways) {
      const Result& r = way.results[i];
      if (r.outside.defined()) sources.push_back(TensorAccess::array(r.outside));
      if (r.part) sources.push_back(TensorAccess::array(results[r.part->result]));
      for (const Tensor& t : r.may_be_outside) sources.push_back(TensorAccess::array(t));
      for (const std::size_t j : r.may_be_result) sources.push_back(TensorAccess::array(results[j]));
    }
    if (!sources.empty()) Trace::current()->possible_aliases().add(TensorAccess::array(results[i]), sources);
  }
}

}  // namespace kiln
