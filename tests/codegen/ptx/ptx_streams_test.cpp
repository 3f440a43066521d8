// Work on streams of the emulated device is late, in the order of streams and events.
#include "driver_functions.h"
#include "sample_kernels.h"

#include <catch2/catch.hpp>

using namespace kiln::ptx;
using Catch::Matchers::Contains;

TEST_CASE("work on streams is late, and in the order of streams and events") {
  std::uint64_t a = 0, b = 0;
  void *host = nullptr, *first = nullptr, *second = nullptr, *event = nullptr, *start = nullptr;
  REQUIRE(cuMemAlloc_v2(&a, 16) == 0);
  REQUIRE(cuMemAlloc_v2(&b, 16) == 0);
  REQUIRE(cuMemHostAlloc(&host, 16, 0) == 0);
  REQUIRE(cuStreamCreate(&first, 1) == 0);
  REQUIRE(cuStreamCreate(&second, 1) == 0);
  REQUIRE(cuEventCreate(&start, 0) == 0);
  REQUIRE(cuEventCreate(&event, 0) == 0);
  auto* const words = static_cast<std::uint32_t*>(host);
  SECTION("a copy from pinned memory is there when somebody has waited") {
    words[0] = 1;
    CHECK(cuMemcpyHtoDAsync_v2(a, words, 4, first) == 0);
    CHECK(cuStreamSynchronize(first) == 0);
    words[0] = 0;
    CHECK(cuMemcpyDtoH_v2(words, a, 4) == 0);
    CHECK(words[0] == 1);
  }
  SECTION("a copy from other memory has read it") {
    std::uint32_t value = 1;
    CHECK(cuMemcpyHtoDAsync_v2(a, &value, 4, first) == 0);
    value = 2;
    std::uint32_t got = 0;
    CHECK(cuMemcpyDtoHAsync_v2(&got, a, 4, first) == 0);
    CHECK(got == 1);
  }
  SECTION("a copy to pinned memory is there after the wait") {
    words[0] = 7;
    CHECK(cuMemsetD8Async(a, 1, 4, first) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(words, a, 4, first) == 0);
    CHECK(words[0] == 0xffffffff);
    CHECK(cuEventRecord(event, first) == 0);
    CHECK(cuEventQuery(event) == 600);
    CHECK(cuEventSynchronize(event) == 0);
    CHECK(words[0] == 0x01010101);
    CHECK(cuEventQuery(event) == 0);
  }
  SECTION("an event orders two streams, and has a time") {
    CHECK(cuEventRecord(start, first) == 0);
    CHECK(cuMemsetD8Async(a, 5, 4, first) == 0);
    CHECK(cuEventRecord(event, first) == 0);
    CHECK(cuStreamWaitEvent(second, event, 0) == 0);
    CHECK(cuMemcpyDtoDAsync_v2(b, a, 4, second) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(words, b, 4, second) == 0);
    float milliseconds = -1;
    CHECK(cuEventElapsedTime(&milliseconds, start, event) == 600);
    CHECK(cuStreamSynchronize(second) == 0);
    CHECK(words[0] == 0x05050505);
    CHECK(cuEventElapsedTime(&milliseconds, start, event) == 0);
    CHECK(milliseconds == 0);
  }
  CHECK(cuEventDestroy_v2(event) == 0);
  CHECK(cuEventDestroy_v2(start) == 0);
  CHECK(cuEventDestroy_v2(event) == 400);
  CHECK(cuStreamDestroy_v2(first) == 0);
  CHECK(cuStreamDestroy_v2(second) == 0);
  CHECK(cuStreamSynchronize(second) == 400);
  CHECK(cuMemFreeHost(host) == 0);
  CHECK(cuMemFree_v2(a) == 0);
  CHECK(cuMemFree_v2(b) == 0);
}

TEST_CASE("a defect of late work is told by each wait") {
  std::uint64_t a = 0;
  void *stream = nullptr, *module = nullptr, *function = nullptr;
  REQUIRE(cuMemAlloc_v2(&a, 16) == 0);
  REQUIRE(cuStreamCreate(&stream, 1) == 0);
  REQUIRE(cuModuleLoadData(&module, kernel("ld.global.b32 %r3, [%rd1];\nret;").c_str()) == 0);
  REQUIRE(cuModuleGetFunction(&function, module, "k") == 0);
  std::uint32_t n = 0;
  void* parameters[] = {&a, &a, &n};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr) == 0);
  int result = 0;
  CHECK_THAT(stderr_of([&] { result = cuCtxSynchronize(); }), Contains("which nobody wrote"));
  CHECK(result == 700);
  CHECK(cuStreamSynchronize(stream) == 700);
  CHECK(cuStreamDestroy_v2(stream) == 700);
  CHECK(cuStreamSynchronize(stream) == 400);
  CHECK(cuModuleUnload(module) == 0);
  CHECK(cuMemFree_v2(a) == 0);
}

TEST_CASE("pinned memory belongs to its copies until they are done") {
  std::uint64_t a = 0;
  void *host = nullptr, *stream = nullptr;
  REQUIRE(cuMemAlloc_v2(&a, 16) == 0);
  REQUIRE(cuMemHostAlloc(&host, 16, 0) == 0);
  REQUIRE(cuStreamCreate(&stream, 1) == 0);
  auto* const words = static_cast<std::uint32_t*>(host);
  const auto said_by_wait = [&] { return stderr_of([&] { (void)cuStreamSynchronize(stream); }); };
  SECTION("written before a copy from it is done") {
    words[1] = 1;
    CHECK(cuMemcpyHtoDAsync_v2(a, words + 1, 4, stream) == 0);
    words[1] = 2;
    CHECK_THAT(said_by_wait(), Contains("pinned memory is written while a copy from it is not done"));
    CHECK(cuStreamSynchronize(stream) == 719);
  }
  SECTION("written before a copy to it is done") {
    CHECK(cuMemsetD8Async(a, 1, 4, stream) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(words, a, 4, stream) == 0);
    words[0] = 2;
    CHECK_THAT(said_by_wait(), Contains("pinned memory is written while a copy to it is not done"));
    CHECK(cuStreamSynchronize(stream) == 719);
  }
  SECTION("freed before a copy is done") {
    CHECK(cuMemcpyHtoDAsync_v2(a, words, 4, stream) == 0);
    int result = 0;
    CHECK_THAT(stderr_of([&] { result = cuMemFreeHost(host); }),
               Contains("pinned memory is freed while copies of it are not done"));
    CHECK(result == 1);
    CHECK(cuStreamSynchronize(stream) == 0);
  }
  cuStreamDestroy_v2(stream);
  CHECK(cuMemFreeHost(host) == 0);
  CHECK(cuMemFree_v2(a) == 0);
}
