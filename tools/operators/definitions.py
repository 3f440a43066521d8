"""The operators' definitions, as `kiln ops --json` prints them, and the C++ names that follow from them."""
import dataclasses
import json
import subprocess

# The C++ scopes of MXNet's prefixes, in the order in which an operator looks for its own.
MODULES = {"": "F", "_contrib_": "F::contrib_operators", "_linalg_": "F::linalg", "_npi_": "F::numpy", "_np_": "F::numpy",
           "_npx_": "F::npx"}

# The C++ type and default of an option by the kind of its attribute: where the call must give it, and where it may.
OPTION_TYPES = {
    "boolean": ("bool {} = false", "std::optional<bool> {} = {{}}"),
    "integer": ("std::int64_t {} = 0", "std::optional<std::int64_t> {} = {{}}"),
    "real": ("Number {} = 0", "std::optional<Number> {} = {{}}"),
    "tuple": ("Shape {} = {{}}", "Shape {} = {{}}"),
    "tuple with None": ("Bounds {} = {{}}", "Bounds {} = {{}}"),
    "list of integers": ("std::vector<std::int64_t> {} = {{}}", "std::vector<std::int64_t> {} = {{}}"),
    "word": ("std::string {} = {{}}", "std::optional<std::string> {} = {{}}"),
    "text": ("std::string {} = {{}}", "std::optional<std::string> {} = {{}}"),
    "dtype": ("DType {} = DType::f32", "std::optional<DType> {} = {{}}"),
}


@dataclasses.dataclass(frozen=True)
class Attribute:
    name: str
    kind: str
    default: str | None
    meaning: str
    ignored: str

    @property
    def required(self):
        return self.default is None

    @property
    def plain_kind(self):
        """The kind without its words and without None."""
        kind = self.kind.removesuffix(" or None")
        return "word" if kind.startswith("one of ") else kind

    def member(self):
        """The declaration of the option."""
        return OPTION_TYPES[self.plain_kind][0 if self.required else 1].format(self.name) + ";"


@dataclasses.dataclass(frozen=True)
class Function:
    """A C++ function of an operator that follows from the definition: its scope, its name, the operator's name that it calls."""
    scope: str
    name: str
    calls: str
    operator: "Operator"


class Operator:
    """A definition, with its fields as attributes."""

    def __init__(self, fields):
        self.__dict__.update(fields)
        self.attributes = [Attribute(**a) for a in fields["attributes"]]

    @property
    def names(self):
        return [self.name, *self.aliases]

    @property
    def function_names(self):
        """The names without the prefixes of MODULES."""
        return {name.removeprefix(prefix) for name in self.names for prefix in MODULES if name.startswith(prefix)}

    @property
    def options(self):
        """The attributes that a call names: all that have an effect, except the length of the list of inputs."""
        return [a for a in self.attributes if not a.ignored and not (self.variadic and a.name == "num_args")]

    def attribute(self, name):
        return next((a for a in self.attributes if a.name == name), None)

    def functions(self):
        """The C++ functions that follow from the definition alone; none for an operator that a person must spell.

        All names without prefix are functions of F. If there are none, all names with the first prefix of MODULES that
        one has are functions of its scope. With options only the definition's own name is a function.
        """
        if not self.plain or self.spelling == "none" or self.name.endswith("_scalar"):
            return []
        if self.spelling:
            scope, _, name = self.spelling.rpartition("::")
            scopes = {s.removeprefix("F::").removesuffix("_operators"): s for s in MODULES.values()}
            return [Function(scopes[scope], name, self.name, self)]
        for scope in dict.fromkeys(MODULES.values()):
            found = [Function(scope, name.removeprefix(prefix), name, self) for name in self.names for prefix, of in MODULES.items()
                     if of == scope and name.startswith(prefix) and not (name.removeprefix(prefix).startswith("_"))]
            if found:
                return [f for f in found if f.calls == self.name] if self.options else found
        return []


class Definitions:
    def __init__(self, kiln):
        text = subprocess.run([kiln, "ops", "--json"], check=True, capture_output=True, text=True).stdout
        self.operators = [Operator(fields) for fields in json.loads(text)]
        self._by_name = {name: op for op in self.operators for name in reversed(op.names)}
        self._by_name.update({op.name: op for op in self.operators})

    def find(self, name):
        return self._by_name.get(name)
