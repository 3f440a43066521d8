// Constants of tuning that depend on no machine.
#pragma once
#include <cstdint>

/// Sizes and distances that kernels are tuned by. Constants that follow from numbers of the machine are in
/// choices.h. None changes a bit. They were measured, as EXPERIMENTS.md beside the kernels says for each
/// family. The sizes of orders that fix bits (chunks of 512, blocks of 1024) stand in ir/KilnOps.td and are
/// no tuning.
namespace kiln::codegen::tuning {

inline constexpr std::int64_t cache_line_bytes = 64;

// Tasks.

/// Minimum cost of a thread's task, in the cheapest element operations: about 5 us, twice the time to wake a
/// thread.
inline constexpr std::int64_t min_task_cost = 32 * 1024;

// Prefetch distances.

/// Bytes, in loop nests. A hardware prefetcher stops at a page boundary, hence a page. Not more, since arrays
/// with equal page offsets compete for the same L1 sets, each of eight ways.
inline constexpr std::int64_t nest_prefetch_bytes = 4 * 1024;
/// Values of k, in packed B.
inline constexpr std::int64_t packed_prefetch_k = 16;
/// Values of k, in a B that is being packed: hardware prefetchers stop at a page boundary.
inline constexpr std::int64_t packing_prefetch_k = 4;
/// Elements, in A where the rows of consecutive tiles are consecutive in memory.
inline constexpr std::int64_t lhs_prefetch_elements = 1024;

// Loop nests and reductions.

/// Rows of a row block, unless it has fewer: as many as a register has elements of 4 bytes, at most.
inline constexpr std::int64_t row_block_multiple = 16;
/// Elements of a box with narrow rows. A smaller box shares the code of general boxes.
inline constexpr std::int64_t min_narrow_elements = 4096;
/// Elements of a block of an array that is extended along an axis, to make the block a separate row. The
/// loops around such a row are cheap beside it, and threads have more rows to divide.
inline constexpr std::int64_t min_copied_elements = 64;
/// Columns of a block that chained512 reduces at a time where lanes run along a kept axis. Rows are read
/// about a page at a time, and the partial sums on the stack stay in L1.
inline constexpr std::int64_t chain_columns = 1024;
/// Columns of such a block for interleaved64: its 64 partial sums take 32 KiB. Narrower blocks, which read
/// rows in parts, take longer.
inline constexpr std::int64_t partial_columns = 128;
/// Results that are reduced together: their partial results stay in L1.
inline constexpr int max_tile_results = 16;
/// Results that are reduced together and only share an operand.
inline constexpr int usual_tile_results = 4;

// Contractions.

/// Row tiles that reuse a panel of packed B. With at most this many, they do not amortise its first cache
/// miss.
inline constexpr std::int64_t few_row_tiles = 40;
/// Bytes of a B with few row tiles: a larger B is prefetched. With more row tiles, only a B that does not fit
/// in L2 is prefetched.
inline constexpr std::int64_t first_miss_bytes = 64 * 1024;
/// Column tiles that hide no latency: an A that has left the private caches is prefetched for them.
inline constexpr std::int64_t few_column_tiles = 3;
/// Values of k of a short sum: the operands of its epilogue are prefetched.
inline constexpr std::int64_t short_k = 128;
/// Column tiles that share the copies of A.
inline constexpr std::int64_t tiles_per_copy = 8;
/// Tasks of a kernel. Row blocks become smaller until there are this many.
inline constexpr std::int64_t min_tasks = 8;
/// Rows of A that share a packed column block, if the kernel packs B itself.
inline constexpr std::int64_t max_rows_per_packing = 2048;
/// Rows of such a block, where smaller blocks would give more tasks.
inline constexpr std::int64_t min_rows_per_packing = 192;
/// Tasks of such a kernel. Row blocks become smaller until there are this many.
inline constexpr std::int64_t min_packing_tasks = 4;
/// Columns of a product that packs A as well: fewer do not repay it.
inline constexpr std::int64_t min_packed_lhs_columns = 128;
/// Rows of A that are packed at a time: they stay in L3.
inline constexpr std::int64_t max_packed_rows = 1024;
/// Values of k of A that are packed at a time: their lines stay in L2, even if they map to the same sets.
inline constexpr std::int64_t packed_lhs_k = 64;
/// Panels that a packing task fills in one pass over k.
inline constexpr std::int64_t panels_together = 8;
/// Accumulators that hide the latency of an FMA: 4 cycles, two per cycle.
inline constexpr std::int64_t min_accumulators = 8;
/// Rows of a tile. Taller tiles make the code longer and not faster.
inline constexpr int max_tile_rows = 14;
/// Rows of a tile that map to the same L1 set, which has eight ways: rows of A a multiple of a page apart.
inline constexpr int usual_conflicting_rows = 6;
/// Such rows, where a shorter tile costs more than conflicts.
inline constexpr int max_conflicting_rows = 7;

// Contractions of few rows that read B in place. Columns that are contiguous in memory are read by squares,
// which are transposed in registers (cpu/contraction/column_squares.h).

/// Bytes of a row of B in a tile, if rows of B are contiguous.
inline constexpr std::int64_t max_unpacked_bytes = 512;
/// Registers of columns in such a tile, unless there are fewer columns.
inline constexpr std::int64_t min_unpacked_vectors = 2;
/// Squares side by side: the chains of one hide the latency of the others.
inline constexpr std::int64_t min_squares = 2;
/// Columns of the squares of a tile, even if they map to the same L1 sets.
inline constexpr std::int64_t min_square_columns = 16;
/// Columns of the squares of a tile. Each is a stream, and a processor follows few.
inline constexpr std::int64_t max_square_columns = 32;
/// Rows of A for which the chains of all squares are interleaved. More rows leave no registers for it.
inline constexpr int max_rows_of_interleaved_squares = 2;
/// Elements of A in registers, if rows of B are read side by side in the order of memory.
inline constexpr int max_streamed_rows = 8;
/// Rows of A that read rows of B side by side.
inline constexpr int max_rows_of_streams = 2;
/// Bytes of a row of B in a block of columns, if rows of B are read side by side.
inline constexpr std::int64_t min_streamed_bytes = 2 * 1024;
/// Bytes of a row of B in such a block of columns: two pages of a stream.
inline constexpr std::int64_t max_streamed_bytes = 8 * 1024;
/// Bytes of the sums of all rows of A in such a block of columns: they stay in L1.
inline constexpr std::int64_t max_streamed_sum_bytes = 16 * 1024;
/// Such blocks of columns, which are tasks, unless they would be shorter than min_streamed_bytes.
inline constexpr std::int64_t min_streamed_blocks = 8;
/// Registers of the target per register of columns in a tile, if more rows read B in place.
inline constexpr int registers_for_vector_in_place = 8;
/// Rows of A that read a B of two registers or fewer in place. More rows use packed B, which is aligned.
inline constexpr std::int64_t max_rows_of_two_in_place = 128;

// Winograd.

/// Tiles of a block if weights stream from memory. Each block reads all weights, and computing this many
/// tiles takes longer than reading.
inline constexpr std::int64_t min_streaming_tiles = 64;

}  // namespace kiln::codegen::tuning
