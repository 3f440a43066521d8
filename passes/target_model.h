// The interface by which passes know a target.
#pragma once
#include <cstdint>

namespace kiln::passes {

/// Questions that passes ask about the target that they compile for. Code generation implements it, one class
/// for each kind of target. Answers decide speed and memory; no bit of a result depends on them.
class TargetModel {
 public:
  virtual ~TargetModel() = default;

  /// Columns of a panel of packed B, for a contraction of `columns` columns of elements of `bits` bits. The
  /// width depends on the shape of the weights alone, not on the number of rows. An eager call, a batch of 1
  /// and a batch of 64 thus share one prepacked constant.
  virtual std::int64_t panel_width(std::int64_t columns, unsigned bits) const = 0;

  /// Elements of `bits` bits that one vector holds; 1 without vectors.
  virtual std::int64_t vector_length(unsigned bits) const = 0;

  /// Whether a convolution is faster with vectors along the lines, channels first, than along the channels.
  /// It has `channels` output channels and lines of `line` results, each from `input_lines` lines of inputs.
  /// With a `stride` above 1 the lines of inputs are deinterleaved first. `alone`: its results stay in memory
  /// with the channels first.
  virtual bool vectorizes_lines(std::int64_t channels, std::int64_t line, std::int64_t input_lines,
                                std::int64_t stride, bool alone, unsigned bits) const = 0;

  /// Whether vectors run along the lines of a depthwise convolution, or of a reduction of windows, between
  /// arrays with the channels first. The alternatives are channels last, or tap by tap. Lines have `line`
  /// results; `lines` lines of `input_line` elements are read at a time.
  virtual bool filters_channels_first(std::int64_t line, std::int64_t lines, std::int64_t input_line,
                                      unsigned bits) const = 0;

  /// Whether a 1x1 convolution between arrays with the channels first is faster as the weights times each
  /// image, a matrix whose rows are the channels, than with the channels last.
  virtual bool multiplies_channels_first(std::int64_t images, std::int64_t channels, std::int64_t places,
                                         std::int64_t filters, unsigned bits) const = 0;

  /// The most rows of a contraction that is worth merging with others of the same B. With more rows it
  /// reuses the weights well by itself, and its result is still in a cache when it is needed.
  virtual std::int64_t max_merged_rows() const = 0;

  /// Whether the kernel of a batch of products gets each B unpacked: it reads it in place, or packs it
  /// itself.
  virtual bool packs_in_products() const = 0;

  /// Whether a contraction takes B unpacked even if B is a parameter: `rows` by `columns` results, each a sum
  /// over `k_extent` values of k. With few results and many chunks of k, lanes are chunks.
  virtual bool has_lanes_of_chunks(std::int64_t rows, std::int64_t columns, std::int64_t k_extent,
                                   unsigned bits) const = 0;

  /// Whether a product of f32 reads packed B in half precision or of bytes and widens it, where its parameter
  /// has that dtype.
  virtual bool widens_panels() const = 0;

  /// Whether contractions multiply bytes, of packed words of four values of k (PackKind::words). Otherwise
  /// they multiply the i32 that the bytes are widened to.
  virtual bool multiplies_bytes() const = 0;

  /// The most points of a pooling window whose accumulators one contraction's tile can hold.
  virtual std::int64_t max_window_points() const = 0;

  /// Bytes that consecutive kernels pass through memory from which on row fusion pays. Less stays in a cache
  /// anyway.
  virtual std::int64_t min_row_fusion_bytes() const = 0;
};

}  // namespace kiln::passes
