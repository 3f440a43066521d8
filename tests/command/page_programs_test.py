"""The C++ programs of a page: each compiles against Kiln, runs, and prints the times of kernels.

usage: page_programs_test.py KILN SOURCE_FOLDER WORK_FOLDER COMPILER LIBRARY [FLAGS]

All programs of a page are compiled as one file, each `main` as a function of its own name.
"""
import pathlib
import re
import subprocess
import sys

kiln, source, work, compiler, library = (pathlib.Path(argument) for argument in sys.argv[1:6])
flags = sys.argv[6:]
golden = source / "tests" / "golden" / "models"
work.mkdir(parents=True, exist_ok=True)
include, headers, functions, calls, expected = [], set(), [], [], 0
for name, more in (("mlp", []), ("encoder", []), ("controlflow", []), ("lenet", ["--gradients"])):
    page, programs = work / f"{name}.html", work / name
    model = golden / name
    subprocess.run([kiln, "dump", f"{model}-symbol.json", "--params", f"{model}-0000.params", "--input", f"{model}-io.params", "--html", "-o", page, *more], check=True)
    subprocess.run([sys.executable, source / "tests" / "command" / "Inputs" / "check_page.py", page, "--programs", programs], check=True)
    known = set()
    for path in sorted(programs.glob("*.cpp")):
        text = path.read_text()
        body = re.sub(r"^(//.*\n)+", "", text)  # without the comment: kernels of the same operators have one program
        if body in known:
            continue
        known.add(body)
        lines = [line for line in text.split("\n") if not line.startswith('{"op"')]
        assert len(lines) <= 40, f"{path} has {len(lines)} lines without its nodes"
        headers |= set(re.findall(r"^#include .*", text, re.M))
        function = f"{name}_{path.stem}"
        functions.append(re.sub(r"^#include .*\n|^using namespace kiln;\n", "", text, flags=re.M).replace("int main()", f"void {function}()"))
        calls.append(f'  std::cout << "== {function}\\n";\n  {function}();\n')
assert len(calls) >= 8, calls
program = work / "programs.cpp"
program.write_text("\n".join(sorted(headers)) + "\nusing namespace kiln;\n" + "\n".join(functions) + "\nint main() {\n" + "".join(calls) + "}\n")
binary = work / "programs"
subprocess.run([compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Werror",
                f"-I{source}/frontend/include", f"-I{source}/runtime/include", program, "-o", binary, library, f"-Wl,-rpath,{library.parent}", *flags], check=True)
run = subprocess.run([binary], capture_output=True, text=True)
assert run.returncode == 0, f"{run.stdout[-3000:]}\n{run.stderr}"
for part in run.stdout.split("== ")[1:]:
    function, text = part.split("\n", 1)
    assert "time by kernel" in text and re.search(r"^ +[\d.]+ +[\d.]+ +[\d.]+%  ", text, re.M), f"{function}: {text}"
print(f"{len(calls)} programs ran")
