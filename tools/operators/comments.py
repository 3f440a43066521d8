"""The documentation comments of the public headers that come from the operators' definitions.

A paragraph that names `kiln ops NAME` is written here, each time anew. Other paragraphs of a comment are a person's and stay.
A `///` comment above the member of an option struct is written here; one after it, `///<`, is a person's.
"""
import re

from operators import functions
from operators.layout import comment
from operators.sources import spelled

MAX_WORDS = 30  # in a sentence of a header (tests/sources/words_test.py)
GENERATED = re.compile(r"`kiln ops \w+`")
NN = "frontend/include/kiln/nn.h"


def first_sentence(text):
    """The first sentence of a field, with its full stop."""
    sentence = re.split(r"(?<=[.;])\s+(?=[A-Z(\"'])", text, maxsplit=1)[0].rstrip(";").strip()
    return sentence if not sentence or sentence.endswith(".") else sentence + "."


def short(text):
    return len(text.split()) <= MAX_WORDS


def shapes_sentence(op):
    """The shapes, without what later letters are if they are long; nothing for a function of each element of its only input."""
    whole = op.shapes.strip().rstrip(".")
    first = re.split(r";|(?<=[)\w'])\.\s", whole)[0].strip()
    if not whole or re.fullmatch(r"\w+ \(\.\.\.\) -> \(\.\.\.\)", whole):
        return ""
    return next((s for s in (f"Shapes: {whole}.", f"Shapes: {first}.") if short(s)), "")


def differences(op):
    """The differences from the rules at the top of f.h: any dtype, NaN stays NaN or is copied, a gradient passes."""
    if op.dtypes and not op.dtypes.startswith("Any"):
        yield "Dtypes: " + lower_first(first_sentence(op.dtypes))
    if not op.inputs:
        return
    if op.nan and not re.match(r"NaN\b(?! is\b)|Copied|Moved|No result depends", op.nan):
        sentence = first_sentence(op.nan)
        yield sentence if re.match(r"A NaN|NaN is|In .* with a NaN", sentence) else "Of NaN: " + lower_first(sentence)
    if op.gradient.startswith("None"):
        reason = lower_first(first_sentence(op.gradient.partition(":")[2].strip()))
        yield "No gradient passes." if reason.startswith("no gradient") else f"No gradient: {reason}"


def lower_first(text):
    return text if re.match(r"[A-Z]{2}|NaN|[B-Z]\W|\W", text) else text[:1].lower() + text[1:]


def function_paragraph(op, name):
    parts = [first_sentence(op.summary), shapes_sentence(op), *differences(op)]
    parts = [part for part in parts if part and all(map(short, re.split(r"(?<=[.!?])\s+(?=[A-Z`(\[])", part)))]
    return " ".join([*parts, f"`kiln ops {name}` has the rest."])


def method_paragraph(op, function, name):
    return f"{first_sentence(op.summary)} As F::{function}; `kiln ops {name}` has the rest."


def layer_paragraph(operators):
    parts = []
    for op in operators:
        parts += [f"Calls {op.name}.", shapes_sentence(op)]
        if op.formula and short(op.formula):
            parts.append(f"Result: {first_sentence(op.formula)}")
        parts.append(f"`kiln ops {op.name}` has the rest.")
    return " ".join(part for part in parts if part)


def paragraphs_of(lines):
    """The paragraphs of `///` lines."""
    text = "\n".join(re.sub(r"^\s*/// ?", "", line) for line in lines)
    return [part for part in (re.sub(r"\s*\n\s*", " ", p).strip() for p in re.split(r"\n\s*\n", text)) if part]


def comment_above(lines, number):
    """(begin, end) of the comment above a declaration, which begins with its template's line; empty if it has none."""
    end = number
    while end > 0 and re.match(r"\s*(template <|requires)", lines[end - 1]):
        end -= 1
    begin = end
    while begin > 0 and re.match(r"\s*///(?!<)", lines[begin - 1]):
        begin -= 1
    return begin, end


def replace_comment(lines, number, make):
    """`make`: the paragraphs of a person -> all paragraphs."""
    begin, end = comment_above(lines, number)
    indent = len(lines[number]) - len(lines[number].lstrip())
    old = paragraphs_of(lines[begin:end])
    kept = [p for p in old if not GENERATED.search(p)]
    new = make(kept)
    if new == kept == old:
        return lines  # a person's own lines stay as they are
    return lines[:begin] + comment(indent, new) + lines[end:]


