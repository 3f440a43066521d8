"""The public declarations of C++ headers, each with whether it has a documentation comment.

A comment is above a declaration (`///`), after it (`///<`), or above a group: `/// @{` follows the comment, and `/// @}` ends the group. It reads the part of C++ that Kiln's public headers use. A construct that it does not know is an error, so that nothing is left out silently.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"(?P<doc>///<?[^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)|(?P<symbol>::|->|&&|\|\||<=>|[=!<>+*/%-]=|\+\+|--|[^\s\w])",
    re.M | re.S,
)
# Names that the standard library gives a meaning, and the caller's source location, which tensor.h explains.
WELL_KNOWN = {"Where", "value_type", "reference", "pointer", "difference_type", "iterator_category", "iterator_concept"}
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    line: int


@dataclasses.dataclass
class Declaration:
    """A public function, type, constant, member or enumerator."""

    kind: str
    name: str
    scope: str
    line: int
    documented: bool

    @property
    def full_name(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name


def tokens_of(text):
    out = []
    for match in TOKEN.finditer(text):
        if match.lastgroup not in ("comment", "directive"):
            out.append(Token(match.lastgroup, match.group(), text.count("\n", 0, match.start()) + 1))
    return out


class Reader:
    def __init__(self, text):
        self.tokens, self.at, self.found, self.documented_macros = tokens_of(text), 0, [], set()

    def peek(self):
        return self.tokens[self.at].text if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def skip_balanced(self):
        """Skips from an opening bracket beyond the closing one."""
        depth = 0
        while True:
            token = self.take()
            if token.kind == "symbol":
                depth += token.text in OPENING
                depth -= token.text in CLOSING
            if depth == 0:
                return

    def add(self, kind, name, scope, line, documented):
        """Records a declaration; one with a comment on its last line, or an overload of one with a comment, is documented."""
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "doc" and token.text.startswith("///<") and token.line == self.tokens[self.at - 1].line:
                documented = True
        documented = documented or any(d.documented and (d.kind, d.name, d.scope) == (kind, name, scope) for d in self.found)
        self.found.append(Declaration(kind, name, scope, line, documented))

    def read_scope(self, scope, is_visible, is_class, is_public=True):
        """Reads declarations to the end of a namespace or class. Its members are public if it is visible itself."""
        is_public = is_public and is_visible
        documented = in_group = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "doc":
                mark = token.text[3:].strip()
                in_group = documented if mark == "@{" else in_group and mark != "@}"
                documented = documented or not (token.text.startswith("///<") or mark in ("@{", "@}"))
                self.at += 1
            elif token.text == "}":
                return
            elif is_class and token.text in ("public", "private", "protected") and self.tokens[self.at + 1].text == ":":
                is_public, documented = is_visible and token.text == "public", False
                self.at += 2
            elif token.text == ";":
                self.at += 1
            else:
                self.read_declaration(scope, is_public, documented or in_group)
                documented = False

    def read_declaration(self, scope, is_public, documented):
        first = self.tokens[self.at]
        if first.text in ("namespace", "inline") and "namespace" in (first.text, self.tokens[self.at + 1].text):
            while self.peek() not in ("{", ";", "="):
                last = self.take()
            if self.peek() == "{":
                self.take()
                hidden = last.text == "detail"
                self.read_scope(scope if hidden else "", is_public and not hidden, False)
            self.skip_to_end()
            return
        if first.text.isupper() and self.tokens[self.at + 1].text == "(" and first.text != scope.rpartition("::")[2]:
            self.read_macro(scope, is_public, documented)
            return
        head = []  # the tokens of the declaration outside of brackets
        is_friend = False
        if self.peek() == "template":
            self.take()
            self.skip_angles()
            while self.peek() == "requires":
                self.take()
                self.skip_requirement()
        while True:
            token = self.tokens[self.at]
            if token.kind == "doc":
                documented, self.at = True, self.at + 1
                continue
            text = token.text
            is_friend = is_friend or text == "friend"
            type_words = [t.text for t in head if t.text in ("class", "struct", "union", "enum")]
            if text == "{" and type_words and not any(t.text in ("(", "=") for t in head):
                self.read_type(head, type_words, scope, is_public, documented)
                return
            if text == ";":
                self.take()
                break
            if text == "{":
                self.skip_balanced()
                if self.is_body(head):
                    break
                head.append(Token("symbol", "{}", token.line))
                continue
            if text in OPENING:
                head.append(token)
                self.skip_balanced()
                continue
            if text == "<" and head and head[-1].kind == "word" and head[-1].text != "operator":
                head.append(token)
                self.skip_angles()
                continue
            head.append(self.take())
        self.add_declaration(head, scope, is_public and not is_friend, documented, first.line)

    def read_macro(self, scope, is_public, documented):
        """Reads NAME(FUNCTION, ..), a macro that declares FUNCTION. A comment above its first use is for all that follow."""
        macro, line = self.take().text, self.tokens[self.at].line
        name = self.tokens[self.at + 1].text
        self.skip_balanced()
        self.documented_macros |= {macro} if documented else set()
        if is_public:
            self.add("function", name, scope, line, macro in self.documented_macros)

    @staticmethod
    def is_body(head):
        """Whether a pair of braces after these tokens was a function's body: not an initializer of a variable or of a member."""
        texts = [t.text for t in head]
        if "(" not in texts or "=" in texts[: texts.index("(")] and "operator" not in texts:
            return False
        if ":" in texts[texts.index("(") :]:  # a constructor's list: NAME{..}, NAME(..) and then the body
            return texts[-1] in ("(", "{}")
        return True

    def skip_angles(self):
        depth = 0
        while True:
            token = self.tokens[self.at]
            if token.text in OPENING and token.kind == "symbol":
                self.skip_balanced()
                continue
            self.at += 1
            if token.text == "->":
                continue
            depth += (token.text == "<") - (token.text == ">")
            if depth == 0:
                return

    def skip_requirement(self):
        """Skips a requires clause: terms joined by && and ||."""
        while True:
            while self.peek() == "!":
                self.take()
            if self.peek() == "requires":
                self.take()
                if self.peek() == "(":
                    self.skip_balanced()
                self.skip_balanced()
            elif self.peek() == "(":
                self.skip_balanced()
            else:
                self.take()
                while self.peek() == "::":
                    self.take()
                    self.take()
                if self.peek() == "<":
                    self.skip_angles()
                while self.peek() == "::":
                    self.take()
                    self.take()
            if self.peek() not in ("&&", "||"):
                return
            self.take()

    def skip_to_end(self):
        """Skips the rest of a definition whose braces were opened."""
        if self.peek() == "}":
            self.take()
        while self.peek() not in (";", None) and self.peek() == "=":
            while self.take().text != ";":
                pass

    def read_type(self, head, type_words, scope, is_public, documented):
        words = [t for t in head if t.kind == "word" and t.text not in ("class", "struct", "union", "enum", "final", "KILN_API", "alignas", "typedef")]
        upto = next((i for i, t in enumerate(head) if t.text == ":"), len(head))
        named = [t for t in head[:upto] if t in words]
        name = named[-1].text if named else ""
        if is_public:
            self.add("type", name, scope, head[0].line, documented)
        inner = f"{scope}::{name}" if scope else name
        self.take()  # {
        if "enum" in type_words:
            self.read_enumerators(inner, is_public)
        else:
            self.read_scope(inner, is_public, True, "class" not in type_words)
        self.take()  # }
        while self.take().text != ";":
            pass

    def read_enumerators(self, scope, is_public):
        documented = False
        while self.peek() != "}":
            token = self.take()
            if token.kind == "doc":
                documented = True
            elif token.kind == "word":
                depth = 0
                while depth or self.peek() not in (",", "}"):
                    if self.tokens[self.at].kind == "doc":
                        documented = True
                    step = self.take().text
                    depth += (step in OPENING) - (step in CLOSING)
                if self.peek() == ",":
                    self.take()
                if is_public:
                    self.add("enumerator", token.text, scope, token.line, documented)
                if self.tokens[self.at].kind == "doc" and self.tokens[self.at].text.startswith("///<"):
                    while self.tokens[self.at].kind == "doc" and self.tokens[self.at].text.startswith("///<"):
                        self.at += 1
                documented = False

    def add_declaration(self, head, scope, is_public, documented, line):
        texts = [t.text for t in head]
        while texts and texts[0] == "extern":
            texts, head = texts[1:], head[1:]
        if not is_public or not texts or texts[0] in ("static_assert", "template"):
            return
        if texts[0] in ("class", "struct", "union", "enum") and not set(texts) & {"(", "="}:
            return  # a forward declaration, or an explicit instantiation
        if texts[0] == "using":
            if "=" in texts and texts[1] not in WELL_KNOWN:
                self.add("type", texts[1], scope, line, documented)
            return
        before_bracket = texts.index("(") if "(" in texts else len(texts)
        before_value = texts.index("=") if "=" in texts else len(texts)
        if "operator" in texts or before_bracket < before_value:
            if {"default", "delete"} & set(texts[-1:]) or "override" in texts or "~" in texts:
                return
            if texts[-1] == "noexcept" and ("=" in texts or texts[before_bracket - 1] == scope.rpartition("::")[2]):
                return  # a move
            if before_bracket >= 2 and texts[before_bracket - 2] == "::" and "operator" not in texts:
                return  # the definition of a member that its class declares
            if "operator" in texts:
                name = "operator" + "".join(texts[texts.index("operator") + 1 : before_bracket] or ["()"])
            else:
                name = texts[before_bracket - 1]
            self.add("function", name, scope, line, documented)
            return
        end = min([before_value] + [i for i, t in enumerate(texts) if t in ("{}", "[")])
        names = [t.text for t in head[:end] if t.kind == "word"]
        if len(names) < 2:
            raise ValueError(f"line {line}: no declaration is read in {' '.join(texts)}")
        self.add("member", names[-1], scope, line, documented)


def declarations(text):
    """The public declarations of a header, in their order."""
    reader = Reader(text)
    reader.read_scope("", True, False)
    if reader.at != len(reader.tokens):
        raise ValueError(f"line {reader.tokens[reader.at].line}: a closing brace too many")
    return [dataclasses.replace(d, documented=d.documented or is_covered(d, reader.found)) for d in reader.found]


def is_covered(declaration, all_of_header):
    """Whether another comment says it.

    The comment of a class is that of its only constructor and of its only call operator, the comment of an option that of the same option
    in later structs.
    """
    owner = declaration.scope.rpartition("::")[2]
    if declaration.kind == "function" and declaration.name in (owner, "operator()"):
        overloads = [d for d in all_of_header if (d.kind, d.name, d.scope) == (declaration.kind, declaration.name, declaration.scope)]
        return len(overloads) == 1 and any(d.documented for d in all_of_header if d.kind == "type" and d.full_name == declaration.scope)
    if declaration.kind == "member" and owner.endswith("Options"):
        alike = [d for d in all_of_header if (d.kind, d.name) == ("member", declaration.name) and d.scope.endswith("Options")]
        return alike[0].documented
    return False
