#pragma once
// Every public header includes this one first.
#if __cplusplus < 202002L || (defined(__clang__) && __clang_major__ < 16) || \
    (!defined(__clang__) && defined(__GNUC__) && __GNUC__ < 12)
#error \
    "Kiln needs C++20 as GCC 12 and Clang 16 have it: compile with one of these or a later one and -std=c++20"
// Neither compiler stops at an #error; the missing header stops both before code they cannot parse.
#include "the error above ends this compilation"
#endif

/// Exports a symbol of libkiln. All others are hidden, so that a program which embeds Kiln never sees its
/// LLVM.
#define KILN_API __attribute__((visibility("default")))
