"""Writes results.json: the results of MXNet 1.9.1 for every operator of its numpy mode that Kiln has, and every
combination of dtypes. `python3 make.py`, with mxnet 1.9.1 and numpy 1.23.

A case is an operator with attributes, inputs and their shapes. It has a result for each combination of dtypes:
a list of outputs, [dtype, elements...], or "refused". Combinations with the same results are listed together. The
elements of inputs are taken from `inputs`, from the beginning.
"""
import itertools
import json
import os

import mxnet as mx
import numpy as np
from mxnet._ctypes.ndarray import _imperative_invoke
from mxnet.base import _LIB, c_str, check_call
import ctypes

mx.util.set_np(shape=True, array=True)

NAMES = {"f16": "float16", "f32": "float32", "f64": "float64", "u8": "uint8", "i8": "int8", "i32": "int32",
         "i64": "int64", "bool": "bool"}
FLOATS, SIGNED = ("f16", "f32", "f64"), ("i8", "i32", "i64")
ALL = tuple(NAMES)
NUMBERS = FLOATS + ("u8",) + SIGNED

# The elements of the inputs by name and kind of dtype.
FAMILIES = {
    "x": {"float": [-2.5, -1, 0, 0.5, 1.75, 3], "signed": [-3, -1, 0, 1, 2, 7], "i8": [-100, -1, 0, 1, 2, 7],
          "u8": [0, 1, 2, 3, 7, 200], "bool": [0, 1, 0, 1, 1, 0]},
    "y": {"float": [1.5, -0.25, 2, 0, -3, 0.5], "signed": [2, -3, 0, 1, 3, -2], "i8": [2, -3, 0, 100, 3, -2],
          "u8": [2, 100, 0, 3, 1, 200], "bool": [1, 1, 0, 0, 1, 0]},
    "z": {"float": [0.25, 1, -1.5, 2, 0.5, -0.75], "signed": [1, 0, 2, -1, 4, 3], "i8": [1, 0, 2, -1, 4, 3],
          "u8": [1, 0, 2, 5, 4, 3], "bool": [0, 1, 1, 0, 1, 1]},
    # Conditions, and places in an axis of two elements.
    "condition": {"float": [0, 1, -0.5, 0, 2, 1], "signed": [0, 1, -2, 0, 2, 1], "i8": [0, 1, -2, 0, 2, 1],
                  "u8": [0, 1, 2, 0, 255, 1], "bool": [0, 1, 1, 0, 1, 1]},
    "places": {"float": [1, 0, 1, 1, 0, 0], "signed": [1, 0, 1, 1, 0, 0], "i8": [1, 0, 1, 1, 0, 0],
               "u8": [1, 0, 1, 1, 0, 0], "bool": [1, 0, 1, 1, 0, 0]},
}


def elements(name, dtype):
    kinds = FAMILIES[name]
    kind = dtype if dtype in kinds else "float" if dtype in FLOATS else "signed"
    return kinds[kind]


def array(name, shape, dtype):
    count = int(np.prod(shape, dtype=int))
    given = elements(name, dtype)
    values = [given[i % len(given)] for i in range(count)]
    return mx.np.array(np.array(values).astype(NAMES[dtype]).reshape(shape), dtype=NAMES[dtype])


def handle_of(op):
    handle = ctypes.c_void_p()
    check_call(_LIB.NNGetOpHandle(c_str(op), ctypes.byref(handle)))
    return handle.value


def number(v, dtype):
    if dtype == "bool" or np.issubdtype(np.dtype(NAMES[dtype]), np.integer):
        return int(v)
    v = np.dtype(NAMES[dtype]).type(v)
    if np.isnan(v):
        return "nan"
    if np.isinf(v):
        return "inf" if v > 0 else "-inf"
    f = float(str(v))  # the shortest digits that are this element
    return int(f) if f == int(f) and abs(f) < 1e6 and not (f == 0 and np.signbit(v)) else f


