// The model of the machine and the choices that follow from it, as `kiln bench --target` prints them.
#include "codegen/target/describe_target.h"

#include "codegen/target/choices.h"
#include "codegen/target/cpu_target.h"
#include "codegen/target/measure_peak.h"

#include <llvm/TargetParser/Host.h>

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

std::string size_text(std::int64_t bytes) {
  return bytes >= 1 << 20 && bytes % (1 << 20) == 0   ? fmt::format("{} MiB", bytes >> 20)
         : bytes >= 1 << 10 && bytes % (1 << 10) == 0 ? fmt::format("{} KiB", bytes >> 10)
                                                      : fmt::format("{} B", bytes);
}

std::string cache_text(const Cache& cache) {
  return fmt::format("{}, {} ways", size_text(cache.bytes), cache.ways);
}

std::string value_text(const StreamFact& fact, std::int64_t value) {
  switch (fact.unit) {
    case StreamFact::Unit::bytes:
      return value == 0 ? "none, slow as memory" : size_text(value);
    case StreamFact::Unit::rate:
      return fmt::format("{} GB/s", value);
    case StreamFact::Unit::nanoseconds:
      return fmt::format("{} ns", value);
    case StreamFact::Unit::percent:
      return fmt::format("{} % of the speed", value);
  }
  return {};
}

std::string facts_text(const Machine& m) {
  std::string text;
  const auto line = [&](const char* what, std::string_view name, const std::string& value, Source source) {
    text += fmt::format("{:<24}{:<14}{:<28}{}\n", what, name, value, name_of(source));
  };
  text += fmt::format("{:<24}{:<14}{:<28}{}\n", "machine", "KILN_MACHINE", "value", "source");
  line("L1 data cache", "l1", cache_text(m.l1), m.l1.source);
  line("L2 cache", "l2", cache_text(m.l2), m.l2.source);
  if (m.l3)
    line("L3 cache", "-", fmt::format("{} of {} CPUs", size_text(m.l3->bytes), m.l3_cpus), m.l3->source);
  const Streams& streams = m.streams();
  for (const StreamFact& fact : stream_facts())
    line(fact.meaning, fact.name, value_text(fact, streams.*fact.value), streams.source);
  return text;
}

std::string choices_text(const Machine& m) {
  namespace c = choices;
  std::string text = fmt::format("{:<38}value\n", "choice (codegen/target/choices.h)");
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("{:<38}{}\n", what, value);
  };
  const std::int64_t streamed = 2 * c::private_cache_bytes(m);
  line("larger arrays leave private caches", size_text(c::private_cache_bytes(m)));
  line("row fusion of data from", size_text(c::min_row_fusion_bytes(m)));
  line("row block of a row fusion", size_text(c::row_block_bytes(m)));
  line("shared operand of a tile of results", size_text(c::shared_row_bytes(m)));
  line("non-temporal stores of results from", size_text(c::min_nontemporal_bytes(m)));
  line("software prefetch of streams", c::prefetches_stream(m, streamed) ? "yes" : "no");
  line("prefetch distance in rows", size_text(c::stream_prefetch_bytes(m, streamed)));
  line("A of a row block, in L2", size_text(c::block_lhs_bytes(m)));
  line("the same, in L1, with a small B", size_text(c::small_block_bytes(m)));
  line("small B", size_text(c::small_rhs_bytes(m)));
  line("B that stays in L2", size_text(c::l2_rhs_bytes(m)));
  line("B that is read where it lies", size_text(c::in_place_rhs_bytes(m)));
  line("column block that a kernel packs", size_text(c::packed_block_bytes(m)));
  line("the same, of each product of a batch", size_text(c::small_packed_block_bytes(m)));
  line("images that are transposed", size_text(c::transposed_image_bytes(m)));
  line("lines of images, in L1", size_text(c::lines_bytes(m)));
  line("totals between chunks of k", size_text(c::totals_bytes(m)));
  line("copies of A", size_text(c::copy_bytes(m)));
  return text;
}

/// The rates of the units.
std::string units_text(const CpuTarget& target) {
  const auto line = [](const char* what, const char* by, double rate) {
    return fmt::format("{:<38}{:<14}{:.0f} G/s\n", what, by, rate / 1e9);
  };
  const bool vectors = target.isa != Isa::scalar;
  return fmt::format("{:<38}{:<14}measured now\n", "unit of a core", "instruction") +
         line("multiply-adds of f32", vectors ? "vfmadd231ps" : "mulss, addss",
              measure_multiply_adds(target)) +
         line("multiply-adds of bf16",
              target.amx ? "tdpbf16ps"
              : vectors  ? "vfmadd231ps"
                         : "mulss, addss",
              measure_pair_multiply_adds(target)) +
         line("multiply-adds of u8 by i8",
              target.amx    ? "tdpbusd"
              : target.vnni ? "vpdpbusd"
              : vectors     ? "vpmaddwd"
                            : "imul",
              measure_byte_multiply_adds(target));
}

}  // namespace

std::string describe_target() {
  const CpuTarget target = select_cpu(Isa::host);
  return fmt::format(
      "instruction set         {}\nvectors                 {}, {} registers\nprocessor               "
      "{}\n\n{}\n{}\n{}",
      std::string(target.cpu) + (target.vnni ? ", VNNI" : "") + (target.amx ? ", AMX" : ""),
      target.vector_bytes == 0 ? "none" : fmt::format("{} f32", target.lanes(4)), target.registers(),
      llvm::sys::getHostCPUName().str(), facts_text(*target.machine), choices_text(*target.machine),
      units_text(target));
}

}  // namespace kiln::codegen
