// The dynamic types of blocks: class names, and downcasts. A class of the program may be compiled without
// type information.
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/tensor/text.h"
#include "runtime/dynamic_type.h"
#include "runtime/messages.h"

#include <cxxabi.h>
#include <string>
#include <string_view>
#include <typeinfo>

namespace kiln {
namespace {

/// Whether a class is the class `name` ("nn::Dense"), or is derived from it.
bool is_class(const std::type_info& type, std::string_view name) {
  if (detail::type_name_of(type.name()) == name) return true;
  if (const auto* single = dynamic_cast<const abi::__si_class_type_info*>(&type))
    return is_class(*single->__base_type, name);
  if (const auto* several = dynamic_cast<const abi::__vmi_class_type_info*>(&type))
    for (unsigned i = 0; i < several->__base_count; ++i)
      if (is_class(*several->__base_info[i].__base_type, name)) return true;
  return false;
}

std::string_view without_namespace(std::string_view type) {
  constexpr std::string_view own = "kiln::";
  return type.starts_with(own) ? type.substr(own.size()) : type;
}

}  // namespace

std::string Block::class_name() const {
  if (const std::type_info* const type = dynamic_type(*this))
    return detail::class_name_of(detail::type_name_of(type->name()));
  return is_hybrid() ? "HybridBlock" : "Block";
}

void Block::require_known_type(std::string_view wanted) const {
  if (!dynamic_type(*this))
    fail(
        "The class of the block {} was compiled with -fno-rtti, so that as<{}>() cannot check it. "
        "static_cast<{}&>(block) does not check",
        name(), without_namespace(wanted), without_namespace(wanted));
}

void Block::require_type(std::string_view wanted) const {
  require_known_type(wanted);
  if (!is_class(*dynamic_type(*this), without_namespace(wanted))) fail_type(wanted);
}

void Block::fail_type(std::string_view wanted) const {
  fail("This block is a {}, not a {}", class_name(), detail::class_name_of(std::string(wanted)));
}

void detail::fail_undefined_child(const Block& owner, const std::string& name, std::source_location where) {
  BlockAccess::unnamed_state(owner, where);  // throws if the owner was moved from, and the child with it
  fail(Mistake::undefined_child, "{}The child '{}' is used before a block was assigned to it.",
       line_prefix(where), name);
}

}  // namespace kiln
