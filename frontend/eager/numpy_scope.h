#pragma once
#include <atomic>
#include <string_view>

namespace kiln {

/// While it lives, what its thread calls is an operator of MXNet's numpy mode (ir::Node::np_shape), and a
/// generated name begins with `hint` where that is not empty. F.np() and F.npx() hold one around each call.
class NumpyScope {
 public:
  explicit NumpyScope(std::string_view hint = {});
  ~NumpyScope();
  NumpyScope(const NumpyScope&) = delete;
  /// Whether one lives on this thread, or the whole program is in that mode.
  static bool active();
  /// Whether the whole program is: npx::set_np().
  static bool program() { return program_.load(std::memory_order_relaxed); }
  static void set_program(bool on);
  static std::string_view hint();

 private:
  static inline std::atomic<bool> program_{false};
  const NumpyScope* outer_;
  std::string_view hint_;
};

}  // namespace kiln
