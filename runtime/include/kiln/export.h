#pragma once
/// Everything in libkiln is hidden unless it is marked with this: a program that embeds Kiln never sees its
/// LLVM.
#define KILN_API __attribute__((visibility("default")))
