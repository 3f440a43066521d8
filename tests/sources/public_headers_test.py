"""Whether kiln/kiln.h is all of the public interface: it includes every installed header, itself or by others, except those listed below.

usage: public_headers_test.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

# Installed headers that kiln/kiln.h leaves out, each with the reason.
LEFT_OUT: dict[str, str] = {}

source = pathlib.Path(sys.argv[1])
headers = {
    path.relative_to(source / folder).as_posix(): path
    for folder in ("runtime/include", "frontend/include")  # KilnInstall.cmake installs both
    for path in (source / folder).rglob("*.h")
}

reached, todo = set(), ["kiln/kiln.h"]
while todo:
    name = todo.pop()
    if name not in reached and name in headers:
        reached.add(name)
        todo += re.findall(r"^#include <(kiln/[^>]+)>", headers[name].read_text(), re.M)

errors = [f"kiln/kiln.h does not include <{name}>: include it, or give the reason here" for name in sorted(headers.keys() - reached - LEFT_OUT.keys())]
errors += [f"kiln/kiln.h includes <{name}>, or it is gone: delete its line here" for name in sorted(LEFT_OUT.keys() - (headers.keys() - reached))]
if errors:
    sys.exit("\n".join(errors))
print(f"{len(headers)} public headers, {len(LEFT_OUT)} left out")
