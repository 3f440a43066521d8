"""The pattern that a line of output would have, written as an older pattern was: with its wildcards wherever they still fit."""
import functools
import re

from patterns import pieces, tokens

EXCHANGE = 0.9  # of one word for another: less than to drop one
DROP_WILDCARD = 1.0


def weight(token):
    return 0.05 if token.isspace() else 1.0


class Alignment:
    """The cheapest way to turn a pattern into one that matches a part of the line."""

    def __init__(self, pattern, line, values):
        self.pattern, self.line = pieces(pattern), tokens(line)
        whole = sum(weight(p.text) for p in self.pattern)
        cost, steps = self._cheapest(values)
        self.likeness = 1 - cost / whole if whole else 0
        self.steps = steps

    def _cheapest(self, values):
        pattern, line = self.pattern, self.line

        # best[i][j]: (cost, step) to match the pieces from i with the tokens from j. The rest of a line is free.
        best = [[None] * (len(line) + 1) for _ in range(len(pattern) + 1)]
        best[len(pattern)] = [(0.0, None)] * (len(line) + 1)
        for i in range(len(pattern) - 1, -1, -1):
            piece = pattern[i]
            for j in range(len(line), -1, -1):
                drop = DROP_WILDCARD if piece.wild else weight(piece.text)
                options = [(drop + best[i + 1][j][0], ("drop", j))]
                if j < len(line):
                    options.append((weight(line[j]) + best[i][j + 1][0], ("add", j + 1)))
                if piece.wild:
                    options += self._wild(piece, j, best[i + 1], values)
                elif j < len(line):
                    options += self._literal(piece.text, line[j], best[i + 1][j + 1][0], j)
                best[i][j] = min(options, key=lambda o: o[0])

        start = min(range(len(line) + 1), key=lambda j: (best[0][j][0], j))
        cost, steps, i, j = best[0][start][0], [], 0, start
        while i < len(pattern):
            kind, to = best[i][j][1]
            steps.append((kind, pattern[i], line[j:to]))
            i, j = i + (kind != "add"), to
        return cost, steps

    @staticmethod
    def _literal(text, token, rest, j):
        if text == token or (text.isspace() and token.isspace()):
            return [(rest, ("keep", j + 1))]
        if re.match(r"\w", text) and re.match(r"\w", token):
            return [(EXCHANGE + rest, ("exchange", j + 1))]
        return []

    def _wild(self, piece, j, rest, values):
        text = ""
        for to in range(j, len(self.line) + 1):
            if to > j:
                text += self.line[to - 1]
            if piece.accepts(text, values):
                yield (0.02 * (to - j) + rest[to][0], ("keep", to))

    def rewritten(self):
        """The new pattern."""
        text, after = "", ""
        for kind, piece, found in self.steps:
            if kind == "keep":
                text += piece.text
            elif kind == "exchange":
                text += found[0]
            elif kind == "add":
                text += spelled(found[0], after)
            after = found[-1] if found else after
        return text.strip()


def spelled(token, before=""):
    """A token of output as text of a pattern: the number of an SSA value is any number."""
    if before == "%" and token.isdigit():
        return "{{[0-9]+}}"
    return token


def whole_line(line):
    """A pattern for a line that no pattern was for."""
    text, before = "", ""
    for token in tokens(line.strip()):
        text += spelled(token, before)
        before = token
    return text.replace("{{{", "{{[{]}}{{").replace("[[", "{{\\[}}[")


@functools.lru_cache(maxsize=None)
def words(text):
    return frozenset(re.findall(r"\w+", text))


def likely(pattern, lines, values, limit=100):
    """The alignments with the lines that are most like the pattern, in the order of the lines."""
    literal = words(" ".join(p.text for p in pieces(pattern) if not p.wild))
    near = sorted(range(len(lines)), key=lambda n: (-len(literal & words(lines[n])), n))[:limit]
    found = [Alignment(pattern, lines[n], values) for n in sorted(near)]
    best = max((a.likeness for a in found), default=0)
    return [a for a in found if a.likeness == best]
