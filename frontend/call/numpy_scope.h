// Scopes of MXNet's numpy mode.
#pragma once
#include <atomic>
#include <string_view>

namespace kiln {

/// During its lifetime operator calls of its thread are in MXNet's numpy mode (ir::Node::np_shape), and
/// generated names start with a nonempty `hint`. F.np() and F.npx() open one around each call.
class NumpyScope {
 public:
  explicit NumpyScope(std::string_view hint = {});
  ~NumpyScope();
  NumpyScope(const NumpyScope&) = delete;
  /// Whether this thread has one, or the whole program is in numpy mode.
  static bool active();
  /// Whether the whole program is in numpy mode: npx::set_np().
  static bool program() { return program_.load(std::memory_order_relaxed); }
  static void set_program(bool on);
  static std::string_view hint();

 private:
  static inline std::atomic<bool> program_{false};
  const NumpyScope* outer_;
  std::string_view hint_;
};

}  // namespace kiln
