"""The table of passes/README.md says what KilnOps.td does: where each operation may stand.

usage: stages_test.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
dialect = dict(re.findall(r'^def \w+ : Kiln_(?:Op|Base)<"(\w+)", "([GLKF.]{4})"', (source / "ir/KilnOps.td").read_text(), re.M))
table = {}
for operations, *places in re.findall(r"^\| (`.*`) \| ([x ]) \| ([x ]) \| ([x ]) \| ([x ]) \|$", (source / "passes/README.md").read_text(), re.M):
    for name in re.findall(r"`(\w+)`", operations):
        if name in table:
            sys.exit(f"passes/README.md has two rows for {name}")
        table[name] = "".join(letter if place == "x" else "." for letter, place in zip("GLKF", places))
wrong = [f"{name}: KilnOps.td {dialect.get(name)}, passes/README.md {table.get(name)}"
         for name in sorted(dialect.keys() | table.keys()) if dialect.get(name) != table.get(name)]
if wrong or not table:
    sys.exit("\n".join(wrong) or "passes/README.md has no table of stages")
print(f"{len(table)} operations")
