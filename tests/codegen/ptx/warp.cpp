// Threads that wait for each other: barriers, shuffles, votes and products of matrices.
#include "launch.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace kiln::ptx {

void Launch::barrier(Thread& t, std::uint32_t id, bool is_aligned, std::uint32_t line) {
  if (id > 15) fail(t, "waits at a barrier above 15", line);
  waiting_[t.number] = {
      .kind = Waiting::barrier, .line = line, .id = id, .is_aligned = is_aligned, .is_ready = false};
  const bool is_last = std::all_of(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
    return w.kind == Waiting::barrier && w.id == id;
  });
  if (is_last) {
    for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
      const Waiting &w = waiting_[i], &first = waiting_[i / warp_size * warp_size];
      if ((w.is_aligned || first.is_aligned) && w.line != first.line)
        fail(threads_[i], "waits at another bar.sync than the first thread of its warp", w.line);
    }
    for (Waiting& w : waiting_) w = {};
    start_epoch();
  }
  // The last one as well: the order of the threads is a new one.
  leave();
}

std::uint64_t Launch::shuffle(Thread& t, std::uint32_t value, std::uint32_t by, std::uint32_t clamp,
                              std::uint32_t mask, Shuffle mode, std::uint32_t line) {
  meet(t, {.kind = Waiting::shuffle,
           .line = line,
           .id = static_cast<std::uint32_t>(mode),
           .is_ready = false,
           .mask = mask,
           .value = value,
           .by = by,
           .clamp = clamp});
  return waiting_[t.number].result;
}

std::uint32_t Launch::vote(Thread& t, bool value, std::uint32_t mask, Vote mode, std::uint32_t line) {
  meet(t, {.kind = Waiting::vote,
           .line = line,
           .id = static_cast<std::uint32_t>(mode),
           .is_ready = false,
           .mask = mask,
           .value = value});
  return static_cast<std::uint32_t>(waiting_[t.number].result);
}

void Launch::mma(Thread& t, MmaFragments& fragments, Mma form, std::uint32_t line) {
  if (waiting_.size() < t.number - t.lane + warp_size) fail(t, "is in a warp of less than 32 lanes", line);
  meet(t, {.kind = Waiting::mma,
           .line = line,
           .id = line,
           .is_ready = false,
           .mask = ~0U,
           .value = static_cast<std::uint32_t>(form),
           .fragments = &fragments});
}

void Launch::multiply_fragments(const Thread& t) {
  const std::uint32_t first = t.number - t.lane;
  std::array<MmaFragments, warp_size> lanes{};
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) lanes[lane] = *waiting_[first + lane].fragments;
  const auto d = multiply_add(static_cast<Mma>(waiting_[t.number].value), lanes);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    Waiting& w = waiting_[first + lane];
    w.fragments->c = d[lane];
    w = {};
  }
}

void Launch::meet(Thread& t, Waiting w) {
  if ((w.mask >> t.lane & 1) == 0) fail(t, "is not in the mask", w.line);
  waiting_[t.number] = w;
  if (all_there(t))
    exchange(t);
  else
    leave();
}

/// Whether the lanes of the thread's mask wait where it does. Lanes that the block does not have are not
/// waited for.
bool Launch::all_there(const Thread& t) const {
  const Waiting& mine = waiting_[t.number];
  const std::uint32_t first = t.number - t.lane;
  const auto end = std::min<std::uint32_t>(first + warp_size, static_cast<std::uint32_t>(waiting_.size()));
  for (std::uint32_t i = first; i < end; ++i) {
    const Waiting& w = waiting_[i];
    if ((mine.mask >> (i - first) & 1) != 0 &&
        (w.is_ready || w.kind != mine.kind || w.id != mine.id || w.mask != mine.mask))
      return false;
  }
  return true;
}

/// Gives each lane of the thread's mask its result, by the PTX manual.
void Launch::exchange(const Thread& t) {
  if (waiting_[t.number].kind == Waiting::mma) return multiply_fragments(t);
  const std::uint32_t first = t.number - t.lane;
  const auto lanes = std::min<std::uint32_t>(warp_size, static_cast<std::uint32_t>(waiting_.size()) - first);
  const std::uint32_t mask = waiting_[t.number].mask;
  std::uint32_t ballot = 0, present = 0;
  for (std::uint32_t i = 0; i < lanes; ++i)
    if ((mask >> i & 1) != 0) {
      present |= 1U << i;
      ballot |= (waiting_[first + i].value & 1) << i;
    }
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Waiting& w = waiting_[first + lane];
    if (w.kind == Waiting::vote) {
      switch (static_cast<Vote>(w.id)) {
        case Vote::all:
          w.result = ballot == present;
          break;
        case Vote::any:
          w.result = ballot != 0;
          break;
        case Vote::uni:
          w.result = ballot == present || ballot == 0;
          break;
        case Vote::ballot:
          w.result = ballot;
          break;
      }
      continue;
    }
    const std::uint32_t by = w.by & 31, clamp = w.clamp & 31, segment = w.clamp >> 8 & 31;
    const std::uint32_t most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
    std::int32_t from = 0;
    switch (static_cast<Shuffle>(w.id)) {
      case Shuffle::up:
        from = static_cast<std::int32_t>(lane) - static_cast<std::int32_t>(by);
        break;
      case Shuffle::down:
        from = static_cast<std::int32_t>(lane + by);
        break;
      case Shuffle::bfly:
        from = static_cast<std::int32_t>(lane ^ by);
        break;
      case Shuffle::idx:
        from = static_cast<std::int32_t>(least | (by & ~segment & 31));
        break;
    }
    const auto limit = static_cast<std::int32_t>(most);
    const bool is_inside = static_cast<Shuffle>(w.id) == Shuffle::up ? from >= limit : from <= limit;
    if (!is_inside) from = static_cast<std::int32_t>(lane);
    if ((present >> from & 1) == 0) {
      message_ = fmt::format("shuffles from lane {}, which does not take part", from);
      fail(threads_[first + lane], w.line);
    }
    w.result = waiting_[first + static_cast<std::uint32_t>(from)].value | std::uint64_t{is_inside} << 32;
  }
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    if ((mask >> lane & 1) != 0) {
      waiting_[first + lane].is_ready = true;
      waiting_[first + lane].kind = Waiting::nothing;
    }
}

/// All threads wait, or have ended.
void Launch::tell_deadlock() {
  const auto waits = [](const Waiting& w) { return w.kind != Waiting::ended; };
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), waits);
  const auto number = static_cast<std::uint32_t>(first - waiting_.begin());
  const std::uint32_t warp = number / warp_size * warp_size;
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    const Waiting& other = waiting_[i];
    const bool is_barrier = first->kind == Waiting::barrier;
    const bool is_waited_for =
        is_barrier || (i >= warp && i < warp + warp_size && (first->mask >> (i - warp) & 1) != 0);
    if (!is_waited_for ||
        (other.kind == first->kind && other.id == first->id && (is_barrier || other.mask == first->mask)))
      continue;
    const std::string does =
        other.kind == Waiting::ended
            ? "has ended"
            : fmt::format("waits at '{}'", std::string(kernel_.entry.lines[other.line].text));
    message_ = fmt::format("waits for {}, which {}", name_of(threads_[i].me), does);
    return fail(threads_[number], first->line);
  }
  fail(threads_[number], "waits for ever", first->line);
}

}  // namespace kiln::ptx
