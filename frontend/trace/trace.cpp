// The traces of a thread.

#include "frontend/trace/call_trace.h"

#include <atomic>
#include <utility>

namespace kiln {
namespace {

Trace*& current_trace() { return CallContext::current().trace; }
std::atomic<std::uint64_t> next_serial{1};

}  // namespace

detail::Array::Array(Trace* t, ir::Entry v, const Shape& s, bool known)
    : Storage(Buffer()),
      trace(t),
      serial(t ? t->serial() : 0),
      value(std::move(v)),
      shape(s),
      shape_known(known) {}

Trace::Trace(bool shapes_known)
    : shapes_known_(shapes_known), serial_(next_serial++), around_(std::exchange(current_trace(), this)) {}

Trace::~Trace() { current_trace() = around_; }

Trace* Trace::current() { return current_trace(); }

void Trace::will_write(const detail::Array& array) {
  if (possible_aliases_.has_another(array))
    call()->compute_other_values("it writes into an array that may alias another one, depending on values");
}

void Trace::will_update(const detail::Array& array) {
  will_write(array);
  updated_.insert(&array);
}

void Trace::note_read(const std::shared_ptr<detail::Array>& array) {
  if (CallTrace* const whole = call()) whole->reads(array);
}

void Trace::leave(std::string_view reason) {
  if (CallTrace* const whole = call()) whole->abandon(reason);
}

bool records_nodes() {
  Trace* const trace = current_trace();
  CallTrace* const call = trace ? trace->call() : nullptr;
  return call ? call->records_nodes() : CallContext::current().scope != RecordingScope::pause;
}

TracePause::TracePause() : paused_(std::exchange(current_trace(), nullptr)) {}
TracePause::~TracePause() { current_trace() = paused_; }

}  // namespace kiln
