"""tools/bless in a copy of text tests and tutorials: what is right stays, what was spoiled comes back, and the rest is told.

usage: bless_test.py SOURCE_FOLDER BUILD_FOLDER
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = (pathlib.Path(a).resolve() for a in sys.argv[1:])
TEXTS = {"ir": ["invalid", "invalid-plan", "ops"],
         "passes": ["fold", "fuse", "fuse-rows", "layout", "pipeline", "plan-buffers", "sink-reshapes"],
         "command": ["compare", "ops", "usage"]}
TUTORIALS = ["mlp_block", "small_net"]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tools" / "expectations"))
from patterns import directives, pieces  # noqa: E402


def listed(pattern):
    out = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1", "-R", pattern], check=True, capture_output=True)
    return json.loads(out.stdout)["tests"]


class Copy:
    """A folder with the tests, and a build folder beside it whose ctest runs them."""

    def __init__(self, folder):
        self.tests, self.build = folder / "tests", folder / "build"
        for room, texts in TEXTS.items():
            (self.tests / room).mkdir(parents=True)
            for name in texts:
                shutil.copy(next((SOURCE / "tests" / room).glob(f"{name}.[mt]*")), self.tests / room)
            self._settings(room)
        shutil.copytree(SOURCE / "tests" / "command" / "Inputs", self.tests / "command" / "Inputs")
        (self.tests / "tutorials").mkdir()
        for name in ("check_output.cmake", *(f"{t}.expected" for t in TUTORIALS)):
            shutil.copy(SOURCE / "tests" / "tutorials" / name, self.tests / "tutorials")
        lines = []
        for test in listed(f"^(lit_.*|tutorial_({'|'.join(TUTORIALS)}))$"):
            properties = {p["name"]: p["value"] for p in test["properties"]}
            lines.append(f"add_test([[{test['name']}]] {' '.join(f'[[{self._own(a)}]]' for a in test['command'])})")
            lines.append(f"set_tests_properties([[{test['name']}]] PROPERTIES WORKING_DIRECTORY [[{self.build}]]"
                         f" ENVIRONMENT [[{';'.join(properties['ENVIRONMENT'])}]])")
        (self.build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")

    def _own(self, argument):
        for room in TEXTS:
            argument = re.sub(f"^{re.escape(str(BUILD / 'tests' / room))}$", str(self.build / room), argument)
        return argument.replace(str(SOURCE / "tests" / "tutorials"), str(self.tests / "tutorials"))

    def _settings(self, room):
        text = (BUILD / "tests" / room / "lit.site.cfg.py").read_text()
        text = re.sub(r'^(config.test_source_root = ).*', rf'\1"{self.tests / room}"', text, flags=re.M)
        text = re.sub(r'^(config.test_exec_root = ).*', rf'\1"{self.build / room}"', text, flags=re.M)
        (self.build / room).mkdir(parents=True)
        (self.build / room / "lit.site.cfg.py").write_text(text)

    def files(self):
        return sorted(f for f in self.tests.rglob("*") if f.suffix in (".mlir", ".test", ".expected"))

    def contents(self):
        return {f.relative_to(self.tests): f.read_text() for f in self.files()}

    def bless(self):
        return subprocess.run([SOURCE / "tools" / "bless", self.build], capture_output=True, text=True)


def prefixes(text):
    named = re.findall(r"FileCheck[^|;&\n]*?--check-prefix(?:es)?[= ](\S+)", text)
    return sorted({p for n in named for p in n.split(",")} | {"CHECK"})


def of_one_line(text):
    """The directives that name their line: where one of these is spoiled there is one way back."""
    return [d for d in directives(text, prefixes(text)).values() if d.kind in ("NEXT", "SAME", "LABEL")]


def words(pattern):
    return [p.text for p in pieces(pattern) if not p.wild and re.fullmatch(r"[a-z_]{3,}", p.text)]


def with_other_words(file, text):
    """Spoils every seventh of these directives, diagnostics and lines of output, by one word."""
    if file.suffix == ".expected":
        return re.sub(r"[a-z]{3,}", "spoilt", text, count=1)
    rows = text.split("\n")
    for directive in of_one_line(text)[::7]:
        found = words(directive.pattern)
        if len(found) > 1:
            rows[directive.line] = directive.head + re.sub(rf"\b{found[-1]}\b", "spoilt", directive.pattern, count=1)
    text = "\n".join(rows)
    return re.sub(r"(expected-error[^{]*\{\{[^}]*?)\b[a-z]{4,}\b", r"\1spoilt", text, count=3)


def with_other_lines(file, text):
    """Drops a line of a run of PREFIX-NEXT, and adds one to each count."""
    rows = text.split("\n")
    found = directives(text, prefixes(text))
    runs = [d for d in found.values() if d.kind == "NEXT" and found.get(d.line + 1) and found[d.line + 1].kind == "NEXT"
            and "[[" not in d.pattern]
    rows = [row.replace(f"-COUNT-{found[n].count}:", f"-COUNT-{found[n].count + 1}:") if n in found and found[n].kind == "COUNT" else row
            for n, row in enumerate(rows)]
    return "\n".join(row for n, row in enumerate(rows) if not runs or n != runs[len(runs) // 2].line)


def expect(truth, what, done=None):
    if not truth:
        sys.exit(what + (f"\n{done.stdout}\n{done.stderr}" if done else ""))


def golden():
    return {str(f): (f.stat().st_mtime_ns, f.stat().st_size) for f in (SOURCE / "tests" / "golden").rglob("*")}


def main():
    before = golden()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(pathlib.Path(folder).resolve())
        right = copy.contents()
        done = copy.bless()
        expect(done.returncode == 0 and "Nothing was rewritten." in done.stdout, "what is right does not pass", done)
        expect(copy.contents() == right, "what is right was changed")

        spoiled = 0
        for file in copy.files():
            text = with_other_words(file, file.read_text())
            spoiled += text != file.read_text()
            file.write_text(text)
        done = copy.bless()
        wrong = [f"{name}: {a} | {b}" for name, text in copy.contents().items()
                 for a, b in zip(right[name].split("\n"), text.split("\n")) if a != b]
        expect(done.returncode == 0 and not wrong, "words do not come back:\n" + "\n".join(wrong), done)
        expect(spoiled > 10 and all(f"{t}.expected" in done.stdout for t in TUTORIALS), "too little was spoiled or told", done)

        for file in copy.files():
            file.write_text(with_other_lines(file, file.read_text()))
        expect(copy.contents() != right, "no lines were spoiled")
        done = copy.bless()
        expect(done.returncode == 0, "lines do not come back", done)

        file = copy.tests / "passes" / "fold.mlir"
        text = file.read_text() + "// CHECK-NOT: return\n// CHECK-LABEL: func.func @like_nothing_else_in_it\n"
        file.write_text(text)
        done = copy.bless()
        expect(done.returncode and "like_nothing_else_in_it" in done.stdout, "what cannot be derived is not told", done)
        expect("Nothing was rewritten." in done.stdout and file.read_text() == text, "a second run changes something", done)
    expect(golden() == before, "golden data was written")
    print(f"{len(right)} files, of which {spoiled} were spoiled")


if __name__ == "__main__":
    sys.exit(main())
