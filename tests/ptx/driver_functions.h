#pragma once
#include <cstddef>
#include <cstdint>

// The functions of the emulated driver: those that Kiln calls, and others. Types are those of driver.def.
#pragma GCC visibility push(default)
extern "C" {
#define KILN_CUDA(member, symbol, ...) int symbol(__VA_ARGS__);
#include "runtime/cuda/driver.def"
#undef KILN_CUDA

int cuFuncSetAttribute(void* function, int attribute, int value);
int cuMemAllocHost_v2(void** memory, std::size_t bytes);
int cuMemFreeHost(void* memory);
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream);
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream);
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void* stream);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamQuery(void* stream);
int cuStreamDestroy_v2(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuEventCreate(void** event, unsigned flags);
int cuEventRecord(void* event, void* stream);
int cuEventSynchronize(void* event);
int cuEventQuery(void* event);
int cuEventElapsedTime(float* milliseconds, void* from, void* to);
int cuEventDestroy_v2(void* event);
}
#pragma GCC visibility pop
