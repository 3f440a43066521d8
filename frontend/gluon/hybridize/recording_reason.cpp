// The words of RecordingReason: kinds, remedies, sentence and JSON.
#include "frontend/gluon/hybridize/recording_remedy.h"
#include "frontend/gluon/parameter/parameter_state.h"

#include <kiln/compiled_call.h>

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kiln {
namespace {

using Kind = RecordingReason::Kind;

/// A row for each kind, in their order.
struct KindWords {
  Kind kind;
  std::string_view name, remedy;
};
constexpr std::array kind_words = {
    KindWords{Kind::first_call, "first-call", ""},
    KindWords{Kind::copy, "copy", "call one object instead of copies"},
    KindWords{Kind::shape, "shape", "pad inputs to a few shapes"},
    KindWords{Kind::dtype, "dtype", "convert inputs to one dtype with astype()"},
    KindWords{Kind::input_count, "input-count", "pass the same number of inputs in each call"},
    KindWords{Kind::aliasing, "aliasing",
              "pass an array twice in each call or in none; copy() makes separate arrays"},
    KindWords{Kind::device, "device", "move inputs to one device with to()"},
    KindWords{Kind::train, "train", ""},
    KindWords{Kind::recording, "recording", ""},
    KindWords{Kind::numpy_mode, "numpy-mode", "set numpy mode once, at the start of the program"},
    KindWords{Kind::precision, "precision", "choose one precision with HybridizeOptions::precision"},
    KindWords{Kind::options, "options", "call hybridize() once, before the first call"},
    KindWords{Kind::own_change, "own-change", "change the network between calls, not in hybrid_forward"},
    KindWords{Kind::child, "child",
              "change children before the first call; new weights go into the present ones, "
              "with set_data() or load_parameters()"},
    KindWords{Kind::hook, "hook", "register hooks before the first call"},
    KindWords{Kind::cast, "cast", "call cast() once, before the first call"},
    KindWords{Kind::moved, "moved", "call to() once, before the first call"},
    KindWords{Kind::parameter, "parameter", "write new values with set_data() instead"},
    KindWords{Kind::attribute, "attribute", "pass a number that changes often as a tensor"},
    KindWords{Kind::array, "array", "write into the array instead, as in w[slice()] = v"},
    KindWords{Kind::elements, "elements", "compute with the array instead of its numbers, as F.where does"},
    KindWords{Kind::block, "block", "change the network before the first call"},
    KindWords{Kind::dropped, "dropped",
              "raise HybridizeOptions::max_recordings or KILN_RECORDINGS_MAX_COUNT"},
};

const KindWords& words_of(Kind kind) { return kind_words.at(static_cast<std::size_t>(kind)); }

constexpr bool in_order() {
  for (std::size_t i = 0; i < kind_words.size(); ++i)
    if (static_cast<std::size_t>(kind_words[i].kind) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::string detail::remedy_for(const RecordingReason::Difference& d) {
  std::string remedy(words_of(d.kind).remedy);
  for (const std::string_view option : option_names)
    if (d.kind == Kind::parameter && d.what.starts_with(fmt::format("the {} of ", option)))
      remedy = fmt::format("call set_{}() before the first call", option);
  // Tensors hold numbers alone.
  if (const std::string_view now = d.now;
      d.kind == Kind::attribute && (now.starts_with('"') || now.find_first_of("0123456789") > 1))
    remedy = "set it before the first call";
  // The last batch of an epoch.
  if (d.kind == Kind::shape && d.what == "axis 0 of input 0")
    remedy += "; a DataLoader with LastBatch::discard or rollover has batches of one size";
  return remedy;
}

std::string_view name_of(RecordingReason::Kind kind) { return words_of(kind).name; }

std::string RecordingReason::Difference::str() const {
  return was.empty() && now.empty() ? what : fmt::format("{} was {} and is {}", what, was, now);
}

std::string RecordingReason::str() const {
  constexpr std::size_t most = 4;
  std::string why;
  const std::size_t told = std::min(most, differences.size());
  for (std::size_t i = 0; i < told; ++i)
    why += (i == 0 ? "" : i + 1 == differences.size() ? " and " : ", ") + differences[i].str();
  if (differences.size() > told) why += fmt::format(" and {} more differences", differences.size() - told);
  std::string text = fmt::format("{} was recorded for {}{}, because {}", network, inputs,
                                 line.empty() ? "" : " at " + line, why);
  if (milliseconds > 0)
    text += fmt::format(", in {:.1f} ms ({} kernels compiled, {} reused)", milliseconds, kernels_compiled,
                        kernels_reused);
  return remedy.empty() ? text : text + "; remedy: " + remedy;
}

std::string RecordingReason::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Difference& d : differences)
    list.push_back({{"kind", name_of(d.kind)}, {"what", d.what}, {"was", d.was}, {"now", d.now}});
  const nlohmann::ordered_json object = {{"network", network},
                                         {"inputs", inputs},
                                         {"line", line},
                                         {"differences", list},
                                         {"remedy", remedy},
                                         {"milliseconds", milliseconds},
                                         {"kernels_compiled", kernels_compiled},
                                         {"kernels_reused", kernels_reused}};
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kiln
