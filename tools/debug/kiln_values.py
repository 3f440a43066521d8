"""The text that every debugger shows of Kiln's types: one line, and the parts below it.

A front end (kiln_gdb.py, kiln_lldb.py) wraps its values in a class with these members:

value["name"]           a member, also of a base
int(value)              an integer, an enumerator or a pointer's address
value.target()          the value that a pointer points to
value.item(i)           element i of an array, or of the elements that a pointer points to
value.size              bytes
value.address           the address of the value
value.read(at, size)    memory of the process, as bytes
value.symbol(name)      the address of a symbol of the process, or None

Nothing here calls a function of the process. Containers are read as libstdc++ lays them out.
"""
import struct

MAX_ELEMENTS = 8  # of an array in its line
MAX_NAMES = 8  # of inputs, outputs and operands in a line
MAX_RANK = 8  # kiln::Shape::max_rank
MAX_PARTS = 100_000  # of a list; more are memory that is no list yet

# By the value of kiln::DType: its name, the character of Python's struct, the digits of an element.
DTYPES = {
    0: ("float32", "f", 7),
    1: ("float64", "d", 15),
    2: ("float16", "e", 4),
    3: ("uint8", "B", 0),
    4: ("int32", "i", 0),
    5: ("int8", "b", 0),
    6: ("int64", "q", 0),
    7: ("bool", "B", 0),
    12: ("bfloat16", "H", 3),
}
DEVICES = {0: "cpu", 1: "cuda"}
SPACES = ("input", "output", "arena", "constant", "prepacked", "rng")  # kiln::BufferRef::Space
CONTROLS = ("kernel", "loop", "branch", "check")  # the alternatives of kiln::Step::control

# kiln::DebugLayout (frontend/tensor/debug_layout.cpp): the offsets that follow its version and its number of members.
LAYOUT_VERSION = 1
LAYOUT = ("data", "device", "shape", "node", "output", "node_name")


class Unreadable(Exception):
    """A value that has no sense yet, or memory that is not there."""


def text_of(value):
    """The characters of a std::string."""
    size = int(value["_M_string_length"])
    if not 0 <= size <= MAX_PARTS:
        raise Unreadable("no string yet")
    return value.read(int(value["_M_dataplus"]["_M_p"]), size).decode("utf-8", "replace")


def items_of(value):
    """The elements of a std::vector."""
    begin, end = value["_M_impl"]["_M_start"], value["_M_impl"]["_M_finish"]
    if int(begin) == int(end):
        return []
    count, rest = divmod(int(end) - int(begin), begin.target().size)
    if rest or not 0 <= count <= MAX_PARTS:
        raise Unreadable("no list yet")
    return [begin.item(i) for i in range(count)]


def pointee_of(value):
    """The target of a std::shared_ptr, or None."""
    pointer = value["_M_ptr"]
    return pointer.target() if int(pointer) else None


def some_of(texts):
    """Up to MAX_NAMES texts in a row."""
    shown = texts[:MAX_NAMES]
    return ", ".join(shown + [f"... ({len(texts)})"] if len(texts) > len(shown) else shown)


def count_of(number, one, more):
    return f"{number} {one if number == 1 else more}"


def tuple_text(extents):
    """As Python prints a tuple."""
    return f"({extents[0]},)" if len(extents) == 1 else f"({', '.join(map(str, extents))})"


def device_text(kind, number):
    return f"{DEVICES.get(kind, f'device kind {kind}')}({number})"


def element_text(number, dtype):
    _, _, digits = DTYPES[dtype]
    if dtype == 7:
        return "true" if number else "false"
    return format(number, f".{digits}g") if digits else str(number)


def numbers_of(data, dtype):
    """The numbers that bytes hold."""
    name, code, _ = DTYPES[dtype]
    numbers = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
    if name == "bfloat16":  # the upper half of a float32
        return [struct.unpack("<f", struct.pack("<I", n << 16))[0] for n in numbers]
    return numbers


# One line for each type.


def extents_of(value):
    rank = int(value["rank_"])
    if not 0 <= rank <= MAX_RANK:
        raise Unreadable("no shape yet")
    elements = value["dims_"]["_M_elems"]
    return [int(elements.item(i)) for i in range(rank)]


