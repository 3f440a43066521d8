#!/bin/sh
# ONNX Runtime's CPU kernels of Tanh and Acos are several ulp off over most of their domain.
#
# A guess: an elementary function of float32 is off by 1 ulp or so, as in libm and in numpy, so that two runtimes
# agree on an exported network to a few ulp at its activations. ONNX Runtime 1.32.0 computes Tanh by one rational
# function for the whole range: up to 5 ulp off, 2 to 4 also for small arguments, where tanh(x) is x to the last bit.
# Acos is up to 4 ulp off. numpy's float32 tanh is off by less than 2. Sizes do not matter: the same kernel serves
# 1 element and millions.
#
# Prints the largest error of each in ulp, and fails if one leaves the range that was seen.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper


def runtime(op):
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def error(computed, exact):
    return np.max(np.abs(computed - exact) / np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64))


random = np.random.default_rng(0)
octaves = [(random.uniform(1, 2, 1 << 18) * 2.0**e).astype(np.float32) for e in range(-20, 4)]
tanh = runtime("Tanh")
errors = {
    "Tanh, |x| below 2^-14": max(error(tanh(x), np.tanh(x.astype(np.float64))) for x in octaves[:6]),
    "Tanh": max(error(tanh(x), np.tanh(x.astype(np.float64))) for x in octaves),
    "numpy's tanh": max(error(np.tanh(x), np.tanh(x.astype(np.float64))) for x in octaves),
}
x = random.uniform(-1, 1, 1 << 20).astype(np.float32)
errors["Acos"] = error(runtime("Acos")(x), np.arccos(x.astype(np.float64)))
seen = {"Tanh, |x| below 2^-14": (1.5, 2.5), "Tanh": (4.5, 6), "numpy's tanh": (0.5, 2), "Acos": (3, 5)}
for name, value in errors.items():
    low, high = seen[name]
    print(f"{name}: {value:.2f} ulp")
    assert low < value < high, f"{name} was off by {low} to {high} ulp"
EOF
