"""The pages of the project: their sizes, their links, and that no page is left out.

usage: docs_test.py SOURCE_FOLDER

README.md has at most 120 lines. Relative links and #anchors of README.md, docs/ and the README of each folder lead to a file and a
heading. No cell of a table in README.md and docs/ has more than 300 characters. docs/README.md links to each page of docs/.
docs/environment.md lists the variables that the library and the command read, and no others.
"""

import pathlib
import re
import subprocess
import sys
import urllib.parse

MAX_README_LINES = 120
MAX_CELL = 300

# Folders whose sources read the environment of a program that uses Kiln.
READERS = ("codegen", "frontend", "ir", "passes", "runtime", "tools/kiln")

# Words that begin like a variable's name and are none: macros, and options of CMake.
NO_VARIABLES = re.compile(r"KILN_(UNITY|PRECOMPILE|INSTALL|BUILD_\w+|SANITIZE\w*|WERROR|SOURCE)")


def pages(source):
    """All Markdown files whose links are checked."""
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        names = listed.stdout.split("\0")
    else:
        names = (p.relative_to(source).as_posix() for p in source.rglob("*.md"))
    for name in sorted(filter(None, names)):
        path = pathlib.PurePosixPath(name)
        is_page = path.parent == pathlib.PurePosixPath(".") or path.parts[0] == "docs" or path.name == "README.md"
        if is_page and not name.startswith("build") and (source / name).is_file():
            yield path


def without_code(text):
    """The lines of a page outside of fenced blocks, as (number, line); code spans are blank."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence in (None, mark[1][:3]):
            fence = mark[1][:3] if fence is None else None
            continue
        if fence is None and not line.startswith("    "):
            yield number, re.sub(r"``.*?``|`[^`]*`", lambda m: "`" + " " * (len(m[0]) - 2) + "`", line)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for line in headings(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        unique, count = anchor, 0
        while unique in found:
            count += 1
            unique = f"{anchor}-{count}"
        found.add(unique)
    return found


def headings(text):
    fence = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fence = not fence
        match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if match and not fence:
            yield match[1]


def links(text):
    """(line, target) of each link of a page."""
    for number, line in without_code(text):
        for match in re.finditer(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)", line):
            yield number, match[1] or match[2]


def check_links(source, path):
    text = (source / path).read_text()
    for number, target in links(text):
        url = urllib.parse.urlsplit(target)
        if url.scheme or url.netloc:
            continue
        where = f"{path}:{number}: {target}"
        file = source / path
        if url.path:
            file = (source / path).parent / urllib.parse.unquote(url.path)
            if not file.exists():
                yield f"{where}: there is no such file"
                continue
            if source not in file.resolve().parents and file.resolve() != source:
                yield f"{where}: leads out of the repository"
                continue
        if url.fragment and file.suffix == ".md" and url.fragment not in anchors(file.read_text()):
            yield f"{where}: {file.name} has no such heading"


def cells(line):
    """The cells of a line of a table; a bar after a backslash is text."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def check_tables(source, path):
    fence = False
    for number, line in enumerate((source / path).read_text().split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        if fence or not line.lstrip().startswith("|"):
            continue
        for cell in cells(line):
            if len(cell) > MAX_CELL:
                yield f"{path}:{number}: a cell of {len(cell)} characters, above {MAX_CELL}: split it"


def variables_read(source):
    """The variables that the sources name in text, which is how they are read."""
    found = {}
    for folder in READERS:
        for file in sorted((source / folder).rglob("*")):
            if file.suffix not in (".cpp", ".h"):
                continue
            code = re.sub(r"//[^\n]*", "", file.read_text())
            for name in re.findall(r'(?:env|env_is_on|count_from_env|getenv)\(\s*"(KILN_[A-Z_]+)"', code):
                found.setdefault(name, file.relative_to(source))
            # A reader by another name would be overlooked: its variable's name is text, too.
            for name in re.findall(r'"(KILN_[A-Z_]+)"', code):
                found.setdefault(name, file.relative_to(source))
    return found


def check_variables(source):
    text = (source / "docs/environment.md").read_text()
    listed = {name for name in re.findall(r"\bKILN_[A-Z_]+", text) if not NO_VARIABLES.fullmatch(name)}
    read = variables_read(source)
    if not read:
        yield "no source reads a variable: is variables_read() out of date?"
    for name in sorted(read.keys() - listed):
        yield f"docs/environment.md does not list {name}, which {read[name]} reads"
    for name in sorted(listed - read.keys()):
        yield f"docs/environment.md lists {name}, which no source reads"
    for page in pages(source):
        if page.parts[0] not in ("README.md", "docs"):
            continue
        for name in sorted(set(re.findall(r"\bKILN_[A-Z_]+", (source / page).read_text())) - read.keys()):
            if not NO_VARIABLES.fullmatch(name) and page.name != "environment.md":
                yield f"{page} names {name}, which no source reads"


def check_index(source):
    index = source / "docs/README.md"
    linked = {(index.parent / urllib.parse.urlsplit(target).path).resolve() for _, target in links(index.read_text())}
    for page in sorted((source / "docs").rglob("*.md")):
        if page != index and page.resolve() not in linked:
            yield f"docs/README.md has no link to {page.relative_to(source)}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1]).resolve()
    errors = []
    lines = (source / "README.md").read_text().count("\n")
    if lines > MAX_README_LINES:
        errors.append(f"README.md has {lines} lines, above {MAX_README_LINES}: move the rest to docs/")
    checked = list(pages(source))
    for path in checked:
        errors += check_links(source, path)
        if path.parts[0] not in ("bench", "codegen"):  # those have longer cells, with a bound in bench_pages
            errors += check_tables(source, path)
    errors += check_index(source)
    errors += check_variables(source)
    print(f"{len(checked)} pages")
    return "\n".join(errors) or None


if __name__ == "__main__":
    sys.exit(main())
