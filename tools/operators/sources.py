"""Which operators the functions, methods and layers of the C++ interface call, read from their sources."""
import re

# The public header of each scope of layers, the sources, and the prefix in a program.
LAYERS = [("frontend/include/kiln/nn.h", "frontend/gluon/nn/*.cpp", "nn::"),
          ("frontend/include/kiln/rnn_layer.h", "frontend/gluon/rnn/rnn_layers.cpp", "rnn::"),
          ("frontend/include/kiln/loss.h", "frontend/gluon/loss/loss_ctc.cpp", "loss::"),
          ("frontend/include/kiln/contrib.h", "frontend/gluon/nn/nn_contrib.cpp", "contrib::nn::")]

# Layers that are bases alone: no program makes one.
BASES = {"Conv", "Pool"}

FUNCTION_SOURCES = ("frontend/api/*.cpp", "frontend/control/record_control.cpp", "frontend/control/control_flow.cpp")
HEAD = re.compile(r"^(?!using|namespace|static_assert|template|#|//)(?:\w[^\n;={(]*?[ &*])?([\w~]+(?:(?:<\w+>)?::[\w~]+)*) ?\(", re.M)

# Python's operators on tensors, by the enumerators of frontend/call/arithmetic.h.
SYMBOLS = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="}


def chunks(text):
    """(name, text) of each definition at the first column, from its name to the next one."""
    heads = list(HEAD.finditer(text))
    for head, following in zip(heads, [*heads[1:], None]):
        yield head[1], text[head.end():following.start() if following else len(text)]


def literals(body):
    """The names of operators that a body has as template or function arguments of the helpers of calls."""
    found = []
    for group in re.findall(r'\b(?:call|call_list|call_all|call_list_all|np_call|binary|with_\w+|op_named)<("\w+"(?:,\s*"\w+")*)', body):
        found += re.findall(r'"(\w+)"', group)
    found += re.findall(r'\b(?:parts|find_op_or_throw|record|make)\("(\w+)"', body)
    found += re.findall(r'\b\w*_config\("(\w+)"', body)
    for pair in re.findall(r'layer_config\(\w+ \? "(\w+)" : "(\w+)"', body):
        found += sorted(pair)
    return found


