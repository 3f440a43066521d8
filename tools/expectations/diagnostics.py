"""Runs `kiln opt ... -verify-diagnostics` for tools/bless: `expected-error` comments are rewritten to the errors reported.

usage: diagnostics.py COMMAND...
"""
import os
import pathlib
import re
import subprocess
import sys

from alignment import Alignment
from written import rewrite

UNEXPECTED = re.compile(r"^[^\n]*?:(\d+):\d+: error: unexpected (?:error|warning|note|remark): ([^\n]*)", re.M)
ABSENT = re.compile(r"^[^\n]*?:(\d+):\d+: error: expected (?:error|warning|note|remark) \"[^\n]*\" was not produced", re.M)
EXPECTED = re.compile(r"(expected-(?:error|warning|note|remark)(?:-re)? *(?:@([+-]\d+|above|below))? *\{\{)(.*?)(\}\})")


def target(number, at):
    """The line that a comment on line `number` is about."""
    if at in ("above", "below"):
        return number + (1 if at == "below" else -1)
    return number + int(at or 0)


def rewritten(text, errors):
    """The file with the reported errors in place of the expected ones."""
    rows = text.split("\n")
    absent = {int(n) for n in ABSENT.findall(errors)}
    produced = {int(n): message for n, message in UNEXPECTED.findall(errors)}
    for number, row in enumerate(rows, 1):
        match = EXPECTED.search(row)
        message = match and number in absent and produced.get(target(number, match[2]))
        if message:
            rows[number - 1] = row[:match.start(3)] + Alignment(match[3], message, {}).rewritten() + row[match.end(3):]
    return "\n".join(rows)


def main():
    command = sys.argv[1:]
    path = next(a for a in command[1:] if os.path.isfile(a))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        rewrite(path, rewritten(pathlib.Path(path).read_text(), done.stderr))
        done = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
