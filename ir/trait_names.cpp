// MLIR identifies operation traits across shared libraries by the compiler's name for them, a local class
// included: clang, which built the package, says mlir::OpTrait::IsTerminator<Empty>, where gcc says
// mlir::OpTrait::IsTerminator<mlir::TypeID::get<mlir::OpTrait::IsTerminator>()::Empty>. With visible symbols
// the dynamic linker would unify both; libkiln hides all it has, so without help no trait of a kiln operation
// is known inside libMLIR (blocks would have no terminators, constants would not be found). This stands
// between (linker option --wrap) and speaks clang's dialect.
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
  // MLIR keeps the name, not a copy; it outlives this library's statics.
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  return kiln_real_register_type(*names.insert(name.take_front(begin).str() + "<Empty>").first);
}
