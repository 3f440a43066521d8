// The JSON text that a file of arrays has as bytes.
#pragma once
#include <kiln/io.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

/// Changes the JSON text in the array of this name.
inline void edit_json_array(const std::string& file, const std::string& name,
                            const std::function<void(nlohmann::json&)>& change) {
  std::vector<kiln::NamedArray> arrays = kiln::load_arrays(file);
  for (kiln::NamedArray& a : arrays) {
    if (a.name != name) continue;
    const auto bytes = a.array.to_vector<std::uint8_t>();
    nlohmann::json json = nlohmann::json::parse(bytes.begin(), bytes.end());
    change(json);
    const std::string text = json.dump();
    a.array = kiln::Tensor(std::vector<std::uint8_t>(text.begin(), text.end()),
                           {static_cast<std::int64_t>(text.size())});
  }
  kiln::save_arrays(file, arrays);
}
