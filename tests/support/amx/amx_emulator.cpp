// Decodes and executes AMX instructions in a handler of SIGILL.
#include "amx_emulator.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cpuid.h>
#include <csignal>
#include <cstring>
#include <immintrin.h>
#include <tuple>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace kiln::amx {
namespace {

constexpr unsigned tile_count = 8, max_rows = 16, max_words = 16;

/// Columns are words of four bytes. No instruction uses those outside of the configured shape.
struct Tile {
  std::uint32_t words[max_rows][max_words];
};

/// The operand of LDTILECFG and STTILECFG.
struct Configuration {
  std::uint8_t palette, start_row, reserved0[14];
  std::uint16_t colsb[tile_count];  // bytes per row
  std::uint8_t reserved1[16], rows[tile_count], reserved2[8];
};
static_assert(sizeof(Configuration) == 64);

struct State {
  Configuration configuration;  // all zero: not configured
  Tile tiles[tile_count];
};

// A handler must not allocate, so the tiles of a thread are there from its start.
[[gnu::tls_model("initial-exec")]] constinit thread_local State state{};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The prefix that VEX.pp stands for.
enum Prefix : unsigned { np, p66, pF3, pF2 };

/// One instruction of VEX.128.0F38.W0. The names of fields are Intel's.
struct Instruction {
  unsigned opcode, prefix, mod, reg, rm, vvvv;
  bool sib, high_reg, high_rm;  // high: register 8 or above
  std::uint64_t base, index;    // of a memory operand: base + displacement, and index * scale
  std::uint64_t length;
};

template <class T>
T read(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

/// The sign-extended displacement.
template <class T>
std::uint64_t displacement(std::uint64_t address) {
  return static_cast<std::uint64_t>(std::int64_t{read<T>(address)});
}

/// Reads no byte after the instruction: it may be the last of its page. False if its encoding is not that of
/// AMX instructions, or has a prefix of a segment or of 32-bit addresses.
bool decode(const gregset_t& registers, Instruction& in) {
  static constexpr int names[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const auto value = [&](unsigned name) { return static_cast<std::uint64_t>(registers[names[name]]); };
  const auto start = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (read<std::uint8_t>(start) != 0xc4) return false;
  const unsigned inverted = read<std::uint8_t>(start + 1);
  if ((inverted & 0x1f) != 2) return false;  // map 0F38
  const unsigned vex = read<std::uint8_t>(start + 2);
  if ((vex & 0x84) != 0) return false;  // W or L
  in.prefix = vex & 3;
  in.vvvv = ~vex >> 3 & 15;
  in.opcode = read<std::uint8_t>(start + 3);
  if (in.opcode != 0x49 && in.opcode != 0x4b && in.opcode != 0x5c && in.opcode != 0x5e) return false;
  const unsigned modrm = read<std::uint8_t>(start + 4);
  in.mod = modrm >> 6;
  in.reg = modrm >> 3 & 7;
  in.rm = modrm & 7;
  in.high_reg = (inverted & 0x80) == 0;
  in.high_rm = (inverted & 0x20) == 0;
  in.sib = in.mod != 3 && in.rm == 4;

  std::uint64_t at = start + 5;
  in.base = in.index = 0;
  if (in.mod != 3) {
    unsigned base = in.rm;
    if (in.sib) {
      const unsigned sib = read<std::uint8_t>(at++);
      base = sib & 7;
      const unsigned index = (sib >> 3 & 7) + ((inverted & 0x40) == 0 ? 8 : 0);
      if (index != 4) in.index = value(index) << (sib >> 6);  // 4 is none
    }
    const bool no_base = in.mod == 0 && base == 5;
    if (!no_base) in.base = value(base + (in.high_rm ? 8 : 0));
    if (in.mod == 1) {
      in.base += displacement<std::int8_t>(at);
      at += 1;
    } else if (in.mod == 2 || no_base) {
      in.base += displacement<std::int32_t>(at);
      at += 4;
    }
    if (no_base && !in.sib) in.base += at;  // relative to the next instruction
  }
  in.length = at - start;
  return true;
}

/// The mistake of a use of tiles; null: none.
using Mistake = const char*;

Mistake load_configuration(std::uint64_t address) {
  const auto config = read<Configuration>(address);
  const auto zero = [](const auto& bytes) {
    return std::all_of(std::begin(bytes), std::end(bytes), [](unsigned b) { return b == 0; });
  };
  if (config.palette > 1) return "the palette is neither 0 nor 1";
  if (config.palette == 0) {
    state = {};
    return nullptr;
  }
  if (config.start_row != 0) return "a start row other than 0 is not supported";
  if (!zero(config.reserved0) || !zero(config.reserved1) || !zero(config.reserved2))
    return "reserved bytes of the configuration are not zero";
  for (unsigned t = 0; t < tile_count; ++t) {
    if (config.rows[t] > max_rows || config.colsb[t] > 4 * max_words) return "a tile is too large";
    if ((config.rows[t] == 0) != (config.colsb[t] == 0)) return "a tile has only rows or only columns";
  }
  state = {};
  state.configuration = config;
  return nullptr;
}

Mistake check_tile(unsigned tile) {
  if (state.configuration.palette == 0) return "tiles are not configured";
  if (state.configuration.rows[tile] == 0) return "the tile is not configured";
  if (state.configuration.colsb[tile] % 4 != 0) return "the bytes of a row are not a multiple of 4";
  return nullptr;
}

Mistake zero(unsigned tile) {
  if (const Mistake mistake = check_tile(tile)) return mistake;
  state.tiles[tile] = {};
  return nullptr;
}

Mistake load(unsigned tile, std::uint64_t address, std::uint64_t stride) {
  if (const Mistake mistake = check_tile(tile)) return mistake;
  for (unsigned row = 0; row < state.configuration.rows[tile]; ++row, address += stride)
    std::memcpy(state.tiles[tile].words[row], reinterpret_cast<const void*>(address),
                state.configuration.colsb[tile]);
  return nullptr;
}

Mistake store(unsigned tile, std::uint64_t address, std::uint64_t stride) {
  if (const Mistake mistake = check_tile(tile)) return mistake;
  for (unsigned row = 0; row < state.configuration.rows[tile]; ++row, address += stride)
    std::memcpy(reinterpret_cast<void*>(address), state.tiles[tile].words[row],
                state.configuration.colsb[tile]);
  return nullptr;
}

/// The shape of a multiplication, depth in words. All columns are computed.
struct Extents {
  unsigned rows, depth;
};

[[gnu::target("avx2,fma")]] __m256 low_bf16(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
}
[[gnu::target("avx2,fma")]] __m256 high_bf16(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_srli_epi32(pairs, 16), 16));
}

/// c += a * b on pairs of bf16: a chain of FMAs over the even elements and one over the odd ones, both from
/// +0; their sum is added to c. MXCSR is the caller's matter, so this is not inlined.
[[gnu::noinline, gnu::target("avx2,fma")]] void add_bf16(Tile& c, const Tile& a, const Tile& b,
                                                         Extents size) {
  for (unsigned m = 0; m < size.rows; ++m) {
    for (unsigned n = 0; n < max_words; n += 8) {
      __m256 even = _mm256_setzero_ps(), odd = _mm256_setzero_ps();
      for (unsigned k = 0; k < size.depth; ++k) {
        const __m256i x = _mm256_set1_epi32(static_cast<int>(a.words[m][k]));
        const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(&b.words[k][n]));
        even = _mm256_fmadd_ps(low_bf16(x), low_bf16(y), even);
        odd = _mm256_fmadd_ps(high_bf16(x), high_bf16(y), odd);
      }
      auto* const sums = reinterpret_cast<__m256i_u*>(&c.words[m][n]);
      const __m256 before = _mm256_castsi256_ps(_mm256_loadu_si256(sums));
      _mm256_storeu_si256(sums, _mm256_castps_si256(_mm256_add_ps(before, _mm256_add_ps(even, odd))));
    }
  }
}

