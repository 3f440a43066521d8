// The driver's functions for streams, events and asynchronous copies. Copies of pinned memory are done no
// sooner than somebody waits. Of other memory, the driver reads it at once, and has written it on return.
// Pinned memory belongs to its copies until they are done.
#include "device.h"
#include "driver_functions.h"
#include "runtime/cuda/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace kiln::nvidia;
using namespace kiln::ptx;

int result_of(bool ok) { return ok ? success : invalid_value; }

/// Adds the work to the stream; at_once: does it.
int add(void* handle, bool at_once, std::function<int()> work) {
  const auto stream = device().streams.find(handle);
  if (!stream) return invalid_handle;
  device().streams.add(stream, std::move(work));
  return at_once ? stream->run() : success;
}

void complain(const char* what) { std::fprintf(stderr, "ptx device: %s\n", what); }

}  // namespace

extern "C" {

int cuStreamCreate(void** stream, unsigned flags) {
  constexpr unsigned non_blocking = 1;
  if (flags > non_blocking) return invalid_value;
  const Lock lock(device().mutex);
  return *stream = device().streams.create(flags != non_blocking), success;
}
int cuStreamSynchronize(void* handle) {
  const Lock lock(device().mutex);
  return add(handle, true, [] { return success; });
}
int cuStreamQuery(void* handle) {
  const Lock lock(device().mutex);
  const auto stream = device().streams.find(handle);
  if (!stream) return invalid_handle;
  return stream->is_done(stream->added()) ? success : not_ready;
}
int cuStreamDestroy_v2(void* handle) {
  const Lock lock(device().mutex);
  const auto stream = handle ? device().streams.find(handle) : nullptr;
  if (!stream) return invalid_handle;
  const int result = stream->run();
  device().streams.destroy(handle);
  return result;
}
int cuStreamWaitEvent(void* handle, void* event_handle, unsigned) {
  const Lock lock(device().mutex);
  const auto stream = device().streams.find(handle);
  const Event* const event = device().streams.find_event(event_handle);
  if (!stream || !event) return invalid_handle;
  return device().streams.wait(stream, *event), success;
}

int cuEventCreate(void** event, unsigned flags) {
  constexpr unsigned disable_timing = 2;
  const Lock lock(device().mutex);
  return *event = device().streams.create_event((flags & disable_timing) == 0), success;
}
int cuEventRecord(void* event_handle, void* handle) {
  const Lock lock(device().mutex);
  const auto stream = device().streams.find(handle);
  Event* const event = device().streams.find_event(event_handle);
  if (!stream || !event) return invalid_handle;
  return device().streams.record(*event, stream), success;
}
int cuEventSynchronize(void* handle) {
  const Lock lock(device().mutex);
  const Event* const event = device().streams.find_event(handle);
  if (!event) return invalid_handle;
  return event->stream ? event->stream->run_until(event->position) : success;
}
int cuEventQuery(void* handle) {
  const Lock lock(device().mutex);
  const Event* const event = device().streams.find_event(handle);
  if (!event) return invalid_handle;
  return event->is_done() ? success : not_ready;
}
int cuEventElapsedTime(float* milliseconds, void* from_handle, void* to_handle) {
  const Lock lock(device().mutex);
  const Event *const from = device().streams.find_event(from_handle), *const to = device().streams.find_event(
                                                                          to_handle);
  if (!from || !to || !from->stream || !to->stream || !from->has_time || !to->has_time) return invalid_handle;
  if (!from->is_done() || !to->is_done()) return not_ready;
  *milliseconds = static_cast<float>(**to->milliseconds - **from->milliseconds);
  return success;
}
int cuEventDestroy_v2(void* event) {
  const Lock lock(device().mutex);
  return device().streams.destroy_event(event) ? success : invalid_handle;
}

int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  const Lock lock(device().mutex);
  if (bytes == 0 || flags > 7) return invalid_value;
  if (is_to_fail("KILN_PTX_FAIL_ALLOCATION", ++device().allocations)) return out_of_memory;
  *memory = std::malloc(bytes);
  if (!*memory) return out_of_memory;
  std::memset(*memory, Memory::poison, bytes);
  device().pinned.emplace(*memory, PinnedMemory{bytes});
  return success;
}
int cuMemFreeHost(void* memory) {
  const Lock lock(device().mutex);
  const auto found = device().pinned.find(memory);
  if (found == device().pinned.end()) return invalid_value;
  if (found->second.copies > 0)
    return complain("pinned memory is freed while copies of it are not done"), invalid_value;
  device().pinned.erase(found);
  std::free(memory);
  return success;
}

int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  if (!m.find(to, bytes)) return invalid_value;
  const auto* const data = static_cast<const std::byte*>(from);
  PinnedMemory* const pinned = device().find_pinned(from, bytes);
  if (pinned) ++pinned->copies;
  return add(stream, false, [=, &m, at_call = std::vector<std::byte>(data, data + bytes)] {
    if (pinned) --pinned->copies;
    if (pinned && std::memcmp(from, at_call.data(), bytes) != 0)
      return complain("pinned memory is written while a copy from it is not done"), launch_failed;
    return result_of(m.upload(to, at_call.data(), bytes));
  });
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  if (!m.find(from, bytes)) return invalid_value;
  PinnedMemory* const pinned = device().find_pinned(to, bytes);
  if (!pinned) return add(stream, true, [=, &m] { return result_of(m.download(to, from, bytes)); });
  ++pinned->copies;
  std::memset(to, Memory::poison, bytes);
  return add(stream, false, [=, &m] {
    --pinned->copies;
    const auto* const first = static_cast<const unsigned char*>(to);
    if (std::any_of(first, first + bytes, [](unsigned char c) { return c != Memory::poison; }))
      return complain("pinned memory is written while a copy to it is not done"), launch_failed;
    return result_of(m.download(to, from, bytes));
  });
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  if (!m.find(to, bytes) || !m.find(from, bytes)) return invalid_value;
  return add(stream, false, [=, &m] { return result_of(m.copy(to, from, bytes)); });
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void* stream) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  if (!m.find(to, bytes)) return invalid_value;
  return add(stream, false, [=, &m] { return result_of(m.fill(to, value, bytes)); });
}
}
