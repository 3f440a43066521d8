// The file of a checkpoint: named arrays, and a JSON text for all other state.
#include "frontend/gluon/checkpoint/checkpoint_file.h"

#include "frontend/gluon/trainer/state_arrays.h"
#include "runtime/fail.h"

#include <kiln/version.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>

namespace kiln::detail {
namespace {

using Json = nlohmann::json;

constexpr std::string_view json_name = "kiln:checkpoint";
constexpr std::string_view kind = "checkpoint of Kiln";
constexpr int format = 1;
constexpr std::string_view parameter_prefix = "arg:", number_prefix = "number:", trainer_prefix = "trainer";

Json json_of(const random::State::Stream& s) { return {{"seed", s.seed}, {"counter", s.counter}}; }
Json json_of(const data::LoaderState& s) {
  return {{"seed", s.seed}, {"epoch", s.epoch}, {"position", s.position}};
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  CheckpointContents read(std::span<const std::byte> bytes) {
    std::vector<NamedArray> arrays = parse_arrays(bytes, path_);
    const Tensor* const text = find_array(arrays, json_name);
    if (!text || text->dtype() != DType::u8)
      fail("{}: there is no text '{}': this is no checkpoint", path_, json_name);
    read_json(text->to_vector<std::uint8_t>());
    std::unordered_set<std::string> seen;
    for (NamedArray& a : arrays) {
      if (!seen.insert(a.name).second) fail("{}: there are two arrays '{}'", path_, a.name);
      if (a.name != json_name) place(std::move(a));
    }
    return std::move(out_);
  }

 private:
  const Json& member(const Json& object, const char* name) const {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (found == object.end()) fail("{}: the text '{}' has no '{}'", path_, json_name, name);
    return *found;
  }

  std::uint64_t unsigned_number(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    if (!value.is_number_unsigned())
      fail("{}: '{}' in the text '{}' is no number that is 0 or more", path_, name, json_name);
    return value.get<std::uint64_t>();
  }

  /// A count that fits any integer, and any sum of a few.
  std::int64_t count(const Json& object, const char* name) const {
    const std::uint64_t value = unsigned_number(object, name);
    if (value > std::uint64_t{1} << 53)
      fail("{}: '{}' in the text '{}' is too large", path_, name, json_name);
    return static_cast<std::int64_t>(value);
  }

  random::State::Stream stream(const Json& object, const char* name) const {
    const Json& value = member(object, name);
    return {unsigned_number(value, "seed"), unsigned_number(value, "counter")};
  }

  void read_json(const std::vector<std::uint8_t>& text) {
    const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (member(json, "kind") != kind)
      fail("{}: the text '{}' does not describe a checkpoint", path_, json_name);
    if (count(json, "format") > format)
      throw LaterCheckpoint(fmt::format("{}: a later version of Kiln has written this checkpoint", path_));
    out_.step = count(json, "step");
    out_.numerics = static_cast<int>(std::min<std::int64_t>(count(json, "numerics"), 1 << 30));
    const Json& streams = member(json, "random");
    out_.random = {stream(streams, "program"), stream(streams, "initializer")};
    const Json& loaders = member(json, "loaders");
    if (!loaders.is_array()) fail("{}: 'loaders' in the text '{}' is no list", path_, json_name);
    for (const Json& l : loaders)
      out_.loaders.push_back({unsigned_number(l, "seed"), count(l, "epoch"), count(l, "position")});
  }

  /// Puts an array where its name says.
  void place(NamedArray array) {
    const auto rest_behind = [&](std::string_view prefix) { return array.name.substr(prefix.size()); };
    if (array.name.starts_with(parameter_prefix)) {
      out_.parameters.push_back({rest_behind(parameter_prefix), array.array});
    } else if (array.name.starts_with(number_prefix)) {
      if (array.array.dtype() != DType::f64 || array.array.size() != 1)
        fail("{}: the array '{}' is not one float64", path_, array.name);
      out_.numbers[rest_behind(number_prefix)] = array.array.to_vector<double>()[0];
    } else if (const auto trainer = trainer_of(array.name)) {
      // Each trainer's arrays follow the preceding trainer's.
      if (*trainer == out_.trainers.size()) out_.trainers.emplace_back();
      if (*trainer + 1 != out_.trainers.size()) fail("{}: the array '{}' is out of order", path_, array.name);
      out_.trainers.back().push_back({array.name.substr(array.name.find(':') + 1), array.array});
    } else {
      fail("{}: a checkpoint has no array '{}'", path_, array.name);
    }
  }

  /// 2 of "trainer2:...".
  static std::optional<std::size_t> trainer_of(std::string_view name) {
    if (!name.starts_with(trainer_prefix)) return {};
    const char* const begin = name.data() + trainer_prefix.size();
    const char* const end = name.data() + name.size();
    std::size_t number = 0;
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || rest == end || *rest != ':') return {};
    return number;
  }

  const std::string& path_;
  CheckpointContents out_;
};

}  // namespace

std::string format_checkpoint(const CheckpointContents& contents) {
  std::vector<NamedArray> arrays;
  for (const NamedArray& p : contents.parameters)
    arrays.push_back({std::string(parameter_prefix) + p.name, p.array});
  for (std::size_t i = 0; i < contents.trainers.size(); ++i)
    for (const NamedArray& a : contents.trainers[i])
      arrays.push_back({fmt::format("{}{}:{}", trainer_prefix, i, a.name), a.array});
  for (const auto& [name, value] : contents.numbers)
    arrays.push_back({std::string(number_prefix) + name, Tensor(std::vector<double>{value}, {1})});

  Json json = {{"kind", kind},
               {"format", format},
               {"kiln", version()},
               {"numerics", contents.numerics},
               {"step", contents.step},
               {"random",
                {{"program", json_of(contents.random.program)},
                 {"initializer", json_of(contents.random.initializer)}}},
               {"loaders", Json::array()}};
  for (const data::LoaderState& l : contents.loaders) json["loaders"].push_back(json_of(l));
  arrays.push_back(text_array(std::string(json_name), json.dump()));
  return format_arrays(arrays, {.format = ArrayFormat::npz});
}

CheckpointContents parse_checkpoint(std::span<const std::byte> bytes, const std::string& path) {
  return Reader(path).read(bytes);
}

}  // namespace kiln::detail
