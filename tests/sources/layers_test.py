"""Who may include whom: the table below, a folder a line. A folder may include itself and what its line names, nothing else.

usage: layers_test.py SOURCE_FOLDER [--renew]

Data flows one way, from frontend over ir and passes to codegen, and runtime is beneath. A line that names more than a file
needs is an error too, so that the table stays what the sources do. The README of a folder has its line of the table, which --renew
writes. A second table says who owns a step of a protocol.
"""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "runtime": [],
    "runtime/cuda": ["runtime"],
    "ir": ["runtime"],
    "ir/primitives": ["ir", "runtime"],
    "passes": ["ir", "runtime"],
    # At the ground: instruction sets, machines and what follows from them.
    "codegen/target": ["passes", "runtime"],
    "codegen/math": ["codegen/target", "ir", "runtime"],
    # The parts of the kernels of all targets.
    "codegen/emit": ["codegen/math", "codegen/target", "ir", "runtime"],
    # The interface of a target. Targets do not know each other; the registry alone knows all.
    "codegen/backend": ["codegen/emit", "codegen/target", "ir", "passes", "runtime"],
    "codegen/cpu": ["codegen/backend", "codegen/emit", "codegen/target", "ir", "runtime"],
    "codegen/cpu/contraction": ["codegen/cpu", "codegen/emit", "codegen/target"],
    "codegen/cpu/convolution": [
        "codegen/cpu", "codegen/cpu/contraction", "codegen/emit", "codegen/math", "codegen/target", "ir", "runtime"],
    "codegen/cpu/reduction": ["codegen/cpu", "codegen/emit", "codegen/math", "codegen/target"],
    "codegen/cpu/order": ["codegen/cpu", "codegen/emit", "codegen/math", "runtime"],
    "codegen/cpu/pointwise": ["codegen/cpu", "codegen/emit", "codegen/math", "codegen/target", "passes"],
    "codegen/cuda": ["codegen/backend", "codegen/target", "codegen/emit", "ir", "passes", "runtime", "runtime/cuda"],
    "codegen/cuda/contraction": ["codegen/cuda", "codegen/emit", "ir", "runtime"],
    "codegen/registry": ["codegen/backend", "codegen/cpu", "codegen/cuda", "codegen/target", "runtime"],
    "codegen/driver": ["codegen/backend", "codegen/emit", "codegen/registry", "codegen/target", "ir", "passes", "runtime"],
    "frontend/ops": ["ir", "runtime"],
    # Arrays are data. A call is what a program asks of them; eager, autograd and trace are its three modes, which do not know each
    # other. A room that knows two of them is above them.
    "frontend/tensor": ["ir", "runtime"],
    "frontend/call": ["frontend/tensor", "ir", "runtime"],
    "frontend/view": ["frontend/call", "frontend/tensor", "runtime"],
    "frontend/eager": ["codegen/driver", "frontend/call", "frontend/tensor", "runtime"],
    "frontend/autograd": ["codegen/driver", "frontend/call", "frontend/ops", "frontend/tensor", "frontend/view", "ir", "runtime"],
    "frontend/trace": ["frontend/call", "frontend/tensor", "frontend/view", "ir", "runtime"],
    "frontend/control": ["frontend/autograd", "frontend/call", "frontend/tensor", "frontend/trace", "frontend/view", "ir", "runtime"],
    "frontend/api": [
        "frontend/autograd", "frontend/call", "frontend/ops", "frontend/tensor", "frontend/trace", "frontend/view", "ir", "runtime"],
    "frontend/formats": ["frontend/call", "frontend/tensor", "runtime"],
    "frontend/data": ["frontend/call", "frontend/formats", "frontend/tensor", "runtime"],
    "frontend/symbol": [
        "frontend/call", "frontend/formats", "frontend/symbol/json", "frontend/tensor", "frontend/trace", "ir", "runtime"],
    "frontend/symbol/json": ["frontend/formats", "ir"],
    "frontend/gluon/parameter": [
        "frontend/autograd", "frontend/call", "frontend/gluon/block", "frontend/symbol", "frontend/tensor", "ir", "runtime"],
    "frontend/gluon/block": [
        "frontend/call", "frontend/formats", "frontend/gluon/hybridize", "frontend/gluon/parameter", "frontend/symbol",
        "frontend/symbol/json", "frontend/tensor", "frontend/trace", "frontend/view", "ir", "runtime"],
    "frontend/gluon/hybridize": [
        "codegen/driver", "frontend/autograd", "frontend/call", "frontend/gluon/block", "frontend/gluon/parameter",
        "frontend/tensor", "frontend/trace", "frontend/view", "ir", "runtime"],
    "frontend/gluon/nn": ["frontend/call", "frontend/gluon/block", "frontend/tensor", "ir", "runtime"],
    "frontend/gluon/rnn": [
        "frontend/api", "frontend/call", "frontend/gluon/block", "frontend/symbol", "frontend/tensor", "frontend/trace", "ir", "runtime"],
    "frontend/gluon/loss": ["frontend/api", "frontend/call", "frontend/tensor", "ir", "runtime"],
    "frontend/gluon/metric": ["frontend/call", "ir", "runtime"],
    "frontend/gluon/trainer": [
        "codegen/driver", "frontend/autograd", "frontend/call", "frontend/formats", "frontend/gluon/block",
        "frontend/gluon/hybridize", "frontend/gluon/parameter", "frontend/tensor", "frontend/trace", "frontend/view", "ir", "runtime"],
    "frontend/gluon/checkpoint": [
        "frontend/call", "frontend/formats", "frontend/gluon/parameter", "frontend/gluon/trainer", "frontend/tensor", "ir", "runtime"],
    "frontend/gluon/quantize": [
        "frontend/call", "frontend/gluon/block", "frontend/gluon/parameter", "frontend/symbol", "frontend/tensor", "ir", "runtime"],
    "frontend/gluon/progress": ["frontend/call", "frontend/formats", "runtime"],
    "frontend/gluon/model_zoo": ["frontend/call", "frontend/tensor", "runtime"],
    "frontend/model": [
        "codegen/driver", "frontend/call", "frontend/formats", "frontend/symbol", "frontend/tensor", "ir", "runtime"],
    "frontend/page": ["codegen/driver", "frontend/call", "frontend/symbol", "frontend/symbol/json", "ir", "runtime"],
    # Programs that use the library as users do, and the internal interfaces that the command uses.
    "tools/kiln": ["codegen/driver", "codegen/target", "frontend/model", "frontend/tensor", "runtime"],
    "tools/precompile": [],
    "bench": [],
    "examples": [],
    # Public headers, which include each other as <kiln/...>.
    "runtime/include/kiln": [],
    "frontend/include/kiln": [],
}
# The rooms that a call goes through: of two of them at most one may know the other. The modes know none of each other.
MODES = ["frontend/eager", "frontend/autograd", "frontend/trace"]
ROOMS_OF_A_CALL = ["frontend/tensor", "frontend/call", "frontend/view", *MODES]
# A step of a protocol that one file owns: the code that may name it (folders and files), and how often at most.
OWNED = {
    # LLVM's registry of targets has no lock.
    "(?:InitializeNative|LLVMInitializeNVPTX)\\w+": (["codegen/backend/llvm_targets.cpp"], None),
    # The memory of one call: the order of the steps around it is that of an array call.
    "CallFrame": (["runtime/", "frontend/call/array_call.h"], None),
    # The tape keeps the contents of an array that is about to be written. A declaration is no use. The users: an array call, elements that the
    # program writes, and a write through a view.
    "before_write": (["frontend/call/array_call.cpp", "frontend/api/tensor.cpp", "frontend/autograd/taped_view.cpp"], 3),
}
# Headers of LLVM and MLIR stay below the frontend, and never reach a user.
MLIR = {"ir", "ir/primitives", "passes"} | {folder for folder in MAY_INCLUDE if folder.startswith("codegen/")}

