// The computation of reductions at an element, and trees of few elements.
#include "codegen/emit/reduction_body.h"

#include "codegen/math/math.h"
#include "codegen/target/tuning.h"

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace kiln::codegen {

std::int64_t elements_of(int level) { return level == 1 ? 1 : block_length * elements_of(level - 1); }

mlir::Value identity_of(KernelBuilder& e, ir::Reduce kind, DType d, int lanes) {
  const mlir::TypedAttr value = ir::identity_of(kind, ir::element_type(e.b.getContext(), d));
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(value)) return e.number(d, real.getValueAsDouble(), lanes);
  const auto bits =
      mlir::IntegerAttr::get(e.register_type(d), llvm::cast<mlir::IntegerAttr>(value).getValue());
  return e.splat(mlir::arith::ConstantOp::create(e.b, e.loc, bits), lanes);
}

namespace {

/// Prefetches for later loads, once per cache line.
void prefetch_next(KernelBuilder& e, const Reduction& red, std::size_t i, mlir::Value address,
                   const Position& position) {
  const StridedAccess& access = red.nest.accesses()[i];
  const auto size = static_cast<std::int64_t>(size_of(access.dtype));
  if (position.mask || position.offset_in_stripe * size % tuning::cache_line_bytes != 0) return;
  e.prefetch_next(access.operand, address, position.lanes * size, red.prefetch_bytes);
}

}  // namespace

ReductionEmitter::ReductionEmitter(KernelBuilder& e, const Reduction& red, mlir::Value params)
    : e_(e), red_(red) {
  const ReduceParams own(e, params, red.first_own_param());
  extent_ = own["reduced_extent"];
  for (std::size_t i = 0; i < red.steps.size(); ++i)
    steps_.push_back(own.group<ReduceLeafParams>(i)["reduced_stride"]);
}

Values ReductionEmitter::identities(int lanes, std::size_t groups) {
  Values all;
  for (std::size_t i = 0; i < groups; ++i)
    for (const ir::Reduce kind : red_.kinds) all.push_back(identity_of(e_, kind, red_.dtype, lanes));
  return all;
}

Values ReductionEmitter::accumulate(mlir::ValueRange partial, mlir::ValueRange x) {
  Values sums;
  for (const auto [i, sum, value] : llvm::enumerate(partial, x)) {
    const ir::Reduce kind = red_.kinds[i % count()];
    sums.push_back(kind == ir::Reduce::sum_squares
                       ? emit_fma(e_.b, e_.loc, red_.dtype, value, value, sum, e_.target.isa)
                       : combined(kind, sum, value));
  }
  return sums;
}

Values ReductionEmitter::combine(mlir::ValueRange x, mlir::ValueRange y) {
  Values sums;
  for (const auto [i, left, right] : llvm::enumerate(x, y))
    sums.push_back(combined(red_.kinds[i % count()], left, right));
  return sums;
}

mlir::Value ReductionEmitter::combined(ir::Reduce kind, mlir::Value x, mlir::Value y) {
  return emit_binary(e_.b, e_.loc, ir::combiner(kind), red_.dtype, x, y, e_.target.isa);
}

mlir::Value ReductionEmitter::leaf(LoopPoint& at, std::size_t i, const Position& position) {
  const auto& [r, lanes, mask, offset_in_stripe] = position;
  const Leaf& leaf = red_.before.leaves()[i];
  if (red_.is_index(i)) return index(at, i, position);
  const mlir::Value base = at.address(i), step = steps_[i];
  if (!red_.along_reduced) {  // r only moves the address
    const mlir::Value here = e_.element(base, e_.mul(r, step), leaf.dtype);
    if (at.inner_stride_class(i) == 0) return e_.splat(e_.load_scalar(here, leaf.dtype), at.lanes());
    if (at.inner_stride_class(i) == 1) return e_.load(here, leaf.dtype, at.lanes(), at.mask());
    return e_.gather(here, at.lane_offsets(i), leaf.dtype, at.lanes(), at.mask());
  }
  switch (stride_class(red_.steps[i])) {
    case 0:
      return invariant_.empty() ? e_.splat(e_.load_scalar(base, leaf.dtype), lanes) : invariant_[i];
    case 1: {
      const mlir::Value here = e_.element(base, r, leaf.dtype);
      prefetch_next(e_, red_, i, here, position);
      return e_.load(here, leaf.dtype, lanes, mask);
    }
    default:
      if (red_.loads_between(i) && lanes > 1)
        return e_.load_every(e_.element(base, e_.mul(r, e_.index(red_.steps[i])), leaf.dtype), red_.steps[i],
                             leaf.dtype, lanes, mask);
      return e_.gather(e_.element(base, e_.mul(r, step), leaf.dtype), e_.lane_offsets(step, lanes),
                       leaf.dtype, lanes, mask);
  }
}

