// Records again at larger extents, and compares.
#include "frontend/gluon/block/export_sizes.h"

#include "frontend/call/arithmetic.h"
#include "frontend/call/call_site.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/symbol/fixed_shape.h"
#include "frontend/symbol/json/symbol_legacy.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/tensor/elements.h"
#include "frontend/trace/call_trace.h"

#include <kiln/autograd.h>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace kiln {
namespace {

using detail::TensorAccess;
using detail::TracedCall;

/// One axis of one input.
struct Axis {
  std::size_t input, axis;
  bool operator<(const Axis& o) const { return std::pair(input, axis) < std::pair(o.input, o.axis); }
};
using Axes = std::set<Axis>;

/// A graph's nodes in the order of a file, and the arrays that the program created during the recording.
struct Recording {
  std::vector<ir::NodePtr> nodes;
  std::vector<ir::Entry> outputs;
  std::map<std::string, Tensor> constants;
};

Recording listed(const ir::Graph& graph) { return {ir::topological_order(graph.outputs), graph.outputs, {}}; }

/// "net.cpp:12: Reshape 'reshape0': shape" and its values in both recordings.
struct Difference {
  std::string what, here, there;
};

/// Compares two recordings of one program node by node.
class Comparison {
 public:
  Comparison(const Recording& a, const Recording& b) : a_(a), b_(b) {}

  /// All differing attributes, up to the first node that differs in its operator or inputs.
  std::vector<Difference> run() {
    nodes(a_.nodes, b_.nodes, a_.outputs, b_.outputs);
    return std::move(found_);
  }
  /// The elemwise nodes of the first recording that are broadcasting ones in the second, by name.
  const std::set<std::string>& broadcasts() const { return broadcasts_; }

 private:
  using Nodes = std::vector<ir::NodePtr>;
  using Entries = std::vector<ir::Entry>;

  bool nodes(const Nodes& a, const Nodes& b, const Entries& a_outputs, const Entries& b_outputs) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      number_.emplace(a[i].get(), i);
      if (i == b.size()) return another(*a[i], nullptr);
      number_.emplace(b[i].get(), i);
      if (!same_operator(*a[i], *b[i]) || !same_entries(a[i]->inputs, b[i]->inputs))
        return another(*a[i], b[i].get());
      attributes(*a[i], *b[i]);
      if (!constant(*a[i], *b[i])) return another(*a[i], b[i].get());
      for (std::size_t g = 0; g < a[i]->subgraphs.size(); ++g) {
        const ir::Subgraph &x = *a[i]->subgraphs[g], &y = *b[i]->subgraphs[g];
        if (!nodes(x.nodes, y.nodes, x.outputs, y.outputs)) return false;
      }
    }
    if (b.size() > a.size()) return another(*a.back(), b[a.size()].get());
    if (!same_entries(a_outputs, b_outputs)) return another(*a.back(), b.back().get());
    return true;
  }

  bool same_operator(const ir::Node& a, const ir::Node& b) {
    if (a.is_variable() != b.is_variable() || a.subgraphs.size() != b.subgraphs.size()) return false;
    if (a.is_variable()) return a.name == b.name;
    if (a.op_name == b.op_name) return true;
    // For equal extents the elemwise operator of a pair is recorded, for others the broadcasting one.
    if (broadcasting_form(a.op_name) == b.op_name) broadcasts_.insert(a.name);
    return broadcasting_form(a.op_name) == broadcasting_form(b.op_name);
  }

  bool same_entries(const Entries& a, const Entries& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const ir::Entry& x, const ir::Entry& y) {
      return x.output == y.output && number_.at(x.node.get()) == number_.at(y.node.get());
    });
  }

  void attributes(const ir::Node& a, const ir::Node& b) {
    if (a.is_variable()) return;
    const auto differ = [&](const std::string& key, const std::string& here, const std::string& there) {
      // No operator reads `__x__`: for example the name of a body, which differs between recordings.
      if (here != there && !legacy::is_hidden_attribute(key))
        found_.push_back({place(a) + ": " + key, "= " + here, there});
    };
    for (const auto& [key, text] : a.attr_text) {
      const auto other = b.attr_text.find(key);
      differ(key, text, other == b.attr_text.end() ? "not given" : other->second);
    }
    for (const auto& [key, text] : b.attr_text)
      if (!a.attr_text.contains(key)) differ(key, "not given", text);
  }

  /// Whether an array created by the program has the same elements.
  bool constant(const ir::Node& a, const ir::Node& b) const {
    const auto x = a_.constants.find(a.name), y = b_.constants.find(b.name);
    if (!a.is_variable() || x == a_.constants.end() || y == b_.constants.end()) return true;
    if (TensorAccess::array(x->second) == TensorAccess::array(y->second)) return true;
    return x->second.dtype() == y->second.dtype() &&
           TensorAccess::shape(x->second) == TensorAccess::shape(y->second) &&
           std::memcmp(HostElements(x->second).data(), HostElements(y->second).data(),
                       TensorAccess::bytes(x->second)) == 0;
  }

  bool another(const ir::Node& a, const ir::Node* b) {
    found_.push_back({place(a), "is recorded", b ? place(*b) : "nothing"});
    return false;
  }

  static std::string place(const ir::Node& node) {
    const std::string line = node.location.str();
    return fmt::format("{}{}{} '{}'", line, line.empty() ? "" : ": ",
                       node.is_variable() ? "array" : node.op_name, node.name);
  }

  const Recording &a_, &b_;
  std::unordered_map<const ir::Node*, std::size_t> number_;
  std::vector<Difference> found_;
  std::set<std::string> broadcasts_;
};

