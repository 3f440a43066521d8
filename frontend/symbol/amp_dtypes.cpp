// The rules of dtypes for casts of mixed precision. An unknown dtype costs a cast that converts nothing.
#include "frontend/symbol/amp_dtypes.h"

#include "runtime/dtype_table.h"

#include <algorithm>
#include <string_view>

namespace kiln {
namespace {

/// Operators whose results' dtype MXNet's conversion does not infer, or whose results are integers.
constexpr std::string_view untold[] = {"_contrib_AdaptiveAvgPooling2D",
                                       "_contrib_BilinearResize2D",
                                       "broadcast_like",
                                       "one_hot",
                                       "reshape_like",
                                       "scatter_nd",
                                       "shape_array",
                                       "size_array",
                                       "slice_like"};

/// Inputs that may have another dtype than the data: indices, lengths, and arrays that only give a shape.
struct FreeInput {
  std::string_view op;
  std::size_t input;
};
constexpr FreeInput free_inputs[] = {{"Crop", 1},
                                     {"Embedding", 0},
                                     {"SequenceLast", 1},
                                     {"SequenceMask", 1},
                                     {"SequenceReverse", 1},
                                     {"_contrib_BilinearResize2D", 1},
                                     {"_contrib_index_copy", 1},
                                     {"batch_take", 1},
                                     {"broadcast_like", 1},
                                     {"gather_nd", 1},
                                     {"pick", 1},
                                     {"reshape_like", 1},
                                     {"scatter_nd", 1},
                                     {"slice_like", 1},
                                     {"take", 1},
                                     {"where", 0}};

/// Whether the statistics and parameters of a layer stay float32 beside half precision.
bool has_float32_statistics(std::string_view op) {
  return op == "BatchNorm" || op == "_contrib_SyncBatchNorm";
}

std::optional<DType> if_float(DType dtype) {
  return is_floating(dtype) ? std::optional(dtype) : std::nullopt;
}

}  // namespace

std::optional<DType> amp_result_dtype(const ir::Node& node, std::uint32_t output, DType first) {
  if (!node.op) return std::nullopt;
  const std::string_view op = node.op->name;
  const bool is_numpy = op.starts_with("_np") && !op.starts_with("_npx_");
  if (is_numpy || std::find(std::begin(untold), std::end(untold), op) != std::end(untold))
    return std::nullopt;
  if (const ir::AttrSpec* const dtype = node.op->attr("dtype");
      dtype && dtype->kind == ir::AttrKind::dtype && !node.attrs.is_none("dtype"))
    return if_float(node.attrs.dtype("dtype"));
  if (output > 0 && has_float32_statistics(op)) return DType::f32;
  return first;
}

std::optional<DType> amp_input_dtype(const ir::Node& node, std::size_t i, DType first) {
  if (!node.op) return std::nullopt;
  const std::string_view op = node.op->name;
  if (std::any_of(std::begin(free_inputs), std::end(free_inputs),
                  [&](const FreeInput& input) { return input.op == op && input.input == i; }))
    return std::nullopt;
  if (node.op->undeclared_dtype)
    if (const auto dtype = node.op->undeclared_dtype(i, node.attrs)) return if_float(*dtype);
  if (i > 0 && has_float32_statistics(op)) return DType::f32;
  return first;
}

}  // namespace kiln
