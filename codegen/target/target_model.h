// The target model of CPUs.
#pragma once
#include "codegen/target/machine.h"
#include "passes/target_model.h"

namespace kiln::codegen {

/// The vector registers of a CPU with vectors of `lanes` f32.
inline int vector_registers(std::int64_t lanes) { return lanes == 16 ? 32 : 16; }

/// A B with columns for this number of registers is packed in panels of one register, since no wider panel
/// divides them. A tile takes all of these panels together.
inline constexpr std::int64_t joined_registers = 5;

/// A CPU with vectors of `lanes` f32 (1: scalar code) to the passes. The machine must outlive it.
class CpuTargetModel final : public passes::TargetModel {
 public:
  CpuTargetModel(std::int64_t lanes, const Machine& machine) : lanes_(lanes), machine_(machine) {}

  std::int64_t panel_width(std::int64_t columns, unsigned bits) const override;
  std::int64_t vector_length(unsigned bits) const override;
  bool vectorizes_lines(std::int64_t channels, std::int64_t line, std::int64_t input_lines,
                        std::int64_t stride, bool alone, unsigned bits) const override;
  bool filters_channels_first(std::int64_t line, std::int64_t lines, std::int64_t input_line,
                              unsigned bits) const override;
  bool multiplies_channels_first(std::int64_t images, std::int64_t channels, std::int64_t places,
                                 std::int64_t filters, unsigned bits) const override;
  std::int64_t max_merged_rows() const override;
  bool widens_panels() const override;
  bool multiplies_bytes() const override;
  bool packs_in_products() const override;
  bool has_lanes_of_chunks(std::int64_t rows, std::int64_t columns, std::int64_t k_extent,
                           unsigned bits) const override;
  std::int64_t max_window_points() const override;
  std::int64_t min_row_fusion_bytes() const override;

 private:
  /// Elements of a vector: f64 and i64 are twice as wide as the others, which count as f32.
  std::int64_t lanes_of(unsigned bits) const { return bits > 32 ? lanes_ / 2 : lanes_; }

  std::int64_t lanes_;
  const Machine& machine_;
};

}  // namespace kiln::codegen
