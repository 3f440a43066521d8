// Composes view operations into strides.
#include "ir/views.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace kiln::ir {
namespace {

using Dims = llvm::SmallVector<std::int64_t, 6>;

Dims dense_strides(llvm::ArrayRef<std::int64_t> shape) {
  Dims strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

/// Strides of the reshaped view, or nothing. Both shapes are split into the smallest groups of axes with
/// equal products; the view's axes within a group must be contiguous.
std::optional<Dims> reshaped_strides(const View& view, llvm::ArrayRef<std::int64_t> to) {
  if (view.is_contiguous()) return dense_strides(to);
  Dims strides(to.size(), 0);
  std::size_t i = 0, j = 0;
  const auto& from = view.shape;
  while (i < from.size() || j < to.size()) {
    std::int64_t a = 1, b = 1;
    std::size_t i0 = i, j0 = j;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a < b) {
        if (i == from.size()) return std::nullopt;
        a *= from[i++];
      } else {
        if (j == to.size()) return std::nullopt;
        b *= to[j++];
      }
    }
    // The stride of the group: the stride of its innermost axis of extent above 1, if the others are
    // contiguous with it.
    std::int64_t step = 0, run = 1;
    bool first = true;
    for (std::size_t k = i; k-- > i0;) {
      if (from[k] == 1) continue;
      if (first) {
        step = view.strides[k];
        first = false;
      } else if (view.strides[k] != step * run) {
        return std::nullopt;
      }
      run *= from[k];
    }
    std::int64_t inner = step;
    for (std::size_t k = j; k-- > j0;) {
      strides[k] = inner;
      inner *= to[k];
    }
  }
  return strides;
}

}  // namespace

View View::whole(mlir::Value base) {
  View v;
  v.base = base;
  v.shape.assign(ranked(base).getShape().begin(), ranked(base).getShape().end());
  v.strides = dense_strides(v.shape);
  return v;
}

bool View::is_contiguous() const {
  if (offset != 0) return false;
  Dims dense = dense_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && strides[i] != dense[i]) return false;
  std::int64_t elements = 1;
  for (std::int64_t d : shape) elements *= d;
  return elements == ranked(base).getNumElements();
}

bool is_of_words(const View& view, std::int64_t values) {
  const auto is_whole = [=](std::int64_t n) { return n % values == 0; };
  return !view.strides.empty() && view.strides.back() == 1 && is_whole(view.shape.back()) &&
         is_whole(view.offset) && llvm::all_of(llvm::ArrayRef(view.strides).drop_back(), is_whole);
}

std::optional<View> apply_view_op(mlir::Operation* op, const View& view) {
  View out;
  out.base = view.base;
  out.offset = view.offset;
  auto result = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getShape();
  out.shape.assign(result.begin(), result.end());
  if (auto broadcast = llvm::dyn_cast<BroadcastOp>(op)) {
    out.strides.assign(result.size(), 0);
    for (auto [i, d] : llvm::enumerate(broadcast.getDims()))
      if (view.shape[i] != 1) out.strides[static_cast<std::size_t>(d)] = view.strides[i];
    return out;
  }
  if (auto transpose = llvm::dyn_cast<TransposeOp>(op)) {
    for (std::int64_t p : transpose.getPermutation())
      out.strides.push_back(view.strides[static_cast<std::size_t>(p)]);
    return out;
  }
  if (auto slice = llvm::dyn_cast<SliceOp>(op)) {
    for (std::size_t i = 0; i < view.strides.size(); ++i) {
      out.offset += slice.getStart()[i] * view.strides[i];
      out.strides.push_back(view.strides[i] * slice.getStep()[i]);
    }
    return out;
  }
  if (auto reverse = llvm::dyn_cast<ReverseOp>(op)) {
    out.strides = view.strides;
    for (std::int64_t axis : reverse.getAxes()) {
      auto i = static_cast<std::size_t>(axis);
      if (view.shape[i] > 0) out.offset += (view.shape[i] - 1) * view.strides[i];
      out.strides[i] = -view.strides[i];
    }
    return out;
  }
  if (llvm::isa<ReshapeOp>(op)) {
    auto strides = reshaped_strides(view, result);
    if (!strides) return std::nullopt;
    out.strides = *strides;
    return out;
  }
  return std::nullopt;
}

