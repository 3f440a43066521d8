"""The C++ functions that follow from definitions alone: declarations, option structs, definitions and methods."""
import re

from operators.layout import COLUMNS, call

# The header of each scope's functions that are written here.
HEADERS = {"F": "frontend/include/kiln/f_plain.h", "F::contrib_operators": "frontend/include/kiln/f_families.h",
           "F::linalg": "frontend/include/kiln/f_families.h", "F::numpy": "frontend/include/kiln/f_numpy.h",
           "F::npx": "frontend/include/kiln/f_numpy.h"}
REGIONS = {"F": "functions", "F::contrib_operators": "functions of contrib", "F::linalg": "functions of linalg",
           "F::numpy": "functions of np", "F::npx": "functions of npx"}
PUBLIC = ["frontend/include/kiln/f.h", *dict.fromkeys(HEADERS.values())]
# The base class of F that has them.
PLAIN = "PlainFunctions"
OPTIONS = "frontend/include/kiln/f_options.h"
METHODS = "frontend/include/kiln/tensor_methods.h"
METHOD_SOURCE = "frontend/api/methods.cpp"
SOURCE = "frontend/api/f_plain.cpp"

SCOPE = re.compile(r"^( *)(?:class|struct)(?: KILN_API)? ([\w:]+)(?: : .*)? \{")
DECLARATION = re.compile(r"^( *)(?:static )?(?:Tensor|Tensors|auto|std::vector<Tensor>|Results) (\w+) ?\(")


def declarations(text, outer=""):
    """(scope, name, line number) of the functions that a header declares."""
    scopes = []
    for number, line in enumerate(text.split("\n")):
        if (match := SCOPE.match(line)) and not line.endswith(";"):
            scopes.append((len(match[1]), match[2] if "::" in match[2] or not scopes else f"{scopes[-1][1]}::{match[2]}"))
        elif scopes and line == " " * scopes[-1][0] + "};":
            scopes.pop()
        elif scopes and (match := DECLARATION.match(line)) and len(match[1]) == scopes[-1][0] + 2:
            yield "F" if scopes[-1][1] == PLAIN else scopes[-1][1], match[2], number


def public_functions(tree):
    """(scope, name) of all functions of F, its scopes, and the methods, in the order of the headers."""
    headers = [*PUBLIC, "frontend/include/kiln/control_flow.h", METHODS]
    found = {(scope, name): None for header in headers for scope, name, _ in declarations(tree.read(header))}
    return list(found)


def hand_written(tree):
    return {(scope, name) for header in [*PUBLIC, METHODS]
            for scope, name, _ in declarations(tree.without_regions(header))}


def plain_functions(tree, definitions, calls):
    """The functions to write: each that no person wrote, of a name that no hand-written function calls."""
    by_hand = hand_written(tree)
    found = {}
    for op in definitions.operators:
        for f in op.functions():
            if (f.scope, f.name) not in by_hand and f.calls not in calls.literal:
                found[f.scope, f.name] = f
    return sorted(found.values(), key=lambda f: (f.scope, f.name.lower(), f.name))


# The first word of the option structs of a scope, whose functions have names of F or of the library.
OPTION_PREFIXES = {"F::numpy": "Numpy", "F::contrib_operators": "Contrib"}


def options_name(f):
    words = f.name if f.name[0].isupper() else "".join(part[:1].upper() + part[1:] for part in f.name.split("_"))
    return OPTION_PREFIXES.get(f.scope, "") + words + "Options"


def parameters(f, declared):
    kind = "Tensors" if f.operator.variadic else "Tensor"
    found = [f"const {kind}& {name}" for name in f.operator.inputs]
    if f.operator.options:
        default = " = {}" if declared and not any(a.required for a in f.operator.options) else ""
        found.append(f"const {options_name(f)}& {'options' if declared else 'o'}{default}")
    return [*found, "Where where = Where::current()" if declared else "Where where"]


def result_type(f):
    return "Tensors" if f.operator.several_results else "Tensor"


def declaration(f):
    return call(f"static {result_type(f)} {f.name}", parameters(f, declared=True), ";", indent=2)