def shape(value):
    return tuple_text(extents_of(value))


def dtype(value):
    if int(value) not in DTYPES:
        raise Unreadable(f"no dtype: {int(value)}")
    return DTYPES[int(value)][0]


def device(value):
    return device_text(int(value["kind"]), int(value["id"]))


def tensor_type(value):
    return f"{dtype(value['dtype'])} {shape(value['shape'])}"


def layout_of(value):
    """The places of an array's members, from the library that the process has loaded."""
    table = value.symbol("kiln_debug_layout")
    if table is None:
        raise Unreadable("the library has no kiln_debug_layout")
    version, count = struct.unpack("<2I", value.read(table, 8))
    if version != LAYOUT_VERSION or count < len(LAYOUT):
        raise Unreadable(f"kiln_debug_layout {version}: these printers know version {LAYOUT_VERSION}")
    return dict(zip(LAYOUT, struct.unpack(f"<{len(LAYOUT)}I", value.read(table + 8, 4 * len(LAYOUT)))))


def tensor(value):
    array = int(value["array_"]["_M_ptr"])
    if array == 0:
        return "no array"
    extents, kind = extents_of(value["shape_"]), int(value["dtype_"])
    line = f"{dtype(value['dtype_'])} {tuple_text(extents)}"
    layout = layout_of(value)

    def number(at, code):
        return struct.unpack(f"<{code}", value.read(at, struct.calcsize(code)))[0]

    node = number(array + layout["node"], "Q")
    if node:
        begin, size = struct.unpack("<2Q", value.read(node + layout["node_name"], 16))
        if size > MAX_PARTS:
            raise Unreadable("no node yet")
        name = value.read(begin, size).decode("utf-8", "replace")
        output = number(array + layout["output"], "I")
        return f"{line} traced: {name}" + (f":{output}" if output else "")

    device_kind, device_id = struct.unpack("<2i", value.read(array + layout["device"], 8))
    on_host = DEVICES.get(device_kind) == "cpu"
    line += f" @{device_text(device_kind, device_id)}"
    rank_at = value["shape_"]["rank_"].address - value["shape_"].address
    rank = number(array + layout["shape"] + rank_at, "i")
    if not 0 <= rank <= MAX_RANK:
        raise Unreadable("no array yet")
    whole = list(struct.unpack(f"<{rank}q", value.read(array + layout["shape"], 8 * rank)))
    offset = int(value["offset_"])
    if offset or whole != extents:
        line += f", view of {tuple_text(whole)}" + (f" from element {offset}" if offset else "")
    if not on_host:
        return line
    count = 1
    for extent in extents:
        count *= extent
    data = number(array + layout["data"], "Q")
    if count and not data:
        return f"{line}: elements released"
    size = struct.calcsize(DTYPES[kind][1])
    shown = max(0, min(count, MAX_ELEMENTS))
    numbers = numbers_of(value.read(data + offset * size, shown * size), kind) if shown else []
    texts = [element_text(n, kind) for n in numbers] + (["..."] if count > shown else [])
    return f"{line}: [{', '.join(texts)}]"


def ir_value(value):
    number = int(value["id"]) & 0xFFFFFFFF
    return "no value" if number == 0xFFFFFFFF else f"%{number}"


def entry(value):
    node = pointee_of(value["node"])
    if node is None:
        return "no node"
    output = int(value["output"])
    return text_of(node["name"]) + (f":{output}" if output else "")


def types_of(value):
    return some_of([tensor_type(t) for t in items_of(value)])


def node(value):
    name, operator = text_of(value["name"]), text_of(value["op_name"])
    types = types_of(value["types"])
    if operator == "null":
        return f"variable {name}" + (f": {types}" if types else "")
    line = f"{operator} {name}({some_of([entry(e) for e in items_of(value['inputs'])])})"
    if types:
        line += f" -> {types}"
    file = text_of(value["location"]["file"])
    return line + (f" at {file.split('/')[-1]}:{int(value['location']['line'])}" if file else "")


