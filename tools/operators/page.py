"""docs/operators.md: the reference of every operator, by family."""
import re

PAGE = "docs/operators.md"

SECTIONS = [("shapes", "shapes"), ("formula", "formula"), ("dtypes", "dtypes"), ("broadcasting", "broadcasting"), ("nan", "NaN"),
            ("ties", "ties"), ("empty", "empty arrays"), ("integers", "integers"), ("gradient", "gradient"), ("source", "source")]

TOP = """# Operators

The reference of every operator, written by `tools/reference` from the definitions in `frontend/ops`. `kiln ops NAME` prints one entry, and
`kiln ops --json` all of them as data. `g` is the gradient of the result. Eager and compiled calls agree bit by bit in all of it;
[special values](special-values.md) has the rules that many operators share.

An entry lists the spellings in C++ (`x` and `y` are tensors), and MXNet's other names, which files may have. A default is what a call
without the attribute means.
"""


def anchor(op):
    return op.name.lower()


def text(value):
    """Plain text as Markdown; words in `...` are code in both."""
    parts = value.split("`")
    if len(parts) % 2 == 0:
        raise SystemExit(f"a ` has no partner in: {value}")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\*_\[\]])", r"\\\1", parts[i]).replace("<", "&lt;")
    return "`".join(parts)


def wrapped(before, value, indent):
    """Lines of at most 120 columns. No line begins like a list or a heading."""
    lines, line = [], before
    for word in value.split():
        begins = re.fullmatch(r"[-+*#>=|]+|\d+[.)]", word)
        if len(line) + 1 + len(word) > 120 and line.strip() and not begins:
            lines.append(line)
            line = " " * indent + word
        else:
            line += (" " if line and not line.endswith(" ") else "") + word
    return [*lines, line]


def entry(op, spellings):
    lines = [f"### `{op.name}`", ""]
    arguments = ", ".join(op.inputs) + (", ..." if op.variadic else "")
    lines += [f"`{op.name}({arguments})`", "", *wrapped("", text(op.summary), 0), ""]
    if spellings:
        lines += wrapped("- C++:", ", ".join(f"`{s}`" for s in spellings), 2)
    if op.aliases:
        lines += wrapped("- also in files:", ", ".join(f"`{name}`" for name in op.aliases), 2)
    for field, label in SECTIONS:
        if value := getattr(op, field):
            lines += wrapped(f"- {label}:", text(value), 2)
    if op.attributes:
        lines += ["", "Attributes:", ""]
        for a in op.attributes:
            default = "required" if a.required else f"default `{a.default}`" if a.default else "default empty"
            what = f"`{a.name}` ({a.kind}, {default})"
            meaning = text(a.meaning) + (f" Ignored: {text(a.ignored.rstrip('.'))}." if a.ignored else "")
            lines += wrapped("-", what + (f": {meaning.strip()}" if meaning.strip() else ""), 2)
    return [*lines, ""]


def write(tree, definitions, spellings):
    families = {}
    for op in definitions.operators:
        families.setdefault(op.family, []).append(op)
    lines = [*TOP.split("\n"), "## Index", ""]
    for family, operators in sorted(families.items()):
        names = ", ".join(f"[{text(op.name)}](#{anchor(op)})" for op in operators)
        lines += wrapped(f"- {family}:", names, 2)
    for family, operators in sorted(families.items()):
        lines += ["", f"## {family[0].upper()}{family[1:]}", ""]
        for op in operators:
            lines += entry(op, spellings[op.name])
    while not lines[-1]:
        lines.pop()
    out = []
    for line in lines:  # one empty line in a row
        if line or (out and out[-1]):
            out.append(line)
    tree.write(PAGE, "\n".join(out) + "\n")