mlir::Value ReductionEmitter::index(LoopPoint& at, std::size_t i, const Position& position) {
  const DType dtype = red_.before.leaves()[i].dtype;
  // Sums of 32 bits are sums of 64 bits, truncated; they take half as many registers.
  const DType sum_dtype = dtype == DType::i32 ? DType::i32 : DType::i64;
  const auto cast = [&](DType from, DType to, mlir::Value x) {
    return emit_cast(e_.b, e_.loc, from, to, x, e_.target.isa);
  };
  const auto part = [&](mlir::Value x) { return cast(DType::i64, sum_dtype, x); };
  const int lanes = red_.along_reduced ? position.lanes : at.lanes();
  mlir::Value number = part(at.number(i));  // of the kept axes, in each lane if lanes run along one
  if (red_.steps[i] == 1) {                 // along the reduced axis
    const mlir::Value r = part(position.r);
    if (red_.along_reduced)
      number = e_.add(e_.splat(e_.add(number, r), lanes), part(e_.lane_numbers(lanes)));
    else
      number = e_.add(number, e_.splat(r, lanes));
  } else if (red_.along_reduced) {
    number = e_.splat(number, lanes);
  }
  return cast(sum_dtype, dtype, number);
}

Values ReductionEmitter::element(LoopPoint& at, const Position& position) {
  return red_.before.emit(e_, position.lanes, [&](std::size_t i) { return leaf(at, i, position); });
}

Values ReductionEmitter::halve(Values p) {
  while (p.size() > count()) {
    const mlir::ValueRange all = p;
    p = combine(all.take_front(p.size() / 2), all.drop_front(p.size() / 2));
  }
  for (int lanes = red_.lanes; lanes > 1; lanes /= 2) {
    const auto half = [&](int first) {
      return each_of(p, [&](mlir::Value v) { return e_.sub_vector(v, first, lanes / 2); });
    };
    p = combine(half(0), half(lanes / 2));
  }
  return p;
}

Values ReductionEmitter::halve_in_memory(mlir::ValueRange parts, mlir::Value used) {
  const mlir::Value one = e_.index(1);
  for (int half = partials / 2; half > 0; half /= 2) {
    const mlir::Value apart = e_.index(half);
    e_.loop(e_.index(0), e_.min(apart, e_.sub(used, apart)), one, [&](mlir::Value j) {
      store(combine(load(parts, j, 1), load(parts, e_.add(j, apart), 1)), parts, j, 1);
    });
  }
  return load(parts, e_.index(0), 1);
}

mlir::Value ReductionEmitter::used_partials(mlir::Value begin, mlir::Value end, mlir::Value length) {
  const mlir::Value all = e_.index(partials);
  if (red_.has(ir::Reduce::max_nnan)) return all;
  return e_.min(e_.div(e_.add(e_.sub(end, begin), e_.sub(length, e_.index(1))), length), all);
}

Values ReductionEmitter::each_of(mlir::ValueRange values, llvm::function_ref<mlir::Value(mlir::Value)> body) {
  return llvm::map_to_vector(values, body);
}

Values ReductionEmitter::if_else(mlir::Value condition, llvm::function_ref<Values()> then,
                                 mlir::ValueRange otherwise) {
  auto branch = mlir::scf::IfOp::create(
      e_.b, e_.loc, condition,
      [&](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e_.b, e_.loc, then()); },
      [&](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e_.b, e_.loc, otherwise); });
  return Values(branch.getResults());
}

Values ReductionEmitter::stacks(std::int64_t elements) {
  Values arrays;
  for (std::size_t i = 0; i < count(); ++i) arrays.push_back(e_.stack(red_.dtype, elements));
  return arrays;
}

