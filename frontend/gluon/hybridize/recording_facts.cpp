// Gathers and compares the facts of recordings.
#include "frontend/gluon/hybridize/recording_facts.h"

#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/parameter/parameter_state.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>
#include <utility>

namespace kiln::detail {
namespace {

using Difference = RecordingReason::Difference;
using Kind = RecordingReason::Kind;
using Part = NetworkFacts::Part;
using Param = NetworkFacts::Param;

bool same(const std::weak_ptr<const void>& a, const std::weak_ptr<const void>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

bool same(const NetworkFacts& a, const NetworkFacts& b) {
  const auto equal = [](const Param& x, const Param& y) {
    return x.name == y.name && same(x.state, y.state) && x.dtype == y.dtype && x.device == y.device &&
           x.changes == y.changes;
  };
  return a.parts == b.parts && std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                                          b.parameters.end(), equal);
}

/// The parts of a network, and, by the Revision of a block, how messages call it.
struct NetworkParts {
  std::vector<Part> parts;
  std::unordered_map<const Revision*, std::string> names;

  /// Adds a block and its descendants; a block that is in the tree twice has its first path.
  void add(const Block& block, const std::string& path) {
    const BlockState& state = BlockAccess::state(block);
    if (!names.emplace(state.structure.get(), path.empty() ? block.name() : path).second) return;
    parts.push_back({path, fmt::format("{} ({})", block.name(), block.class_name()), state.serial,
                     state.structure->count(), state.hooks.size(), state.structure->latest()});
    for (const auto& [key, child] : state.children) add(*child, path.empty() ? key : path + "." + key);
  }
};

/// The part with a path, which is probably at `likely`; null: none.
const Part* find_part(const std::vector<Part>& parts, const std::string& path, std::size_t likely) {
  if (likely < parts.size() && parts[likely].path == path) return &parts[likely];
  const auto at = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.path == path; });
  return at == parts.end() ? nullptr : &*at;
}

/// The same parameter in other facts, probably at `likely`; null: none.
const Param* find_param(const std::vector<Param>& params, const Param& sought, std::size_t likely) {
  const auto is_it = [&](const Param& p) { return same(p.state, sought.state); };
  if (likely < params.size() && is_it(params[likely])) return &params[likely];
  const auto at = std::find_if(params.begin(), params.end(), is_it);
  return at == params.end() ? nullptr : &*at;
}

std::vector<Param> params_of(const HybridBlock& block) {
  std::vector<Param> params;
  for (const Parameter& p : block.collect_params()) {
    const std::shared_ptr<ParameterState>& state = ParameterAccess::handle(p);
    params.push_back(
        {p.name(), state, p.dtype(), p.device(), state->revision->count(), state->revision->latest()});
  }
  return params;
}

std::string on_or_off(bool on) { return on ? "on" : "off"; }

/// The kind of a change that left the network as it was; it has the remedy.
Kind kind_of_change(std::string_view latest, Kind otherwise) {
  return latest == Revision::was_cast ? Kind::cast : latest == Revision::was_moved ? Kind::moved : otherwise;
}

/// Collects differences.
class FactComparison {
 public:
  FactComparison(const RecordingFacts& was, const RecordingFacts& now) : was_(was), now_(now) {}

  std::vector<Difference> run() {
    compare_inputs();
    compare_modes();
    const bool same_call = found_.empty();
    if (same_call && was_.changed_itself)
      add(Kind::own_change, "hybrid_forward changed the network while it was recorded");
    if (now_.network != was_.network) compare_networks();
    compare_attributes();
    compare_parameter_options();
    compare_options();
    if (same_call && found_.empty()) compare_arrays();
    if (same_call && found_.empty()) add_other_change();
    // A changed network tells more than an input that follows it, as the dtype after cast().
    std::stable_partition(found_.begin(), found_.end(), [](const Difference& d) {
      return d.kind >= Kind::own_change && d.kind <= Kind::attribute;
    });
    return std::move(found_);
  }

 private:
  void add(Kind kind, std::string what, std::string was = {}, std::string now = {}) {
    found_.push_back({kind, std::move(what), std::move(was), std::move(now)});
  }

