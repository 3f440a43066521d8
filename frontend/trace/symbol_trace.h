// The composition of symbols without shapes.
#pragma once
#include "frontend/call/call_context.h"
#include "frontend/trace/captures.h"
#include "frontend/trace/naming.h"

namespace kiln {

/// Composes a network on Symbols: operator calls become nodes without shapes. The graph is reachable from the
/// results, so there is no finish(). Node numbers start at 0.
class SymbolTrace final : public Trace {
 public:
  SymbolTrace() : Trace(/*shapes_known=*/false) {}

  Tensor resolve(const Tensor& t) override;
  Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                 const HiddenAttrs& hidden_attrs = {}) override;
  bool has_written(const detail::Array* array) const override { return captures_.has_written(array); }
  void record(ir::NodePtr) override {}
  const Body* body(std::uint64_t) const override { return nullptr; }
  CallTrace* call() override { return nullptr; }

 private:
  const RecordingScopeIs own_scopes_{RecordingScope::none};
  NameScope names_{""};
  Captures captures_;
};

}  // namespace kiln
