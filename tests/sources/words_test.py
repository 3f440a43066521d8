"""How often each folder has habits of prose that make a reader read twice: the bounds below, which only fall.

usage: words_test.py SOURCE_FOLDER [--list HABIT] [--renew]

A count above its bound is an error, and so is a bound above its count: then the message says which number to write.
--list shows the places of a habit, --renew writes today's counts into this file.
"""

import argparse
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from comments import CODE, begins_with_a_comment, identifiers, prose, sentences  # noqa: E402

LONG = 30  # words in a sentence

# Instead of them: a defined term as the subject; "that", "whose" and the noun itself; "before" and "after", "preceding"
# and "following"; "except"; a number; two sentences; max_ and min_; a first sentence on the file's job.
BOUNDS = {}


def places(path, text):
    """(habit, line, what) of each place in a file."""
    for line, paragraph in prose(path, text):
        for sentence in sentences(paragraph):
            if re.match(r"What\b(?!.*\?)|what\b(?!.*\?)", sentence):
                yield "what", line, sentence
            if path.suffix == ".h" and len(sentence.split()) > LONG:
                yield "long", line, sentence
        for habit, pattern in (("those", r"\b[Tt]hose (?:that|of)\b"), ("of which", r"\b[Oo]f which\b"),
                               ("order", r"\b(?:[Bb]ehind|[Ii]n front of)\b"), ("but for", r"\b[Bb]ut for\b"),
                               ("so many", r"\b[Ss]o many\b")):
            for match in re.finditer(pattern, paragraph):
                yield habit, line, paragraph[max(match.start() - 40, 0):match.end() + 40]
    for name in sorted(identifiers(path, text)):
        if re.match(r"(?:most|least)_\w", name):
            yield "names", 1, name
    if path.suffix != ".md" and not begins_with_a_comment(text):
        yield "no first sentence", 1, text.split("\n")[0]


def files(source):
    """The sources and pages, by the version control that the folder has, or else all."""
    command = ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else (p.relative_to(source).as_posix() for p in source.rglob("*"))
    for name in sorted(filter(None, names)):
        path = pathlib.Path(name)
        script = path.suffix == "" and (source / path).is_file() and (source / path).open("rb").read(2) == b"#!"
        known = path.suffix in CODE | {".md", ".py", ".cmake"} or path.name == "CMakeLists.txt" or script
        if known and not name.startswith(("build", "tests/golden/")) and (source / path).is_file():
            yield path


def counts(source, show):
    found = {}
    names = {}
    for path in files(source):
        folder = path.parts[0] if len(path.parts) > 1 else "."
        row = found.setdefault(folder, {})
        for habit, line, what in places(path, (source / path).read_text()):
            if habit == "names" and what in names.setdefault(folder, set()):
                continue  # one name is one, wherever it is used
            names.setdefault(folder, set()).add(what)
            row[habit] = row.get(habit, 0) + 1
            if show == habit:
                print(f"{path}:{line}: {what}")
    return found


def renew(found):
    file = pathlib.Path(__file__)
    rows = "".join(f"    {folder!r}: {row!r},\n".replace("'", '"') for folder, row in sorted(found.items()) if row)
    bounds = f"BOUNDS = {{\n{rows}}}" if rows else "BOUNDS = {}"
    file.write_text(re.sub(r"^BOUNDS = \{(?:\n(?:    .*\n)*)?\}", lambda _: bounds, file.read_text(), count=1, flags=re.M))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--list", metavar="HABIT")
    parser.add_argument("--renew", action="store_true")
    arguments = parser.parse_args()
    found = counts(arguments.source, arguments.list)
    found = {folder: dict(sorted(row.items())) for folder, row in found.items() if row}
    if arguments.renew:
        return renew(found)
    if arguments.list:
        return None
    errors = []
    for folder in sorted(found | BOUNDS):
        row, bounds = found.get(folder, {}), BOUNDS.get(folder, {})
        print(f"{folder}: " + ", ".join(f"{habit} {n}" for habit, n in row.items()))
        for habit in sorted(row | bounds):
            n, bound = row.get(habit, 0), bounds.get(habit, 0)
            if n > bound:
                errors.append(f"{folder}: {n} of '{habit}', above {bound}: write otherwise; --list '{habit}' shows the places")
            elif n < bound:
                errors.append(f"{folder}: {n} of '{habit}', fewer than {bound}: write {n} into BOUNDS, or --renew")
    return "\n".join(errors) or None


if __name__ == "__main__":
    sys.exit(main())
