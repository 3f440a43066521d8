// The driver's functions for streams, events and asynchronous copies. Copies from and to memory of
// cuMemAllocHost are done no sooner than somebody waits; those of other memory are done at once, as the
// driver does.
#include "device.h"
#include "driver_functions.h"
#include "runtime/cuda/driver.h"

#include <cstdlib>
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

int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  const Lock lock(device().mutex);
  if (bytes == 0) return invalid_value;
  if (is_to_fail("KILN_PTX_FAIL_ALLOCATION", ++device().allocations)) return out_of_memory;
  *memory = std::malloc(bytes);
  if (!*memory) return out_of_memory;
  device().host_memory.emplace(*memory, bytes);
  return success;
}
int cuMemFreeHost(void* memory) {
  const Lock lock(device().mutex);
  if (!device().host_memory.contains(memory)) return invalid_value;
  const int result = device().streams.run_all();
  device().host_memory.erase(memory);
  std::free(memory);
  return result;
}

int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  if (!m.find(to, bytes)) return invalid_value;
  if (device().has_host_memory(from, bytes))
    return add(stream, false, [=, &m] { return result_of(m.upload(to, from, bytes)); });
  // The host's memory is free again when the call returns.
  const auto* const data = static_cast<const std::byte*>(from);
  return add(stream, false, [=, &m, copy = std::vector<std::byte>(data, data + bytes)] {
    return result_of(m.upload(to, copy.data(), bytes));
  });
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  const Lock lock(device().mutex);
  Memory& m = device().memory;
  if (!m.find(from, bytes)) return invalid_value;
  return add(stream, !device().has_host_memory(to, bytes),
             [=, &m] { return result_of(m.download(to, from, bytes)); });
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
