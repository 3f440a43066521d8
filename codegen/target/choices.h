// Sizes and thresholds that follow from the machine.
#pragma once
#include "codegen/target/machine.h"

#include <algorithm>
#include <bit>

/// Each size and threshold is a formula of the machine's numbers. None changes a bit. Constants that depend
/// on no machine are in tuning.h. They decide parameters of kernels, or code, and then the kernel's key says
/// so. Fractions of L2 were measured where it has 1 MiB; with 2 MiB networks run as fast.
namespace kiln::codegen::choices {

// Caches.

/// Larger arrays have left a core's private caches when they are read again. Half of L2, since the other half
/// serves a kernel's other reads and writes. At most 512 KiB: a larger L2 is slower, so that prefetches from
/// it still pay (3 % of mobilenet_v2 on 2 MiB).
inline std::int64_t private_cache_bytes(const Machine& m) {
  return std::min<std::int64_t>(m.l2.bytes / 2, 512 * 1024);
}
/// The minimum of bytes that consecutive kernels pass through memory for row fusion to pay. Less stays in L2,
/// beside the operands and results of both.
inline std::int64_t min_row_fusion_bytes(const Machine& m) { return m.l2.bytes / 4; }
/// Bytes of a row block of a row fusion, which stays in L1. A power of two leaves room if L1 has another
/// size.
inline std::int64_t row_block_bytes(const Machine& m) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(m.l1.bytes)));
}
/// The maximum of bytes of an operand that stays in L1 until the next result of a reduction reads it again.
/// The other half of L1 is for operands that the results do not share. The results of a tile read a longer
/// operand together.
inline std::int64_t shared_row_bytes(const Machine& m) { return m.l1.bytes / 2; }
/// A row result that the next row depends on stays in L2, beside the arrays that stream through it. Shorter
/// parts of rows, which stay in L1, are up to a third slower: where each ends, a prefetcher has to begin
/// anew.
inline std::int64_t previous_row_bytes(const Machine& m) { return m.l2.bytes / 4; }

// Streams.

/// Contiguous results from this size on are stored non-temporally. They fit neither into L2 nor into a core's
/// share of L3, which is a power of two, or 0 if L3 is no faster than memory.
inline std::int64_t min_nontemporal_bytes(const Machine& m) {
  return std::max(m.l2.bytes, 2 * m.streams().l3_bytes);
}
/// Whether a result of this size is stored non-temporally. Compares with L2 first, since Machine::streams()
/// may have to measure.
inline bool stores_nontemporally(const Machine& m, std::int64_t bytes) {
  return bytes >= m.l2.bytes && bytes >= min_nontemporal_bytes(m);
}
/// Whether an operand of this size comes from memory whenever it is read.
inline bool comes_from_memory(const Machine& m, std::int64_t bytes) { return stores_nontemporally(m, bytes); }
/// Whether loops prefetch arrays of this size, which they stream through: if it gains (up to a tenth). Some
/// processors detect streams so well that prefetch instructions only cost time, up to a fifth.
inline bool prefetches_stream(const Machine& m, std::int64_t bytes) {
  return bytes > private_cache_bytes(m) && m.streams().prefetch_speed > 100;
}
/// Prefetch distance for the rows of an array of this size: the bytes that arrive during the latency of a
/// load, rounded up to a power of two. At least a few lines, at most a page, where hardware prefetchers stop.
/// An array that stays in L2 is prefetched into L1, from any distance.
inline std::int64_t stream_prefetch_bytes(const Machine& m, std::int64_t array_bytes) {
  if (array_bytes <= private_cache_bytes(m)) return 2048;
  const std::int64_t bytes = m.streams().l3_latency * m.streams().l3_read;
  const auto power = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(bytes, 4096))));
  return std::max<std::int64_t>(power, 512);
}

// Contractions.

/// A's elements for a row block stay in L2, beside panels of B and results.
inline std::int64_t block_lhs_bytes(const Machine& m) { return m.l2.bytes / 8 * 3; }
/// With a packed B of at most `small_rhs_bytes`, a small part of L2, A's elements and the results of a row
/// block stay in L1.
inline std::int64_t small_block_bytes(const Machine& m) { return m.l1.bytes; }
inline std::int64_t small_rhs_bytes(const Machine& m) { return m.l2.bytes / 8; }
/// A larger packed B streams from L3 or memory for each row block.
inline std::int64_t l2_rhs_bytes(const Machine& m) { return m.l2.bytes; }
/// Totals of a block between chunks of k, and copies of A for a chunk of k and a row block: together half of
/// L2.
inline std::int64_t totals_bytes(const Machine& m) { return m.l2.bytes / 16 * 3; }
inline std::int64_t copy_bytes(const Machine& m) { return m.l2.bytes / 16 * 5; }
/// Images that were transposed are read from L2 afterwards, beside weights and results.
inline std::int64_t transposed_image_bytes(const Machine& m) { return m.l2.bytes / 4 * 3; }
/// The lines of images that a tile along the lines of the result reads stay in L1, beside the arrays that
/// stream through it.
inline std::int64_t lines_bytes(const Machine& m) { return m.l1.bytes / 2; }
/// If each product of a batch has a separate B, a block of it stays in L1, beside A.
inline std::int64_t small_packed_block_bytes(const Machine& m) { return m.l1.bytes / 2; }
/// A B that is read where it lies by several row tiles stays in L2.
inline std::int64_t in_place_rhs_bytes(const Machine& m) { return m.l2.bytes / 4; }
/// A column block that a kernel packs itself, and Winograd's transformed inputs: half of L2, which the other
/// operands and the results stream through.
inline std::int64_t packed_block_bytes(const Machine& m) { return m.l2.bytes / 2; }

/// If lanes are chunks of k: the maximum number of results; the registers of chunks, whose chains hide the
/// latency of FMAs; the bytes of the held operand. These stay in L1, where all lines of the other operand
/// read them.
inline constexpr int max_results_of_chunk_lanes = 15, registers_of_chunks = 2;
inline constexpr std::int64_t held_bytes = 16 * 1024;
/// Whether lanes are chunks of k (chunk_lanes.cpp). Few results do not hide the latency of FMAs, so that each
/// chunk takes as long as its chain. With lanes as chunks, all elements are transposed, and a group of chunks
/// that is not full takes as long as a full one.
inline bool has_lanes_of_chunks(std::int64_t rows, std::int64_t columns, std::int64_t k_extent,
                                std::int64_t lanes, bool of_parameter) {
  // Lines whose transposition takes as long as a chunk of a chain, or of several side by side by a packed B.
  const std::int64_t chunk = 512, lines_of_chain = of_parameter ? 6 : 24;
  if (lanes <= 1 || rows * columns == 0 || rows * columns > max_results_of_chunk_lanes) return false;
  const std::int64_t chunks = (k_extent + chunk - 1) / chunk, group = registers_of_chunks * lanes,
                     groups = (chunks + group - 1) / group;
  return groups * group * (rows + columns) < lines_of_chain * chunks;
}

}  // namespace kiln::codegen::choices
