"""Writes values.txt: python3 make.py, with MXNet 1.9.1 (and numpy below 1.24, which it needs).

Every pointwise operator at zeros of both signs, infinities, NaN, subnormals and the limits of its dtype, with the
gradients of the sum of its results. The lines of a call:

    in NUMBER ...      one line for each input; for all calls up to the next such lines
    call DTYPE OPERATOR[,OPERATOR ...] [attribute=value ...]
    out NUMBER ...
    grad NUMBER ...    one line for each input

`NUMBER*n` stands for n equal numbers. Operators with equal results share a call.
"""
import ctypes
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet._ctypes.ndarray import _imperative_invoke
from mxnet.base import _LIB, OpHandle, c_str, check_call

warnings.simplefilter("ignore")

DTYPES = {"float32": np.float32, "float64": np.float64, "float16": np.float16}


def points(dtype, wide):
    """Numbers of one input; `wide` has more that are no limit of the type."""
    f = np.finfo(dtype)
    sizes = [f.smallest_subnormal, 1, 2.5, f.max]
    if wide:
        exp_limit = float(np.log(f.max.astype(np.float64)))
        sizes += [f.tiny, f.eps / 4, 0.5, 20, np.floor(exp_limit), np.ceil(exp_limit) + 1, np.sqrt(f.max) * 2, f.max / 1.5]
    numbers = [0.0, -0.0, np.inf, -np.inf, np.nan]
    for size in sizes:
        numbers += [size, -size]
    return np.array(numbers, dtype)


def pairs(dtype):
    a = points(dtype, False)
    return [np.repeat(a, len(a)), np.tile(a, len(a))]


def written(values):
    def number(v):
        if np.isnan(v):
            return "nan"
        if v == 0 or np.isinf(v):
            return {0: "0", np.inf: "inf", -np.inf: "-inf"}[float(v)] if not (v == 0 and np.signbit(v)) else "-0"
        digits = {2: 5, 4: 9, 8: 17}[values.dtype.itemsize]
        texts = [f"{float(v):.{n}g}" for n in range(1, digits + 1)]
        return min((t for t in texts if values.dtype.type(float(t)) == v), key=len)

    if values.dtype == bool:
        values = values.astype(np.float32)
    words, i = [number(v) for v in values.ravel()], 0
    out = []
    while i < len(words):
        j = i
        while j < len(words) and words[j] == words[i]:
            j += 1
        out += [f"{words[i]}*{j - i}"] if j - i > 2 else words[i:j]
        i = j
    return " ".join(out)


def handle_of(name):
    handle = OpHandle()
    check_call(_LIB.NNGetOpHandle(c_str(name), ctypes.byref(handle)))
    return handle.value


def call(name, attrs, inputs):
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
    for a in arrays:
        a.attach_grad()
    with autograd.record(train_mode=False):
        out = _imperative_invoke(handle_of(name), arrays, list(attrs), list(attrs.values()), None, False, False)
    out = out[0] if isinstance(out, (list, tuple)) else out
    value = out.asnumpy()
    out.backward()
    return value, [a.grad.asnumpy() for a in arrays]


