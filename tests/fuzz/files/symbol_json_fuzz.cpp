// Any text is a symbol or an error; a symbol that was read is printed, read again and printed the same.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace kiln;

namespace {

[[noreturn]] void broken(const char* what, std::string_view text) {
  std::fprintf(stderr, "%s:\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Symbol symbol = Symbol::load_json(text, "fuzz-symbol.json");
    const std::string printed = symbol.tojson(false);
    if (Symbol::load_json(printed).tojson(false) != printed)
      broken("a printed symbol reads differently", text);
    symbol.list_arguments();
    symbol.get_internals().list_outputs();
    symbol.tojson();
    try {
      symbol.infer_shape({});
    } catch (const Error& e) {
      if (e.kind() == Error::Kind::internal) throw;
    }
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal) broken(e.what(), text);
    if (std::string_view(e.what()).find("fuzz-symbol.json") == std::string_view::npos) broken(e.what(), text);
  }
  return 0;
}
