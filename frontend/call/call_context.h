// The state of a thread that its operator calls depend on.
#pragma once
#include "frontend/call/random_state.h"
#include "frontend/tensor/view_scope.h"

#include <kiln/device.h>
#include <kiln/precision.h>

#include <cstdint>
#include <optional>

namespace kiln {

class CallSite;
class NumpyScope;
class Trace;
namespace ir {
struct Node;
}

/// The recording mode of the innermost scope within a trace: autograd::Record, Pause, or a method of an
/// autograd::Function, whose calls are differentiated without a tape.
enum class RecordingScope : std::uint8_t { none, record, pause, function };

/// The thread state that an operator call depends on. A single thread-local variable, because each access to
/// one in a shared library costs a call. The scope classes modify it.
struct CallContext {
  Trace* trace = nullptr;                       ///< records the call; null: eager
  bool training = false;                        ///< autograd::TrainMode
  bool recording = false;                       ///< autograd::Record
  RecordingScope scope = RecordingScope::none;  ///< opened within the innermost trace of a call or Symbol
  const NumpyScope* numpy = nullptr;            ///< innermost
  const CallSite* site = nullptr;               ///< innermost
  RandomStream stream = RandomStream::program;
  RandomState* random_block = nullptr;  ///< reserved counters; null: take them from the stream
  Device device;                        ///< DeviceScope

  static CallContext& current();
};

namespace detail {
extern constinit thread_local CallContext call_context;
}
inline CallContext& CallContext::current() { return detail::call_context; }

/// This thread's training mode.
bool is_training();

namespace detail {
/// Whether calls of this thread are recorded: inside autograd::Record.
inline bool is_recording() { return CallContext::current().recording; }
/// Whether the tape keeps how views are derived: inside autograd::Record, autograd::Pause and calls of
/// blocks. Views derived there may be read or written where calls are recorded. A trace keeps it always.
inline bool keeps_derivations() {
  const CallContext& now = CallContext::current();
  return now.recording || now.scope != RecordingScope::none || ViewScope::is_open();
}
}  // namespace detail

/// Sets the scope during its lifetime.
class RecordingScopeIs {
 public:
  explicit RecordingScopeIs(RecordingScope scope);
  ~RecordingScopeIs();
  RecordingScopeIs(const RecordingScopeIs&) = delete;

 private:
  const RecordingScope outer_;
};

/// During its lifetime, the thread's modes are the modes of a node that was recorded in the thread's modes.
class NodeModes {
 public:
  explicit NodeModes(const ir::Node& node);
  ~NodeModes();
  NodeModes(const NodeModes&) = delete;

 private:
  const bool training_, recording_;
  const RecordingScope scope_;
  std::optional<PrecisionScope> precision_;
};

}  // namespace kiln
