// The types of PTX instructions.
#pragma once
#include <llvm/ADT/StringRef.h>

#include <optional>

namespace kiln::ptx {

/// "s32" of an instruction: how bits are to be read.
struct Type {
  char kind = 0;  ///< b, s, u, f or p (a predicate)
  unsigned bits = 0;
  bool is_float() const { return kind == 'f'; }
  bool is_signed() const { return kind == 's'; }
};

inline std::optional<Type> type_of(llvm::StringRef s) {
  if (s == "pred") return Type{'p', 1};
  unsigned bits = 0;
  if (s.size() < 2 || !llvm::StringRef("bsuf").contains(s.front()) || s.drop_front().getAsInteger(10, bits) ||
      (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return {};
  return Type{s.front(), bits};
}

}  // namespace kiln::ptx
