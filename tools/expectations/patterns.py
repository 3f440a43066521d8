"""FileCheck's patterns as pieces: text, and what stands for any text of a form.

A pattern is text in which {{REGEX}} matches text of that form, [[NAME:REGEX]] too and names it, [[NAME]] is the text that
was named, and [[#NAME:]] is a number. A directive is a line PREFIX-KIND: PATTERN of a check file.
"""
import dataclasses
import re

WILDCARD = re.compile(r"\{\{(?P<regex>.*?\}*)\}\}|\[\[(?P<name>[#$A-Za-z_][^\]:]*)(?P<colon>:(?P<form>(?:[^\]]|\](?!\]))*\]*?))?\]\]")
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclasses.dataclass(frozen=True)
class Piece:
    """A token of a line, or a wildcard: `text` as the pattern spells it, `form` the regex of what it matches."""
    text: str
    form: str | None = None
    name: str | None = None  # of a use of what was named before

    @property
    def wild(self):
        return self.form is not None or self.name is not None

    def accepts(self, text, values):
        if self.name is not None and self.name in values:
            return text == values[self.name]
        return re.fullmatch(self.form or r"[\w#.]+", text) is not None


def tokens(text):
    return TOKEN.findall(text)


def pieces(pattern):
    """The pieces of a pattern."""
    found, at = [], 0
    for match in WILDCARD.finditer(pattern):
        found += [Piece(t) for t in tokens(pattern[at:match.start()])]
        at = match.end()
        if match["regex"] is not None:
            found.append(Piece(match[0], form=match["regex"]))
        elif match["name"].startswith("#"):
            found.append(Piece(match[0], form="[0-9]+"))
        elif match["colon"]:
            found.append(Piece(match[0], form=match["form"]))
        else:
            found.append(Piece(match[0], name=match["name"]))
    return found + [Piece(t) for t in tokens(pattern[at:])]


@dataclasses.dataclass
class Directive:
    """`head` is all of its line up to the pattern; `kind` is "" or NEXT, SAME, NOT, DAG, LABEL, COUNT."""
    line: int
    head: str
    kind: str
    count: int
    pattern: str

    def text(self):
        return self.head + self.pattern


def directives(text, prefixes):
    """The directives of a check file, by its line numbers, which begin at 0."""
    start = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, prefixes)) + r")(?:-(NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-([0-9]+)))?:[ \t]*")
    found = {}
    for number, line in enumerate(text.split("\n")):
        if match := start.search(line):
            kind = (match[1] or "").split("-")[0]
            found[number] = Directive(number, line[:match.end()], kind, int(match[2] or 1), line[match.end():].rstrip())
    return found
