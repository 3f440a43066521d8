"""Whether every public function, type, member and enumerator has a comment: `///` above it or its group, or `///<` after it.

Overloads share one. The comment of a class is that of its only constructor and call operator, the comment of an option that of the same option
in later structs of the header.

usage: documented_test.py SOURCE_FOLDER [--list]

--list prints the declarations without a comment. Not counted: defaulted and deleted functions, destructors, moves, overrides, friends.
"""

import collections
import pathlib
import sys

from declarations import declarations

source = pathlib.Path(sys.argv[1])
counts, missing = collections.Counter(), []
for folder in ("runtime/include", "frontend/include"):
    for path in sorted((source / folder).rglob("*.h")):
        try:
            found = declarations(path.read_text())
        except (ValueError, IndexError) as error:
            sys.exit(f"{path.relative_to(source)}: {error}")
        for declaration in found:
            counts[declaration.kind] += 1
            if not declaration.documented:
                missing.append(f"{path.relative_to(source)}:{declaration.line}: {declaration.kind} {declaration.full_name}")
total = sum(counts.values())
print(f"{total - len(missing)} of {total} public declarations have a comment: " + ", ".join(f"{n} {kind}s" for kind, n in sorted(counts.items())))
if "--list" in sys.argv:
    print("\n".join(missing))
if missing:
    sys.exit(f"{len(missing)} have none; --list prints them")
