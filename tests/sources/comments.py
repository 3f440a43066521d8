"""The prose of the tree: the comments of a source, the text of a page, as paragraphs and sentences."""
import ast
import io
import re
import tokenize

CODE = {".cpp", ".h", ".cc", ".td", ".def"}


def cxx_comments(text):
    """(line, text) of each comment; comments of neighbouring whole lines are one."""
    blocks, last = [], None
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: " " * len(m[0]), line)
        match = re.search(r"//[/!]?<?", bare)
        if not match:
            last = None
            continue
        comment, whole = line[match.end():].strip(), not bare[:match.start()].strip()
        if whole and last is not None and comment:
            blocks[last][1].append(comment)
        else:
            blocks.append((number, [comment]))
            last = len(blocks) - 1 if whole and comment else None
    return [(number, " ".join(lines)) for number, lines in blocks]


def descriptions(text):
    """(line, text) of the documentation of a TableGen file."""
    for match in re.finditer(r"(?:description|summary) = (?:\[\{(.*?)\}\]|\"([^\"]*)\")", text, re.S):
        yield text.count("\n", 0, match.start()) + 1, " ".join((match[1] or match[2]).split())


def hash_comments(text):
    blocks, last = [], None
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'", lambda m: " " * len(m[0]), line)
        match = re.search(r"(?:^|\s)#+ ", bare)
        if not match or line.startswith("#!"):
            last = None
            continue
        comment, whole = line[match.end():].strip(), not bare[:match.start()].strip()
        if whole and last is not None:
            blocks[last][1].append(comment)
        else:
            blocks.append((number, [comment]))
            last = len(blocks) - 1 if whole else None
    return [(number, " ".join(lines)) for number, lines in blocks]


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            for number, paragraph in paragraphs(ast.get_docstring(node)):
                yield node.body[0].lineno + number - 1, paragraph


def paragraphs(text):
    """(line, text) of the paragraphs, list items and cells of a page, without its programs."""
    lines, start, fenced = [], 1, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        opens = not line.strip() or re.match(r"\s*(?:[-*#|]|\d+\.)\s?", line)
        if (opens or fenced) and lines:
            yield start, " ".join(lines)
            lines = []
        if fenced or not line.strip() or line.startswith("    "):
            continue
        if line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split("|"):
                yield number, cell.strip()
            continue
        if not lines:
            start = number
        lines.append(re.sub(r"^\s*(?:[-*#]+|\d+\.)\s+", "", line).strip())


def prose(path, text):
    """(line, text) of all prose of a file."""
    if path.suffix == ".md":
        return list(paragraphs(text))
    if path.suffix in CODE:
        return cxx_comments(text) + (list(descriptions(text)) if path.suffix == ".td" else [])
    if path.suffix == ".py":
        return hash_comments(text) + list(docstrings(text))
    return hash_comments(text)


def sentences(text):
    return [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"(\[])", text) if s]


def begins_with_a_comment(text):
    """Whether the first line of a source, after what must stand before it, is a comment or a docstring."""
    for line in text.split("\n"):
        if line.strip() and not line.startswith(("#!", "#pragma once")):
            return re.match(r'//|# |"""', line) is not None
    return True


def identifiers(path, text):
    """The names in a source's code."""
    if path.suffix == ".py":
        return {t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.NAME}
    if path.suffix in CODE:
        return set(re.findall(r"\b[A-Za-z_]\w*", re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", text)))
    return set()
