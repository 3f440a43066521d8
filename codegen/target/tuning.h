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
inline constexpr std::int64_t least_task_cost = 32 * 1024;

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
/// Smaller boxes with narrow rows share the code of general boxes.
inline constexpr std::int64_t least_narrow_elements = 4096;
/// Minimum elements of a block, if an array is extended along an axis, to make it a separate row: the loops
/// around such a row are cheap beside it, and threads have more rows to divide.
inline constexpr std::int64_t least_copied_elements = 64;
/// Where lanes run along a kept axis, a column block of it is reduced at a time, with its partial sums on the
/// stack. Columns by chained512: rows are read about a page at a time, and partial sums stay in L1. By
/// interleaved64: the 64 partial sums take 32 KiB; narrower blocks, which read rows in parts, take longer.
inline constexpr std::int64_t chain_columns = 1024, partial_columns = 128;

/// Results that are reduced together, whose partial results stay in L1: at most, and where they only share an
/// operand.
inline constexpr int most_tile_results = 16, usual_tile_results = 4;

// Contractions.

/// Packed B is prefetched when it does not fit in L2, or when so few row tiles reuse a panel that its first
/// miss is visible.
inline constexpr std::int64_t few_row_tiles = 40, first_miss_bytes = 64 * 1024;
/// An A that has left the private caches is prefetched where few column tiles hide the latency, and the
/// epilogue's operands where sums are short.
inline constexpr std::int64_t few_column_tiles = 3, short_k = 128;
/// Column tiles that share the copies.
inline constexpr std::int64_t tiles_per_copy = 8;
/// Row blocks become smaller until there are this many tasks.
inline constexpr std::int64_t least_tasks = 8;
/// Where the kernel packs B itself: rows that share a packed column block, at most, and at least where
/// smaller row blocks would give more tasks.
inline constexpr std::int64_t most_rows_per_packing = 2048, least_rows_per_packing = 192,
                              least_packing_tasks = 4;
/// Packing A as well: minimum columns; maximum rows at a time, which stay in L3; k per step, whose lines stay
/// in L2 even if they map to the same sets.
inline constexpr std::int64_t least_packed_lhs_columns = 128, most_packed_rows = 1024, packed_lhs_k = 64;
/// Contractions of few rows that read B in place. If rows of B are contiguous: maximum bytes of a row in a
/// tile; minimum registers of columns, unless there are fewer. If columns of B are contiguous: minimum number
/// of squares side by side, so that the chains of one hide the latency of the others; minimum and maximum
/// columns, since a processor follows few streams; maximum rows for which chains are interleaved.
inline constexpr std::int64_t most_unpacked_bytes = 512, least_unpacked_vectors = 2, least_squares = 2,
                              least_square_columns = 16, most_square_columns = 32,
                              most_rows_of_interleaved_squares = 2;
/// Rows of B side by side, in the order of memory. Maximum elements of A in registers; maximum rows of A.
/// Minimum and maximum bytes of a row of B in a block of columns; maximum bytes of the sums of all rows;
/// minimum number of blocks, unless they would be shorter than the minimum.
inline constexpr int most_streamed_rows = 8, most_rows_of_streams = 2;
inline constexpr std::int64_t least_streamed_bytes = 2 * 1024, most_streamed_bytes = 8 * 1024,
                              most_streamed_sum_bytes = 16 * 1024, least_streamed_blocks = 8;
/// More rows that read B in place: registers of the target per register of columns in a tile; maximum rows
/// that read a B of two registers or fewer in place.
inline constexpr int registers_for_vector_in_place = 8;
inline constexpr std::int64_t most_rows_of_two_in_place = 128;
/// Accumulators that hide the latency of an FMA: 4 cycles, two per cycle.
inline constexpr std::int64_t least_accumulators = 8;
/// Taller tiles make the code longer and not faster.
inline constexpr int most_tile_rows = 14;
/// Rows of A a multiple of a page apart map to the same L1 set, which has eight ways. How many such rows a
/// tile may have: usually, and where a shorter tile costs more than conflicts.
inline constexpr int usual_conflicting_rows = 6, most_conflicting_rows = 7;
/// Panels that a packing task fills in one pass over k.
inline constexpr std::int64_t panels_together = 8;

// Winograd.

/// Each tile block reads all weights. Minimum tiles of a block if weights stream from memory: computing then
/// takes longer than reading.
inline constexpr std::int64_t least_streaming_tiles = 64;

}  // namespace kiln::codegen::tuning
