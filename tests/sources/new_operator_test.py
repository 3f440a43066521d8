"""An operator is one file: after its definition, tools/reference writes its functions, method, options, comments and page.

usage: new_operator_test.py SOURCE_FOLDER BUILD_FOLDER NINJA

Definitions are added to one file in a copy of the tree. The library is linked with that file's object in place of the
build's, so that `kiln ops` has the new definitions. tools/reference then changes the copy, and a program that calls the new
functions is checked against the copy's headers. Skipped if the build is not one of ninja's, whose link command is used.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

source, build, ninja = (pathlib.Path(a) for a in sys.argv[1:])
FILE = "frontend/ops/numpy_product.cpp"
FOLDERS = ("frontend", "tools", "docs")
SKIPPED = 77

FUNCTION = """static Values scaffolded(Primitives& p, Args in, const Attrs&) { return {p.add(in[0], in[0])}; }
static constexpr OpReference scaffold{.shapes = "data (...) -> (...)", .dtypes = "Any; the result has the dtype of data.",
                                      .nan = "NaN.", .empty = "Empty.", .integers = "Sums wrap.",
                                      .gradient = "data: 2 g", .formula = "x + x", .source = "A test."};

"""
ROWS = """      {.name = "scaffolded",
       .aliases = {"scaffolded_too", "_scaffolded_in_files"},
       .summary = "Twice x, as a test says.",
       .reference = scaffold,
       .inputs = {"data"},
       .compose = scaffolded},
      {.name = "scaffolded_by",
       .summary = "Twice x, with attributes.",
       .reference = scaffold,
       .inputs = {"data"},
       .attrs = {required("scale", AttrKind::real, "A factor that a call must give."),
                 bool_attr("upwards", false, "Whether the test rounds."),
                 ignored(int_attr("workspace", 1), "it is a test")},
       .compose = scaffolded},
      {.name = "_npi_scaffolded",
       .summary = "Twice x, in numpy mode.",
       .reference = scaffold,
       .inputs = {"x"},
       .compose = scaffolded},
      {.name = "_scaffolded_elsewhere",
       .summary = "Twice x, with a name of its own.",
       .reference = scaffold,
       .spelling = "contrib::scaffolded",
       .inputs = {"data"},
       .compose = scaffolded},
      {.name = "_scaffolded_nowhere",
       .summary = "Twice x, without a spelling.",
       .reference = scaffold,
       .inputs = {"data"},
       .compose = scaffolded},
"""
PROGRAM = """#include <kiln/kiln.h>
using namespace kiln;
Tensor all(const Tensor& x) {
  return F::scaffolded(x) + F::scaffolded_too(x) + x.scaffolded() + F::scaffolded_by(x, {.scale = 2.5, .upwards = true}) +
         np::scaffolded(x) + F::contrib::scaffolded(x);
}
"""
# Texts that the files of the copy have to contain: spellings, comments, the page.
EXPECTED = {
    "frontend/include/kiln/f_plain.h": ["/// Twice x, as a test says. `kiln ops scaffolded` has the rest.\n  static Tensor scaffolded("],
    "frontend/include/kiln/f_options.h": ["/// A factor that a call must give. Required.\n  Number scale = 0;",
                                          "/// Whether the test rounds. Default: False.\n  std::optional<bool> upwards = {};"],
    "frontend/include/kiln/tensor_methods.h": ["Tensor scaffolded(Where where"],
    "frontend/include/kiln/f_numpy.h": ["static Tensor scaffolded(const Tensor& x, "],
    "frontend/api/op_spellings.cpp": ['{"scaffolded", "F::scaffolded"}', '{"scaffolded", "Tensor::scaffolded"}',
                                      '{"_scaffolded_elsewhere", "F::contrib::scaffolded"}'],
    "docs/operators.md": ["### `scaffolded`\n", "- gradient: data: 2 g", "### `_scaffolded_nowhere`\n"],
}


def define(copy):
    path = copy / FILE
    text, count = re.subn(r"^(std::span<const OpDef> numpy_product_ops\(\) \{.*?std::vector<OpDef> rows\{\n)",
                          lambda m: FUNCTION + m[1] + ROWS, path.read_text(), flags=re.M | re.S)
    if count != 1:
        sys.exit(f"{FILE} has no list of rows any more: adapt this test")
    path.write_text(text)


def compile_command(layer):
    """The command that compiles a unit of the layer, without its source and output."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if f"{layer}.dir/" in entry["command"]:
            command = shlex.split(entry["command"])
            return command[:command.index("-o")]
    sys.exit(f"the build has no command for {layer}")


