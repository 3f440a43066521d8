"""Whether the pages of benchmarks are what the measurements say: bench/plot writes the same, and the pages keep their bounds.

usage: bench_test.py SOURCE_FOLDER
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

MAX_README_BYTES = 10 * 1024
MAX_CELL_CHARACTERS = 300

source = pathlib.Path(sys.argv[1])
errors = []

plot = subprocess.run([sys.executable, "-B", source / "bench/plot", "--check"], capture_output=True, text=True)
if plot.returncode:
    errors.append((plot.stdout + plot.stderr).strip())

# --add: the least time of each side, eager calls and train_step() in columns of their own, and nothing that one side lacks.
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("plot", str(source / "bench/plot"))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot", loader))
loader.exec_module(script)
with tempfile.TemporaryDirectory() as folder:
    printed = pathlib.Path(folder) / "printed.jsonl"
    kiln = [{"name": f"{name}/{mode}/threads:1", "time_unit": "us", "real_time": 1, "min_us": time} for name, mode, time in (
        ("net", "compiled", 20.04), ("net", "compiled", 25), ("net", "eager", 1234.5), ("step", "compiled", 3), ("step_one_call", "compiled", 2))]
    peers = [{"workload": name, "peer": peer, "threads": 1, "min_us": time} for name, peer, time in (
        ("net", "JAX", 50), ("net", "JAX", 40), ("net", "PyTorch", 60), ("step", "JAX", 5), ("of JAX alone", "JAX", 1))]
    printed.write_text("".join(json.dumps(row) + "\n" for row in kiln + peers))
    columns, rows = script.measured([printed], "0123abcd")
    added = [columns, *([str(cell) for cell in row] for row in rows)]
    expected = [["workload", "Kiln", "eager", "train_step()", "PyTorch", "JAX", "ratio to the best peer", "version"],
                ["net", "20.0", "1234", "None", "60.0", "40.0", "2.00", "0123abcd"],
                ["step", "3.000", "None", "2.000", "None", "5.000", "2.50", "0123abcd"]]
    if added != expected:
        errors.append(f"bench/plot --add writes {added}, not {expected}")

size = (source / "bench/README.md").stat().st_size
if size > MAX_README_BYTES:
    errors.append(f"bench/README.md has {size} bytes, at most {MAX_README_BYTES}: results belong to bench/results, reasons to the kernels' folders")

pages = [path for top in ("bench", "codegen") for path in sorted((source / top).rglob("*.md"))]
for path in pages:
    name, fenced = path.relative_to(source), False
    for line, text in enumerate(path.read_text().splitlines(), 1):
        fenced ^= text.startswith("```")
        if text.startswith("|") and not fenced:
            for cell in re.split(r"(?<!\\)\|", text)[1:-1]:
                if len(cell.strip()) > MAX_CELL_CHARACTERS:
                    errors.append(f"{name}:{line}: a cell of {len(cell.strip())} characters, at most {MAX_CELL_CHARACTERS}: {cell.strip()[:40]}...")
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"`[^`]*`", "", text)):
            if "://" not in link and not (path.parent / link).exists():
                errors.append(f"{name}:{line}: no {link}")

# A drawing is well-formed and has both colour schemes. Its texts lie inside of it, and none on another. Their width is an estimate.
EM_PER_CHARACTER = 0.6

for path in sorted((source / "bench/results").glob("*.svg")):
    name = path.relative_to(source)
    drawing = xml.parse(path).getroot()
    width, height = (float(drawing.get(side)) for side in ("width", "height"))
    if "prefers-color-scheme: dark" not in path.read_text():
        errors.append(f"{name}: no colours of dark mode")
    if "less is better" not in "".join(drawing.itertext()):
        errors.append(f"{name}: does not say which direction is better")
    boxes = []
    for text in drawing.iter("{http://www.w3.org/2000/svg}text"):
        size = float(text.get("font-size"))
        length = EM_PER_CHARACTER * size * len(text.text)
        left = float(text.get("x")) - {"start": 0, "middle": length / 2, "end": length}[text.get("text-anchor")]
        if left < 0 or left + length > width or not 0 < float(text.get("y")) < height:
            errors.append(f"{name}: '{text.text}' leaves the drawing")
        boxes.append((left, left + length, float(text.get("y")), 0.8 * size, text.text))
    for i, (left, right, y, height_of_one, words) in enumerate(boxes):
        errors += [f"{name}: '{words}' lies on '{other[4]}'" for other in boxes[:i]
                   if left < other[1] and other[0] < right and abs(y - other[2]) < max(height_of_one, other[3])]

if errors:
    sys.exit("\n".join(errors))
print(f"{len(pages)} pages")
