#pragma once
#include <kiln/export.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What there is to say about an operator that graphs and symbol files may hold.
struct OpDoc {
  struct Attribute {
    std::string name;
    std::string kind;  ///< "integer", "tuple or None", "one of relu, sigmoid"
    std::optional<std::string>
        fallback;         ///< what leaving it out means, as files spell it; nothing: it is required
    std::string ignored;  ///< why no result depends on it; empty: results do
  };
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;              ///< a sentence
  std::vector<std::string> inputs;  ///< their names, in order
  bool variadic = false;            ///< takes a list of inputs
  std::vector<Attribute> attributes;
};

/// All operators, by name.
KILN_API std::vector<OpDoc> op_docs();
/// The operator of that name or alias. Throws kiln::Error for one that Kiln does not have, with the nearest
/// it has.
KILN_API OpDoc op_doc(std::string_view name);

}  // namespace kiln
