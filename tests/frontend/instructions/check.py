#!/usr/bin/env python3
"""check.py PROGRAM COUNTS: the instructions of each kind of call, by valgrind, against the bounds in COUNTS.

COUNTS has a line `KIND INSTRUCTIONS` for each kind; a call may take 2 % more. The kernels' own are among them, so that their
instruction set and machine are fixed. --bless writes the counts that were found.
"""
import os
import re
import shutil
import subprocess
import sys

TOLERANCE = 1.02
FEW, MANY = 100, 400  # calls: the first ones record and compile


def instructions(program, kind, calls):
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, kind, str(calls)],
                         capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        sys.exit(f"{kind}: {run.stderr}")
    return int(found[1])


def main():
    bless = "--bless" in sys.argv
    program, counts = [a for a in sys.argv[1:] if a != "--bless"]
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed")
        return 0
    os.environ["KILN_TARGET_CPU"] = "avx2"
    with open(counts) as file:
        bounds = dict(line.split() for line in file)
    failed, found = False, {}
    for kind, bound in bounds.items():
        subprocess.run([program, kind, str(FEW)], check=True)  # fills the disk cache
        few, many = (instructions(program, kind, calls) for calls in (FEW, MANY))
        found[kind] = round((many - few) / (MANY - FEW))
        more = found[kind] > int(bound) * TOLERANCE
        failed = failed or more
        print(f"{kind}: {found[kind]} instructions, {bound} before" + (": more than 2 % above" if more else ""))
    if bless:
        with open(counts, "w") as file:
            file.writelines(f"{kind} {count}\n" for kind, count in found.items())
        return 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
