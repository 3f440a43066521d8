// A Trainer's states as named arrays, with a JSON text for all other state; files of them.
#include "frontend/call/line.h"
#include "frontend/formats/file_io.h"
#include "frontend/gluon/trainer/options.h"
#include "frontend/gluon/trainer/state_arrays.h"
#include "frontend/gluon/trainer/trainer_state.h"
#include "frontend/tensor/text.h"
#include "runtime/fail.h"

#include <kiln/io.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

namespace kiln {

using detail::LoadedStates;
using detail::TrainedParameter;
using detail::TrainerState;
using Json = nlohmann::json;

namespace {

constexpr const char* json_name = "kiln:json";
constexpr const char* kind = "states of a Kiln Trainer";

std::string array_name(const TrainedParameter& p, const std::string& state) {
  return "state:" + p.parameter.name() + ":" + state;
}

Json description(const TrainerState& state) {
  const optimizer::Optimizer& optimizer = *state.optimizer;
  Json out = {{"kind", kind},
              {"format", 1},
              {"optimizer", optimizer.name()},
              {"options", detail::options_json(optimizer.options())},
              {"learning_rate", optimizer.learning_rate(state.num_update)},
              {"num_update", state.num_update},
              {"memory", state.memory},
              {"counts", Json::object()}};
  if (optimizer.options().lr_scheduler.defined())
    out["lr_scheduler"] = optimizer.options().lr_scheduler.str();
  for (const TrainedParameter& p : state.parameters) out["counts"][p.parameter.name()] = p.count;
  if (state.scaler) out["loss_scale"] = {{"factor", state.scaler->scale()}, {"steps", state.scaler->steps()}};
  return out;
}

std::string text_of(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::exception&) {
    fail("states cannot be saved for parameters whose names are not UTF-8");
  }
}

/// A pickle begins with an opcode and its protocol. So may the length of a safetensors header, which a brace
/// follows.
bool is_pickle(std::span<const std::byte> bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<int>(bytes[i]) : -1; };
  return at(0) == 0x80 && at(1) >= 1 && at(1) <= 5 && at(8) != '{';
}

class Reader {
 public:
  Reader(const TrainerState& state, std::vector<NamedArray> arrays, const detail::ShapeOf& shape_of,
         const std::string& path)
      : state_(state), arrays_(std::move(arrays)), shape_of_(shape_of), path_(path) {}

  LoadedStates read() {
    read_json();
    read_arrays();
    return std::move(out_);
  }

 private:
  const Json& member(const Json& object, const char* name, bool (Json::*is)() const noexcept) const {
    const auto found = object.find(name);
    if (found == object.end() || !((*found).*is)())
      fail("{}: the text '{}' has no '{}', or of another type", path_, json_name, name);
    return *found;
  }

  std::int64_t count(const Json& value, const std::string& what) const {
    if (!value.is_number_integer() || value < 0 || value > std::int64_t{1} << 53)
      fail("{}: '{}' is no number of updates", path_, what);
    return value.get<std::int64_t>();
  }

  double real(const Json& value, const std::string& what) const {
    if (!value.is_number()) fail("{}: '{}' is no number", path_, what);
    return value.get<double>();
  }