/// The probes of one recording.
class Prober {
 public:
  Prober(HybridBlock& block, const TracedCall& recorded, std::source_location where)
      : block_(block),
        where_(where),
        signature_(recorded.signature),
        recording_(recorded.asked_recording.value_or(false)),
        asks_(recorded.asked_recording.has_value()),
        inputs_(recorded.graph.inputs) {
    recorded_ = listed(recorded.graph);
    for (const auto& c : recorded.captures) recorded_.constants.emplace(c.name, c.whole());
  }

  SizeDependence run() {
    SizeDependence out;
    for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
      out.fixed.emplace_back(signature_.inputs[i].shape.size());
      for (std::size_t k = 0; k < out.fixed[i].size(); ++k)
        if (depends_on({i, k})) out.fixed[i][k] = extent({i, k});
    }
    out.reasons = std::move(reasons_);
    out.broadcasts = std::move(broadcasts_);
    return out;
  }

 private:
  std::int64_t extent(const Axis& a) const { return signature_.inputs[a.input].shape[a.axis]; }

  /// Whether the graph changes when this axis grows: alone, or with as few other axes as the network accepts.
  /// If the network accepts a single extent only (channels), its operators check it at run time.
  bool depends_on(const Axis& axis) {
    Axes same_place, same_extent;
    for (std::size_t i = 0; i < signature_.inputs.size(); ++i)
      for (std::size_t k = 0; k < signature_.inputs[i].shape.size(); ++k) {
        if (extent({i, k}) != extent(axis)) continue;
        same_extent.insert({i, k});
        if (k == axis.axis) same_place.insert({i, k});
      }
    for (const Axes& axes : {Axes{axis}, same_place, same_extent}) {
      const auto known = answers_.find(axes);
      if (known == answers_.end()) answers_.emplace(axes, probe(axes));
      if (const std::optional<bool>& moved = answers_.at(axes)) return *moved;
    }
    return false;
  }

  /// Whether the recording changes when these axes grow; nothing if the network does not accept these
  /// extents.
  std::optional<bool> probe(const Axes& axes) {
    // Twice the extent, plus one if accepted: by most rules a different number, and odd if the extent was
    // even.
    for (const std::int64_t more : {1, 0}) {
      std::vector<TensorType> types;
      for (const auto& in : signature_.inputs) types.push_back({in.dtype, in.shape});
      for (const Axis& a : axes)
        types[a.input].shape[a.axis] = std::max<std::int64_t>(2 * extent(a) + more, 1);
      try {
        const Recording larger = record(types);
        Comparison comparison(recorded_, larger);
        const std::vector<Difference> found = comparison.run();
        if (found.empty()) broadcasts_.insert(comparison.broadcasts().begin(), comparison.broadcasts().end());
        const std::size_t input = axes.begin()->input;
        for (const Difference& d : found)
          if (named_.insert(d.what).second)
            reasons_.push_back(fmt::format("{} {}, but {} for '{}' of shape {}", d.what, d.here, d.there,
                                           inputs_[input]->name, types[input].shape.str()));
        return !found.empty();
      } catch (const FixedShapeError& e) {
        if (named_.insert("").second) reasons_.push_back(e.what());
        return true;
      } catch (const std::exception&) {
      }
    }
    return std::nullopt;
  }

  Recording record(std::span<const TensorType> types) {
    const autograd::TrainMode mode(signature_.train);
    const CheckScope no_hooks;
    const CallSite site(detail::BlockAccess::state(block_).library ? std::optional(where_) : std::nullopt,
                        where_, &block_);
    CallTrace trace(recording_, asks_);
    Tensors traced;
    Recording out = listed(trace.finish(detail::BlockAccess::record(block_, trace, types, traced)));
    for (const Captured& c : trace.captured())
      if (c.tensor.defined()) out.constants.emplace(c.variable->name, c.tensor);
    return out;
  }

  HybridBlock& block_;
  std::source_location where_;
  const CallSignature& signature_;
  const bool recording_, asks_;
  std::span<const ir::NodePtr> inputs_;
  Recording recorded_;
  std::map<Axes, std::optional<bool>> answers_;
  std::set<std::string> named_;  // nodes already reported
  std::vector<std::string> reasons_;
  std::set<std::string> broadcasts_;  // of all recordings without a difference
};

}  // namespace

bool SizeDependence::any() const { return !reasons.empty(); }

SizeDependence find_size_dependence(HybridBlock& block, const TracedCall& recorded,
                                    std::source_location where) {
  return Prober(block, recorded, where).run();
}

}  // namespace kiln
