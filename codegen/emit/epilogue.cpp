// Loads the operands of an epilogue and stores its results.
#include "codegen/emit/epilogue.h"

#include "runtime/fail.h"

#include <mlir/Dialect/Utils/IndexingUtils.h>

namespace kiln::codegen {

Epilogue::Epilogue(ir::FusionOp fusion, mlir::Value root, std::size_t columns,
                   llvm::ArrayRef<Dims> extra_strides, std::optional<std::size_t> fixed_in_rows,
                   llvm::ArrayRef<std::int64_t> order)
    : expr_(values_of(outputs_of(fusion)), root) {
  llvm::SmallVector<Dims> lists(extra_strides.begin(), extra_strides.end());
  auto add = [&](DType dtype, int operand, std::int64_t offset, Dims strides) {
    accesses_.push_back({dtype, operand, offset, strides[columns], {}});
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(columns));
    lists.push_back(std::move(strides));
  };
  for (const Leaf& leaf : expr_.leaves()) {
    if (leaf.kind == Leaf::Kind::root) {
      leaf_access_.push_back(-1);
      continue;
    }
    if (leaf.kind != Leaf::Kind::memory)
      fail_internal("the epilogue of a contraction reads a value that is not in memory");
    leaf_access_.push_back(static_cast<int>(accesses_.size()));
    add(leaf.dtype, static_cast<int>(leaf.argument), leaf.view.offset, leaf.view.strides);
  }
  first_output_ = accesses_.size();
  const auto outputs = outputs_of(fusion);
  for (auto [i, out] : llvm::enumerate(outputs))
    add(dtype_of_value(out.value), static_cast<int>(fusion.getNumOperands() + i), out.view.offset,
        out.view.strides);

  extents_.assign(ir::ranked(outputs.front().value).getShape());
  extents_.erase(extents_.begin() + static_cast<std::ptrdiff_t>(columns));
  if (!order.empty()) {
    extents_ = mlir::applyPermutation(extents_, order);
    for (Dims& strides : lists) strides = mlir::applyPermutation(strides, order);
  }
  ir::collapse_axes(extents_, lists);
  // An axis of extent 1 was merged away; an outer axis must not become the axis of rows in its place.
  if (extents_.empty() || (fixed_in_rows && lists[*fixed_in_rows].back() != 0)) {
    extents_.push_back(1);
    for (Dims& strides : lists) strides.push_back(0);
  }
  extra_strides_.assign(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(extra_strides.size()));
  for (auto [access, strides] : llvm::zip(accesses_, llvm::ArrayRef(lists).drop_front(extra_strides.size())))
    access.strides = strides;
}

EpiloguePlan Epilogue::plan() const {
  EpiloguePlan plan{{}, expr_.text()};
  for (const Operand& o : accesses_)
    plan.operands.push_back({.dtype = o.dtype,
                             .operand = o.operand,
                             .column_class = stride_class(o.column_stride),
                             .has_rows = !is_fixed(o)});
  return plan;
}

std::size_t Epilogue::code_length() const {
  constexpr std::size_t of_epilogue = 9, of_operand = 5;
  std::size_t length = of_epilogue + expr_.text().size();
  for (const Operand& o : accesses_)
    length += of_operand + name_of(o.dtype).size() + fmt::formatted_size("{}", o.operand) - is_fixed(o);
  return length;
}

void Epilogue::append_params(std::vector<std::int64_t>& params) const {
  for (const Operand& o : accesses_) {
    params.insert(params.end(), {o.offset, o.column_stride});
    params.insert(params.end(), o.strides.begin(), o.strides.end());
  }
}

void Epilogue::prepare(KernelBuilder& e, const KernelArgs& args, std::int64_t first_param,
                       mlir::ValueRange outer_index) {
  bases_.clear();
  row_strides_.clear();
  column_strides_.clear();
  for (std::size_t s = 0; s < accesses_.size(); ++s) {
    const int operand = accesses_[s].operand;
    std::int64_t at = first_param + static_cast<std::int64_t>(s * stride_count());
    mlir::Value offset = e.param(args.params, at++, fmt::format("offset{}", operand));
    column_strides_.push_back(e.param(args.params, at++, fmt::format("column_stride{}", operand)));
    if (is_fixed(accesses_[s])) {
      row_strides_.emplace_back();
    } else {
      for (mlir::Value index : outer_index)
        offset =
            e.add(offset, e.mul(index, e.param(args.params, at++, fmt::format("outer_stride{}", operand))));
      row_strides_.push_back(e.param(args.params, at, fmt::format("row_stride{}", operand)));
    }
    bases_.push_back(e.element(e.buffer(args.buffers, operand), offset, accesses_[s].dtype));
  }
}

bool Epilogue::reads_rows() const {
  return llvm::any_of(llvm::ArrayRef(accesses_).take_front(first_output_), has_rows);
}

void Epilogue::prefetch(KernelBuilder& e, std::size_t end, mlir::Value i, mlir::Value j, std::int64_t count) {
  for (std::size_t s = 0; s < end; ++s) {
    if (!has_rows(accesses_[s])) continue;
    const DType dtype = accesses_[s].dtype;
    const mlir::Value first = e.element(bases_[s], e.add(e.mul(i, row_strides_[s]), j), dtype);
    e.prefetch(first, count * static_cast<std::int64_t>(size_of(dtype)));
  }
}

void Epilogue::store(KernelBuilder& e, llvm::ArrayRef<mlir::Value> sums, mlir::Value i, mlir::Value j,
                     int lanes, mlir::Value mask) {
  auto address = [&](std::size_t s) {
    mlir::Value index = is_fixed(accesses_[s]) ? e.index(0) : e.mul(i, row_strides_[s]);
    const int column_class = stride_class(accesses_[s].column_stride);
    if (column_class == 1) index = e.add(index, j);
    if (column_class == 2) index = e.add(index, e.mul(j, column_strides_[s]));
    return e.element(bases_[s], index, accesses_[s].dtype);
  };
  auto values = expr_.emit(e, lanes, [&](std::size_t leaf) -> mlir::Value {
    if (leaf_access_[leaf] < 0) return sums[static_cast<std::size_t>(expr_.leaves()[leaf].root)];
    auto s = static_cast<std::size_t>(leaf_access_[leaf]);
    switch (stride_class(accesses_[s].column_stride)) {
      case 0:
        return e.splat(e.load_scalar(address(s), accesses_[s].dtype), lanes);
      case 1:
        return e.load(address(s), accesses_[s].dtype, lanes, mask);
      default:
        return e.gather(address(s), e.lane_offsets(column_strides_[s], lanes), accesses_[s].dtype, lanes,
                        mask);
    }
  });
  for (std::size_t k = 0; k < values.size(); ++k) {
    std::size_t s = first_output_ + k;
    if (stride_class(accesses_[s].column_stride) == 1 || lanes == 1)
      e.store(values[k], address(s), accesses_[s].dtype, lanes, mask);
    else
      e.scatter(values[k], address(s), e.lane_offsets(column_strides_[s], lanes), accesses_[s].dtype, lanes,
                mask);
  }
}

}  // namespace kiln::codegen
