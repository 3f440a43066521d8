#include "runtime/repeated_call.h"

#include "runtime/accelerator.h"
#include "runtime/profile.h"
#include "runtime/workspace.h"

#include <algorithm>
#include <optional>

namespace kiln {

/// The graphs for one set of addresses, and the memory that they use.
struct RepeatedCall::Recording {
  /// A graph, then a step on the host; null: there is none.
  struct Part {
    std::unique_ptr<DeviceGraph> graph;
    const Executable::Launch* step;
  };

  /// `first`: an empty graph of the device.
  Recording(const Executable& e, std::span<std::byte* const> given, std::span<const Argument> inputs,
            std::unique_ptr<DeviceGraph> first)
      : executable(e),
        addresses_given(given.begin(), given.end()),
        addresses(e),
        arena(e.plan_.arena_bytes, e.plan_.name, e.accelerator_),
        workspace(e.make_workspace(e.launches_)),
        random(e.reads_random_ ? Buffer(sizeof(RandomState), e.device_) : Buffer()) {
    make(inputs, std::move(first));
  }

  void make(std::span<const Argument> inputs, std::unique_ptr<DeviceGraph> graph) {
    const Executable& e = executable;
    std::byte** const bases = addresses.bases.data();
    std::byte** const own = std::copy(addresses_given.begin(), addresses_given.end(), bases);
    own[0] = arena.data();
    own[1] = random.data();
    if (!e.in_place_.empty()) staged = e.stage_overlapping(addresses, graph.get());
    for (const Executable::Launch& l : e.launches_) {
      if (l.control) {
        parts.push_back({std::move(graph), &l});
        graph = e.accelerator_->make_graph();
      } else {
        e.launch(l, bases, addresses.operands.data(), workspace, graph.get());
      }
    }
    written = e.write_back(inputs, bases, graph.get());
    parts.push_back({std::move(graph), nullptr});
  }

  void run(const RandomState& given) {
    const Executable& e = executable;
    RandomState state = given;
    if (random.data()) e.accelerator_->upload(random.data(), &state, sizeof(state));
    std::byte** const bases = addresses.bases.data();
    bases[e.arena_base_ + 2] = reinterpret_cast<std::byte*>(&state);
    for (const Part& p : parts) {
      p.graph->run();
      if (p.step) e.launch(*p.step, bases, addresses.operands.data(), workspace, nullptr);
    }
  }

  const Executable& executable;
  const std::vector<std::byte*> addresses_given;
  Executable::Addresses addresses;
  Arena arena;
  Workspace workspace;
  Buffer random;
  std::vector<Buffer> staged, written;  // copies of inputs, and of values that inputs get
  std::vector<Part> parts;
};

RepeatedCall::RepeatedCall(const Executable& executable) : executable_(executable) {}
RepeatedCall::~RepeatedCall() = default;

/// Whether the run before had these addresses, or there was none. A program whose arrays change with each run
/// would make graphs that are run once.
bool RepeatedCall::repeats(std::span<std::byte* const> given) {
  const bool same = last_.empty() || std::equal(given.begin(), given.end(), last_.begin(), last_.end());
  last_.assign(given.begin(), given.end());
  return same;
}

void RepeatedCall::run(std::span<const Argument> inputs, std::span<void* const> outputs,
                       const RandomState& random, Executable::Addresses& addresses) {
  const Executable& e = executable_;
  if (!e.accelerator_ || Profile::Record::active()) return e.run(inputs, outputs, random, addresses);
  Executable::PrepackedReferences prepacked;
  std::byte** const end = e.set_arguments(inputs, outputs, addresses, prepacked);
  const std::span<std::byte* const> given(addresses.bases.data(), end);
  const bool again = repeats(given);
  if (!recording_ || !std::ranges::equal(given, recording_->addresses_given)) {
    recording_.reset();
    // A device without graphs gives none.
    if (auto graph = again ? e.accelerator_->make_graph() : nullptr)
      recording_ = std::make_unique<Recording>(e, given, inputs, std::move(graph));
  }
  if (!recording_) return e.run_with(inputs, end, random, addresses);
  recording_->run(random);
  e.count_writes(inputs);
}

}  // namespace kiln
