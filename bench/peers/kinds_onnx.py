#!/usr/bin/env python3
"""The kinds of bench/kinds.h as ONNX models, by ONNX Runtime or, with RUNTIME=openvino, by OpenVINO, alternating with
Kiln.

    bench/peers/kinds_onnx.py --kiln build/kiln-bench --seed 7 --rounds 3 > onnx.jsonl      needs onnx, and a runtime
    bench/compare --by-kind onnx.jsonl

Prints JSON lines, as training_torch.py does. THREADS and SECONDS as there; 0.1 seconds suffice. Inputs and results are
bound once, weights are constants of the model, as in Kiln. Neither runtime has batch normalisation in training, nor has
ONNX expm1 and log1p. ONNX Runtime has no layers in bfloat16.
"""
from functools import partial

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import kinds
import onnx_runtimes
import steps
from steps import kind

random = np.random.default_rng(0)


def randn(*shape):
    return random.standard_normal(shape, np.float32)


def i64(*values):
    return np.array(values, np.int64)


def step_of(nodes, inputs, constants=(), precision="f32"):
    """A step of the model of these nodes, (operator, names of inputs, attributes) each: inputs are x0, x1, ...,
    constants c0, c1, ..., and the i-th node's first result is yi."""
    made = []
    for i, (operator, names, attributes) in enumerate(nodes):
        results = [f"y{i}", "places"] if operator == "TopK" else [f"y{i}"]
        made.append(helper.make_node(operator, names.split(), results, **attributes))
    types = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for i, x in enumerate(inputs)]
    result = f"y{len(nodes) - 1}"
    # Places of extremes are int64, results of bfloat16 have its dtype; all others are float32.
    element = (TensorProto.INT64 if nodes[-1][0].startswith("Arg") else
               TensorProto.BFLOAT16 if inputs[0].dtype == ml_dtypes.bfloat16 else TensorProto.FLOAT)
    outputs = [helper.make_tensor_value_info(result, element, None)]
    if nodes[-1][0] == "TopK":
        outputs.append(helper.make_tensor_value_info("places", TensorProto.INT64, None))
    graph = helper.make_graph(made, "kind", types, outputs,
                              [numpy_helper.from_array(c, f"c{i}") for i, c in enumerate(constants)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnx_runtimes.bound(model.SerializeToString(), inputs, precision)


def unary(name, operator, constants=(), **attributes):
    """A kind of one operator with one input of standard normal numbers."""
    names = " ".join(["x0", *(f"c{i}" for i in range(len(constants)))])
    kind(name)(lambda shape: step_of([(operator, names, attributes)], [randn(*shape)], constants))


unary("sum_short", "ReduceSum", [i64(1)], keepdims=0)
unary("max_short", "ReduceMax", [i64(1)], keepdims=0)
unary("sum_channels", "ReduceSum", [i64(0, 2, 3)], keepdims=0)
unary("max_channels", "ReduceMax", [i64(0, 2, 3)], keepdims=0)
for extreme in "Max", "Min":
    unary(f"arg{extreme.lower()}_first", f"Arg{extreme}", axis=0, keepdims=0)
    unary(f"arg{extreme.lower()}_last", f"Arg{extreme}", axis=1, keepdims=0)
unary("cumsum_first", "CumSum", [np.array(0, np.int64)])
unary("cumsum_middle", "CumSum", [np.array(1, np.int64)])
unary("softmax_short", "Softmax", axis=1)
unary("softmax_long", "Softmax", axis=1)
unary("transpose", "Transpose", perm=[1, 0])
unary("max_pool", "MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)


@kind("topk")
def topk(shape, k):
    return step_of([("TopK", "x0 c0", {"axis": 1})], [randn(*shape)], [i64(k)])


@kind("sort")
def sort(shape):
    return step_of([("TopK", "x0 c0", {"axis": 1, "largest": 0})], [randn(*shape)], [i64(shape[1])])


@kind("layer_norm_short")
def layer_norm(shape):
    return step_of([("LayerNormalization", "x0 x1 x2", {"axis": 1})], [randn(*shape), randn(shape[1]), randn(shape[1])])


def function(name, *nodes, constants=()):
    def make(shape, range):
        return step_of(nodes, [random.uniform(*range, shape).astype(np.float32)], constants)
    kind(name)(make)


for name in ("exp", "log", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "sinh", "cosh"):
    function(name, (name.capitalize(), "x0", {}))
for name in ("sin", "cos", "tan"):
    function(f"arc{name}", (f"A{name}", "x0", {}))
for name, base in (("log2", 2), ("log10", 10)):
    function(name, ("Log", "x0", {}), ("Div", "y0 c0", {}), constants=[np.float32(np.log(base)).reshape(())])


@kind("power")
def power(shape, range):
    x = random.uniform(*range, shape).astype(np.float32)
    return step_of([("Pow", "x0 x1", {})], [x, 2 - x])


@kind("stream")
def stream(shape):
    return step_of([("Add", "x0 x1", {})], [randn(*shape), randn(*shape)])


@kind("reflect_pad")
def reflect_pad(shape, pad):
    return step_of([("Pad", "x0 c0", {"mode": "reflect"})], [randn(*shape)], [i64(0, 0, pad, pad, 0, 0, pad, pad)])


@kind(*kinds.PERMUTATIONS)
def permute(shape, axes):
    return step_of([("Transpose", "x0", {"perm": axes})], [randn(*shape)])


@kind("gather")
def gather(table, rows):
    return step_of([("Gather", "x1 x0", {})], [np.arange(rows) * 7919 % table[0], randn(*table)])


@kind("instance_norm")
def instance_norm(shape):
    return step_of([("InstanceNormalization", "x0 x1 x2", {})], [randn(*shape), randn(shape[1]), randn(shape[1])])


@kind("group_norm")
def group_norm(shape, groups):
    return step_of([("GroupNormalization", "x0 x1 x2", {"num_groups": groups})],
                   [randn(*shape), randn(shape[1]), randn(shape[1])])


def product(name, *nodes):
    kind(name)(lambda a, b: step_of(nodes, [randn(*a), randn(*b)]))


multiply = "MatMul", "x0 x1", {}
product("matrix_vector", multiply)
product("transposed_matrix_vector", ("Transpose", "x0", {"perm": [1, 0]}), ("MatMul", "y0 x1", {}))
product("thin", multiply)
product("matmul", multiply)
product("attention_scores", ("Transpose", "x1", {"perm": [0, 2, 1]}), ("MatMul", "x0 y0", {}))
product("attention_values", multiply)


def layer(operator, attributes, shapes, dtype=np.float32, precision="f32"):
    """A step of an operator of one input, a weight and a bias of these shapes."""
    x, *parameters = (randn(*shape).astype(dtype) for shape in shapes)
    return step_of([(operator, "x0 c0 c1", attributes)], [x], parameters, precision)


def int8_layer(operator, attributes, shapes):
    """The same by 8-bit integers. Runtimes fuse QuantizeLinear and DequantizeLinear into the operator; ONNX Runtime into
    convolutions only if the result has 8 bits too."""
    x, weight, bias = (randn(*shape) for shape in shapes)
    step = np.array(np.abs(x).max() / 127, np.float32)
    steps = np.abs(weight).reshape(len(weight), -1).max(1) / np.float32(127)
    integers = np.rint(weight / steps.reshape(-1, *[1] * (weight.ndim - 1))).astype(np.int8)
    zeros = np.zeros(len(weight), np.int8)
    constants = [step, np.array(0, np.int8), integers, steps, zeros,
                 np.rint(bias / (steps * step)).astype(np.int32), steps * step, zeros.astype(np.int32)]
    nodes = [("QuantizeLinear", "x0 c0 c1", {}), ("DequantizeLinear", "y0 c0 c1", {}),
             ("DequantizeLinear", "c2 c3 c4", {"axis": 0}), ("DequantizeLinear", "c5 c6 c7", {"axis": 0}),
             (operator, "y1 y2 y3", attributes)]
    if operator == "Conv" and not onnx_runtimes.OPENVINO:
        nodes += [("QuantizeLinear", "y4 c8 c1", {}), ("DequantizeLinear", "y5 c8 c1", {})]
        constants.append(np.array(5 * np.linalg.norm(weight[0]) / 127, np.float32))
    return step_of(nodes, [x], constants)


def dense(x, units, make=layer):
    return make("Gemm", {"transB": 1}, [x, (units, x[1]), (units,)])


kind("few_rows", "dense_parameter")(dense)


@kind("dense_argument")
def dense_argument(x, units):
    return step_of([("Gemm", "x0 x1 x2", {"transB": 1})], [randn(*x), randn(units, x[1]), randn(units)])


def window(kernel, stride, pad, dilation, groups):
    return {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "dilations": [dilation] * 2,
            "group": groups}


def convolution(x, filters, kernel, stride, pad, dilation, groups, make=layer):
    return make("Conv", window(kernel, stride, pad, dilation, groups),
                [x, (filters, x[1] // groups, kernel, kernel), (filters,)])


kind(*kinds.CONVOLUTIONS)(convolution)
forms = {kinds.INT8: int8_layer}
if onnx_runtimes.OPENVINO:
    forms[kinds.BF16] = partial(layer, dtype=ml_dtypes.bfloat16, precision="bf16")
    forms[kinds.BF16_OPERANDS] = partial(layer, precision="bf16")
for names, make in forms.items():
    for of_layer, names_of_layer in zip((dense, convolution), names):
        kind(*names_of_layer)(partial(of_layer, make=make))


@kind("transposed_convolution")
def transposed_convolution(x, filters, kernel, stride, pad, dilation, groups):
    return step_of([("ConvTranspose", "x0 c0 c1", window(kernel, stride, pad, dilation, groups))], [randn(*x)],
                   [randn(x[1], filters // groups, kernel, kernel), randn(filters)])


if __name__ == "__main__":
    steps.run(onnx_runtimes.PEER, __doc__)
