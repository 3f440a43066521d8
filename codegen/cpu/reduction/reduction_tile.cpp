// Reduces a tile of results block by block.
#include "codegen/cpu/reduction/reduction_tile.h"

namespace kiln::codegen {

ReductionTile::ReductionTile(KernelBuilder& e, const Reduction& red, mlir::Value params)
    : ReductionEmitter(e, red, params), results_(stacks(red.tile.points())) {
  for (int level = 1; level <= red.levels; ++level)
    parts_.push_back(stacks(red.tile.points() * std::int64_t{partials}));
}

void ReductionTile::reduce(llvm::ArrayRef<LoopNest::Row> rows, mlir::Value column) {
  points_.clear();
  for (const LoopNest::Row& row : rows)
    for (int j = 0; j < red_.tile.columns; ++j) points_.push_back(row.at(e_.add(column, e_.index(j))));
  block(red_.levels, e_.index(0), extent_);
}

Values ReductionTile::result(mlir::Value point) { return load(results_, point, 1); }

void ReductionTile::block(int level, mlir::Value begin, mlir::Value end) {
  const Values& parts = parts_[static_cast<std::size_t>(level - 1)];
  const int lanes = red_.lanes;
  const mlir::Value all = e_.index(partials), points = e_.index(static_cast<std::int64_t>(points_.size()));
  const Values none = identities(lanes);
  e_.loop(e_.index(0), e_.mul(points, all), e_.index(lanes),
          [&](mlir::Value i) { store(none, parts, i, lanes); });
  if (level == 1) {
    add_elements(parts, begin, end);
    return each_point([&](mlir::Value point) {
      const Values own = at_offset(parts, e_.mul(point, all));
      Values p;
      for (int j = 0; j < partials; j += lanes) p.append(load(own, e_.index(j), lanes));
      store(halve(std::move(p)), results_, point, 1);
    });
  }
  const mlir::Value length = e_.index(elements_of(level));
  const mlir::Value used = used_partials(begin, end, length);
  e_.loop(begin, end, length, [&](mlir::Value from) {
    block(level - 1, from, e_.min(e_.add(from, length), end));
    const mlir::Value number = e_.rem(e_.div(e_.sub(from, begin), length), all);
    each_point([&](mlir::Value point) {
      const Values own = at_offset(parts, e_.mul(point, all));
      store(combine(load(own, number, 1), load(results_, point, 1)), own, number, 1);
    });
  });
  each_point([&](mlir::Value point) {
    store(halve_in_memory(at_offset(parts, e_.mul(point, all)), used), results_, point, 1);
  });
}

void ReductionTile::each_point(const KernelBuilder::LoopBody& body) {
  e_.loop(e_.index(0), e_.index(static_cast<std::int64_t>(points_.size())), e_.index(1), body);
}

void ReductionTile::add_elements(mlir::ValueRange parts, mlir::Value begin, mlir::Value end) {
  const mlir::Value step = e_.index(red_.lanes), whole = e_.whole_steps(begin, end, step);
  e_.loop(begin, whole, step, [&](mlir::Value r) { add_lanes(parts, begin, {r, red_.lanes}); });
  e_.when(e_.less(whole, end), [&] {
    add_lanes(parts, begin, {whole, red_.lanes, e_.mask_below(e_.sub(end, whole), red_.lanes)});
  });
}

void ReductionTile::add_lanes(mlir::ValueRange parts, mlir::Value begin, const Position& position) {
  const std::size_t leaves = red_.before.leaves().size();
  const mlir::Value first = e_.rem(e_.sub(position.r, begin), e_.index(partials));
  std::vector<Values> of_leaf(leaves);
  for (std::size_t i = 0; i < leaves; ++i) of_leaf[i] = leaf_at_points(i, position);
  for (std::size_t p = 0; p < points_.size(); ++p) {
    const Values x = red_.before.emit(e_, position.lanes, [&](std::size_t i) { return of_leaf[i][p]; });
    const mlir::Value at = e_.add(first, e_.index(static_cast<std::int64_t>(p) * partials));
    const Values old = load(parts, at, position.lanes);
    Values sum = accumulate(old, x);
    if (position.mask)
      for (auto [s, before] : llvm::zip(sum, old)) s = e_.select(position.mask, s, before);
    store(sum, parts, at, position.lanes);
  }
}

Values ReductionTile::leaf_at_points(std::size_t i, const Position& position) {
  const auto columns = static_cast<std::size_t>(red_.tile.columns), rows = points_.size() / columns;
  const bool same_in_rows = is_shared_by_rows(red_.nest.accesses()[i]);
  Values all;
  for (std::size_t row = 0; row < rows; ++row) {
    if (row > 0 && same_in_rows) {
      all.append(Values(all.begin(), all.begin() + red_.tile.columns));
      continue;
    }
    LoopPoint& first = points_[row * columns];
    if (first.inner_stride_class(i) == 0) {
      all.append(columns, leaf(first, i, position));
    } else if (columns > 1 && red_.reads_squares(i)) {
      all.append(load_squares(first, i, position));
    } else {
      for (std::size_t j = 0; j < columns; ++j) all.push_back(leaf(points_[row * columns + j], i, position));
    }
  }
  return all;
}

Values ReductionTile::load_squares(LoopPoint& first, std::size_t i, const Position& position) {
  const DType dtype = red_.before.leaves()[i].dtype;
  const int lanes = position.lanes, half = lanes / 2;
  const mlir::Value last = e_.sub(extent_, e_.index(1));
  Values all;
  for (int column = 0; column < red_.tile.columns; column += half) {
    const int count = std::min(half, red_.tile.columns - column);
    const mlir::Value mask = count < half ? e_.mask_below(count, half) : mlir::Value();
    Values addresses;
    for (int lane = 0; lane < lanes; ++lane) {
      mlir::Value r = e_.add(position.r, e_.index(lane));
      if (position.mask) r = e_.min(r, last);  // its element is not used
      const mlir::Value offset = e_.add(e_.mul(r, steps_[i]), e_.index(column));
      addresses.push_back(e_.element(first.address(i), offset, dtype));
    }
    const Values columns = e_.load_half_transposed(addresses, dtype, mask);
    all.append(columns.begin(), columns.begin() + count);
  }
  return all;
}

}  // namespace kiln::codegen
