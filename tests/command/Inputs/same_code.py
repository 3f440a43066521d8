"""Whether kernels with symbols have the instructions of kernels without.

usage: same_code.py OBJCOPY FOLDER COMMAND...

The command runs twice, each time with an empty kernel cache in FOLDER; the second time with KILN_DEBUG=symbols.
"""

import os
import pathlib
import subprocess
import sys


def instructions(objcopy, folder, command, symbols):
    """The contents of .text of all kernels that the command compiles, and whether each has lines."""
    variables = {"KILN_CACHE": "rw", "KILN_CACHE_DIR": str(folder), **({"KILN_DEBUG": "symbols"} if symbols else {})}
    process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    status = process.wait()
    pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    if status != 0:
        sys.exit(f"{command[0]} has status {status}")
    texts, lines = set(), []
    for kernel in folder.glob("**/*.kernel"):
        content = kernel.read_bytes()
        kernel.with_suffix(".o").write_bytes(content[content.index(b"\x7fELF"):])
        subprocess.run([objcopy, "-O", "binary", "-j", ".text", kernel.with_suffix(".o"), kernel.with_suffix(".text")], check=True)
        texts.add(kernel.with_suffix(".text").read_bytes())
        lines.append(b".debug_line" in content and b".eh_frame" in content)
    return texts, lines


def main():
    objcopy, folder, *command = sys.argv[1:]
    plain, without = instructions(objcopy, pathlib.Path(folder) / "plain", command, symbols=False)
    debugged, with_lines = instructions(objcopy, pathlib.Path(folder) / "symbols", command, symbols=True)
    if not plain or plain != debugged:
        sys.exit(f"{len(plain)} kernels, {len(debugged)} with symbols, {len(plain ^ debugged)} in one set alone")
    if any(without) or not all(with_lines):
        sys.exit("lines and unwind tables are not of exactly the kernels with symbols")
    print(f"the same instructions in {len(plain)} kernels")


if __name__ == "__main__":
    main()
