"""Each number of runtime/messages.def is used by the sources, and docs/messages.md has a section for each.

usage: messages_test.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
table = dict(re.findall(r"^KILN_MISTAKE\((\d+), (\w+),", (source / "runtime/messages.def").read_text(), re.M))
used = set()
for folder in ("codegen", "frontend", "ir", "passes", "runtime"):
    for path in sorted((source / folder).rglob("*")):
        if path.suffix in (".cpp", ".h") and path.name not in ("messages.h", "messages.cpp"):
            used |= set(re.findall(r"\bMistake::(\w+)", path.read_text()))
sections = re.findall(r"^## KL(\d{4}): ", (source / "docs/messages.md").read_text(), re.M)

errors = [f"runtime/messages.def: nothing fails with {name} ({number})" for number, name in table.items() if name not in used]
errors += [f"{name} is not in runtime/messages.def" for name in sorted(used - set(table.values()))]
if not table:
    errors.append("runtime/messages.def has no rows of the known form")
if sections != [f"{int(number):04}" for number in table]:
    errors.append("docs/messages.md is stale: kiln explain --markdown > docs/messages.md")
print("\n".join(errors))
sys.exit(bool(errors))