/// The barrier of memory keeps arithmetic on tiles on its side.
void set_mxcsr(unsigned value) { asm volatile("ldmxcsr %0" : : "m"(value) : "memory"); }

void multiply_bf16(Tile& c, const Tile& a, const Tile& b, Extents size) {
  const unsigned before = _mm_getcsr();
  set_mxcsr(0x9fc0);  // subnormals are zero as operands and results, round to nearest even, no traps
  add_bf16(c, a, b, size);
  set_mxcsr(before);
}

/// The byte of every word that is `shift` bits above its lowest.
template <bool is_signed>
[[gnu::target("avx2,fma")]] __m256i bytes_at(__m256i words, int shift) {
  const __m256i top = _mm256_slli_epi32(words, 24 - shift);
  return is_signed ? _mm256_srai_epi32(top, 24) : _mm256_srli_epi32(top, 24);
}

/// c += a * b on groups of four bytes, modulo 2^32.
template <bool a_signed, bool b_signed>
[[gnu::target("avx2,fma")]] void multiply_bytes(Tile& c, const Tile& a, const Tile& b, Extents size) {
  for (unsigned m = 0; m < size.rows; ++m) {
    for (unsigned n = 0; n < max_words; n += 8) {
      auto* const sums = reinterpret_cast<__m256i_u*>(&c.words[m][n]);
      __m256i sum = _mm256_loadu_si256(sums);
      for (unsigned k = 0; k < size.depth; ++k) {
        const __m256i x = _mm256_set1_epi32(static_cast<int>(a.words[m][k]));
        const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(&b.words[k][n]));
        for (int shift = 0; shift < 32; shift += 8)
          sum = _mm256_add_epi32(
              sum, _mm256_mullo_epi32(bytes_at<a_signed>(x, shift), bytes_at<b_signed>(y, shift)));
      }
      _mm256_storeu_si256(sums, sum);
    }
  }
}

