"""Writes a test of the programs of runtime/messages.def: the wrong one of each message raises its number, the right one nothing.

usage: programs.py MESSAGES_DEF OUTPUT_CPP
"""

import pathlib
import re
import sys

HEAD = """// Written by programs.py from runtime/messages.def.
#include "function_net.h"

#include <fstream>

namespace {

std::string code_raised(void (*program)()) {
  try {
    program();
  } catch (const kiln::Error& e) {
    CHECK(std::string_view(e.what()).find(" [" + std::string(e.code()) + "]") != std::string_view::npos);
    return std::string(e.code());
  }
  return "no error";
}
"""


def rows(text):
    """(number, name, the raw strings cause, wrong, right and remedy) of each message."""
    raw = r'R"(\w*)\((.*?)\)\%d"'
    pattern = r'^KILN_MISTAKE\((\d+), (\w+), "[^"\n]*",\n' + ", ".join(raw % group for group in (3, 5, 7, 9)) + r"\)"
    for match in re.finditer(pattern, text, re.M | re.S):
        yield match[1], match[2], (match[4], match[6], match[8], match[10])


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    found = list(rows(text))
    if len(found) != len(re.findall(r"^KILN_MISTAKE\(", text, re.M)):
        sys.exit(f"{sys.argv[1]}: {len(found)} messages have the form of a row, and others do not")
    functions, cases = [], []
    for number, name, (_, wrong, right, _) in found:
        for kind, code in (("wrong", wrong), ("right", right)):
            functions.append(f"\nvoid {kind}_{name}() {{\n  using namespace kiln;{code}}}\n")
        cases.append(
            f'\nTEST_CASE("KL{int(number):04}, {name}") {{\n'
            f'  CHECK(code_raised(wrong_{name}) == "KL{int(number):04}");\n'
            f'  CHECK_NOTHROW(right_{name}());\n}}\n'
        )
    pathlib.Path(sys.argv[2]).write_text(HEAD + "".join(functions) + "\n}  // namespace\n" + "".join(cases))


if __name__ == "__main__":
    main()
