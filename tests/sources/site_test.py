"""tools/docs makes a site that a browser opens from the disk: every page is there, every link leads to a file and an anchor.

usage: site_test.py SOURCE_FOLDER WORK_FOLDER

Exits with 77, which is a skipped test, without the Python package markdown.
"""

import html.parser
import pathlib
import shutil
import subprocess
import sys
import urllib.parse

SKIPPED = 77
MISSING = 3  # of tools/docs, without the package


class Page(html.parser.HTMLParser):
    """The links and anchors of a page, and its elements by name."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.elements = [], set(), {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements[tag] = self.elements.get(tag, 0) + 1
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            if name in ("href", "src"):
                self.links.append(value)


def tables(text):
    """The number of tables of a page in Markdown, outside of fenced blocks."""
    fence, count, before = False, 0, ""
    for line in text.split("\n"):
        fence = fence != line.lstrip().startswith("```")
        count += not fence and line.startswith("|") and not before.startswith("|")
        before = line
    return count


def check(source, site):
    pages = {file: Page(file.read_text()) for file in site.rglob("*.html")}
    for file, page in pages.items():
        name = file.relative_to(site)
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                # A reader may follow it; nothing of the page is loaded from there.
                continue
            target = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
            if not target.is_file() or site not in target.parents:
                yield f"{name}: {link} leads to no file of the site"
            elif url.fragment and url.fragment not in pages[target].anchors:
                yield f"{name}: {link} leads to no heading"
        if page.elements.get("script") or page.elements.get("iframe"):
            yield f"{name} runs a script"
    for markdown in [source / "README.md", *sorted((source / "docs").rglob("*.md"))]:
        path = markdown.relative_to(source)
        file = site / (path.parent / "index.html" if path.name == "README.md" else path.with_suffix(".html"))
        if file not in pages:
            yield f"{path} is not in the site"
            continue
        found, text = pages[file].elements, markdown.read_text()
        if found.get("table", 0) != tables(text):
            yield f"{path} has {tables(text)} tables, its HTML {found.get('table', 0)}"
        if "\\|" in file.read_text():
            yield f"{path}: a bar of a table keeps its backslash"
    style = (site / "style.css").read_text()
    if "url(" in style or "@import" in style:
        yield "style.css loads other files"
    if "prefers-color-scheme: dark" not in style:
        yield "style.css has no dark colours"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, site = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    shutil.rmtree(site, ignore_errors=True)
    made = subprocess.run([sys.executable, source / "tools/docs", site], capture_output=True, text=True)
    print(made.stdout + made.stderr, end="")
    if made.returncode == MISSING:
        print("skipped: the Python package markdown is missing")
        sys.exit(SKIPPED)
    if made.returncode != 0:
        return "tools/docs failed"
    return "\n".join(check(source, site)) or None


if __name__ == "__main__":
    sys.exit(main())
