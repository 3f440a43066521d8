#pragma once
#include <string>
#include <vector>

/// Small texts of Gluon's messages and printed forms.
namespace kiln::detail {

/// `text` with all lines but the first moved right, as Gluon nests printed forms.
std::string indent(const std::string& text, int blanks);
/// In small letters, as far as ASCII goes.
std::string lower(std::string text);
/// 'a', 'b', ..., 'z': at most seven names in quotes.
std::string brief_list(const std::vector<std::string>& names);
/// The name of a C++ type as a program that uses namespace kiln writes it: "nn::Dense".
std::string type_name_of(const char* mangled);
/// The name of a C++ type without namespaces and template arguments: what Python shows as the class.
std::string class_name_of(const char* mangled);
/// Whether `name` begins with a match of the regular expression. Throws kiln::Error for a malformed one.
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