View view_of(mlir::Value v) {
  llvm::SmallVector<mlir::Operation*, 4> chain;  // the last operation first
  for (mlir::Operation* op = v.getDefiningOp(); op && is_view_op(op) && chain.size() < max_view_chain;
       op = v.getDefiningOp()) {
    chain.push_back(op);
    v = op->getOperand(0);
  }
  View view = View::whole(v);
  for (mlir::Operation* op : llvm::reverse(chain)) {
    auto moved = apply_view_op(op, view);
    view = moved ? *std::move(moved) : View::whole(op->getResult(0));
  }
  return view;
}

std::optional<bool> exchanges_channels(const View& weights) {
  const View whole = View::whole(weights.base);
  if (whole.shape.size() < 3 || weights.shape.size() < 3) return {};
  const auto is_axis = [&](std::size_t axis, std::size_t of_base) {
    return weights.shape[axis] == whole.shape[of_base] && weights.strides[axis] == whole.strides[of_base];
  };
  if (is_axis(0, 0) && is_axis(1, 1)) return false;
  if (is_axis(0, 1) && is_axis(1, 0)) return true;
  return {};
}

View inner_of(PadOp pad) {
  View view = View::whole(pad.getResult());
  for (auto [low, stride] : llvm::zip(pad.getLow(), view.strides)) view.offset += low * stride;
  view.shape.assign(ranked(pad.getX()).getShape().begin(), ranked(pad.getX()).getShape().end());
  return view;
}

View replaced_by(InsertOp insert) {
  View view = View::whole(insert.getResult());
  for (std::size_t i = 0; i < view.strides.size(); ++i) {
    view.offset += insert.getStart()[i] * view.strides[i];
    view.strides[i] *= insert.getStep()[i];
  }
  const auto shape = ranked(insert.getUpdate()).getShape();
  view.shape.assign(shape.begin(), shape.end());
  return view;
}

std::optional<unsigned> aliased_operand(mlir::OpResult result) {
  if (llvm::isa<ReshapeOp, CheckBoundsOp>(result.getOwner())) return 0;
  if (!llvm::isa<FusionOp>(result.getOwner())) return std::nullopt;
  auto insert = yielded_as(result).get().getDefiningOp<InsertOp>();
  if (!insert) return std::nullopt;
  return llvm::cast<mlir::BlockArgument>(insert.getX()).getArgNumber();
}

/// The operand that `v` is an alias of, or null.
static mlir::Value aliased(mlir::Value v) {
  auto result = llvm::dyn_cast<mlir::OpResult>(v);
  const auto operand = result ? aliased_operand(result) : std::nullopt;
  return operand ? result.getOwner()->getOperand(*operand) : mlir::Value();
}

mlir::Value memory_of(mlir::Value v) {
  while (mlir::Value next = aliased(v)) v = next;
  return v;
}

mlir::Value AliasRoots::of(mlir::Value v) {
  llvm::SmallVector<mlir::Value, 4> chain;
  while (mlir::Value next = aliased(v)) {
    if (auto known = roots_.find(v); known != roots_.end()) {
      v = known->second;
      break;
    }
    chain.push_back(v);
    v = next;
  }
  for (mlir::Value alias : chain) roots_[alias] = v;
  return v;
}

void collapse_axes(llvm::SmallVectorImpl<std::int64_t>& extents, llvm::SmallVectorImpl<Dims>& strides,
                   std::size_t* boundary) {
  std::size_t kept = 0;
  std::size_t old_boundary = boundary ? *boundary : 0, new_boundary = 0;
  bool boundary_seen = boundary == nullptr;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (!boundary_seen && i >= old_boundary) {
      new_boundary = kept;
      boundary_seen = true;
    }
    if (extents[i] == 1) continue;
    bool joins = kept > 0 && !(boundary && boundary_seen && kept == new_boundary);
    for (auto& s : strides)
      if (joins && s[kept - 1] != s[i] * extents[i]) joins = false;
    if (joins) {
      extents[kept - 1] *= extents[i];
      for (auto& s : strides) s[kept - 1] = s[i];
    } else {
      extents[kept] = extents[i];
      for (auto& s : strides) s[kept] = s[i];
      ++kept;
    }
  }
  if (boundary) *boundary = boundary_seen ? new_boundary : kept;
  extents.resize(kept);
  for (auto& s : strides) s.resize(kept);
}

}  // namespace kiln::ir
