#include "codegen/epilogue.h"

#include "runtime/fail.h"

namespace kiln::codegen {

Epilogue::Epilogue(mlir::Operation* op, mlir::Value root, llvm::ArrayRef<std::size_t> outer,
                   llvm::ArrayRef<std::size_t> rows, std::size_t columns)
    : body_(llvm::SmallVector<mlir::Value>(op->getRegion(0).front().getTerminator()->getOperands()), root),
      outer_count_(outer.size()) {
  auto fusion = llvm::cast<ir::FusionOp>(op);
  ir::View out = ir::View::whole(fusion.getResult(0));
  // Rows may be several axes (the spatial ones of a convolution); an operand walks them as one, or it may not
  // be here.
  auto row_stride = [&](const Dims& strides) {
    Dims extents;
    llvm::SmallVector<Dims> lists(1);
    for (std::size_t axis : rows) {
      extents.push_back(out.shape[axis]);
      lists[0].push_back(strides[axis]);
    }
    ir::collapse_axes(extents, lists);
    if (extents.size() > 1)
      fail_internal("the end of a product reads an operand that its rows do not walk as one");
    return extents.empty() ? 0 : lists[0][0];
  };
  auto add = [&](DType dtype, int operand, std::int64_t offset, const Dims& strides) {
    Operand o{dtype, operand, offset, {}, row_stride(strides), strides[columns]};
    for (std::size_t axis : outer) o.outer_strides.push_back(strides[axis]);
    key_ += fmt::format(" {}:{}:{}:{}", name_of(dtype), operand, stride_class(o.row_stride),
                        stride_class(o.column_stride));
    streams_.push_back(std::move(o));
  };
  for (const Leaf& leaf : body_.leaves()) {
    if (leaf.kind == Leaf::Kind::root) {
      leaf_stream_.push_back(-1);
      continue;
    }
    if (leaf.kind != Leaf::Kind::memory)
      fail_internal("the end of a product reads something that is not in memory");
    leaf_stream_.push_back(static_cast<int>(streams_.size()));
    add(leaf.dtype, static_cast<int>(leaf.argument), leaf.view.offset, leaf.view.strides);
  }
  first_output_ = streams_.size();
  for (auto [i, result] : llvm::enumerate(fusion.getResults()))
    add(dtype_of_value(result), static_cast<int>(fusion.getNumOperands() + i), 0, out.strides);
  key_ = fmt::format(" epilogue outer={}", outer_count_) + key_ + body_.key();
}

void Epilogue::append_params(std::vector<std::int64_t>& params) const {
  for (const Operand& o : streams_) {
    params.insert(params.end(), {o.offset, o.row_stride, o.column_stride});
    params.insert(params.end(), o.outer_strides.begin(), o.outer_strides.end());
  }
}

void Epilogue::prepare(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                       mlir::ValueRange outer_index) {
  bases_.clear();
  row_strides_.clear();
  column_strides_.clear();
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    std::int64_t at = first_param + static_cast<std::int64_t>(s * stride_count());
    mlir::Value offset = e.param(params, at);
    for (auto [k, index] : llvm::enumerate(outer_index))
      offset = e.add(offset, e.mul(index, e.param(params, at + 3 + static_cast<std::int64_t>(k))));
    bases_.push_back(e.element(e.buffer(buffers, streams_[s].operand), offset, streams_[s].dtype));
    row_strides_.push_back(e.param(params, at + 1));
    column_strides_.push_back(e.param(params, at + 2));
  }
}

void Epilogue::store(Emit& e, mlir::Value sum, mlir::Value i, mlir::Value j, bool along_columns, int lanes,
                     mlir::Value mask) {
  auto address = [&](std::size_t s) {
    mlir::Value index = e.add(e.mul(i, row_strides_[s]), e.mul(j, column_strides_[s]));
    return e.element(bases_[s], index, streams_[s].dtype);
  };
  auto lane_class = [&](std::size_t s) {
    return stride_class(along_columns ? streams_[s].column_stride : streams_[s].row_stride);
  };
  auto lane_stride = [&](std::size_t s) { return along_columns ? column_strides_[s] : row_strides_[s]; };
  auto values = body_.emit(e, lanes, [&](std::size_t leaf) -> mlir::Value {
    if (leaf_stream_[leaf] < 0) return sum;
    auto s = static_cast<std::size_t>(leaf_stream_[leaf]);
    switch (lane_class(s)) {
      case 0:
        return e.splat(e.load_scalar(address(s), streams_[s].dtype), lanes);
      case 1:
        return e.load(address(s), streams_[s].dtype, lanes, mask);
      default:
        return e.gather(address(s), e.lane_offsets(lane_stride(s), lanes), streams_[s].dtype, lanes, mask);
    }
  });
  for (std::size_t k = 0; k < values.size(); ++k) {
    std::size_t s = first_output_ + k;
    if (lane_class(s) == 1 || lanes == 1)
      e.store(values[k], address(s), streams_[s].dtype, lanes, mask);
    else
      e.scatter(values[k], address(s), e.lane_offsets(lane_stride(s), lanes), streams_[s].dtype, lanes, mask);
  }
}

}  // namespace kiln::codegen
