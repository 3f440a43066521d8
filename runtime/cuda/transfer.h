// Copies between a GPU and the host's memory.
#pragma once
#include "runtime/cuda/stream.h"
#include "runtime/fork_gate.h"

#include <array>
#include <cstddef>
#include <memory>

namespace kiln::nvidia {

/// Copies between a GPU and the host's memory. They pass through pinned memory, which the GPU accesses by
/// itself: while it copies one piece, or runs kernels, the host fills the next. Pieces are in the order of
/// the stream's work. At most 24 MiB are pinned, from the first use on. The caller makes the context current.
/// Any thread.
class Transfer {
 public:
  /// `stream` outlives the transfer.
  explicit Transfer(Stream& stream) : stream_(stream) {}

  /// Returns when `from` has been read. Waits only for earlier uploads, if these take all pinned memory.
  void upload(std::byte* to, const std::byte* from, std::size_t bytes);
  /// Returns when `to` has been written. Waits for all earlier work, not for work that other threads add.
  void download(std::byte* to, const std::byte* from, std::size_t bytes);
  /// Frees the pinned memory. All copies are done, and there are no more of them.
  void close() noexcept;

 private:
  /// The GPU is done with its contents after the event.
  struct Pinned {
    Pinned();
    ~Pinned();
    std::byte* data = nullptr;
    Event event;
  };
  static Pinned& made(std::unique_ptr<Pinned>& buffer);

  Stream& stream_;
  Mutex up_mutex_, down_mutex_;
  std::array<std::unique_ptr<Pinned>, 4> up_;  // filled in turn
  std::size_t current_ = 0, used_ = 0;         // of up_; bytes of that buffer
  std::array<std::unique_ptr<Pinned>, 2> down_;
};

}  // namespace kiln::nvidia
