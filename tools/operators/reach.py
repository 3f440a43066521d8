"""Which attributes of the operators a C++ program can give."""
import re

OPTIONS = re.compile(r"^struct (?:KILN_API )?(\w+Options)\b[^;{]*\{(.*?)^\};", re.M | re.S)
HEAD = re.compile(r"\b(?:Tensor|Tensors|auto|Results|std::vector<Tensor>) (\w+) ?\(([^;{]*?)\)(?: const)?\s*[;{]", re.S)
# The helpers of calls give them: the length of a list of inputs, and whether a number is written as an integer.
OF_HELPERS = {"num_args", "is_int"}
MARK = "symbol files"


def words(text):
    return set(re.findall(r"\w+", re.sub(r"//.*", "", text)))


def headers(tree):
    """Option struct -> the words of its members; function -> the words of its parameters, in the public headers."""
    options, parameters = {}, {}
    for name in tree.files("frontend/include/kiln/*.h"):
        text = re.sub(r"//.*", "", tree.read(name))
        options.update({match[1]: words(match[2]) for match in OPTIONS.finditer(text)})
        for match in HEAD.finditer(text):
            parameters.setdefault(match[1], set()).update(words(match[2]))
    return options, parameters


def unreached(tree, calls, spellings, plain):
    """(operator, attribute) of each that has an effect, that no C++ call gives, and whose meaning does not say so.

    `plain`: the names of the operators that have a function written from the definition, with all attributes.
    """
    options, parameters = headers(tree)
    layers = set().union(*(words(tree.read(name)) for name in tree.files("frontend/gluon/**/*.cpp")))
    of_layers = {op.name for operators in calls.layers().values() for op in operators}
    for op in calls.definitions.operators:
        if op.name in plain or op.name.endswith("_scalar") or not spellings[op.name]:
            continue
        given = set(layers) if op.name in of_layers else set()
        for (scope, name), body in calls.bodies.items():
            if op not in calls.of(scope, name):
                continue
            own = words(body) | parameters.get(name, set())
            given |= own.union(*(options.get(w, set()) | words(calls.helpers.get(w, "")) for w in own))
        for attribute in op.attributes:
            if not attribute.ignored and attribute.name not in given | OF_HELPERS and MARK not in attribute.meaning:
                yield op.name, attribute.name