def compile_unit(layer, copy, name, text, *options):
    """Compiles a unit of these lines. The copy is searched first: the tree has what it lacks."""
    unit = copy / name
    unit.write_text(text)
    first = [f"-I{copy}", f"-I{copy / 'frontend/include'}"]
    command = compile_command(layer)
    subprocess.run([command[0], *first, *command[1:], *options, unit], check=True, cwd=build)


def link(copy, layer, new_object):
    """The library with another object of a layer of one unit, in a folder of its own."""
    target = (build / "libkiln.so").resolve().name  # libkiln.so.0.1.0
    command = subprocess.run([ninja, "-C", build, "-t", "commands", "-s", target], capture_output=True, text=True, check=True).stdout
    objects = re.findall(rf"\S*/{layer}\.dir/\S+\.o\b", command)
    if len(objects) != 1:
        sys.exit(f"{layer} has {len(objects)} objects, not one: adapt this test")
    library = copy / "library/libkiln.so.0.1"
    library.parent.mkdir()
    command = command.replace(objects[0], str(new_object))
    command, count = re.subn(r" -o \S*libkiln\.so\S*", f" -o {library}", command.strip())
    if count != 1:
        sys.exit("the link command has no output: adapt this test")
    subprocess.run(command, shell=True, check=True, cwd=build)
    return library.parent


def reference(copy, folder, *arguments):
    """Runs the copy's tools/reference with a `kiln` that has the new definitions."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    return subprocess.run([copy / "tools/reference", build / "kiln", *arguments], env=environment, capture_output=True, text=True)


def main():
    if not (build / "build.ninja").is_file() or not (build / "libkiln.so").is_file():
        print("skipped: the build is not one of ninja's, or the library is not shared")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        for folder in FOLDERS:
            shutil.copytree(source / folder, copy / folder)
        define(copy)
        new_object = copy / "numpy_ops.o"
        units = sorted(path.name for path in (copy / "frontend/ops").glob("numpy*.cpp"))
        compile_unit("kiln_numpy_ops", copy, "numpy_ops.cpp", "".join(f'#include "frontend/ops/{unit}"\n' for unit in units),
                     "-o", new_object, "-c")
        folder = link(copy, "kiln_numpy_ops", new_object)
        if reference(copy, folder, "--check").returncode != 1:
            sys.exit("tools/reference --check does not see a new definition")
        written = reference(copy, folder)
        print(written.stdout, written.stderr)
        if written.returncode or reference(copy, folder, "--check").returncode:
            sys.exit("tools/reference leaves files stale")
        for file, texts in EXPECTED.items():
            content = (copy / file).read_text()
            for text in texts:
                if text not in content:
                    sys.exit(f"{file} lacks: {text}")
        if "scaffolded_nowhere" in (copy / "frontend/api/f_plain.cpp").read_text():
            sys.exit("an operator whose name begins with an underscore has a function")
        compile_unit("kiln_frontend", copy, "program.cpp", PROGRAM, "-fsyntax-only")
        compile_unit("kiln_frontend", copy, "functions.cpp", '#include "frontend/api/f_plain.cpp"\n#include "frontend/api/methods.cpp"\n',
                     "-fsyntax-only")
    print("an operator is one file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
