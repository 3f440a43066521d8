"""Lines of C++ as clang-format leaves them, for the few forms that tools/reference writes."""
import re

COLUMNS = 110  # ColumnLimit of .clang-format


def call(before, arguments, after, indent=0):
    """`before(arguments)after`, with the arguments that do not fit aligned below the first one; the lines will be indented."""
    lines, line = [], before + "("
    column = len(line)
    for i, argument in enumerate(arguments):
        text = argument + ("," if i + 1 < len(arguments) else ")" + after)
        if line.strip() and not line.endswith("(") and len(line) + 1 + len(text) > COLUMNS - indent:
            lines.append(line)
            line = " " * column + text
        else:
            line += ("" if line.endswith("(") else " ") + text
    if not arguments:
        line += ")" + after
    return [*lines, line]


def comment(indent, paragraphs):
    """A documentation comment; an empty line is between two paragraphs."""
    lines = []
    for paragraph in paragraphs:
        if lines:
            lines.append(" " * indent + "///")
        line = " " * indent + "///"
        for word in re.findall(r"`[^`]*`\S*|\S+", paragraph):
            if len(line) + 1 + len(word) > COLUMNS and line.strip() != "///":
                lines.append(line)
                line = " " * indent + "///"
            line += " " + word
        lines.append(line)
    return lines
