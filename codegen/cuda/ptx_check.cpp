// The list of PTX instructions that kernels may have.
#include "codegen/cuda/ptx_check.h"

#include "runtime/fail.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/Twine.h>

namespace kiln::codegen {
namespace {

/// An instruction with the forms of it that are allowed: "add" with ".s32" is add.s32.
struct Allowed {
  llvm::StringLiteral name, forms;
};

// Floating-point arithmetic is there with a rounding alone, and with none that flushes subnormals (.ftz) or
// approximates. Kiln's code has comparisons and selections for maxima;
// LLVM writes max and min where neither operand can be NaN.
constexpr Allowed allowed[] = {
    {"abs", ".f32 .f64 .s16 .s32 .s64"},
    {"add", ".rn.f32 .rn.f64 .s16 .s32 .s64 .u64"},
    {"and", ".b16 .b32 .b64 .pred"},
    {"bar", ".sync"},
    {"bfe", ".u32 .u64"},
    {"bra", ". .uni"},
    {"clz", ".b32 .b64"},
    {"copysign", ".f32 .f64"},
    {"cvt",
     ".f64.f32 .rmi.f32.f32 .rmi.f64.f64 .rn.f32.f64 .rni.f32.f32 .rni.f64.f64 .rpi.f32.f32 .rpi.f64.f64 "
     ".rzi.f32.f32 .rzi.f64.f64"},
    {"cvta", ".global.u64 .local.u64 .to.global.u64"},
    {"div", ".rn.f32 .rn.f64 .s32 .s64 .u32 .u64"},
    {"fma", ".rn.f32 .rn.f64"},
    {"ld", ".b16 .b32 .b64 .b8 .s16 .s32 .s64 .s8 .u16 .u32 .u64 .u8"},
    {"mad", ".lo.s16 .lo.s32 .lo.s64 .wide.s32 .wide.u32"},
    {"max", ".f32 .f64 .s16 .s32 .s64 .u16 .u32 .u64"},
    {"min", ".f32 .f64 .s16 .s32 .s64 .u16 .u32 .u64"},
    {"mov", ".b16 .b32 .b64 .pred .u32 .u64"},
    {"mul",
     ".hi.s32 .hi.s64 .hi.u32 .hi.u64 .lo.s16 .lo.s32 .lo.s64 .rn.f32 .rn.f64 .wide.s16 .wide.s32 .wide.u16 "
     ".wide.u32"},
    {"neg", ".f32 .f64 .s16 .s32 .s64"},
    {"not", ".b16 .b32 .b64 .pred"},
    {"or", ".b16 .b32 .b64 .pred"},
    {"prmt", ".b32"},
    {"rcp", ".rn.f32 .rn.f64"},
    {"rem", ".s32 .s64 .u32 .u64"},
    {"ret", "."},
    {"selp", ".b16 .b32 .b64 .f32 .f64"},
    {"shfl", ".sync.down.b32 .sync.idx.b32"},
    {"shl", ".b16 .b32 .b64"},
    {"shr", ".s16 .s32 .s64 .u16 .u32 .u64"},
    {"sqrt", ".rn.f32 .rn.f64"},
    {"st", ".b16 .b32 .b64 .b8"},
    {"sub", ".rn.f32 .rn.f64 .s16 .s32 .s64"},
    {"xor", ".b16 .b32 .b64 .pred"},
};

/// Allowed in kernels on tensor cores alone.
constexpr llvm::StringLiteral of_tensor_cores[] = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "cvt.rna.tf32.f32",
};

/// Allowed in kernels that compute by paired32 alone.
constexpr llvm::StringLiteral that_flush[] = {"add.rn.ftz.f32", "fma.rn.ftz.f32"};

constexpr llvm::StringLiteral integers = "s8 s16 s32 s64 u8 u16 u32 u64";
constexpr llvm::StringLiteral untyped = "b8 b16 b32 b64";
constexpr llvm::StringLiteral floats = "f32 f64";
constexpr llvm::StringLiteral comparisons = "eq ne lt le gt ge";
/// With u: true as well if one is NaN.
constexpr llvm::StringLiteral float_comparisons = "eq ne lt le gt ge equ neu ltu leu gtu geu nan num";

llvm::SmallVector<llvm::StringRef> words(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> out;
  text.split(out, ' ');
  return out;
}

llvm::StringSet<> make_list() {
  llvm::StringSet<> list;
  for (const Allowed& a : allowed)
    for (llvm::StringRef form : words(a.forms)) list.insert((a.name + (form == "." ? "" : form)).str());
  // NAME.A.B for all A and B.
  const auto add = [&](llvm::StringRef name, llvm::StringRef a, llvm::StringRef b) {
    for (llvm::StringRef first : words(a))
      for (llvm::StringRef second : words(b)) list.insert((name + "." + first + "." + second).str());
  };
  add("setp", comparisons, integers);
  add("setp", comparisons, untyped);
  add("setp", float_comparisons, floats);
  add("cvt", integers, integers);
  add("cvt.rn", floats, integers);
  add("cvt.rzi", integers, floats);
  add("ld", "global local param shared", untyped);
  add("ld", "global local param shared", integers);
  // Loads from memory that no thread writes.
  add("ld.global", "nc", untyped);
  add("ld.global", "nc", integers);
  add("st", "global local shared", untyped);
  add("ld.shared", "v4", "b32");
  return list;
}

/// A line, or the statements of a line that is a scope: "{ .reg .b16 tmp; mov.b32 {tmp, %r1}, %r2; }".
llvm::SmallVector<llvm::StringRef> statements_of(llvm::StringRef line) {
  line = line.trim();
  if (!line.starts_with("{") || !line.ends_with("}") || line.size() < 2) return {line};
  llvm::SmallVector<llvm::StringRef> statements;
  for (line = line.drop_front().drop_back(); !line.trim().empty();) {
    const std::size_t end = std::min(line.find(';'), line.size() - 1) + 1;
    statements.push_back(line.take_front(end));
    line = line.drop_front(end);
  }
  return statements;
}

/// The instruction of a line, without a preceding predicate, "@%p1 " or "@!%p1 ". Empty for labels,
/// directives, braces, comments, and further lines of an instruction, which begin with a brace.
llvm::StringRef instruction_of(llvm::StringRef line) {
  line = line.trim();
  if (line.consume_front("@")) line = line.drop_until([](char c) { return c == ' ' || c == '\t'; }).ltrim();
  // The upper half of a 64-bit register: LLVM has no other form of it in PTX 7.0.
  if (line.consume_front("{ .reg .b32 tmp; ")) line.consume_back(" }");
  const llvm::StringRef word = line.take_until([](char c) { return c == ' ' || c == '\t' || c == ';'; });
  const bool is_instruction = !word.empty() && word.front() >= 'a' && word.front() <= 'z';
  return is_instruction ? word : llvm::StringRef();
}

}  // namespace

void check_ptx(std::string_view ptx, const std::string& kernel, const PtxExtensions& extensions) {
  static const llvm::StringSet<> list = make_list();
  // Directives and declarations precede the body of the entry.
  llvm::StringRef body = llvm::StringRef(ptx).split("\n{").second;
  while (!body.empty()) {
    const auto [line, rest] = body.split('\n');
    for (const llvm::StringRef statement : statements_of(line.split("//").first))
      if (const llvm::StringRef word = instruction_of(statement);
          !word.empty() && !list.contains(word) &&
          !(extensions.tensor_cores && llvm::is_contained(of_tensor_cores, word)) &&
          !(extensions.flushing && llvm::is_contained(that_flush, word)))
        fail_internal(
            "kernel '{}' has the PTX instruction {}, which is not among those that give the bits of the CPU",
            kernel, word.str());
    body = rest;
  }
}

}  // namespace kiln::codegen
