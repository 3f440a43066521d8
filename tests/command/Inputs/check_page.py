"""A page of `kiln dump --html`: one file below 5 MB that refers to nothing outside, whose data parse, and whose references lead somewhere.

usage: check_page.py PAGE [--nodes N] [--backward] [--body] [--asm FILE] [--programs FOLDER] [--not TEXT]

--nodes: at least this number. --backward: a graph is the backward part. --body: kernels of a body ran. --asm: the output of `kiln dump --stage asm`
for the same call, which has the same instructions. --programs: writes the programs to FOLDER/N.cpp. --not: a text that the file must not have.
"""
import argparse
import json
import pathlib
import re

parser = argparse.ArgumentParser()
parser.add_argument("page", type=pathlib.Path)
parser.add_argument("--nodes", type=int, default=1)
parser.add_argument("--backward", action="store_true")
parser.add_argument("--body", action="store_true")
parser.add_argument("--asm", type=pathlib.Path)
parser.add_argument("--programs", type=pathlib.Path)
parser.add_argument("--not", dest="absent")
options = parser.parse_args()

raw = options.page.read_bytes()
assert len(raw) < 5_000_000, f"{len(raw)} bytes"
text = raw.decode()
assert not options.absent or options.absent not in text, f"{options.absent} is in the page"

match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
assert match, "there are no data"
data = json.loads(match[1])
frame = text[: match.start(1)] + text[match.end(1) :]
# Nothing is loaded: no address, no import, no element that would.
assert not re.search(r"https?:|@import|url\(|\bsrc=|<link|<iframe|<img|fetch\(|XMLHttpRequest", frame), "the page refers to something outside"
assert frame.count("<script") == 2 and frame.count("<style") == 1, "elements"
for target in re.findall(r'href="#([^"]*)"', frame):
    assert f'id="{target}"' in frame, f"#{target} leads nowhere"

files, nodes, graphs, kernels, assemblies = (data[name] for name in ("files", "nodes", "graphs", "kernels", "assemblies"))
assert len(nodes) >= options.nodes and kernels and graphs and assemblies, (len(nodes), len(kernels), len(graphs), len(assemblies))


def check_place(at):
    if at is not None:
        assert any(number == at[1] for number, _ in files[at[0]]["lines"]), at


for node in nodes:
    check_place(node["at"])
    assert node["name"] and node["op"] and all(-1 <= index < len(nodes) for index, _ in node["inputs"]), node
covered = 0
for g, graph in enumerate(graphs):
    assert all(k["graph"] == g for k in kernels[graph["first"] : graph["first"] + graph["count"]]), graph
    covered += graph["count"]
assert covered == len(kernels)
assert not options.backward or any(g["backward"] for g in graphs), graphs
for kernel in kernels:
    for at in kernel["lines"] + kernel.get("code_lines", []):
        check_place(at)
    if "assembly" not in kernel:  # a loop or branch
        assert kernel["nodes"] and kernel["lines"], kernel
        continue
    assert all(0 <= n < len(nodes) for n in kernel["nodes"]) and 0 <= kernel["assembly"] < len(assemblies), kernel["name"]
    assert kernel["bytes"] > 0 and kernel["multiply_adds"] >= 0 and kernel["operations"], kernel["name"]
    assert kernel.get("program") or kernel["no_program"], kernel["name"]
    places = assemblies[kernel["assembly"]]["places"]
    assert all(number is None or 0 <= number < len(kernel["code_lines"]) for _, number in places), kernel["name"]
    # The machine's model and the lines of instructions are of CPUs.
    on_cpu = graphs[kernel["graph"]]["device"].startswith("cpu")
    assert not (on_cpu and kernel["lines"]) or any(number is not None for _, number in places), f"{kernel['name']}: no instruction has a line"
    if "role" not in kernel or kernel["in_body"] and kernel["runs"] > 0:
        assert kernel["us"] > 0 and kernel["runs"] > 0, kernel["name"]
        assert kernel["limit_us"] > 0 and kernel["limit_share"] > 0 if on_cpu else "limit_us" not in kernel and kernel["schedule"], kernel["name"]
for assembly in assemblies:
    count = assembly["text"].count("\n")
    assert count > 0 and " ret" in assembly["text"], assembly["text"][:200]
    assert all(0 <= begin < count for begin, _ in assembly["places"]), assembly["places"]
timed = [k for k in kernels if "us" in k]
assert any(k["lines"] for k in timed), "no kernel has a line"
assert any(k.get("nodes") for k in timed), "no kernel has a node"

if options.body:
    bodies = [k for k in kernels if k["in_body"] and k["runs"] > 0 and "assembly" in k]
    assert bodies and all(k["us"] > 0 and k["limit_share"] > 0 for k in bodies), [k["name"] for k in bodies]
    assert any(k["runs"] > 1 and k["multiply_adds"] > 0 for k in bodies), [(k["name"], k["runs"]) for k in bodies]

if options.asm:
    # Instructions of each function, without directives, comments and marks.
    functions = []
    for line in options.asm.read_text().split("\n"):
        line = " ".join(line.split("#")[0].split())
        if re.match(r"kiln_\w+:$", line):
            functions.append([])
        elif functions and line and not line.startswith(".") and not line.endswith(":"):
            functions[-1].append(line)
    shown = [[line.strip() for line in a["text"].split("\n") if line.startswith(" ")] for a in assemblies]
    assert {tuple(f) for f in functions} == {tuple(f) for f in shown}, "the page shows other instructions"

if options.programs:
    options.programs.mkdir(parents=True, exist_ok=True)
    programs = sorted({k["program"] for k in kernels if k.get("program")})
    for number, program in enumerate(programs):
        (options.programs / f"{number}.cpp").write_text(program)
print(f"{len(raw)} bytes, {len(nodes)} nodes, {len(kernels)} kernels, {sum('program' in k for k in kernels)} programs")
