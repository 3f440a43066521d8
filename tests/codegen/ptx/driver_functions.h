// The functions of the emulated driver.
#pragma once
#include "runtime/cuda/driver.h"

#include <cstddef>
#include <cstdint>

// The functions that Kiln calls, and others. Types are taken from driver.def.
#pragma GCC visibility push(default)
extern "C" {
#define KILN_CUDA(member, symbol, ...) int symbol(__VA_ARGS__);
#include "runtime/cuda/driver.def"
#undef KILN_CUDA

int cuFuncSetAttribute(void* function, int attribute, int value);
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes);
int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes);
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t bytes);
int cuStreamQuery(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuEventQuery(void* event);

/// How often the program called a function that cuGetProcAddress gave it.
std::uint64_t kiln_ptx_calls(const char* symbol);
}
#pragma GCC visibility pop
