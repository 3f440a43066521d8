"""The files of tools/new-primitive compile, and are no more than a primitive's few files.

usage: new_primitive_test.py SOURCE_FOLDER BUILD_FOLDER MLIR_TBLGEN MLIR_INCLUDE CMAKE

The tool runs in a copy of the folders that it changes. The files that it touched are compiled by the commands of the build,
with the copy's sources and generated headers in place of the tree's.
"""

import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

source, build, tblgen, mlir, cmake = (pathlib.Path(a) for a in sys.argv[1:])
MAX_FILES = 3  # of a unary function; of an operation, without its kernel
GENERATED = {"KilnOps.h.inc": "-gen-op-decls", "KilnDialect.h.inc": "-gen-dialect-decls", "KilnAttributes.h.inc": "-gen-attrdef-decls",
             "KilnEnums.h.inc": "-gen-enum-decls"}


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def make(copy, *arguments):
    """Runs the tool; returns the files that it changed or added."""
    before = contents(copy)
    subprocess.run([copy / "tools/new-primitive", *arguments], check=True)
    after = contents(copy)
    touched = sorted(str(name) for name in after if after[name] != before.get(name))
    if len(touched) > MAX_FILES:
        sys.exit(f"a primitive by {arguments} touches {len(touched)} files: {touched}")
    return touched


def generate(copy):
    out = copy / "generated/ir"
    out.mkdir(parents=True)
    for name, generator in GENERATED.items():
        subprocess.run([tblgen, generator, "-dialect=kiln", "-I", mlir, "-I", copy / "ir", copy / "ir/KilnOps.td", "-o", out / name],
                       check=True)
    subprocess.run([cmake, f"-DENUMS={out / 'KilnEnums.h.inc'}", f"-DWORDS={out / 'words.h'}",
                    f"-DREST={out / 'KilnEnumAttributes.h.inc'}", "-P", copy / "ir/words.cmake"], check=True)
    return out.parent


def compile_command(layer):
    """The command that compiles a unit of the layer, without its source and output."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if f"{layer}.dir/" in entry["command"]:
            command = shlex.split(entry["command"])
            return command[:command.index("-o")]
    sys.exit(f"the build has no command for {layer}")


def compile_as(layer, copy, generated, files):
    """Compiles the files as one unit. The copy is searched first: the tree has what it lacks."""
    unit = copy / f"{layer}.cpp"
    unit.write_text("".join(f'#include "{name}"\n' for name in files))
    first = [f"-I{copy}", f"-I{generated}"]
    command = compile_command(layer)
    subprocess.run([command[0], *first, *command[1:], "-o", unit.with_suffix(".o"), "-c", unit], check=True, cwd=build)


with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder)
    for name in ("ir", "tools", "codegen/math"):
        shutil.copytree(source / name, copy / name)
    touched = make(copy, "unary", "scaffolded", "exp") + make(copy, "structural", "scaffolded_axes")
    generated = generate(copy)
    files = sorted({name for name in touched if name.endswith(".cpp")})
    compile_as("kiln_dialect", copy, generated, [name for name in files if name.startswith("ir/")])
    compile_as("kiln_codegen", copy, generated, [name for name in files if name.startswith("codegen/")])
print(f"{len(set(touched))} files of two primitives")