UNARY = """abs sign square negative _copy make_loss MakeLoss relu _contrib_gradientmultiplier zeros_like ones_like ceil
floor round rint trunc fix logical_not reciprocal sqrt rsqrt cbrt rcbrt exp log log10 log2 log1p expm1 sin cos tan arcsin
arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians erf erfinv gamma gammaln softsign sigmoid
hard_sigmoid
_npx_relu _npx_sigmoid _npi_absolute _npi_negative _npi_sign _npi_square _npi_rint _npi_ceil _npi_floor _npi_trunc _npi_fix
_npi_reciprocal _npi_sqrt _npi_cbrt _npi_exp _npi_expm1 _npi_log _npi_log10 _npi_log2 _npi_log1p _npi_sin _npi_cos
_npi_tan _npi_arcsin _npi_arccos _npi_arctan _npi_sinh _npi_cosh _npi_tanh _npi_arcsinh _npi_arccosh _npi_arctanh
_npi_degrees _npi_radians""".split()
UNARY_WITH = [
    ("clip", {"a_min": "-1", "a_max": "1"}),
    ("clip", {"a_min": "0", "a_max": "20"}),
    ("clip", {"a_min": "-0.0", "a_max": "inf"}),
    ("hard_sigmoid", {"alpha": "0.5", "beta": "-0.25"}),
    ("smooth_l1", {"scalar": "1"}),
    ("smooth_l1", {"scalar": "3"}),
    ("_contrib_quadratic", {"a": "3", "b": "-2", "c": "1"}),
    ("_contrib_gradientmultiplier", {"scalar": "-2"}),
    *[("Activation", {"act_type": a}) for a in ("relu", "sigmoid", "tanh", "softrelu", "softsign")],
    ("LeakyReLU", {"act_type": "leaky", "slope": "0.25"}),
    ("LeakyReLU", {"act_type": "leaky", "slope": "0"}),
    ("LeakyReLU", {"act_type": "elu", "slope": "1"}),
    ("LeakyReLU", {"act_type": "elu", "slope": "0.5"}),
    ("LeakyReLU", {"act_type": "selu"}),
    ("LeakyReLU", {"act_type": "gelu"}),
    ("LeakyReLU", {"act_type": "rrelu", "lower_bound": "0.25", "upper_bound": "0.75"}),
    *[("Cast", {"dtype": d}) for d in ("float64", "float32", "float16")],
]
BINARY = """elemwise_add elemwise_sub elemwise_mul elemwise_div _mod _power _maximum _minimum _hypot _equal _not_equal _greater
_greater_equal _lesser _lesser_equal _logical_and _logical_or _logical_xor
broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_mod broadcast_power broadcast_maximum broadcast_minimum
broadcast_hypot broadcast_equal broadcast_not_equal broadcast_greater broadcast_greater_equal broadcast_lesser
broadcast_lesser_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor
_npi_add _npi_subtract _npi_multiply _npi_mod _npi_power _npi_true_divide _npi_maximum _npi_minimum
_npi_equal _npi_not_equal _npi_greater _npi_greater_equal _npi_less _npi_less_equal""".split()
SCALAR = """_plus_scalar _minus_scalar _rminus_scalar _mul_scalar _div_scalar _rdiv_scalar _mod_scalar _rmod_scalar _power_scalar
_rpower_scalar _maximum_scalar _minimum_scalar _hypot_scalar _equal_scalar _not_equal_scalar _greater_scalar
_greater_equal_scalar _lesser_scalar _lesser_equal_scalar _logical_and_scalar _logical_or_scalar _logical_xor_scalar
_npi_add_scalar _npi_subtract_scalar _npi_rsubtract_scalar _npi_multiply_scalar _npi_true_divide_scalar
_npi_rtrue_divide_scalar _npi_mod_scalar _npi_rmod_scalar _npi_power_scalar _npi_rpower_scalar _npi_maximum_scalar
_npi_minimum_scalar _npi_equal_scalar _npi_not_equal_scalar _npi_greater_scalar _npi_greater_equal_scalar
_npi_less_scalar _npi_less_equal_scalar""".split()
NUMBERS = ["0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "-3.0", "inf", "-inf", "nan"]


def calls(dtype):
    wide, two = [points(dtype, True)], pairs(dtype)
    for name in UNARY:
        yield name, {}, wide
    for name, attrs in UNARY_WITH:
        yield name, attrs, wide
    for name in SCALAR:
        for number in NUMBERS if dtype == np.float32 else NUMBERS[:2] + NUMBERS[-1:]:
            yield name, {"scalar": number}, [points(dtype, False)]
    for name in BINARY:
        yield name, {}, two
    yield "LeakyReLU", {"act_type": "prelu"}, two
    conditions = [np.repeat(points(dtype, False), 4), np.tile(np.array([0, -0.0, np.nan, 1], dtype), 13),
                  np.tile(np.array([-0.0, np.inf, 1, np.nan], dtype), 13)]
    yield "where", {}, conditions
    yield "_npi_where", {}, conditions


def main():
    groups = {}  # by inputs, then by results: the operators
    for name, dtype in DTYPES.items():
        for op, attrs, inputs in calls(dtype):
            if op == "Cast" and attrs["dtype"] == name:
                continue
            value, gradients = call(op, attrs, inputs)
            given = "\n".join(f"in {written(x)}" for x in inputs)
            settings = "".join(f" {k}={v}" for k, v in attrs.items())
            results = "\n".join([f"out {written(value)}"] + [f"grad {written(g)}" for g in gradients])
            groups.setdefault(given, {}).setdefault((name, settings, results), []).append(op)
    with open("values.txt", "w") as file:
        for given, results in groups.items():
            print(given, file=file)
            for (name, settings, lines), ops in results.items():
                print(f"call {name} {','.join(ops)}{settings}\n{lines}", file=file)


main()
