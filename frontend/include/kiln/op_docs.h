// The documentation of operators as data.
#pragma once
#include <kiln/export.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The reference of one operator of graphs and symbol files. Texts are plain sentences without line ends; `g`
/// is the gradient of the result. A field is empty where there is nothing to say.
struct OpDoc {
  /// A named argument, as files write it.
  struct Attribute {
    std::string name;                     ///< MXNet's
    std::string kind;                     ///< "integer", "tuple or None", "one of relu, sigmoid"
    std::optional<std::string> fallback;  ///< the default as in files; nothing: required
    std::string meaning;                  ///< one sentence
    std::string ignored;                  ///< reason why no result depends on it; empty if results do
  };
  std::string name;                    ///< MXNet's
  std::vector<std::string> aliases;    ///< MXNet's other names
  std::string family;                  ///< "pointwise functions"
  std::string summary;                 ///< one sentence
  std::vector<std::string> inputs;     ///< names in order
  bool variadic = false;               ///< takes a list of inputs
  bool plain = false;                  ///< has always these inputs, and none that it updates
  bool several_results = false;        ///< has several results, or by its attributes
  std::vector<Attribute> attributes;   ///< in MXNet's order
  std::vector<std::string> spellings;  ///< in C++: "F::relu", "np::exp", "Tensor::relu", "nn::Activation"
  std::string spelling;                ///< the C++ name in the definition, or "none"

  std::string shapes;        ///< inputs and results by letters: "x (N, C) -> (N)", then the new letters
  std::string dtypes;        ///< of inputs and results
  std::string broadcasting;  ///< how inputs of other shapes are aligned
  std::string nan;           ///< the result of a NaN among the elements
  std::string ties;          ///< which of equal elements, or of halves, is taken
  std::string empty;         ///< the result of arrays and axes without elements
  std::string integers;      ///< the result of integer inputs
  std::string gradient;      ///< by input, as a formula in g
  std::string formula;       ///< the result
  std::string source;        ///< where the semantics are from, and where Kiln differs
};

/// All operators, by name. Thread rule: any thread, at any time.
KILN_API std::vector<OpDoc> op_docs();
/// The operators with that name, alias or C++ spelling ("nn::Dense", "F.softmax", "nd::relu"): several where
/// a spelling calls several, as F::divide. Never empty: throws kiln::Error for an unknown name, with similar
/// ones. Thread rule: any thread, at any time.
KILN_API std::vector<OpDoc> op_docs(std::string_view name);
/// The only element of op_docs(name). Throws kiln::Error as that does, and for a spelling that calls several
/// operators, with their names. Thread rule: any thread, at any time.
KILN_API OpDoc op_doc(std::string_view name);

}  // namespace kiln