def struct(f):
    lines = [f"struct {options_name(f)} {{"]
    lines += [f"  {a.member()}" for a in f.operator.options]
    return [*lines, "  std::string name = {};  ///< of the node", "};", ""]


def set_option(attribute):
    name, value = attribute.name, f"o.{attribute.name}"
    if attribute.plain_kind in ("tuple", "tuple with None", "list of integers"):
        if attribute.plain_kind == "list of integers":
            value = f"ir::OptionalInts({value}.begin(), {value}.end())"
        if attribute.plain_kind == "tuple" and not attribute.required:
            return f'  given.set_tuple("{name}", {value});'
        given = f'given.set("{name}", ir::AttrValue({value}));'
        return f"  {given}" if attribute.required else f"  if (!o.{name}.empty()) {given}"
    return f'  given.set("{name}", ' + (f"ir::AttrValue({value}));" if attribute.required and attribute.plain_kind not in
                                        ("real", "dtype") else f"{value});")


def definition(f):
    several = f.operator.several_results
    result = ("F::" if several else "") + result_type(f)
    head = call(f"{result} {PLAIN if f.scope == 'F' else f.scope}::{f.name}", parameters(f, declared=False), " {")
    options = f.operator.options
    body = []
    numpy = f.scope in ("F::numpy", "F::npx")
    if f.operator.variadic:
        helper = "call_list_all" if several else "call_list"
        inputs = f.operator.inputs[0]
        if numpy:
            body.append("  const NumpyScope scope;")
        given = "given" if options else "CallAttributes<1>()"
    else:
        helper = "call_all" if several else "np_call" if numpy else "call"
        if several and numpy:
            body.append("  const NumpyScope scope;")
        inputs = "{" + ", ".join(f"&{name}" for name in f.operator.inputs) + "}"
        given = "given" if options else "CallAttributes<1>()" if several else ""
    if options:
        body += [f"  CallAttributes<{len(options)}> given;", *map(set_option, options)]
    arguments = [inputs, *([given] if given else []), "where", *(["o.name"] if options else [])]
    body += call(f'  return {helper}<"{f.calls}">', arguments, ";")
    one = " ".join([head[0], *(line.strip() for line in body), "}"])
    if len(head) == 1 and len(body) == 1 and len(one) <= COLUMNS:
        return [one]
    return [*head, *body, "}"]


def is_method(f, by_hand):
    """A function of one array and nothing else is a method too, unless its name is one of MXNet's layers."""
    return (f.scope == "F" and len(f.operator.inputs) == 1 and not f.operator.variadic and not f.operator.options and
            not f.operator.several_results and f.name[0].islower() and ("TensorMethods", f.name) not in by_hand)


def write_functions(tree, definitions, calls):
    """Writes the regions and the file of definitions; returns the functions."""
    functions = plain_functions(tree, definitions, calls)
    for scope, header in HEADERS.items():
        lines = [line for f in functions if f.scope == scope for line in declaration(f)]
        tree.write_region(header, REGIONS[scope], lines)
    tree.write_region(OPTIONS, "options", [line for f in functions if f.operator.options for line in struct(f)][:-1])
    methods = [f.name for f in functions if is_method(f, hand_written(tree))]
    tree.write_region(METHODS, "methods", [f"Tensor {name}(Where where = Where::current()) const;" for name in methods])
    numpy = {f.name for f in functions if f.scope == "F::numpy"} | {name for scope, name in hand_written(tree) if scope == "F::numpy"}
    tree.write_region(METHOD_SOURCE, "methods",
                      [f"{'KILN_NUMPY_METHOD' if name in numpy else 'KILN_METHOD'}({name})" for name in methods])
    lines = ["// F's functions that follow from the definitions of their operators. Written by tools/reference.",
             '#include "frontend/api/f_call.h"', "", "#include <kiln/f_numpy.h>", "", "namespace kiln {", ""]
    lines += [line for f in functions for line in definition(f)]
    tree.write(SOURCE, "\n".join([*lines, "", "}  // namespace kiln", ""]))
    for name in methods:
        calls.bodies["TensorMethods", name] = (f"np::{name}( " if name in numpy else "") + f"F::{name}("
    calls.add_plain(functions)
    return functions