def best(operators, name):
    """The operator that a function of this name is named after, or the first."""
    return next((op for op in operators if name in op.names or name in op.function_names), operators[0] if operators else None)


def write_functions(tree, calls):
    """One comment before the first declaration of each name."""
    for header in [*functions.PUBLIC, functions.METHODS]:
        lines = tree.read(header).split("\n")
        first = {}
        for scope, name, number in functions.declarations(tree.read(header)):
            first.setdefault((scope, name), number)
        for (scope, name), number in sorted(first.items(), key=lambda item: -item[1]):
            op = best(calls.of(scope, name), name)
            if not op:
                continue
            shown = name if name in op.names else op.name
            if scope == "TensorMethods":
                paragraph = method_paragraph(op, name, shown) if calls.of("F", name) else function_paragraph(op, shown)
            else:
                paragraph = function_paragraph(op, shown)
            lines = replace_comment(lines, number, lambda kept: [paragraph, *kept])
        tree.write(header, "\n".join(lines))


def members(lines):
    """(struct, first line of the struct, [(member, line number)]) of the option structs of a header."""
    for number, line in enumerate(lines):
        if match := re.match(r"struct (\w+Options) \{", line):
            found = []
            for inner in range(number + 1, len(lines)):
                if lines[inner] == "};":
                    break
                if member := re.match(r"  (?!///|return|static)[\w:<>]+ (\w+) = .*;", lines[inner]):
                    found.append((member[1], inner))
            yield match[1], number, found


def users(tree, calls):
    """Option struct -> (function as a program writes it, operator) of the functions that take it."""
    found = {}
    for header in functions.PUBLIC:
        text = tree.read(header)
        lines = text.split("\n")
        for scope, name, number in functions.declarations(text):
            declared = re.match(r"[^;{]*", "\n".join(lines[number:number + 5]))[0]
            if options := re.search(r"const (\w+Options)&", declared):
                op = best(calls.of(scope, name), name)
                if op:
                    found.setdefault(options[1], {})[scope, name] = op
    return found


def member_sentence(attribute):
    parts = [attribute.meaning]
    if attribute.required:
        parts.append("Required.")
    elif attribute.default != "None":
        parts.append(f"Default: {attribute.default}." if attribute.default else "")
    if attribute.ignored:
        parts.append(f"Ignored: {attribute.ignored.rstrip('.')}.")
    return " ".join(part for part in parts if part) if attribute.meaning else ""


def write_options(tree, calls):
    found = users(tree, calls)
    for header in (functions.OPTIONS, "frontend/include/kiln/f_numpy.h"):
        lines = tree.read(header).split("\n")
        for struct, number, fields in reversed(list(members(lines))):
            operators = found.get(struct, {})
            for member, line in reversed(fields):
                attribute = next((a for op in operators.values() if (a := op.attribute(member))), None)
                sentence = member_sentence(attribute) if attribute else ""
                if "///<" in lines[line] or not sentence:
                    continue
                begin, end = comment_above(lines, line)
                lines[begin:end] = comment(2, [sentence])
            if operators:
                names = list(dict.fromkeys(spelled(*key) for key in operators))
                of = ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]
                begin, end = comment_above(lines, number)
                kept = [p for p in paragraphs_of(lines[begin:end]) if not p.startswith("Arguments of ")]
                lines[begin:end] = comment(0, [f"Arguments of {of}." if short(of) else f"Arguments of {names[0]} and others.", *kept])
        tree.write(header, "\n".join(lines))


def write_layers(tree, calls):
    lines = tree.read(NN).split("\n")
    for (header, _, name), operators in calls.layers().items():
        if header != NN:
            continue
        pattern = re.compile(rf"(?:class|struct) KILN_API {name}\b[^;]*\{{|KILN_(?:CONV|POOL|GLOBAL_POOL)\({name},")
        number = next((i for i, line in enumerate(lines) if pattern.match(line)), None)
        if number is not None and not lines[number].startswith("KILN_"):
            lines = replace_comment(lines, number, lambda kept: [*kept, layer_paragraph(operators)])
    tree.write(NN, "\n".join(lines))
