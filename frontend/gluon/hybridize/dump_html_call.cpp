// dump_html() of a network's call, which is compiled anew.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/fail.h"

#include <kiln/dump_html.h>

#include <mutex>
#include <utility>

namespace kiln {
namespace {

/// Restores the latest recording of a block at the end of its scope.
class RestoredLatest {
 public:
  explicit RestoredLatest(detail::BlockState& state) : state_(state) {
    const std::lock_guard lock(state_.recordings_mutex);
    latest_ = state_.latest;
  }
  ~RestoredLatest() {
    const std::lock_guard lock(state_.recordings_mutex);
    state_.latest = std::move(latest_);
  }
  RestoredLatest(const RestoredLatest&) = delete;

 private:
  detail::BlockState& state_;
  decltype(detail::BlockState::latest) latest_;
};

}  // namespace

void dump_html(HybridBlock& net, const Tensors& inputs, const std::string& path,
               const DumpHtmlOptions& options, std::source_location where) {
  detail::BlockState& state = detail::BlockAccess::state(net);
  const std::source_location line = CallSite::resolve(where);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      fail("{}input {} of {} is an undefined Tensor", line_prefix(line), i, net.name());
  const CallSite site(state.library ? std::optional(line) : std::nullopt, line);
  // The network keeps its recordings; it exports the latest.
  const RestoredLatest latest(state);
  CachedCall calls;
  const auto call = [&] {
    const auto prepared = calls.prepare(net, inputs);
    if (!prepared->executable)
      fail("the call of {} runs eagerly, so that there is no code to describe: {}", net.name(),
           prepared->eager_because);
    calls.call(net, inputs);
  };
  DumpHtmlOptions named = options;
  if (named.title.empty()) named.title = net.name();
  dump_html(call, path, named, where);
}

}  // namespace kiln
