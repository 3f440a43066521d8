// Names of operation traits. MLIR identifies traits across shared libraries by the compiler's name for them,
// a local class included. clang, which built the package, says mlir::OpTrait::IsTerminator<Empty>; gcc says
// mlir::OpTrait::IsTerminator<mlir::TypeID::get<mlir::OpTrait::IsTerminator>()::Empty>. With visible symbols
// the dynamic linker would unify both. libkiln hides its symbols, so libMLIR would not recognise any trait of
// a kiln operation (blocks without terminators, constants not found). This function wraps MLIR's registration
// of a type (linker option --wrap) and translates gcc's spelling to clang's.
#include <mlir/Support/TypeID.h>

#include <mutex>
#include <set>
#include <string>

#define KILN_REGISTER "_ZN4mlir6detail22FallbackTypeIDResolver22registerImplicitTypeIDEN4llvm9StringRefE"

mlir::TypeID kiln_real_register_type(llvm::StringRef name) __asm__("__real_" KILN_REGISTER);
mlir::TypeID kiln_register_type(llvm::StringRef name) __asm__("__wrap_" KILN_REGISTER);

mlir::TypeID kiln_register_type(llvm::StringRef name) {
  constexpr llvm::StringLiteral local_class = ">()::Empty>";
  std::size_t begin = name.find("<mlir::TypeID::get<");
  if (begin == llvm::StringRef::npos || !name.ends_with(local_class)) return kiln_real_register_type(name);
  // MLIR keeps a reference to the name beyond the lifetime of this library's statics.
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  return kiln_real_register_type(*names.insert(name.take_front(begin).str() + "<Empty>").first);
}