  void read_json() {
    const Tensor* const text = find_array(arrays_, json_name);
    if (!text || text->dtype() != DType::u8)
      fail("{}: there is no text '{}': this is no file of Trainer::save_states()", path_, json_name);
    const std::vector<std::uint8_t> bytes = text->to_vector<std::uint8_t>();
    const Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || json.value("kind", Json()) != kind)
      fail("{}: the text '{}' does not describe {}", path_, json_name, kind);
    if (member(json, "format", &Json::is_number_integer) != 1)
      fail("{}: a later version of Kiln has written these states", path_);
    const auto optimizer = member(json, "optimizer", &Json::is_string).get<std::string>();
    if (optimizer != state_.optimizer->name())
      fail("{}: the states are those of optimizer '{}', and the Trainer's is '{}'", path_, optimizer,
           state_.optimizer->name());
    out_.learning_rate = real(member(json, "learning_rate", &Json::is_number), "learning_rate");
    if (!(out_.learning_rate >= 0 && std::isfinite(out_.learning_rate)))
      fail("{}: the learning rate is {}; it is a finite number, 0 or more", path_, out_.learning_rate);
    out_.num_update = count(member(json, "num_update", &Json::is_number_integer), "num_update");
    for (const auto& [name, value] : member(json, "memory", &Json::is_object).items())
      out_.memory[name] = real(value, name);
    const Json& counts = member(json, "counts", &Json::is_object);
    std::vector<std::string> names;
    for (const auto& [name, value] : counts.items()) names.push_back(name);
    for (const TrainedParameter& p : state_.parameters) {
      const auto found = counts.find(p.parameter.name());
      if (found == counts.end())
        fail(
            "{}: there are no states for Parameter '{}', but for {}. Names begin with the prefixes of their "
            "blocks: give both networks the same prefix, and make their layers inside name_scope()",
            path_, p.parameter.name(), detail::brief_list(names));
      out_.counts.push_back(count(*found, p.parameter.name()));
    }
    if (counts.size() != state_.parameters.size())
      fail("{}: there are states for {} parameters, and the Trainer has {}", path_, counts.size(),
           state_.parameters.size());
    if (json.contains("loss_scale")) read_loss_scale(member(json, "loss_scale", &Json::is_object));
  }

  void read_loss_scale(const Json& json) {
    const double factor = real(member(json, "factor", &Json::is_number), "factor");
    const std::int64_t steps = count(member(json, "steps", &Json::is_number_integer), "steps");
    try {
      out_.scaler = {factor, steps};
    } catch (const Error& e) {
      fail("{}: {}", path_, e.what());
    }
  }

  void read_arrays() {
    std::unordered_map<std::string, const Tensor*> by_name;
    for (const NamedArray& a : arrays_)
      if (!by_name.emplace(a.name, &a.array).second) fail("{}: there are two arrays '{}'", path_, a.name);
    by_name.erase(json_name);
    for (const TrainedParameter& p : state_.parameters) out_.states.push_back(states_of(p, by_name));
    if (!by_name.empty())
      fail(
          "{}: the array '{}' belongs to no state of the Trainer: its optimizer has other options (momentum, "
          "centered, multi_precision)",
          path_, by_name.begin()->first);
  }

  /// Takes the states of `p` out of `by_name`.
  std::vector<Tensor> states_of(const TrainedParameter& p,
                                std::unordered_map<std::string, const Tensor*>& by_name) const {
    const detail::UpdatedParameter type = state_.described(p);
    const std::optional<Shape> shape = shape_of_(p.parameter);
    std::vector<Tensor> states;
    const std::vector<std::string> names = state_names(*state_.optimizer, type);
    for (const std::string& name : names) {
      const auto found = by_name.find(array_name(p, name));
      if (found == by_name.end()) continue;
      const Tensor& array = *found->second;
      const TensorType given{array.dtype(), array.shape()};
      const TensorType wanted{type.state_dtype(), shape.value_or(array.shape())};
      if (!(given == wanted))
        fail("{}: the state '{}' of Parameter '{}' is {}, and the parameter needs {}", path_, name,
             p.parameter.name(), given.str(), wanted.str());
      states.push_back(array);
      by_name.erase(found);
    }
    // All, or none: of a parameter that was never updated.
    if (states.size() != names.size() && !states.empty())
      fail("{}: Parameter '{}' has {} of its {} states ({}): the Trainer's optimizer has other options",
           path_, p.parameter.name(), states.size(), names.size(), detail::brief_list(names));
    return states;
  }

  const TrainerState& state_;
  std::vector<NamedArray> arrays_;
  const detail::ShapeOf& shape_of_;
  const std::string& path_;
  LoadedStates out_;
};

}  // namespace

NamedArray detail::text_array(std::string name, std::string_view text) {
  return {std::move(name), Tensor(std::vector<std::uint8_t>(text.begin(), text.end()),
                                  {static_cast<std::int64_t>(text.size())})};
}

std::vector<NamedArray> detail::state_arrays(const TrainerState& state) {
  std::vector<NamedArray> arrays;
  for (const TrainedParameter& p : state.parameters) {
    const std::vector<std::string> names = state_names(*state.optimizer, state.described(p));
    for (std::size_t k = 0; k < p.states.size(); ++k)
      arrays.push_back({array_name(p, names.at(k)), p.states[k]});
  }
  arrays.push_back(text_array(json_name, text_of(description(state))));
  return arrays;
}

LoadedStates detail::check_states(const TrainerState& state, std::vector<NamedArray> arrays,
                                  const ShapeOf& shape_of, const std::string& file) {
  return Reader(state, std::move(arrays), shape_of, file).read();
}

void detail::take_states(TrainerState& state, LoadedStates loaded) {
  for (std::size_t i = 0; i < state.parameters.size(); ++i) {
    state.parameters[i].count = loaded.counts[i];
    state.parameters[i].states = std::move(loaded.states[i]);
  }
  state.num_update = loaded.num_update;
  state.memory = std::move(loaded.memory);
  state.loaded_scaler = loaded.scaler;
  if (state.scaler) state.scaler = loaded.scaler;
  if (!state.optimizer->options().lr_scheduler.defined())
    state.optimizer->set_learning_rate(loaded.learning_rate, {});
}

void Trainer::save_states(const std::string& path, Where where) const {
  save_arrays(path, detail::state_arrays(detail::TrainerAccess::state(*this, where)), {}, where);
}

void Trainer::load_states(const std::string& path, Where where) {
  at_line(where, [&] {
    TrainerState& state = detail::TrainerAccess::state(*this);
    const std::vector<std::byte> bytes = read_file(path, "file of states");
    if (is_pickle(bytes))
      fail(
          "{}: this is a Python pickle, as MXNet's Trainer.save_states() writes: a program, which Kiln does "
          "not run. Save the states by Kiln's Trainer",
          path);
    const auto shape_of = [](const Parameter& p) {
      return p.is_initialized() ? std::optional(p.shape()) : std::nullopt;
    };
    detail::take_states(state, detail::check_states(state, parse_arrays(bytes, path), shape_of, path));
  });
}

}  // namespace kiln