using Multiplication = void(Tile& c, const Tile& a, const Tile& b, Extents size);

Mistake multiply(Multiplication* add, const Instruction& in) {
  const unsigned c = in.reg, a = in.rm, b = in.vvvv;
  if (a == b || a == c || b == c) return "two operands are the same tile";
  for (const unsigned tile : {c, a, b})
    if (const Mistake mistake = check_tile(tile)) return mistake;
  const auto& [rows, colsb] = std::tie(state.configuration.rows, state.configuration.colsb);
  if (rows[c] != rows[a]) return "the rows of the sums and of the first factor differ";
  if (colsb[c] != colsb[b]) return "the columns of the sums and of the second factor differ";
  if (colsb[a] != 4 * rows[b]) return "the columns of the first factor do not match the rows of the second";
  add(state.tiles[c], state.tiles[a], state.tiles[b], {rows[c], rows[b]});
  return nullptr;
}

/// The multiplication of an opcode, and its name; null if there is none.
std::pair<Multiplication*, const char*> multiplication(const Instruction& in) {
  if (in.opcode == 0x5c && in.prefix == pF3) return {multiply_bf16, "TDPBF16PS"};
  if (in.opcode != 0x5e) return {};
  switch (in.prefix) {
    case np:
      return {multiply_bytes<false, false>, "TDPBUUD"};
    case p66:
      return {multiply_bytes<false, true>, "TDPBUSD"};
    case pF3:
      return {multiply_bytes<true, false>, "TDPBSUD"};
    default:
      return {multiply_bytes<true, true>, "TDPBSSD"};
  }
}

/// Standard error, without functions that a handler must not call.
void report(const char* name, const char* mistake) {
  for (const char* text : {"AMX emulator: ", name, ": ", mistake, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

/// False: this is no AMX instruction, or the machine would not execute it either. Also LDTILECFG ends so,
/// where the machine raises SIGSEGV.
bool execute(const Instruction& in) {
  const char* name = nullptr;
  Mistake mistake = nullptr;
  const bool memory = in.mod != 3;
  if (in.opcode == 0x5c || in.opcode == 0x5e) {
    const auto [add, add_name] = multiplication(in);
    if (add == nullptr || memory || in.high_reg || in.high_rm || in.vvvv >= tile_count) return false;
    name = add_name;
    mistake = multiply(add, in);
  } else if (in.vvvv != 0) {
    return false;
  } else if (in.opcode == 0x4b) {
    if (!in.sib || in.high_reg || in.prefix == np) return false;
    name = in.prefix == pF3 ? "TILESTORED" : in.prefix == pF2 ? "TILELOADD" : "TILELOADDT1";
    mistake = (in.prefix == pF3 ? store : load)(in.reg, in.base, in.index);
  } else if (memory && in.reg == 0 && !in.high_reg && in.prefix == np) {
    name = "LDTILECFG";
    mistake = load_configuration(in.base + in.index);
  } else if (memory && in.reg == 0 && !in.high_reg && in.prefix == p66) {
    name = "STTILECFG";
    std::memcpy(reinterpret_cast<void*>(in.base + in.index), &state.configuration, sizeof(Configuration));
  } else if (!memory && in.reg == 0 && in.rm == 0 && in.prefix == np) {
    state = {};  // TILERELEASE
  } else if (!memory && in.rm == 0 && !in.high_reg && in.prefix == pF2) {
    name = "TILEZERO";
    mistake = zero(in.reg);
  } else {
    return false;
  }
  if (mistake != nullptr) report(name, mistake);
  return mistake == nullptr;
}

constinit std::atomic<SetAction> set_action{nullptr};
/// The action that the handler has replaced. Former ones are kept: a handler may be reading them.
constinit std::atomic<const struct sigaction*> previous{nullptr};

void on_illegal_instruction(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool from_instruction = info->si_code > 0;  // and not from kill or raise
  Instruction in;
  if (from_instruction && decode(registers, in) && execute(in)) {
    registers[REG_RIP] += static_cast<greg_t>(in.length);
  } else {
    // The instruction raises the signal again.
    set_action.load()(signal, previous.load(), nullptr);
    if (!from_instruction) raise(signal);
  }
  errno = error;
}

/// Whether the processor has TILE, BF16 and INT8, and the operating system keeps tiles.
bool machine_has_amx() {
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  unsigned enabled, upper;
  asm volatile("xgetbv" : "=a"(enabled), "=d"(upper) : "c"(0));
  constexpr unsigned features = 1u << 22 | 1u << 24 | 1u << 25, state_components = 3u << 17;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & features) == features &&
         (enabled & state_components) == state_components;
}

}  // namespace

bool install_emulator(SetAction set) {
  if (machine_has_amx()) return false;
  static struct sigaction before {};
  set(SIGILL, nullptr, &before);
  previous = &before;
  set_action = set;
  struct sigaction ours {};
  ours.sa_sigaction = on_illegal_instruction;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  set(SIGILL, &ours, nullptr);
  return true;
}

}  // namespace kiln::amx
