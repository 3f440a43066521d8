// Marks of accesses, checked and updated.
#include "shadow.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace kiln::ptx {
namespace {

/// Zeros.
Mark* map_marks(std::size_t count) {
  void* const p = mmap(nullptr, count * sizeof(Mark), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Mark*>(p);
}

}  // namespace

Shadow::Shadow(std::size_t bytes)
    : bytes_(std::max<std::size_t>(bytes, 1)), writers_(map_marks(count())), readers_(map_marks(count())) {}

Shadow::~Shadow() {
  munmap(writers_, count() * sizeof(Mark));
  munmap(readers_, count() * sizeof(Mark));
}

void Shadow::split() {
  const std::size_t words = count();
  shift_ = 0;
  for (Mark** marks : {&writers_, &readers_}) {
    Mark* const old = std::exchange(*marks, map_marks(count()));
    for (std::size_t i = 0; i < words; ++i)
      if (old[i] != nobody) std::fill(*marks + 4 * i, *marks + std::min(4 * i + 4, bytes_), old[i]);
    munmap(old, words * sizeof(Mark));
  }
}

void Shadow::split_for(std::size_t at, std::size_t bytes) {
  if (shift_ > 0 && (at % unit() != 0 || ((at + bytes) % unit() != 0 && at + bytes != bytes_))) split();
}

Found Shadow::read_constant(std::size_t at, std::size_t bytes, const Period& p) {
  if (bytes < unit()) split();
  Found found;
  for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i < end; ++i) {
    const Mark w = writers_[i];
    if (w == nobody) found = {Clash::unwritten, w};
    if (w >= p.launch) found = {Clash::written, w};
    readers_[i] = p.read_only();
  }
  return found;
}

void Shadow::set(std::size_t at, std::size_t bytes, Mark mark) {
  split_for(at, bytes);
  std::fill(writers_ + (at >> shift_), writers_ + (at + bytes + unit() - 1) / unit(), mark);
}

void Shadow::copy(std::size_t at, Shadow& from, std::size_t from_at, std::size_t bytes) {
  split_for(at, bytes);
  from.split_for(from_at, bytes);
  if (shift_ != from.shift_) shift_ > 0 ? split() : from.split();
  const auto mark = [](Mark m) { return m == nobody ? nobody : host; };
  const std::size_t n = (bytes + unit() - 1) / unit();
  Mark* const to = writers_ + (at >> shift_);
  const Mark* const source = from.writers_ + (from_at >> shift_);
  if (to <= source)
    std::transform(source, source + n, to, mark);
  else
    std::transform(std::make_reverse_iterator(source + n), std::make_reverse_iterator(source),
                   std::make_reverse_iterator(to + n), mark);
}

void Shadow::forget_launches() {
  for (std::size_t i = 0; i < count(); ++i) {
    // Pages without marks are not written.
    if (writers_[i] > host) writers_[i] = host;
    if (readers_[i] != nobody) readers_[i] = nobody;
  }
}

}  // namespace kiln::ptx
