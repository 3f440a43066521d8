#pragma once
#include <llvm/ADT/SmallVector.h>
#include <mlir/Pass/Pass.h>

#include <cstdint>
#include <memory>

namespace kiln::passes {

/// Columns of a panel for a product of `columns` columns of elements of `bits` bits, on registers of `lanes`
/// f32.
///
/// Depends on the shape of the weights alone, not on the number of rows: an eager call, a batch of 1 and a
/// batch of 64 share one snapshot of a parameter.
std::int64_t panel_width(std::int64_t columns, std::int64_t lanes, unsigned bits);

/// The transpose from (n, c, spatial...) to (n, spatial..., c), and back.
llvm::SmallVector<std::int64_t> channels_last_order(std::int64_t rank);
llvm::SmallVector<std::int64_t> channels_first_order(std::int64_t rank);

/// Splits products into the layout of their right operand (kiln.pack) and a product that reads it
/// (kiln.packed_dot, kiln.packed_convolution). A transpose of the last two axes of an operand of a dot
/// becomes a property of the product. Convolutions are computed with the channels last, between two
/// transposes (kiln-sink-transposes moves those), or, with few channels and an input that comes as it is,
/// with the channels first.
///
/// Why here: packs of a parameter are then visible, so that they are shared (CSE runs behind) and kept as
/// snapshots across calls. After expand: no convolution adds to its border. Before fuse: packed products are
/// what it makes kernels of. Needs: expand. Guarantees: no dot or convolution is left; the order of summation
/// is theirs still.
std::unique_ptr<mlir::Pass> create_layout_pass(std::int64_t lanes = 16);

}  // namespace kiln::passes
