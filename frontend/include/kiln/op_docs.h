// The documentation of operators as data.
#pragma once
#include <kiln/export.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The documentation of one operator of graphs and symbol files.
struct OpDoc {
  struct Attribute {
    std::string name;
    std::string kind;                     ///< "integer", "tuple or None", "one of relu, sigmoid"
    std::optional<std::string> fallback;  ///< the default as in files; nothing: required
    std::string ignored;                  ///< reason why no result depends on it; empty if results do
  };
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;              ///< one sentence
  std::vector<std::string> inputs;  ///< names in order
  bool variadic = false;            ///< takes a list of inputs
  std::vector<Attribute> attributes;
};

/// All operators, by name.
KILN_API std::vector<OpDoc> op_docs();
/// The operator with that name or alias. Throws kiln::Error for an unknown name, with the nearest known one.
KILN_API OpDoc op_doc(std::string_view name);

}  // namespace kiln