# A call on the CPU tests no device.
NEVER_REACHES = {"runtime/cpu_runner.cpp": ["runtime/accelerator.h", "runtime/queue_runner.h"]}

source = pathlib.Path(sys.argv[1])


def reached(name):
    """The project's headers that a file includes, itself or by others."""
    todo, seen = [name], set()
    while todo:
        for other in re.findall(r'^#include "([^"]+)"', (source / todo.pop()).read_text(), re.M):
            if other not in seen and (source / other).is_file():
                seen.add(other)
                todo.append(other)
    return seen


def may_include(folder):
    """The line of a README that says what its folder may include, by names from the folder of the top level on."""
    top = folder.split("/")[0] + "/"
    names = [f"`{other.removeprefix(top)}`" for other in MAY_INCLUDE[folder]] + ["LLVM and MLIR"] * (folder in MLIR)
    return f"May include: {', '.join(names) if names else 'public headers'}."


def check_readme(folder, renew):
    """The error of a README's line. With `renew` the line is written: after the first paragraph, unless it has a place."""
    path = source / folder / "README.md"
    if not path.is_file():
        return []
    text, line = path.read_text(), may_include(folder)
    found = re.findall(r"^May include.*", text, re.M)
    if found == [line]:
        return []
    if not renew:
        return [f"{folder}/README.md has {found or 'no such line'} instead of '{line}': --renew writes it"]
    if found:
        text = re.sub(r"^May include.*(?:\n+May include.*)*", lambda _: line, text, count=1, flags=re.M)
    else:
        paragraphs = text.rstrip("\n").split("\n\n")
        after = 1 if "\n" in paragraphs[0].strip() else 2  # some begin on the line after the title
        text = "\n\n".join([*paragraphs[:after], line, *paragraphs[after:]])
    path.write_text(text.rstrip("\n") + "\n")
    return []


