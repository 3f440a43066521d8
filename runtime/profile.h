// The measurements of a Profile.
#pragma once
#include "runtime/plan.h"

#include <kiln/profile.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {

/// The measurements of a Profile.
struct Profile::Record {
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t max_samples = 4096;    // of a kernel
  static constexpr std::size_t max_events = 1 << 18;  // of kernels and calls, for a trace
  /// A call of code that calls at many lines share, as eager operators do. During its lifetime the calls of
  /// the record's thread are this one. Its lines and names replace the ones that were compiled.
  class Caller {
   public:
    /// `compiled_line`, `line`: "net.cpp:12" of the call that compiled the code, and of this call; empty:
    /// unknown. Names of steps that begin with `compiled_name` begin with `name` instead, unless it is empty.
    /// The views outlive the Caller.
    Caller(Record& record, std::string_view compiled_line, std::string line, std::string_view compiled_name,
           std::string_view name);
    ~Caller() { record_.caller = outer_; }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    std::vector<std::string> lines_of(const Step& step) const;
    std::string name_of(const Step& step) const;
    const std::string& line() const { return line_; }
    std::string_view name() const { return name_; }

   private:
    Record& record_;
    const Caller* outer_;
    const std::string_view compiled_line_, compiled_name_, name_;
    const std::string line_;
  };
  /// A step and, of shared code, the line and the node of the call.
  struct Key {
    const Step* step;
    std::string line = {}, name = {};
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      const std::hash<std::string> text{};
      return std::hash<const Step*>()(key.step) + 31 * (text(key.line) + 31 * text(key.name));
    }
  };
  struct Measured {
    Kernel kernel;
    std::string step_name;        ///< Step::name
    std::vector<double> seconds;  ///< of the latest runs; the next one replaces number runs % max_samples
    std::uint32_t number = 0;     ///< in `traced`
  };
  /// A run of a kernel, or a call of compiled code.
  struct Event {
    std::uint32_t number;  ///< in `traced` or, of a call, in `calls`
    bool is_call;
    double begin, seconds;  ///< begin: since the Profile was made
  };
  std::unordered_map<Key, Measured, KeyHash> kernels;
  const Caller* caller = nullptr;  ///< innermost; null: steps have their own lines and names
  std::vector<Kernel> traced;      ///< names, lines and schedules of the kernels of events
  std::vector<std::string> calls;  ///< names of the graphs of events
  std::vector<Event> events;       ///< the first max_events
  std::uint64_t dropped_events = 0;
  Clock::time_point made = Clock::now();
  Record* outer = nullptr;

  void add(const Step& step, Clock::time_point begin, double seconds, const std::string& schedule);
  /// A call of compiled code, after its kernels.
  void add_call(const std::string& graph, Clock::time_point begin, double seconds);
  /// The measurements of the steps of an executable that is alive; null: it did not run.
  const Measured* of(const Step& step) const {
    const auto found = kernels.find({&step});
    return found == kernels.end() ? nullptr : &found->second;
  }
  /// The innermost record of the calling thread, or null.
  static Record*& current();
  /// The same on the hot path of a call: one load if the process has no Profile.
  static Record* active() { return alive.load(std::memory_order_relaxed) == 0 ? nullptr : current(); }
  static inline std::atomic<int> alive{0};

  /// Whether the steps of bodies are measured too, which makes the loop's or branch's own time longer.
  bool measures_bodies = false;

  /// During its lifetime nothing is measured on this thread, or by `meanwhile`: the time of a loop includes
  /// its body.
  class Suspended {
   public:
    explicit Suspended(Record* meanwhile = nullptr) : outer_(std::exchange(current(), meanwhile)) {}
    Suspended(const Suspended&) = delete;
    ~Suspended() { current() = outer_; }

   private:
    Record* outer_;
  };

 private:
  void add_event(const Event& event);
};

}  // namespace kiln
