// Why calls of one block object were recorded.
#pragma once
#include "frontend/gluon/hybridize/recording_facts.h"

#include <kiln/compiled_call.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace kiln {
struct CompileOptions;
}

namespace kiln::detail {

/// The latest recordings of one object, as facts. It compares a new recording with them, and reports it. Used
/// by recordings alone, never by a call whose code exists. Any thread.
class RecordingHistory {
 public:
  /// The reason of a recording that is not remembered yet, without its cost. `name`: of the network.
  RecordingReason reason(const HybridBlock& block, const TracedCall& call, std::string name);
  /// Remembers the recording, whose reason now has its cost, logs it and, past max_quiet recordings of the
  /// object, warns once.
  void report(const HybridBlock& block, const TracedCall& call, const RecordingReason& reason);

  static constexpr std::size_t max_remembered = 32;
  static constexpr std::size_t max_quiet = 16;  ///< recordings without a warning

 private:
  /// Counts the values of the differences until the warning is due.
  void count(const RecordingReason& reason);
  std::string warning(const RecordingReason& reason) const;

  Mutex mutex_;
  std::deque<std::shared_ptr<const RecordingFacts>> earlier_;  // the newest last
  std::size_t made_ = 0;
  struct Varied {
    RecordingReason::Kind kind{};
    std::size_t times = 0;
    std::set<std::string> values = {};
  };
  std::map<std::string, Varied> varied_;  // by RecordingReason::Difference::what
};

/// The options of a compilation, with the reason for dumps.
void set_purpose(CompileOptions& options, const RecordingReason& reason);

}  // namespace kiln::detail
