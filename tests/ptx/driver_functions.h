#pragma once
#include <cstddef>
#include <cstdint>

// The functions of the emulated device, which the program is linked with.
extern "C" {
#define KILN_CUDA(member, symbol, ...) int symbol(__VA_ARGS__);
#include "runtime/cuda/driver.def"
#undef KILN_CUDA
}
