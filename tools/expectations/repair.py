"""Rewrites the directives of a check file until FileCheck accepts a text, where what they should say can be derived.

FileCheck tells the first directive that fails, where it searched, and what names stand for. A directive that must match one line
is rewritten for it. In a run of PREFIX-NEXT lines, lines are added and dropped too. A count is the number of matches. A match of
PREFIX-NOT, and a pattern that is like no line, are left to the author.
"""
import dataclasses
import re
import subprocess

from alignment import Alignment, likely, whole_line
from patterns import directives
from written import rewrite

ENOUGH = 0.5  # likeness above which a pattern is taken to be for a line
ERROR = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):\d+: error: [^\n]*?-?(?P<kind>[A-Z]*): (?P<what>[^\n]*)", re.M)
NOTE = re.compile(r"^[^\n:]*:(?P<line>\d+):(?P<column>\d+): note: (?P<what>[^\n]*)", re.M)


class Underivable(Exception):
    """Why a directive is left to the author."""


@dataclasses.dataclass
class Failure:
    """The first directive that FileCheck refused. Lines begin at 0."""
    line: int
    what: str
    scanned_from: int
    column: int
    before: int  # the line of the match before
    values: dict

    @staticmethod
    def parse(errors):
        match = ERROR.search(errors)
        if not match:
            raise Underivable(errors.strip() or "FileCheck failed without a message")
        following = ERROR.search(errors, match.end())
        notes = list(NOTE.finditer(errors, match.end(), following.start() if following else len(errors)))
        at = {n["what"]: (int(n["line"]) - 1, int(n["column"]) - 1) for n in reversed(notes)}
        values = dict(m.groups() for n in notes if (m := re.match(r'with "(\w+)" equal to "(.*)"$', n["what"])))
        start, column = at.get("scanning from here", (0, 0))
        before, _ = at.get("previous match ended here", (start, 0))
        return Failure(int(match["line"]) - 1, match["what"], start, column, before, values)


class Repair:
    def __init__(self, command, checks, prefixes, text):
        """`command`: FileCheck and its arguments; `checks`: the check file; `text`: its input."""
        self.command, self.checks, self.prefixes, self.text = command, checks, prefixes, text
        self.lines = text.split("\n")

    def run(self):
        """Repairs the check file. Underivable: what is left; all that could be derived is written."""
        for _ in range(2000):
            done = subprocess.run([*self.command, "--dump-input=never"], input=self.text, capture_output=True, text=True)
            if done.returncode == 0:
                return
            with open(self.checks) as file:
                source = file.read()
            failure = Failure.parse(done.stderr)
            changed = self._step(source, failure)
            if changed == source:
                raise Underivable(done.stderr.strip())
            rewrite(self.checks, changed)
        raise Underivable("the repairs do not end")

    def _step(self, source, failure):
        found = directives(source, self.prefixes)
        rows = source.split("\n")
        directive = found[failure.line]
        if directive.kind == "NOT":
            self._exclude(found, directive)
        elif directive.kind == "COUNT" and (done := re.search(r"\((\d+) out of (\d+)\)", failure.what)) and int(done[1]) > 1:
            directive.head = directive.head.replace(f"-COUNT-{done[2]}:", f"-COUNT-{int(done[1]) - 1}:")
        elif directive.kind == "NEXT":
            return "\n".join(self._next(rows, found, directive, failure))
        elif directive.kind == "SAME":
            self._rewrite(directive, Alignment(directive.pattern, self.lines[failure.before], failure.values))
        else:
            self._elsewhere(rows, found, directive, failure)
        for d in found.values():
            rows[d.line] = d.text()
        return "\n".join(rows)

    @staticmethod
    def _rewrite(directive, alignment):
        if alignment is None or alignment.likeness < ENOUGH:
            raise Underivable(f"line {directive.line + 1}: the output has nothing like `{directive.pattern}`")
        directive.pattern = alignment.rewritten()

    @staticmethod
    def _exclude(found, directive):
        """A PREFIX-NOT after a count of the same pattern says that there are no more."""
        earlier = max((n for n in found if n < directive.line), default=None)
        counted = found.get(earlier)
        if counted is None or counted.kind != "COUNT" or counted.pattern != directive.pattern:
            raise Underivable(f"line {directive.line + 1}: the output has what is excluded, `{directive.pattern}`")
        counted.head = counted.head.replace(f"-COUNT-{counted.count}:", f"-COUNT-{counted.count + 1}:")

    def _elsewhere(self, rows, found, directive, failure):
        """A directive that may match any line up to the next label. A label goes to the line that the test's own text below
        has, where several are equally like it."""
        end = len(self.lines)
        label = next((d for n, d in sorted(found.items()) if n > directive.line and d.kind == "LABEL"), None)
        if label is not None:
            exact = (n for n in range(failure.scanned_from + 1, end) if Alignment(label.pattern, self.lines[n], {}).likeness > 0.98)
            end = next(exact, end)
        rest = self.lines[failure.scanned_from][failure.column:]
        best = likely(directive.pattern, [rest, *self.lines[failure.scanned_from + 1:end]], failure.values)
        if directive.kind == "LABEL":
            below = "\n".join(row for n, row in enumerate(rows) if n > directive.line and n not in found)
            best.sort(key=lambda a: at if (at := below.find(a.rewritten())) >= 0 else len(below))
        self._rewrite(directive, best[0] if best else None)

    def _next(self, rows, found, directive, failure):
        """A run of PREFIX-NEXT: its directives and the lines of the output are aligned, and the first difference is mended."""
        chain = [directive]
        for number in sorted(n for n in found if n > directive.line):
            if found[number].kind != "NEXT":
                break
            chain.append(found[number])
        lines = self.lines[failure.before + 1:failure.before + len(chain) + 9]
        action = first_action([d.pattern for d in chain], lines, failure.values)
        if action == "add":
            return [*rows[:directive.line], directive.head + whole_line(lines[0]), *rows[directive.line:]]
        if action == "drop":
            return rows[:directive.line] + rows[directive.line + 1:]
        if not lines:
            raise Underivable(f"line {directive.line + 1}: the output ends before it")
        self._rewrite(directive, Alignment(directive.pattern, lines[0], failure.values))
        return [*rows[:directive.line], directive.text(), *rows[directive.line + 1:]]


def first_action(patterns, lines, values):
    """rewrite, add or drop: the first step of the cheapest way from the patterns to the lines.

    A pattern is dropped only if a later one matches: otherwise nothing shows that its line is gone.
    """
    patterns = patterns[:12]
    depth = len(patterns)
    cost = [[0.0] * (len(lines) + 1) for _ in range(depth + 1)]
    step = {}
    for i in range(depth - 1, -1, -1):
        for j in range(len(lines), -1, -1):
            options = [(1 + cost[i + 1][j], "drop", 0)]
            if j < len(lines):
                likeness = Alignment(patterns[i], lines[j], values if i == 0 else {}).likeness
                options = [(2 * (1 - max(likeness, 0)) + cost[i + 1][j + 1], "rewrite", likeness), (1 + cost[i][j + 1], "add", 0), *options]
            cost[i][j], *step[i, j] = min(options, key=lambda o: o[0])
    i = j = 0
    while i < depth and step[0, 0][0] == "drop":
        kind, likeness = step[i, j]
        if kind == "rewrite" and likeness > 0.9:
            return "drop"
        i, j = i + (kind != "add"), j + (kind != "drop")
    return "rewrite" if step[0, 0][0] == "drop" else step[0, 0][0]