  void compare_inputs() {
    const auto &a = was_.signature.inputs, &b = now_.signature.inputs;
    if (a.size() != b.size())
      return add(Kind::input_count, "the number of inputs", std::to_string(a.size()),
                 std::to_string(b.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].dtype != b[i].dtype)
        add(Kind::dtype, fmt::format("the dtype of input {}", i), std::string(name_of(a[i].dtype)),
            std::string(name_of(b[i].dtype)));
      if (a[i].shape.size() != b[i].shape.size())
        add(Kind::shape, fmt::format("the shape of input {}", i), a[i].shape.str(), b[i].shape.str());
      else
        for (std::size_t k = 0; k < a[i].shape.size(); ++k)
          if (a[i].shape[k] != b[i].shape[k])
            add(Kind::shape, fmt::format("axis {} of input {}", k, i), std::to_string(a[i].shape[k]),
                std::to_string(b[i].shape[k]));
    }
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i].array != b[i].array || a[i].distance != b[i].distance || a[i].value != b[i].value)
        return add(Kind::aliasing, fmt::format("input {} shares memory with other inputs in another way", i));
  }

  void compare_modes() {
    const CallSignature &a = was_.signature, &b = now_.signature;
    if (!(a.device == b.device))
      add(Kind::device, "the device of the inputs", a.device.str(), b.device.str());
    if (a.train != b.train) add(Kind::train, "the training mode", on_or_off(a.train), on_or_off(b.train));
    if (a.numpy != b.numpy) add(Kind::numpy_mode, "numpy mode", on_or_off(a.numpy), on_or_off(b.numpy));
    if (was_.precision != now_.precision)
      add(Kind::precision, "the precision of products", std::string(name_of(was_.precision)),
          std::string(name_of(now_.precision)));
    if (was_.recording != now_.recording && was_.recording && now_.recording)
      add(Kind::recording, "the recording for gradients", on_or_off(*was_.recording),
          on_or_off(*now_.recording));
    else if (was_.histories != now_.histories && a == b)
      add(Kind::recording, "other arrays have a history, for which hybrid_forward asks");
  }

  void compare_options() {
    if (was_.hybridized == now_.hybridized) return;
    const HybridizeOptions &a = was_.options, &b = now_.options;
    if (a.check != b.check)
      add(Kind::options, "HybridizeOptions::check", std::to_string(static_cast<unsigned>(a.check)),
          std::to_string(static_cast<unsigned>(b.check)));
    if (a.fuse != b.fuse) add(Kind::options, "HybridizeOptions::fuse", on_or_off(a.fuse), on_or_off(b.fuse));
    if (found_.empty()) add(Kind::options, "hybridize() was called again");
  }

  void compare_networks() {
    const std::size_t before = found_.size();
    const std::vector<Part>&a = was_.network->parts, &b = now_.network->parts;
    std::vector<std::string> told;  // the descendants of a replaced child are others, too
    const auto within_told = [&](const std::string& path) {
      return std::any_of(told.begin(), told.end(),
                         [&](const std::string& t) { return path.starts_with(t + "."); });
    };
    const auto tell = [&](const std::string& path, const Part* x, const Part* y) {
      if (within_told(path)) return;
      told.push_back(path);
      add(Kind::child, fmt::format("the child '{}'", path), x ? x->name : "absent", y ? y->name : "absent");
    };
    for (std::size_t i = 0; i < b.size(); ++i) {
      const Part& part = b[i];
      const Part* const earlier = find_part(a, part.path, i);
      if (!earlier || earlier->serial != part.serial) {
        if (part.path.empty()) return add(Kind::block, "the network was assigned another one");
        tell(part.path, earlier, &part);
      } else if (earlier->hooks != part.hooks) {
        add(Kind::hook, fmt::format("the number of hooks of {}", part.name), std::to_string(earlier->hooks),
            std::to_string(part.hooks));
      }
    }
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!find_part(b, a[i].path, i)) tell(a[i].path, &a[i], nullptr);
    if (found_.size() == before) compare_parameters(was_.network->parameters, now_.network->parameters);
  }

  void compare_parameters(const std::vector<Param>& a, const std::vector<Param>& b) {
    std::size_t cast = 0, moved = 0;
    const Param *was = nullptr, *now = nullptr;  // the last of these
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Param* const later = find_param(b, a[i], i);
      // A block keeps the parameter whose handle was assigned another one.
      if (!later || (later->changes != a[i].changes && later->latest_change == Revision::was_replaced))
        return add_replaced(a[i], a, b);
      if (a[i].dtype == later->dtype && a[i].device == later->device) continue;
      (a[i].dtype == later->dtype ? moved : cast) += 1;
      was = &a[i], now = later;
    }
    if (cast > 0)
      add(Kind::cast, fmt::format("the dtype of {} parameter{}", cast, cast == 1 ? "" : "s"),
          std::string(name_of(was->dtype)), std::string(name_of(now->dtype)));
    if (moved > 0)
      add(Kind::moved, fmt::format("the device of {} parameter{}", moved, moved == 1 ? "" : "s"),
          was->device.str(), now->device.str());
  }

  /// The new parameter is told if there is no doubt which it is.
  void add_replaced(const Param& gone, const std::vector<Param>& a, const std::vector<Param>& b) {
    std::vector<const Param*> added;
    for (std::size_t i = 0; i < b.size(); ++i)
      if (!find_param(a, b[i], i)) added.push_back(&b[i]);
    if (added.size() == 1 && added[0]->name != gone.name)
      add(Kind::parameter, fmt::format("the parameter '{}'", gone.name), gone.name, added[0]->name);
    else
      add(Kind::parameter, fmt::format("the parameter '{}' {}", gone.name, Revision::was_replaced));
  }

  void compare_attributes() {
    for (const RecordingFacts::Attribute& b : now_.attributes)
      for (const RecordingFacts::Attribute& a : was_.attributes)
        if (a.what == b.what && a.value != b.value) add(Kind::attribute, b.what, a.value, b.value);
  }

  /// "the lr_mult of the parameter 'net0_weight'"
  static std::string title(const OptionRead& read) {
    return fmt::format("the {} of the parameter '{}'", read.option, read.name);
  }

  /// Calls `tell` with each option that both recordings read.
  template <class Tell>
  void for_each_option(const Tell& tell) const {
    for (const OptionRead& b : now_.options_read)
      for (const OptionRead& a : was_.options_read)
        if (a.option == b.option && same(a.parameter, b.parameter)) tell(a, b);
  }

  void compare_parameter_options() {
    for_each_option([&](const OptionRead& a, const OptionRead& b) {
      if (a.value != b.value) add(Kind::parameter, title(b), a.value, b.value);
    });
  }

  void compare_arrays() {
    const auto other = [](const RecordingFacts::Array& a, const RecordingFacts::Array& b) {
      return !same(a.array, b.array);
    };
    for (std::size_t i = 0; i < std::min(was_.captured.size(), now_.captured.size()); ++i)
      if (other(was_.captured[i], now_.captured[i]))
        return add(Kind::array, fmt::format("the array '{}', which hybrid_forward reads, was replaced",
                                            now_.captured[i].name));
    for (std::size_t i = 0; i < std::min(was_.read.size(), now_.read.size()); ++i)
      if (other(was_.read[i], now_.read[i]) || was_.read[i].version != now_.read[i].version)
        return add(Kind::elements, "elements that hybrid_forward reads as numbers were written");
  }

  /// A change that left no trace but its count, or none at all.
  void add_other_change() {
    const NetworkFacts &a = *was_.network, &b = *now_.network;
    for (std::size_t i = 0; i < std::min(a.parts.size(), b.parts.size()); ++i)
      if (a.parts[i].changes != b.parts[i].changes)
        return add(kind_of_change(b.parts[i].latest_change, Kind::block),
                   fmt::format("the block {} {}", b.parts[i].name, b.parts[i].latest_change));
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      const Param* const later = find_param(b.parameters, a.parameters[i], i);
      if (later && a.parameters[i].changes != later->changes)
        return add(kind_of_change(later->latest_change, Kind::parameter),
                   fmt::format("the parameter '{}' {}", later->name, later->latest_change));
    }
    for_each_option([&](const OptionRead& x, const OptionRead& y) {
      if (found_.empty() && x.changes != y.changes) add(Kind::parameter, title(y) + " was set again");
    });
    if (!found_.empty()) return;
    if (was_.read.size() != now_.read.size() || was_.captured.size() != now_.captured.size())
      return add(Kind::array, "hybrid_forward reads other arrays");
    add(Kind::dropped, "its recording was dropped, as the one that was called longest ago");
  }

  const RecordingFacts &was_, &now_;
  std::vector<Difference> found_;
};

}  // namespace

