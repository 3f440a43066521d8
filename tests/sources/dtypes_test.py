"""Whether a dtype is one row: the production files that name one dtype, bfloat16, are in the table below, each with a reason.

usage: dtypes_test.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

NAMES_BF16 = {
    "runtime/dtype_table.h": "the row",
    "runtime/include/kiln/dtype.h": "the enumerator, which programs use, and its size as a constant expression",
    "ir/element_type.cpp": "the types that MLIR has; not for a dtype whose MLIR type is listed there",
    "ir/KilnOps.td": "the semantics in words, and the contractions on tensor cores",
    "ir/contraction.cpp": "the meaning of Precision::bf16, and the operands of paired32",
    "ir/dialect.cpp": "the operands of a pack of pairs",
    "ir/numerics.h": "the changes of bits",
    "ir/primitives/convolution.cpp": "a message: which operands paired32 takes",
    "ir/primitives/dot.cpp": "a message: which operands tensor cores take",
    "codegen/cpu/contraction/matrix_unit.cpp": "the instruction of AMX",
    "codegen/target/cpu_target.h": "LLVM's name of a feature of AMX",
    "codegen/target/describe_target.cpp": "the name of a rate, and the instruction of AMX",
    "codegen/target/matrix_unit.cpp": "the instruction of AMX, and its check",
    "codegen/target/matrix_unit.h": "the operands of AMX",
    "codegen/driver/limits.cpp": "the dtype of paired32's operands",
    "codegen/math/half.cpp": "why its hardware conversion is not used; not for a format of IEEE 754's layout",
    "codegen/cuda/contraction/product_mma.cpp": "the instruction of tensor cores; only for a dtype that has one",
    "codegen/cuda/ptx_check.cpp": "the spelling of that instruction in PTX",
    "frontend/call/amp_rules.cpp": "the rules of automatic mixed precision for it",
    "frontend/call/amp_rules.h": "the rules of automatic mixed precision for it",
    "frontend/include/kiln/amp.h": "documentation: the dtypes of automatic mixed precision",
    "frontend/include/kiln/io.h": "documentation: how .npy files store it",
    "frontend/include/kiln/optimizer.h": "documentation: master weights",
    "runtime/include/kiln/precision.h": "the enumerator of a precision, and its documentation",
    "runtime/precision.cpp": "the name of a precision",
    "tools/kiln/model_arguments.cpp": "the name of a precision",
}
NAME = re.compile("(?<!Precision::)bf16|bfloat16", re.IGNORECASE)

source = pathlib.Path(sys.argv[1])
found = {
    path.relative_to(source).as_posix()
    for top in ("runtime", "ir", "passes", "codegen", "frontend", "tools")
    for path in (source / top).rglob("*")
    if path.suffix in (".cpp", ".h", ".td", ".def") and NAME.search(path.read_text())
}
errors = [f"{name} names bfloat16: ask runtime/dtype_table.h, or give the reason here" for name in sorted(found - NAMES_BF16.keys())]
errors += [f"{name} no longer names bfloat16: delete its line" for name in sorted(NAMES_BF16.keys() - found)]
if errors:
    sys.exit("\n".join(errors))
print(f"{len(found)} files")
