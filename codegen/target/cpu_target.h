// A CPU as kernels are compiled for it: instructions, vectors, and the machine to tune for.
#pragma once
#include "codegen/target/isa.h"
#include "codegen/target/machine.h"
#include "codegen/target/target_model.h"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kiln::codegen {

/// The instructions that a kernel's code may use: a CPU's, or one element at a time.
struct CpuTarget {
  Isa isa = Isa::scalar;
  int vector_bytes = 0;  ///< of a register; 0: one element at a time
  std::string cpu;       ///< LLVM's name: "x86-64-v4"
  std::string features;  ///< LLVM's list; empty: the cpu's
  /// The machine to tune for; never null. Parameters of kernels may depend on it; code may if its key does.
  /// It is no part of the target's id.
  const Machine* machine = &assumed_machine();
  /// Whether vpdpbusd multiplies bytes, on vectors: AVX512_VNNI or AVX_VNNI. It is no part of the target's
  /// id: keys of kernels that have the instruction name it.
  bool vnni = false;
  /// Whether the matrix unit multiplies bytes and pairs, where `vnni` does too. As for `vnni`, keys name it.
  bool amx = false;
  /// Whether instructions can flush subnormals (.ftz of PTX). Otherwise a mode of the thread does (MXCSR).
  bool has_flushing_instructions = false;

  /// Lanes of a vector of elements of `element_bytes`. Elements narrower than 4 bytes have the lanes of
  /// 4-byte elements, so that types of different widths have one lane count.
  int lanes(std::size_t element_bytes) const {
    return vector_bytes == 0 ? 1 : vector_bytes / static_cast<int>(element_bytes < 4 ? 4 : element_bytes);
  }
  /// Vector registers; registers of scalar code hold one element.
  int registers() const { return vector_registers(lanes(4)); }
  /// As KILN_TARGET_CPU names it: "avx512-vnni".
  std::string_view name() const;
  /// LLVM's names of the features that `amx` is.
  static constexpr const char* amx_features = "+amx-tile,+amx-bf16,+amx-int8";
  /// LLVM's name of the feature that `vnni` is.
  const char* vnni_feature() const { return isa == Isa::avx512 ? "+avx512vnni" : "+avxvnni"; }
};

/// Whether the processor at hand has all of these features, by LLVM's names.
bool host_has(std::initializer_list<const char*> features);

/// The widest instructions that this machine and the request allow; vnni for Isa::host alone. Throws
/// kiln::Error when the machine lacks the requested ones.
CpuTarget select_cpu(Isa request);

}  // namespace kiln::codegen
