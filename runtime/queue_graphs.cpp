// Makes the graphs of a repeated call, and runs them.
#include "runtime/queue_graphs.h"

#include "runtime/profile.h"

#include <algorithm>

namespace kiln {

/// The graphs for one set of addresses, and the memory that they use.
class QueueGraphs::Recording {
 public:
  /// `first`: an empty graph of the device.
  Recording(const QueueRunner& runner, std::span<std::byte* const> given, std::span<const Argument> inputs,
            std::unique_ptr<DeviceGraph> first)
      : runner_(runner),
        plan_(runner.linked()),
        given_(given.begin(), given.end()),
        addresses_(plan_),
        arena_(runner.accelerator(), plan_.plan().arena_bytes, plan_.plan().name),
        scratch_(runner.make_scratch(plan_.launches())),
        random_(plan_.kernels_read_random() ? Buffer(sizeof(RandomState), runner.device()) : Buffer()) {
    make(inputs, std::move(first));
  }

  bool is_for(std::span<std::byte* const> given) const { return std::ranges::equal(given, given_); }

  FailedCheck run(const RandomState& given) {
    RandomState state = given;
    if (random_.data()) runner_.accelerator().upload(random_.data(), &state, sizeof(state));
    std::byte** const bases = addresses_.bases.data();
    bases[plan_.arena_base() + 2] = reinterpret_cast<std::byte*>(&state);
    for (const Part& p : parts_) {
      p.graph->run();
      if (!p.step) continue;
      if (const FailedCheck failed = runner_.launch(*p.step, bases, operands(), tables(), nullptr, *p.graph))
        return failed;
    }
    return {};
  }

 private:
  /// A graph, then a step on the host; null: there is none.
  struct Part {
    std::unique_ptr<DeviceGraph> graph;
    const Launch* step;
  };

  void** operands() { return reinterpret_cast<void**>(addresses_.tables.data()); }
  TableSlot* tables() { return addresses_.tables.data() + plan_.max_operands(); }

  void make(std::span<const Argument> inputs, std::unique_ptr<DeviceGraph> graph) {
    std::byte** const bases = addresses_.bases.data();
    std::byte** const own = std::ranges::copy(given_, bases).out;
    own[0] = arena_.data();
    own[1] = random_.data();
    const auto queue = [&]() -> WorkQueue& { return *graph; };
    if (runner_.overlap().may_stage()) staged_ = runner_.overlap().stage(addresses_, queue());
    for (const Launch& l : plan_.launches()) {
      if (l.control) {
        parts_.push_back({std::move(graph), &l});
        graph = runner_.accelerator().make_graph();
      } else {
        (void)runner_.launch(l, bases, operands(), nullptr, scratch_.data(), queue());
      }
    }
    written_ = runner_.overlap().write_back(inputs, bases, queue());
    parts_.push_back({std::move(graph), nullptr});
  }

  const QueueRunner& runner_;
  const LinkedPlan& plan_;
  const std::vector<std::byte*> given_;
  CallAddresses addresses_;
  Arena<Accelerator> arena_, scratch_;
  Buffer random_;
  std::vector<Buffer> staged_, written_;  // copies of inputs, and of values that inputs get
  std::vector<Part> parts_;
};

QueueGraphs::QueueGraphs(const QueueRunner& runner) : runner_(runner) {}
QueueGraphs::~QueueGraphs() = default;

/// Whether the run before had these addresses, or there was none. A program whose arrays change with each run
/// would make graphs that are run once.
bool QueueGraphs::repeats(std::span<std::byte* const> given) {
  const bool same = last_.empty() || std::equal(given.begin(), given.end(), last_.begin(), last_.end());
  last_.assign(given.begin(), given.end());
  return same;
}

/// Makes graphs for these addresses; a device without graphs gives none.
void QueueGraphs::record(std::span<std::byte* const> given, std::span<const Argument> inputs) {
  recording_.reset();
  if (auto graph = runner_.accelerator().make_graph())
    recording_ = std::make_unique<Recording>(runner_, given, inputs, std::move(graph));
}

FailedCheck QueueGraphs::run(std::span<const Argument> inputs, std::span<void* const> outputs,
                             const RandomState& random, CallAddresses& addresses) {
  if (Profile::Record::active()) return runner_.run(inputs, outputs, random, addresses);
  PrepackedConstants::References prepacked;
  std::byte** const end = runner_.set_arguments(inputs, outputs, addresses, prepacked);
  const std::span<std::byte* const> given(addresses.bases.data(), end);
  const bool again = repeats(given);
  if (recording_ && !recording_->is_for(given)) recording_.reset();
  if (!recording_ && again) record(given, inputs);
  if (!recording_) return runner_.run_with(inputs, end, random, addresses);
  if (const FailedCheck failed = recording_->run(random)) return failed;
  runner_.overlap().count_writes(inputs);
  return {};
}

void QueueGraphs::warm_up(std::span<const Argument> inputs, std::span<void* const> outputs,
                          CallAddresses& addresses) {
  PrepackedConstants::References prepacked;
  std::byte** const end = runner_.set_arguments(inputs, outputs, addresses, prepacked);
  const std::span<std::byte* const> given(addresses.bases.data(), end);
  last_.assign(given.begin(), given.end());
  if (!recording_ || !recording_->is_for(given)) record(given, inputs);
}

}  // namespace kiln
