// The assembly of a kernel on a page: instructions with the lines of the program, no directives.
#include "frontend/page/page_assembly.h"

#include <catch2/catch.hpp>

using namespace kiln;

namespace {

constexpr std::string_view text =
    "\t.text\n"
    "\t.file\t\"LLVMDialectModule\"\n"
    ".LCPI0_0:\n"
    "\t.long\t0x3f800000                      # float 1\n"
    "\t.globl\tkiln_dot0_12ab                  # -- Begin function kiln_dot0_12ab\n"
    "\t.type\tkiln_dot0_12ab,@function\n"
    "kiln_dot0_12ab:                         # @kiln_dot0_12ab\n"
    ".Lfunc_begin0:\n"
    "\t.file\t1 \"/home/me\" \"lines\"\n"
    "\t.loc\t1 12 0                          # lines:12:0\n"
    "\t.cfi_startproc\n"
    "# %bb.0:\n"
    "\tpushq\t%rbp\n"
    ".Ltmp0:\n"
    "\t.loc\t1 14 5 prologue_end\n"
    ".LBB0_1:                                # =>This Inner Loop Header: Depth=1\n"
    "\tvmovups\t(%rdi), %zmm0                 # 64-byte Reload\n"
    "\tjne\t.LBB0_1\n"
    "\t.loc\t1 0 5 is_stmt 0\n"
    "\tretq\n"
    "\t.loc\t1 12 0\n"
    ".Lfunc_end0:\n"
    "\t.size\tkiln_dot0_12ab, .Lfunc_end0-kiln_dot0_12ab\n"
    "\t.section\t.debug_info,\"\",@progbits\n"
    ".Lcu_begin0:\n"
    "\t.long\t.Ldebug_info_end0-.Ldebug_info_start0 # Length of Unit\n"
    ".Ldebug_info_start0:\n";

}  // namespace

TEST_CASE("directives and comments are left out") {
  const AssemblyText a = assembly_of(text, "kiln_dot0_12ab", 100);
  CHECK(a.text ==
        "kernel:\n"
        "    pushq %rbp\n"
        ".LBB0_1:\n"
        "    vmovups (%rdi), %zmm0\n"
        "    jne .LBB0_1\n"
        "    retq\n");
  CHECK(a.lines == 6);
  CHECK(a.left_out == 0);
}

TEST_CASE("places begin at the instruction that follows them") {
  const AssemblyText a = assembly_of(text, "kiln_dot0_12ab", 100);
  REQUIRE(a.places.size() == 3);
  CHECK(a.places[0] == AssemblyText::Place{1, 12});
  CHECK(a.places[1] == AssemblyText::Place{2, 14});
  CHECK(a.places[2] == AssemblyText::Place{5, 0});
}

TEST_CASE("long code is cut") {
  const AssemblyText a = assembly_of(text, "kiln_dot0_12ab", 2);
  CHECK(a.text == "kernel:\n    pushq %rbp\n");
  CHECK(a.left_out == 4);
  CHECK(assembly_of("kernel:\n\tret\n", "kernel", 2).text == "kernel:\n    ret\n");
}
