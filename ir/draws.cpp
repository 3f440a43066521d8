// Assigns counter offsets to random draws.
#include "ir/draws.h"

#include "ir/primitives.h"

#include <algorithm>

namespace kiln::ir {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 60;  // counters per call

}  // namespace

std::int64_t DrawCounter::draw(std::int64_t word) {
  now_.drew = true;
  return word == 0 ? now_.count++ : now_.count - 1;
}

void DrawCounter::begin_body() {
  open_.push_back(now_);
  now_.drew = false;
}

void DrawCounter::end_body() {
  closed_.push_back({now_.count - open_.back().count, now_.drew});
  now_ = open_.back();
  open_.pop_back();
}

std::int64_t DrawCounter::loop(std::int64_t steps, bool conditional) {
  Body body = take_closed();
  // Without draws no step needs counters, even if conditionals in the body take some.
  if (conditional && !body.drew) body.count = 0;
  if (body.count > most / std::max<std::int64_t>(steps, 1)) {
    too_many_ = true;
    body.count = 0;
  }
  // Counter offset of a draw in step i: its offset in the body plus i * body.count.
  if (conditional)
    add_conditional(body.count * steps, body.drew);
  else
    add(body.count * steps, body.drew);
  per_step_ = body.count;
  return body.count;
}

void DrawCounter::branch() {
  // Both bodies start at one offset: only one of them runs.
  const Body otherwise = take_closed(), then = take_closed();
  add_conditional(std::max(then.count, otherwise.count), then.drew || otherwise.drew);
}

void DrawCounter::add_conditional(std::int64_t count, bool drew) {
  if (drew && count > Primitives::control_draws) overlaps_ = true;
  add(Primitives::control_draws, drew);
}

void DrawCounter::add(std::int64_t count, bool drew) {
  now_.count += count;
  now_.drew = now_.drew || drew;
  if (now_.count > most) too_many_ = true;
}

DrawCounter::Body DrawCounter::take_closed() {
  const Body body = closed_.back();
  closed_.pop_back();
  return body;
}

}  // namespace kiln::ir
