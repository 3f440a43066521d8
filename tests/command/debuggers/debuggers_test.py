"""The text that gdb and lldb show of Kiln's types, by the printers of tools/debug.

usage: debuggers_test.py gdb|lldb SOURCE_FOLDER ARRAYS_PROGRAM GRAPH_PROGRAM LIBRARY
       debuggers_test.py tables SOURCE_FOLDER

`gdb` loads the printers with the library, as users do, and by `source`. `tables` needs no debugger: it compares the
printers' tables with the sources.
"""

import pathlib
import re
import shutil
import subprocess
import sys

NAMES = {"gdb": ["gdb"], "lldb": ["lldb", "lldb-22", "lldb-19", "lldb-16"]}

# By the number of the stop, the expressions in the frame that called stop(), and what the debugger shows.
ARRAYS = [
    {
        "scalar": "()",
        "vector": "(5,)",
        "matrix": "(2, 3)",
        "bfloat16": "bfloat16",
        "boolean": "bool",
        "device": "cuda(1)",
        "none": "no array",
        "f32": "float32 (2, 3) @cpu(0): [0, 0.5, -1, 3.25, 1e+10, 0.1]",
        "f64": "float64 (2,) @cpu(0): [0.1, 1e+300]",
        "i8": "int8 (2,) @cpu(0): [-128, 127]",
        "u8": "uint8 (1, 2) @cpu(0): [0, 255]",
        "i32": "int32 (1,) @cpu(0): [-7]",
        "i64": "int64 (1,) @cpu(0): [4611686018427387904]",
        "bools": "bool (2,) @cpu(0): [true, false]",
        "f16": "float16 (3,) @cpu(0): [1, -2, inf]",
        "bf16": "bfloat16 (3,) @cpu(0): [1, -2, inf]",
        "long_array": "float32 (4, 25) @cpu(0): [0, 1, 2, 3, 4, 5, 6, 7, ...]",
        "empty": "float32 (0, 3) @cpu(0): []",
        "rows": "float32 (2, 25) @cpu(0), view of (4, 25) from element 25: [25, 26, 27, 28, 29, 30, 31, 32, ...]",
        "reshaped": "float32 (6,) @cpu(0), view of (2, 3): [0, 0.5, -1, 3.25, 1e+10, 0.1]",
        "reference": "float32 (2, 3) @cpu(0): [0, 0.5, -1, 3.25, 1e+10, 0.1]",
        "no_shape": "<no shape yet>",
        "no_tensor": "<no shape yet>",
        "y": "float32 (2, 2) @cpu(0): [-0.5, -0.5, 1e+10, 1e+10]",
        "released": "float32 (2, 3) @cpu(0): elements released",
    },
    {
        "x": "float32 (2, 4) traced: data",
        "half": "float32 (2, 2) traced: traced0_split0:1",
    },
]
GRAPH = [
    {
        "row": "float32 (2, 4)",
        "graph": """net0(data, bias) -> (split0, split0:1), 4 nodes, 1 write, training
                    nodes[0] = variable data: float32 (2, 4)
                    nodes[1] = variable bias
                    nodes[2] = broadcast_add plus0(data, bias) -> float32 (2, 4) at net.cpp:12
                    nodes[3] = SliceChannel split0(plus0) -> float32 (2, 2), float32 (2, 2)""",
        "body": """(data) -> (split0:1), 2 nodes
                   nodes[0] = variable data: float32 (2, 4)
                   nodes[1] = SliceChannel split0(plus0) -> float32 (2, 2), float32 (2, 2)""",
        "entry": "split0:1",
        "no_node": "no node",
        "value": "%7",
        "no_value": "no value",
        "*sum_node": "broadcast_add plus0(data, bias) -> float32 (2, 4) at net.cpp:12",
        "plan": """net0(float32 (2, 4), float32 (2, 2)) -> (float32 (2, 4)), 3 steps, 3 kernels, 1 body, 256 bytes of arena
                   kernels[0] = dense_relu, 5 bytes of code
                   kernels[1] = softmax, rows by warps, 1 byte of code
                   kernels[2] = native, a function of the process
                   steps[0] = softmax: kernel 1(input 1, arena + 64, output 0 + 8, rng), extent 16, grain 4
                   steps[1] = loop(constant 2)
                   steps[2] = take0: check()
                   bodies[0] = step() -> (), 0 steps, 0 kernels""",
    },
]


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit()


def lines_of(text):
    """A value as both debuggers show it: without gdb's braces and commas, and without lldb's."""
    lines = [re.sub(r"(?: =)? \{$|,$", "", line.strip()) for line in text.strip().split("\n")]
    return [line for line in lines if line != "}"]


