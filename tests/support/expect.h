// Messages of mistakes, for the tests of errors.
#pragma once
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <source_location>
#include <string>

/// Each file of frontend/error is one mistake that a program or a file can make. Its message must have the
/// operator, the shapes, the place in the program or in the file, and the remedy.

using namespace kiln;
using Catch::Contains;

/// The message of a mistake. Fails when there is none, or when it blames Kiln.
template <class Mistake>
std::string message_of(Mistake mistake) {
  try {
    mistake();
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::user);
    return e.what();
  }
  FAIL("there was no error");
  return {};
}

/// "file.cpp:12: " for the line `below` this call.
inline std::string line_below(unsigned below = 1,
                              std::source_location here = std::source_location::current()) {
  SourceLocation place(here);
  place.line += below;
  return place.str() + ": ";
}

/// A symbol file whose variables x and w stand in nodes 0 and 1, and one operator on line 5.
inline std::string symbol_text(const std::string& op, const std::string& attrs, const std::string& inputs) {
  return "{\"nodes\": [\n"
         "{\"op\": \"null\", \"name\": \"x\", \"inputs\": []},\n"
         "{\"op\": \"null\", \"name\": \"w\", \"inputs\": []},\n"
         "\n"
         "{\"op\": \"" +
         op + "\", \"name\": \"node\", \"attrs\": {" + attrs + "}, \"inputs\": " + inputs +
         "}],\n"
         "\"arg_nodes\": [0, 1], \"heads\": [[2, 0, 0]]}";
}

inline Model model_of(const std::string& op, const std::string& attrs,
                      const std::string& inputs = "[[0, 0, 0]]") {
  return Model::from_symbol(Symbol::load_json(symbol_text(op, attrs, inputs), "net-symbol.json"));
}