errors = [error for folder in MAY_INCLUDE for error in check_readme(folder, "--renew" in sys.argv)]
used = {folder: set() for folder in MAY_INCLUDE}
uses = {name: [] for name in OWNED}
for path in sorted(p for top in {f.split("/")[0] for f in MAY_INCLUDE} for p in (source / top).rglob("*")):
    if path.suffix not in (".cpp", ".h"):
        continue
    name = path.relative_to(source)
    folder = name.parent.as_posix()
    if folder not in MAY_INCLUDE:
        errors.append(f"{name}: the table of {pathlib.Path(__file__).name} has no line for {folder}")
        continue
    for line, text in enumerate(path.read_text().splitlines(), 1):
        for owned, places in uses.items():
            if re.search(rf"(?<!void )\b{owned}\b", text.split("//")[0]):
                places.append(f"{name}:{line}")
        if re.match(r"#include <(mlir|llvm)/", text) and folder not in MLIR:
            errors.append(f"{name}:{line}: {folder} may not include headers of LLVM and MLIR")
        if included := re.match(r'#include "([^"]+)"', text):
            other = pathlib.Path(included[1]).parent.as_posix()
            used[folder].add(other)
            if other != folder and other not in MAY_INCLUDE[folder] and (source / included[1]).is_file():
                errors.append(f"{name}:{line}: {folder} may not include {other}")
for name, headers in NEVER_REACHES.items():
    errors += [f"{name} includes {header}, by way of others" for header in set(headers) & reached(name)]
for folder, others in MAY_INCLUDE.items():
    errors += [f"nothing in {folder} includes {other}: its line names too much" for other in set(others) - used[folder]]
# Up to codegen the rooms are layers, in the order of the table.
layers = [folder for folder in MAY_INCLUDE if folder.split("/")[0] in ("runtime", "ir", "passes", "codegen")]
for folder in layers:
    errors += [f"{folder} names {other}, whose line follows its own: a circle, or a line in the wrong place"
               for other in MAY_INCLUDE[folder] if other in layers[layers.index(folder):]]
for a in ROOMS_OF_A_CALL:
    for b in ROOMS_OF_A_CALL:
        if a != b and b in MAY_INCLUDE[a] and (a in MAY_INCLUDE[b] or {a, b} <= set(MODES)):
            errors.append(f"{a} may not know {b}: they are rooms that a call goes through")
for owned, (owners, most) in OWNED.items():
    errors += [f"{place}: {owned} belongs to {', '.join(owners)}" for place in uses[owned] if not place.startswith(tuple(owners))]
    if most and len(uses[owned]) > most:
        errors.append(f"{owned} is used {len(uses[owned])} times, at most {most} may: {', '.join(uses[owned])}")
    if not uses[owned]:
        errors.append(f"nothing uses {owned}: its line names what is gone")
if errors:
    sys.exit("\n".join(errors))
print(f"{len(MAY_INCLUDE)} folders")
