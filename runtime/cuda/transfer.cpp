// Copies in pieces through pinned memory.
#include "runtime/cuda/transfer.h"

#include "runtime/cuda/driver.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kiln::nvidia {
namespace {

/// Bytes of a pinned buffer. The bus takes some 100 times as long for a copy of 4 MiB as a copy takes to
/// begin.
constexpr std::size_t piece = std::size_t{4} << 20;
/// Each copy begins at a multiple of it, as the bus transfers.
constexpr std::size_t alignment = 64;

std::uint64_t number(const std::byte* p) { return reinterpret_cast<std::uint64_t>(p); }

}  // namespace

Transfer::Pinned::Pinned() {
  void* memory = nullptr;
  check(driver().allocate_host(&memory, piece, /*flags=*/0), "allocating pinned memory of the host");
  data = static_cast<std::byte*>(memory);
}

Transfer::Pinned::~Pinned() { driver().free_host(data); }

void Transfer::close() noexcept {
  for (auto& buffer : up_) buffer.reset();
  for (auto& buffer : down_) buffer.reset();
}

Transfer::Pinned& Transfer::made(std::unique_ptr<Pinned>& buffer) {
  if (!buffer) buffer = std::make_unique<Pinned>();
  return *buffer;
}

void Transfer::upload(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr const char* what = "copying to the GPU";
  const std::lock_guard lock(up_mutex_);
  while (bytes > 0) {
    if (used_ == piece) {
      current_ = (current_ + 1) % up_.size();
      if (up_[current_]) up_[current_]->event.wait(what);
      used_ = 0;
    }
    std::byte* const buffer = made(up_[current_]).data + used_;
    const std::size_t n = std::min(bytes, piece - used_);
    std::memcpy(buffer, from, n);
    stream_.check(driver().upload(number(to), buffer, n, stream_.handle()), what);
    used_ += (n + alignment - 1) / alignment * alignment;
    if (used_ == piece) up_[current_]->event.record(stream_);
    to += n, from += n, bytes -= n;
  }
}

void Transfer::download(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr const char* what = "copying from the GPU";
  const std::lock_guard lock(down_mutex_);
  // The GPU fills one buffer while the host empties the other.
  std::size_t requested = 0;
  const auto request = [&] {
    if (requested == bytes) return;
    Pinned& buffer = made(down_[requested / piece % down_.size()]);
    const std::size_t n = std::min(piece, bytes - requested);
    stream_.check(driver().download(buffer.data, number(from + requested), n, stream_.handle()), what);
    buffer.event.record(stream_);
    requested += n;
  };
  request();
  for (std::size_t done = 0; done < bytes; done += piece) {
    request();
    Pinned& buffer = *down_[done / piece % down_.size()];
    buffer.event.wait(what);
    std::memcpy(to + done, buffer.data, std::min(piece, bytes - done));
  }
}

}  // namespace kiln::nvidia