def body(value):
    inputs = some_of([text_of(pointee_of(n)["name"]) for n in items_of(value["inputs"])])
    outputs = some_of([entry(e) for e in items_of(value["outputs"])])
    return f"({inputs}) -> ({outputs}), {count_of(len(items_of(value['nodes'])), 'node', 'nodes')}"


def graph(value):
    writes = len(items_of(value["writes"]))
    line = f"{text_of(value['name'])}{body(value)}"
    line += f", {count_of(writes, 'write', 'writes')}" if writes else ""
    return line + (", training" if int(value["train"]) else "")


def buffer_ref(value):
    space, index, offset = int(value["space"]), int(value["index"]), int(value["offset"])
    if space >= len(SPACES):
        raise Unreadable("no place yet")
    line = SPACES[space] + (f" {index}" if SPACES[space] in ("input", "output", "constant", "prepacked") else "")
    return line + (f" + {offset}" if offset or SPACES[space] == "arena" else "")


def planned_kernel(value):
    code = pointee_of(value["object"])
    size = int(code["_M_impl"]["_M_finish"]) - int(code["_M_impl"]["_M_start"]) if code else 0
    schedule = text_of(value["gpu"]["schedule"])
    line = text_of(value["name"]) + (f", {schedule}" if schedule else "")
    return f"{line}, {count_of(size, 'byte', 'bytes')} of code" if code else f"{line}, a function of the process"


def step(value):
    # Of a std::variant; -1 of one without a value.
    kind = int(value["control"]["_M_index"]) & 0xFF
    if kind >= len(CONTROLS):
        raise Unreadable("no step yet")
    what = f"kernel {int(value['kernel'])}" if kind == 0 else CONTROLS[kind]
    name = text_of(value["name"])
    operands = some_of([buffer_ref(o) for o in items_of(value["operands"])])
    extent, grain = int(value["extent"]), int(value["grain"])
    line = (f"{name}: " if name else "") + f"{what}({operands})"
    return line + (f", extent {extent}, grain {grain}" if kind == 0 else "")


def plan(value):
    line = f"{text_of(value['name'])}({types_of(value['inputs'])}) -> ({types_of(value['outputs'])})"
    for member, one, more in (("steps", "step", "steps"), ("kernels", "kernel", "kernels"),
                              ("constants", "constant", "constants"), ("prepacked", "prepacked", "prepacked"),
                              ("write_backs", "write-back", "write-backs"), ("bodies", "body", "bodies")):
        number = len(items_of(value[member]))
        if number or member in ("steps", "kernels"):
            line += f", {count_of(number, one, more)}"
    arena = int(value["saved_bytes"]) + int(value["arena_bytes"])
    return line + (f", {count_of(arena, 'byte', 'bytes')} of arena" if arena else "")


# The parts below a line: (name, value).


def parts_in(*members):
    def parts(value):
        for member in members:
            for i, item in enumerate(items_of(value[member])):
                yield f"{member}[{i}]", item
    return parts


def nodes_in(value):
    for i, pointer in enumerate(items_of(value["nodes"])):
        yield f"nodes[{i}]", pointee_of(pointer)


# The types that have a line, and the function of their parts.
TYPES = {
    "kiln::Shape": (shape, None),
    "kiln::DType": (dtype, None),
    "kiln::Device": (device, None),
    "kiln::Tensor": (tensor, None),
    "kiln::TensorType": (tensor_type, None),
    "kiln::ir::Value": (ir_value, None),
    "kiln::ir::Entry": (entry, None),
    "kiln::ir::Node": (node, None),
    "kiln::ir::Subgraph": (body, nodes_in),
    "kiln::ir::Graph": (graph, nodes_in),
    "kiln::BufferRef": (buffer_ref, None),
    "kiln::PlannedKernel": (planned_kernel, None),
    "kiln::Step": (step, None),
    "kiln::ExecutablePlan": (plan, parts_in("kernels", "steps", "bodies")),
}


def line_of(type_name, value):
    """The line of a value, also of one that cannot be read."""
    try:
        return TYPES[type_name][0](value)
    except (Unreadable, struct.error) as error:
        return f"<{error}>"


def parts_of(type_name, value):
    """The parts below the line: (name, value)."""
    parts = TYPES[type_name][1]
    try:
        return list(parts(value)) if parts else []
    except Unreadable:
        return []
