// Parses the arguments that describe a model and its inputs.
#include "tools/kiln/model_arguments.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>

namespace kiln::tool {
namespace {

std::optional<std::int64_t> parse_extent(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

/// Nothing if the text is not of the form NAME=EXTENT,EXTENT,...; "x=" is a scalar.
std::optional<std::pair<std::string, Shape>> try_parse_shape(const std::string& text) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {};
  std::string_view rest = std::string_view(text).substr(equals + 1);
  Shape shape;
  while (!rest.empty()) {
    std::size_t comma = rest.find(',');
    auto extent = parse_extent(rest.substr(0, comma));
    if (!extent || shape.rank() == Shape::max_rank) return {};
    shape.push_back(*extent);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return {};
  }
  return std::pair(text.substr(0, equals), shape);
}

}  // namespace

void ModelArguments::add_model(CLI::App& command, const std::string& kinds) {
  command.add_option("MODEL", symbol, "The network: " + kinds)->required()->option_text(" ");
  command.add_option("--params", params, "Its parameters: .params, .npz, .safetensors")->option_text("FILE");
}

void ModelArguments::add_inputs(CLI::App& command) {
  auto* from_file = command.add_option("--input", input, input_help)->option_text("FILE");
  add_shapes(command, shapes, "Generate inputs of these shapes: data=1,3,224,224")->excludes(from_file);
}

CLI::Option* add_shapes(CLI::App& command, std::vector<std::string>& shapes, const std::string& help) {
  return command.add_option("--shape", shapes, help)
      ->option_text("NAME=N,N")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return try_parse_shape(text) ? "" : fmt::format("'{}' is not NAME=EXTENT,EXTENT,...", text);
      });
}

Model ModelArguments::load() const {
  return Model::load(symbol, params.empty() ? std::nullopt : std::optional(params), {});
}

Fed ModelArguments::load_fed() const {
  Fed fed{load(), {}};
  if (!input.empty()) {
    fed.inputs = read_inputs(input, fed.model.input_names());
    return fed;
  }
  std::map<std::string, Shape> known;
  for (const std::string& text : shapes) known.insert(parse_shape(text));
  fed.inputs = fed.model.make_inputs(known);
  std::vector<NamedArray> made_up;
  for (const auto& [name, tensor] : fed.inputs)
    if (!known.contains(name)) made_up.push_back({name, tensor});
  if (params.empty() && !known.empty()) {
    for (const NamedArray& array : made_up) fed.inputs.erase(array.name);
    fed.model = Model::from_symbol(fed.model.symbol(), made_up);
  } else if (!params.empty()) {
    for (const NamedArray& array : made_up)
      fmt::print(stderr, "kiln: note: {} has no '{}'; generated numbers of shape {} replace it\n", params,
                 array.name, array.array.shape().str());
  }
  return fed;
}

std::map<std::string, Tensor> read_inputs(const std::string& path, const std::vector<std::string>& wanted) {
  const std::vector<NamedArray> arrays = load_arrays(path, {});
  std::map<std::string, Tensor> inputs;
  for (const NamedArray& a : arrays)
    if (a.name.starts_with("in:")) inputs.insert_or_assign(a.name.substr(3), a.array);
  if (!inputs.empty()) return inputs;
  if (arrays.size() == 1 && wanted.size() == 1 && arrays[0].name.empty())
    return {{wanted[0], arrays[0].array}};
  for (const std::string& name : wanted)
    if (const Tensor* array = find_array(arrays, name)) inputs.emplace(name, *array);
  if (inputs.empty())
    throw Error(fmt::format("{}: no input in it; inputs are the arrays named in:NAME, or NAME alone: {}",
                            path, fmt::join(wanted, ", ")));
  return inputs;
}

std::pair<std::string, Shape> parse_shape(const std::string& text) {
  auto parsed = try_parse_shape(text);
  if (!parsed) throw Error(fmt::format("'{}' is not NAME=EXTENT,EXTENT,...", text));
  return *parsed;
}

CLI::Option* add_threads(CLI::App& command, int& threads) {
  return command.add_option("--threads", threads, "Maximum number of threads")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
}

CLI::Option* add_threads(CLI::App& command, std::vector<int>& threads) {
  return command.add_option("--threads", threads, "Numbers of threads to compare (1,2)")
      ->option_text("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 4096));
}

std::optional<Device> device_named(const std::string& text) {
  if (text == "cpu") return cpu();
  if (text == "cuda") return cuda();
  int id = 0;
  const std::string_view number = std::string_view(text).substr(std::min<std::size_t>(text.size(), 5));
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  if (!text.starts_with("cuda:") || error != std::errc() || end != number.data() + number.size() || id < 0)
    return {};
  return cuda(id);
}

CLI::Option* add_device(CLI::App& command, Device& device, const std::string& help) {
  const CLI::Validator known(
      [](const std::string& text) {
        return device_named(text) ? "" : "use cpu, cuda or cuda:N, not '" + text + "'";
      },
      "");
  return command
      .add_option_function<std::string>(
          "--device", [&device](const std::string& text) { device = *device_named(text); }, help)
      ->check(known)
      ->option_text("DEVICE");
}

CLI::Option* add_precision(CLI::App& command, std::optional<Precision>& precision, Precision usual) {
  return command
      .add_option_function<std::string>(
          "--precision", [&precision](const std::string& name) { precision = precision_of(name); },
          fmt::format("fast, exact, tf32 or bf16 products; by default {}", name_of(usual)))
      ->check(CLI::IsMember({"fast", "exact", "tf32", "bf16"}))
      ->option_text("P");
}

int with_precision(std::optional<Precision> precision, const std::function<int()>& action) {
  std::optional<PrecisionScope> scope;
  if (precision) scope.emplace(*precision);
  return action();
}

}  // namespace kiln::tool
