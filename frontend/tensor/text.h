// Text helpers for Gluon's messages and printed forms.
#pragma once
#include <kiln/tensor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Text helpers for Gluon's messages and printed forms.
namespace kiln::detail {

/// Indents all lines but the first, as in Gluon's nested printed forms.
std::string indent(const std::string& text, int blanks);
/// ASCII lower case.
std::string lower(std::string text);
/// 'a', 'b', ..., 'z': at most seven names in quotes.
std::string brief_list(const std::vector<std::string>& names);
/// Whether export_model() and MXNet's export name an array of a file so: "arg:..." or "aux:...".
bool is_exported_name(std::string_view name);
/// The name of an array in a file without "arg:" or "aux:".
std::string name_without_kind(const std::string& name);
/// Their shapes, with commas between them.
std::string shapes_of(std::span<const Tensor> tensors);
/// The name of a C++ type relative to namespace kiln: "nn::Dense".
std::string type_name_of(const char* mangled);
/// The C++ type `type` without namespaces and template arguments: the class name in Python.
std::string class_name_of(std::string type);
/// Whether the regular expression matches at the start of `name`. Throws kiln::Error for a malformed one.
class NamePattern {
 public:
  explicit NamePattern(const std::string& pattern);
  ~NamePattern();
  NamePattern(const NamePattern&) = delete;
  bool matches(const std::string& name) const;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace kiln::detail
