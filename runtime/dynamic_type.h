// The dynamic type of objects of a program's classes, which may be compiled without type information.
#pragma once
#include <type_traits>
#include <typeinfo>

namespace kiln {

/// The type of the complete object; null if its class was compiled with -fno-rtti. Then `typeid` and
/// `dynamic_cast` of the object read through a null pointer. The pointer to the type precedes the virtual
/// functions in the table of each class (Itanium C++ ABI, 2.5.2).
template <class T>
const std::type_info* dynamic_type(const T& object) {
  static_assert(std::is_polymorphic_v<T>);
  return (*reinterpret_cast<const std::type_info* const* const*>(&object))[-1];
}

/// dynamic_cast for such objects: null if the type is another one or unknown.
template <class To, class From>
To* known_cast(From* object) {
  return object && dynamic_type(*object) ? dynamic_cast<To*>(object) : nullptr;
}

}  // namespace kiln