def run(debugger, program, stops, load, options):
    """The texts that the debugger shows, stop by stop."""
    show = {"gdb": "print {}", "lldb": "frame variable -- {}"}[debugger[0]]
    commands = [*load, {"gdb": "break stop", "lldb": "breakpoint set --name stop"}[debugger[0]], "run"]
    for number, values in enumerate(stops):
        commands += ["up", f"script print('@stop {number}')" if debugger[0] == "lldb" else f"echo @stop {number}\\n"]
        for name in values:
            mark = f"@value {name}"
            commands += [f"script print('{mark}')" if debugger[0] == "lldb" else f"echo {mark}\\n", show.format(name)]
        commands += ["script print('@end')" if debugger[0] == "lldb" else "echo @end\\n", "continue"]
    script = pathlib.Path(f"{pathlib.Path(program).name}.{debugger[0]}")
    script.write_text("\n".join(commands) + "\n")
    batch = {"gdb": ["-nx", "-batch", "-x", script], "lldb": ["--no-lldbinit", "--batch", "--source", script]}[debugger[0]]
    # A program that waits for ever would leave two processes: the debugger is told to end, and takes its program with it.
    done = subprocess.run(["timeout", "--kill-after=10", "300", debugger[1], *options, *batch, program], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    output = done.stdout
    if re.search(r"ptrace: Operation not permitted|personality set failed|not allowed to attach", done.stderr + output):
        skip(f"{debugger[0]} may not trace a program on this machine")
    shown = []
    for part in re.split(r"^.*@stop \d+$", output, flags=re.M)[1:]:
        texts = re.split(r"^(?!\(lldb\) script).*@value (\S+)$", part.split("@end")[0], flags=re.M)
        # gdb: "$1 = VALUE"; lldb: "(type) name = VALUE" after its echo of the command.
        values = {}
        for name, text in zip(texts[1::2], texts[2::2]):
            text = re.sub(r"^\(lldb\) .*\n", "", text.strip() + "\n", flags=re.M).strip()
            values[name] = re.sub(r"^(?:\$\d+|\(.*?\) \S+) = (?:@0x[0-9a-f]+: |0x[0-9a-f]+ )?", "", text)
        shown.append(values)
    return shown, f"{output}\n{done.stderr}"


def compare(title, stops, run_of):
    shown, log = run_of
    errors = []
    for number, values in enumerate(stops):
        for name, expected in values.items():
            found = shown[number].get(name) if number < len(shown) else None
            if found is None or lines_of(found) != lines_of(expected):
                errors.append(f"{title}: {name} is\n{found}\ninstead of\n{expected}")
    if errors:
        print(log)
    else:
        print(f"{title}: {sum(map(len, stops))} values")
    return errors


def debugger_of(kind):
    path = next(filter(None, map(shutil.which, NAMES[kind])), None)
    if path is None:
        skip(f"{kind} is not installed")
    script = {"gdb": ["-nx", "-batch", "-ex", "python print(6 * 7)"],
              "lldb": ["--no-lldbinit", "--batch", "-o", "script print(6 * 7)"]}[kind]
    if "42\n" not in subprocess.run([path, *script], capture_output=True, text=True).stdout:
        skip(f"{path} has no Python")
    return kind, path


def check_debugger(kind, source, arrays, graph, library):
    debugger = debugger_of(kind)
    printers = source / "tools/debug"
    if kind == "lldb":
        load = [f"command script import {printers}/kiln_lldb.py"]
        return (compare("arrays", ARRAYS, run(debugger, arrays, ARRAYS, load, [])) +
                compare("graph", GRAPH, run(debugger, graph, GRAPH, load, [])))
    pretty = ["set print pretty on", "set print frame-arguments none"]
    trusted = ["-iex", f"add-auto-load-safe-path {pathlib.Path(library).parent}"]
    return (compare("arrays, with the library", ARRAYS, run(debugger, arrays, ARRAYS, pretty, trusted)) +
            compare("graph, by source", GRAPH, run(debugger, graph, GRAPH, [f"source {printers}/kiln_gdb.py", *pretty], [])))


def check_tables(source):
    """Whether the printers know what the sources say of dtypes, places of operands and the layout of arrays."""
    sys.path.insert(0, str(source / "tools/debug"))
    import kiln_values as values

    def text(name):
        return (source / name).read_text()

    enumerators = dict(re.findall(r"^  (\w+) = (\d+),$", text("runtime/include/kiln/dtype.h"), re.M))
    rows = re.findall(r'\{\w+, "(\w+)", "(\w+)", Kind::\w+, (\d+),', text("runtime/dtype_table.h"))
    rank = re.search(r"max_rank = (\d+);", text("runtime/include/kiln/shape.h"))[1]
    plan, layout = text("runtime/plan.h"), text("frontend/tensor/debug_layout.cpp")
    spaces = re.search(r"enum class Space : std::uint8_t \{ (.*?) \}", plan)[1]
    controls = re.search(r"std::variant<std::monostate, (.*?)> control", plan)[1]
    members = re.findall(r"^  std::uint32_t (\w+) = (.*?);", layout, re.M)
    kinds = re.search(r"enum class Kind \{([^}]*)\}", text("runtime/include/kiln/device.h"))[1]
    kinds = re.findall(r"(\w+),\s*///<", kinds)
    checks = {
        "DTYPES": ({int(enumerators[e]): name for e, name, _ in rows}, {k: v[0] for k, v in values.DTYPES.items()}),
        "sizes of DTYPES": ({int(enumerators[e]): int(size) for e, _, size in rows},
                            {k: values.struct.calcsize(v[1]) for k, v in values.DTYPES.items()}),
        "DEVICES": (kinds, [values.DEVICES[k] for k in sorted(values.DEVICES)]),
        "MAX_RANK": (int(rank), values.MAX_RANK),
        "SPACES": (tuple(spaces.split(", ")), values.SPACES),
        "CONTROLS": (["LoopPlan", "BranchPlan", "BoundsCheck"], controls.split(", ")),
        "number of CONTROLS": (1 + len(controls.split(", ")), len(values.CONTROLS)),
        "LAYOUT_VERSION": (int(members[0][1]), values.LAYOUT_VERSION),
        "members of the layout": (int(members[1][1]), len(members) - 2),
        "LAYOUT": (tuple(name for name, _ in members[2:]), values.LAYOUT),
    }
    print(f"{len(rows)} dtypes, {len(members)} members of the layout")
    return [f"{what}: the sources have {a}, the printers {b}" for what, (a, b) in checks.items() if a != b] + \
        ([] if len(rows) == len(enumerators) else ["dtype.h and dtype_table.h could not be read"])


def main():
    kind, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    errors = check_tables(source) if kind == "tables" else check_debugger(kind, source, *sys.argv[3:])
    return "\n".join(errors) or None


if __name__ == "__main__":
    sys.exit(main())
