// Counter offsets of random draws.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace kiln::ir {

/// Assigns counter offsets to the random draws of a graph, in the order of composition. A call advances its
/// stream by count(). The draws of a body start at the offset of its loop or branch. A conditional (a branch,
/// or a loop with a condition) always takes Primitives::control_draws counters, because their number may not
/// depend on values. The recorded program does the same.
class DrawCounter {
 public:
  /// The counter offset of a draw: a new one for word 0, for words 1 to 3 the one of word 0.
  std::int64_t draw(std::int64_t word);

  void begin_body();
  void end_body();
  /// Declares the last closed body to be a loop's. Returns the counters per step.
  std::int64_t loop(std::int64_t steps, bool conditional);
  /// Declares the last two closed bodies to be a branch's.
  void branch();
  /// Declares the last closed body to be a loop's that repeats the draws of another one. Takes no counters.
  void replay() { (void)take_closed(); }
  /// The counters per step of the last loop().
  std::int64_t per_step() const { return per_step_; }
  /// The next draw has this offset.
  void seek(std::int64_t offset) { now_.count = offset; }

  /// Counters of the graph as composed so far. No body may be open.
  std::int64_t count() const { return now_.count; }
  /// Whether a conditional needs more than control_draws counters, so that two draws may share one: it holds
  /// other conditionals that draw.
  bool overlaps() const { return overlaps_; }
  /// Whether a call needs more counters than one call may take.
  bool too_many() const { return too_many_; }

 private:
  struct Body {
    std::int64_t count = 0;
    bool drew = false;  // at least once itself, not only inside a conditional
  };
  Body take_closed();
  void add(std::int64_t count, bool drew);
  void add_conditional(std::int64_t count, bool drew);

  Body now_;                  // the innermost open body; open counts are relative to the start of the graph
  std::vector<Body> open_;    // the bodies around now_, outermost first
  std::vector<Body> closed_;  // bodies without an operation yet; counts are relative to their own start
  std::int64_t per_step_ = 0;
  bool overlaps_ = false, too_many_ = false;
};

/// Draws during its lifetime start at `offset`, and take no counters: the gradient of a node repeats the
/// draws of the node. Nothing happens without a counter.
class DrawReplay {
 public:
  DrawReplay(DrawCounter* counter, std::int64_t offset) : counter_(counter) {
    if (!counter_) return;
    before_ = *counter_;
    counter_->seek(offset);
  }
  ~DrawReplay() {
    if (counter_) *counter_ = std::move(before_);
  }
  DrawReplay(const DrawReplay&) = delete;

 private:
  DrawCounter* counter_;
  DrawCounter before_;
};

}  // namespace kiln::ir
