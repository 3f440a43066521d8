"""The files of the source tree that a run writes, kept in memory until all are known."""
import pathlib
import re

BEGIN = "written by tools/reference, from the definitions"
END = "end of what tools/reference writes"


class Tree:
    def __init__(self, source):
        self.source = pathlib.Path(source)
        self.texts = {}

    def read(self, name):
        if name not in self.texts:
            path = self.source / name
            self.texts[name] = path.read_text() if path.is_file() else ""
        return self.texts[name]

    def write(self, name, text):
        self.texts[name] = text

    def files(self, pattern):
        return sorted(path.relative_to(self.source).as_posix() for path in self.source.glob(pattern))

    def write_region(self, name, region, lines):
        """Replaces the lines between the two comments of a region."""
        begin = re.compile(rf"^( *)// {re.escape(region)}: {BEGIN}\.\n", re.M)
        text = self.read(name)
        starts = begin.search(text)
        ends = text.find(f"// {END}", starts.end()) if starts else -1
        if ends < 0:
            raise SystemExit(f"{name} has no region '{region}': the comments '// {region}: {BEGIN}.' and '// {END}.'")
        ends = text.rindex("\n", 0, ends) + 1
        body = "".join(f"{starts[1]}{line}\n" if line else "\n" for line in lines)
        self.write(name, text[:starts.end()] + body + text[ends:])

    def without_regions(self, name):
        """The text that people wrote."""
        return re.sub(rf"^ *// [^\n]*: {BEGIN}\.\n.*?^ *// {END}\.\n", "", self.read(name), flags=re.M | re.S)

    def stale(self):
        """The files that differ from the folder's."""
        found = []
        for name, text in self.texts.items():
            path = self.source / name
            if not path.is_file() or path.read_text() != text:
                found.append(name)
        return sorted(found)

    def save(self):
        written = self.stale()
        for name in written:
            (self.source / name).write_text(self.texts[name])
        return written
