#pragma once
#include <cstdint>
#include <vector>

namespace kiln::ir {

/// Numbers the random draws of a graph in the order in which it is composed; a call then takes as many
/// counters of its stream. The draws of a body count on from what is in front of its loop or branch. What
/// bodies take must be known before values choose among them: a conditional (a branch, or a loop with a
/// condition) takes Primitives::control_draws counters whatever runs of it, as the program that was recorded
/// does.
class DrawCounter {
 public:
  /// The number of a draw: the next one for word 0 of its bits, for the others that of word 0.
  std::int64_t draw(std::int64_t word);

  void begin_body();
  void end_body();
  /// A loop took the body that ended last. Returns how many counters each of its steps takes.
  std::int64_t loop(std::int64_t steps, bool conditional);
  /// A branch took the last two.
  void branch();

  /// Counters that the graph takes, as far as it is composed. No body may be open.
  std::int64_t count() const { return now_.count; }
  /// Whether a conditional needs more counters than it takes, so that two draws might have one number: other
  /// conditionals are in it, and draw.
  bool overlaps() const { return overlaps_; }
  /// Whether a call needs more counters than there are.
  bool too_many() const { return too_many_; }

 private:
  struct Body {
    std::int64_t count = 0;
    bool drew = false;  // a number, not only a conditional's share
  };
  Body take_closed();
  void add(std::int64_t count, bool drew);
  void add_conditional(std::int64_t count, bool drew);

  Body now_;  // counts from the beginning of the graph, as those around it do; closed ones from their own
  std::vector<Body> open_, closed_;  // around now_; those that wait for their operation
  bool overlaps_ = false, too_many_ = false;
};

}  // namespace kiln::ir
