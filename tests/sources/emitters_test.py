"""Whether the disk cache's stamp covers all that a kernel's text may come from: what codegen includes, and what implements that.

usage: emitters_test.py SOURCE_FOLDER FILE...    (the files whose contents are hashed)
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
hashed = {pathlib.Path(name).relative_to(source) for name in sys.argv[2:]}

# Not hashed: what the passes decide stands in a kernel's key; of the runtime, code is called by kernels and not part of them,
# and messages are for people.
FREE = re.compile(r"passes/|runtime/.*\.cpp$|runtime/messages\.def$|codegen/emitters_hash\.h$")


def included(path):
    for name in re.findall(r'^#include ["<]([^">]+)[">]', (source / path).read_text(), re.M):
        for candidate in (name, f"runtime/include/{name}"):
            if (source / candidate).is_file():
                yield pathlib.Path(candidate)


def needed():
    todo = [p.relative_to(source) for p in (source / "codegen").rglob("*") if p.suffix in (".cpp", ".h")]
    seen = set()
    while todo:
        path = todo.pop()
        if path in seen or FREE.match(path.as_posix()):
            continue
        seen.add(path)
        todo += included(path)
        body = path.with_suffix(".cpp")
        if (source / body).is_file():
            todo.append(body)
    return seen


missing = sorted(str(p) for p in needed() - hashed)
tables = {p.relative_to(source) for p in (source / "ir").glob("*.td")}
missing += sorted(str(p) for p in tables - hashed)
if missing:
    sys.exit("kernels depend on files that the cache's stamp does not cover (codegen/CMakeLists.txt): " + ", ".join(missing))
print(f"{len(hashed)} files")