class Calls:
    """(scope, name) of each function -> the operators that it calls; the names that hand-written functions call."""

    def __init__(self, tree, definitions):
        self.tree, self.definitions = tree, definitions
        self.arithmetic = self._arithmetic()
        self.bodies, self.helpers, self.literal = {}, {}, set()
        for pattern in FUNCTION_SOURCES:
            for name in tree.files(pattern):
                if name != "frontend/api/f_plain.cpp":
                    self._read(tree.without_regions(name))
        self.operators = {}

    def add_plain(self, functions):
        """Takes the functions that follow from definitions, too."""
        for f in functions:
            self.bodies.setdefault((f.scope, f.name), "")
            self.operators[f.scope, f.name] = [f.operator]

    def _arithmetic(self):
        """Enumerator -> (symbol, the operators: equal shapes, broadcasting, number on the right and left)."""
        text = self.tree.read("frontend/call/arithmetic.cpp")
        rows = re.findall(r'\{Arithmetic::(\w+),\s*"([^"]+)",\s*"(\w+)",\s*"(\w+)",\s*"(\w+)",\s*"(\w+)"', text)
        return {row[0]: (row[1], list(dict.fromkeys(row[2:]))) for row in rows}

    def _read(self, text):
        aliases = dict(re.findall(r"using (\w+) = struct ([\w:]+);", text))
        for name, body in chunks(text):
            scope, _, function = name.rpartition("::")
            scope = aliases.get(scope, scope.replace("<Self>", ""))
            if scope == "F" or scope.startswith("F::") or scope == "TensorMethods":
                self.literal.update(literals(body))
                self.bodies[scope, function] = self.bodies.get((scope, function), "") + body
            elif not scope:
                self.helpers[function] = self.helpers.get(function, "") + body
        for numpy, names in (("np", r"KILN_NUMPY_METHOD"), ("F", r"KILN_METHOD")):
            for name in re.findall(rf"^{names}\((\w+)\)", text, re.M):
                if name != "NAME":
                    self.bodies["TensorMethods", name] = f"np::{name}( F::{name}(" if numpy == "np" else f"F::{name}("

    def of(self, scope, name, seen=()):
        """The operators that a function calls, the most telling first."""
        key = (scope, name)
        if key in self.operators:
            return self.operators[key]
        if key in seen or key not in self.bodies:
            if key not in seen and scope == "F::random":
                return self.of("F", f"random_{name}", (*seen, key)) or self.of("F", name, (*seen, key))
            inherited = "F::contrib_operators" if scope == "F::contrib" else "F" if scope == "F::npx" else None
            return self.of(inherited, name, (*seen, key)) if inherited and key not in seen else []
        body = self.bodies[key]
        found = literals(body)
        for helper in re.findall(r"\b(\w+)\(", body) if not found else []:
            if helper in self.helpers and helper != name:
                found += literals(self.helpers[helper])
        if not found:
            for enumerator in re.findall(r"Arithmetic::(\w+)", body):
                names = self.arithmetic[enumerator][1]
                found += [names[1], names[0], *names[2:]]
        operators = self._named_after(name, [op for op in map(self.definitions.find, found) if op])
        if not operators:
            calls = re.findall(r"\b(?:(F|np)::)?(\w+)\(", body)
            scopes = {"F": "F", "np": "F::numpy", "": scope}
            called = [(scopes[of], function) for of, function in calls if (scopes[of], function) != key]
            same = [c for c in called if c[1] == name]
            for of, function in sorted(same, key=lambda c: c[0]) or called:
                operators += self.of(of, function, (*seen, key))
        self.operators[key] = list({op.name: op for op in operators}.values())
        return self.operators[key]

    def _named_after(self, name, operators):
        """Without the operators that help: others have functions of their own, if one has this function's name."""
        if not any(name in op.function_names for op in operators):
            return operators
        functions = {function for _, function in self.bodies}
        return [op for op in operators if name in op.function_names or not op.function_names & functions]

    def layers(self):
        """(header, prefix, class) -> operators, of the layers of Gluon."""
        found = {}
        for header, sources, prefix in LAYERS:
            public = self.tree.read(header)
            members, helpers, bases = {}, {}, {}
            for source in self.tree.files(sources):
                for name, body in chunks(self.tree.read(source)):
                    scope, _, function = name.rpartition("::")
                    if scope:
                        members[scope] = members.get(scope, "") + body
                        if function == scope and (base := re.search(r"\)\s*(?:try\s*)?: (\w+)\(", body)):
                            bases.setdefault(scope, base[1])
                    else:
                        helpers[name] = body
            for macro, name, *_ in re.findall(r"^KILN_(CONV|POOL|GLOBAL_POOL)\((\w+),", public, re.M):
                bases[name] = "Conv" if macro == "CONV" else "Pool"
                members[name] = ""
            names = [n for n in members if re.search(rf"^(?:class|struct) KILN_API {n}\b", public, re.M) or bases.get(n) in ("Conv", "Pool")]
            for name in names:
                operators = self._layer(name, members, helpers, bases)
                if bases.get(name) == "Conv" and name != "Conv":
                    operators = [op for op in operators if (op.name == "Deconvolution") == name.endswith("Transpose")]
                if operators and name != "Layer":
                    found[header, prefix, name] = operators
        return found

    def _layer(self, name, members, helpers, bases):
        body = members[name]
        names = literals(body)
        for helper in re.findall(r"\b(\w+)\(", body) if not names else []:
            names += literals(helpers.get(helper, ""))
        operators = [op for op in map(self.definitions.find, names) if op]
        if not operators and bases.get(name) in members and bases[name] != name:
            operators = self._layer(bases[name], members, helpers, bases)
        if not operators:
            functions = set(re.findall(r"\bF[.:]+(\w+)\(", body))
            operators = self.of("F", functions.pop())[:1] if len(functions) == 1 else []
        return list({op.name: op for op in operators}.values())


def spelled(scope, name):
    """The function as a program writes it."""
    if scope == "TensorMethods":
        return f"Tensor::{name}"
    scope = scope.replace("F::contrib_operators", "F::contrib").replace("F::numpy", "np").replace("F::npx", "npx")
    return f"{scope}::{name}"


def spellings(calls, scopes):
    """Operator -> its C++ spellings. `scopes`: (scope, name) of the public functions."""
    found = {op.name: [] for op in calls.definitions.operators}
    for scope, name in scopes:
        for op in calls.of(scope, name):
            found[op.name].append(spelled(scope, name))
    for symbol, names in calls.arithmetic.values():
        if symbol in SYMBOLS:
            for name in names:
                found[calls.definitions.find(name).name].append(f"x {symbol} y")
    for (_, prefix, name), operators in calls.layers().items():
        for op in operators if name not in BASES else []:
            found[op.name].append(prefix + name)
    return {op: list(dict.fromkeys(list_)) for op, list_ in found.items()}