RecordingFacts::RecordingFacts(const HybridBlock& block, const TracedCall& call, const RecordingFacts* before)
    : signature(call.signature),
      options(call.options),
      hybridized(BlockAccess::state(block).hybridized->count()),
      recording(call.asked_recording),
      histories(call.histories),
      precision(call.precision()),
      options_read(call.dependencies.options()),
      changed_itself(!call.dependencies.unchanged() || !call.dependencies.alive()) {
  auto facts = std::make_shared<NetworkFacts>();
  NetworkParts tree;
  tree.add(block, "");
  facts->parts = std::move(tree.parts);
  facts->parameters = params_of(block);
  if (before && same(*before->network, *facts))
    network = before->network;
  else
    network = std::move(facts);
  for (const AttributeRead& read : call.dependencies.attributes()) {
    const auto owner = tree.names.find(read.block);
    const std::string name = read.name.starts_with("number ") ? read.name : "'" + read.name + "'";
    attributes.push_back({owner == tree.names.end()
                              ? fmt::format("the Attr {} of a block outside of the network", name)
                              : fmt::format("the Attr {} of the block '{}'", name, owner->second),
                          read.value});
  }
  for (const TracedCall::Capture& c : call.captures)
    if (!c.parameter && c.watched) captured.push_back({c.name, c.array.get()});
  for (const CallTrace::Read& r : call.read_arrays) read.push_back({"", r.array.get(), r.version});
}

std::vector<Difference> differences(const RecordingFacts& was, const RecordingFacts& now) {
  return FactComparison(was, now).run();
}

}  // namespace kiln::detail