Values ReductionEmitter::at_offset(mlir::ValueRange arrays, mlir::Value elements) {
  return each_of(arrays, [&](mlir::Value array) { return e_.element(array, elements, red_.dtype); });
}

Values ReductionEmitter::load(mlir::ValueRange arrays, mlir::Value i, int lanes) {
  return each_of(at_offset(arrays, i), [&](mlir::Value place) { return e_.load(place, red_.dtype, lanes); });
}

void ReductionEmitter::store(mlir::ValueRange values, mlir::ValueRange arrays, mlir::Value i, int lanes) {
  for (auto [value, place] : llvm::zip(values, at_offset(arrays, i)))
    e_.store(value, place, red_.dtype, lanes);
}

RegisterTree::RegisterTree(KernelBuilder& e, const Reduction& red, mlir::Value params)
    : ReductionEmitter(e, red, params) {
  for (auto [step, built_in] : llvm::zip(steps_, red.steps)) step = e.index(built_in);
}

void RegisterTree::load_rows(LoopPoint& at) {
  const int lanes = at.lanes(), half = lanes / 2;
  // Columns of shorter rows are selected from registers of whole rows; AVX-512 selects from two at once.
  const std::int64_t max_adjoining_extent = e_.target.isa == Isa::avx512 ? 4 : 3;
  for (auto [i, leaf] : llvm::enumerate(red_.before.leaves())) {
    if (!red_.has_columns(i)) continue;
    if (red_.adjoins(i) && red_.extent <= max_adjoining_extent) {
      for (std::int64_t column = 0; column < red_.extent; ++column)
        columns_[i].push_back(e_.load_every(e_.element(at.address(i), e_.index(column), leaf.dtype),
                                            red_.extent, leaf.dtype, lanes, at.mask()));
      continue;
    }
    const mlir::Value distance = red_.adjoins(i) ? e_.index(red_.extent) : at.inner_stride(i);
    for (std::int64_t first = 0; first < red_.extent; first += half) {
      const auto count = static_cast<int>(std::min<std::int64_t>(half, red_.extent - first));
      const mlir::Value mask = count < half ? e_.mask_below(count, half) : mlir::Value();
      Values addresses;
      for (int row = 0; row < lanes; ++row) {
        mlir::Value offset = e_.mul(distance, e_.index(row));
        // Rows beyond the last one: the first again.
        if (at.mask()) offset = e_.select(e_.extract(at.mask(), row), offset, e_.index(0));
        addresses.push_back(e_.element(at.address(i), e_.add(offset, e_.index(first)), leaf.dtype));
      }
      const Values columns = e_.load_half_transposed(addresses, leaf.dtype, mask);
      columns_[i].append(columns.begin(), columns.begin() + count);
    }
  }
}

Values RegisterTree::partial(LoopPoint& at, int j, int step) {
  if (step == partials) {
    const Position position{e_.index(j), at.lanes(), at.mask()};
    const Values x = red_.before.emit(e_, at.lanes(), [&](std::size_t i) {
      if (!columns_[i].empty()) return columns_[i][static_cast<std::size_t>(j)];
      const mlir::Value same_for_row = column_of(i);
      return same_for_row ? same_for_row : leaf(at, i, position);
    });
    return accumulate(identities(at.lanes()), x);
  }
  const Values own = partial(at, j, 2 * step);
  return j + step < red_.extent ? combine(own, partial(at, j + step, 2 * step)) : own;
}

mlir::Value RegisterTree::column_of(std::size_t access) const {
  const auto column = red_.column_of(access);
  return column ? columns_[column->leaf][static_cast<std::size_t>(column->number)] : mlir::Value();
}

void emit_epilogue(KernelBuilder& e, const Reduction& red, LoopPoint& at, mlir::ValueRange results,
                   llvm::function_ref<mlir::Value(std::size_t access)> loaded) {
  auto values = red.after.emit(e, at.lanes(), [&](std::size_t i) {
    const Leaf& leaf = red.after.leaves()[i];
    if (leaf.kind == Leaf::Kind::root) return results[static_cast<std::size_t>(leaf.root)];
    const std::size_t access = red.after_access[i];
    const mlir::Value before = loaded ? loaded(access) : mlir::Value();
    return before ? before : at.load(access);
  });
  for (std::size_t i = 0; i < values.size(); ++i) at.store(red.first_output + i, values[i]);
}

}  // namespace kiln::codegen