def run(op, attrs, inputs, dtypes, values):
    arrays = [array(name, shape, d) for (name, shape), d in zip(inputs, dtypes)]
    out = _imperative_invoke(handle_of(op), arrays, list(attrs), list(attrs.values()), None, True, True)
    results = []
    for o in out:
        o = o.asnumpy()
        short = next(k for k, v in NAMES.items() if v == str(o.dtype))
        results.append([short] + ([number(v, short) for v in o.reshape(-1)] if values else []))
    return results


def in_child(work):
    """The result of `work`, or "refused" if it throws or ends the process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write, "w") as out:
            for item in work:
                try:
                    out.write(json.dumps(run(*item)) + "\n")
                except Exception:  # whatever MXNet throws
                    out.write('"refused"\n')
                out.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as lines:
        results = [json.loads(line) for line in lines]
    os.waitpid(child, 0)
    if len(results) < len(work):  # the next one ended the process
        results.append("refused")
        if len(results) < len(work):
            results += in_child(work[len(results):])
    return results


CASES = []


def case(ops, inputs, attrs=None, dtypes=None, values=True):
    """`dtypes`: the combinations; all by default."""
    for op in ops.split():
        combinations = dtypes or list(itertools.product(ALL, repeat=len(inputs)))
        CASES.append((op, attrs or {}, inputs, [tuple(c) for c in combinations], values))


def same(count):
    """All inputs of one dtype."""
    return [(d,) * count for d in ALL]


def first_of(count, rest=("f32",)):
    """The first input of every dtype, the others of some."""
    return [(d,) + (r,) * (count - 1) for d in ALL for r in rest]


V = (6,)
UNARY = ("absolute negative reciprocal sign rint ceil floor trunc fix square sqrt cbrt exp expm1 log log10 log2 log1p "
         "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians")
case(" ".join("_npi_" + op for op in UNARY.split()), [("x", V)])
case("_npi_abs", [("x", V)])
case("_npi_arccosh _npi_log _npi_sqrt _npi_log1p", [("condition", V)])
case("_npx_relu _npx_sigmoid _npx_erf _npx_erfinv _npx_gamma _npx_gammaln", [("z", V)])
case("_npx_smooth_l1", [("x", V)], {"scalar": "1.5"})
case("_npi_clip", [("x", V)], {"a_min": "-1.5", "a_max": "2.5"})
for d in ALL:
    case("_npi_cast _npx_cast", [("x", V)], {"dtype": NAMES[d]})
    case("_npx_cast", [("y", V)], {"dtype": NAMES[d]})

PAIRS = "add subtract multiply mod power true_divide maximum minimum equal not_equal greater greater_equal less less_equal"
case(" ".join("_npi_" + op for op in PAIRS.split()), [("x", V), ("y", V)])
SCALARS = ("add subtract rsubtract multiply mod rmod power rpower true_divide rtrue_divide maximum minimum hypot equal "
           "not_equal greater greater_equal less less_equal")
for scalar, whole in (("2", True), ("-3", True), ("0", True), ("1.5", False), ("-0.5", False)):
    case(" ".join(f"_npi_{op}_scalar" for op in SCALARS.split()), [("x", V)], {"scalar": scalar, "is_int": str(whole)})
case("_npi_where", [("condition", V), ("x", V), ("y", V)],
     dtypes=[(c, d, d) for c in ALL for d in ALL] + [("bool", a, b) for a in ALL for b in ALL if a != b])

case("_np_sum _np_prod _np_product _npi_mean _npi_var _npi_std _np_max _np_amax _np_min _np_amin _npi_argmax _npi_argmin",
     [("y", V)])
case("_np_sum _np_prod _npi_mean _npi_var _npi_std _np_max _np_min", [("y", (2, 3))], {"axis": "(1,)", "keepdims": "True"})
case("_npi_argmax _npi_argmin", [("y", (2, 3))], {"axis": "1"})
for d in ALL:
    case("_np_sum _np_prod _npi_mean _npi_var _npi_std", [("y", (2, 3))], {"axis": "(1,)", "dtype": NAMES[d]})
    case("_np_cumsum", [("y", V)], {"dtype": NAMES[d]})
case("_np_cumsum", [("y", V)])
case("_np_cumsum", [("y", (2, 3))], {"axis": "1"})
case("_npi_sort _npi_argsort", [("z", V)])
case("_npx_topk", [("z", V)], {"k": "2", "ret_typ": "both"})
for d in ALL:
    case("_npi_argsort", [("z", V)], {"dtype": NAMES[d]})
    case("_npx_topk", [("z", V)], {"k": "2", "dtype": NAMES[d]})

case("_np_dot _npi_matmul", [("x", (2, 3)), ("y", (3, 2))])
case("_np_dot", [("x", (3,)), ("y", (3,))])
case("_npi_tensordot", [("x", (2, 3)), ("y", (3, 2))], {"a_axes_summed": "(1,)", "b_axes_summed": "(0,)"})
case("_npi_tensordot_int_axes", [("x", (2, 3)), ("y", (3, 2))], {"axes": "1"})
case("_npi_einsum", [("x", (2, 3)), ("y", (3, 2))], {"num_args": "2", "subscripts": "ij,jk->ik"})
case("_npi_einsum", [("x", (2, 2))], {"num_args": "1", "subscripts": "ii->i"})
case("_npx_batch_dot", [("x", (1, 2, 3)), ("y", (1, 3, 2))])
case("_npx_fully_connected", [("x", (2, 3)), ("y", (2, 3)), ("z", (2,))], {"num_hidden": "2"},
     dtypes=same(3) + first_of(3))

M = (2, 3)
case("_np_reshape", [("x", M)], {"newshape": "(3, 2)"})
case("_npx_reshape _npi_reshape", [("x", M)], {"newshape": "(-5,)"})
case("_npx_reshape_like", [("x", M), ("y", (3, 2))])
case("_np_transpose", [("x", M)])
case("_np_squeeze", [("x", (1, 6))])
case("_np_moveaxis", [("x", M)], {"source": "(0,)", "destination": "(1,)"})
case("_npi_expand_dims", [("x", V)], {"axis": "0"})
case("_npi_swapaxes", [("x", M)], {"dim1": "0", "dim2": "1"})
case("_npi_broadcast_to", [("x", (1, 3))], {"shape": "(2, 3)"})
case("_npi_tile", [("x", (3,))], {"reps": "(2,)"})
case("_np_repeat", [("x", (3,))], {"repeats": "2"})
case("_npx_batch_flatten", [("x", (1, 2, 3))])
case("_npi_concatenate", [("x", (3,)), ("y", (3,))], {"num_args": "2", "axis": "0"})
case("_npi_stack", [("x", (3,)), ("y", (3,))], {"num_args": "2", "axis": "0"})
case("_npi_rnn_param_concat", [("x", (3,)), ("y", (3,))], {"num_args": "2", "dim": "0"}, dtypes=same(2))
case("_npi_split", [("x", V)], {"indices": "(3,)", "axis": "0", "sections": "2"})
case("_npi_slice _npx_slice", [("x", V)], {"begin": "(1,)", "end": "(4,)"})
case("_npx_shape_array", [("x", M)])

case("_npi_take", [("x", M), ("places", (3,))], {"axis": "0", "mode": "clip"})
case("_npi_gather_nd _npx_gather_nd", [("x", M), ("places", (2, 3))])
case("_npx_one_hot", [("places", (3,))], {"depth": "2"})
for d in ALL:
    case("_npx_one_hot", [("places", (3,))], {"depth": "2", "dtype": NAMES[d]})
case("_npx_pick", [("x", (3, 2)), ("places", (3,))])
case("_npx_embedding", [("places", (3,)), ("x", M)], {"input_dim": "2", "output_dim": "3"})
case("_npx_sequence_mask", [("x", M), ("places", (3,))], {"use_sequence_length": "True", "value": "-1"})

for d in ALL:
    case("_npi_zeros _npi_ones", [], {"shape": "(2,)", "dtype": NAMES[d]})
    case("_npi_full", [], {"shape": "(2,)", "dtype": NAMES[d], "value": "2.5"})
    case("_npi_full_like", [("x", (2,))], {"fill_value": "2.5", "dtype": NAMES[d]})
    case("_npi_arange", [], {"start": "0", "stop": "5", "step": "2", "dtype": NAMES[d]})
    case("_npi_linspace", [], {"start": "0", "stop": "5", "num": "4", "dtype": NAMES[d]})
    case("_npi_uniform", [], {"low": "0", "high": "1", "size": "(2,)", "dtype": NAMES[d]}, values=False)
    case("_npi_normal", [], {"loc": "0", "scale": "1", "size": "(2,)", "dtype": NAMES[d]}, values=False)
    case("_npi_random_randint", [], {"low": "0", "high": "5", "shape": "(2,)", "dtype": NAMES[d]}, values=False)
case("_npi_full_like", [("x", (2,))], {"fill_value": "2.5"})
case("_npx_arange_like", [("x", V)])
case("_npi_shuffle", [("x", V)], values=False)

case("_npx_activation", [("x", V)], {"act_type": "softrelu"})
case("_npx_leaky_relu", [("x", M)], {"act_type": "leaky"})
case("_npx_softmax _npx_log_softmax", [("y", M)])
for d in FLOATS:
    case("_npx_softmax _npx_log_softmax", [("y", M)], {"dtype": NAMES[d]})
case("_npx_dropout", [("x", V)])
case("_npx_layer_norm", [("x", M), ("y", (3,)), ("z", (3,))], dtypes=same(3) + first_of(3))
case("_npx_batch_norm", [("x", (2, 2)), ("y", (2,)), ("z", (2,)), ("z", (2,)), ("condition", (2,))], {"fix_gamma": "False"},
     dtypes=same(5) + first_of(5))
case("_npx_convolution", [("x", (1, 1, 3)), ("y", (1, 1, 2)), ("z", (1,))], {"kernel": "(2,)", "num_filter": "1"},
     dtypes=same(3))
case("_npx_deconvolution", [("x", (1, 1, 3)), ("y", (1, 1, 2))], {"kernel": "(2,)", "num_filter": "1"}, dtypes=same(2))
case("_npx_pooling", [("x", (1, 1, 6))], {"kernel": "(2,)"})
case("_npx_pooling", [("x", (1, 1, 6))], {"kernel": "(2,)", "pool_type": "avg"})


def main():
    lines = []
    for op, attrs, inputs, combinations, values in CASES:
        results = in_child([(op, attrs, inputs, c, values) for c in combinations])
        by_result = {}
        for c, r in zip(combinations, results):
            by_result.setdefault(json.dumps(r, separators=(",", ":")), []).append(" ".join(c))
        text = {"op": op, "attrs": attrs, "inputs": [[name, list(shape)] for name, shape in inputs]}
        if not values:
            text["values"] = False
        rows = ",".join(json.dumps([",".join(cs)], separators=(",", ":"))[:-1] + "," + r + "]" for r, cs in by_result.items())
        lines.append(json.dumps(text, separators=(",", ":"))[:-1] + ',"results":[' + rows + "]}")
    inputs = {n: {d: elements(n, d) for d in ALL} for n in FAMILIES}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "results.json"), "w") as out:
        out.write('{"inputs":' + json.dumps(inputs, separators=(",", ":")) + ',\n"cases":[\n')
        out.write(",\n".join(lines) + "\n]}\n")


main()
