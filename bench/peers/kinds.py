"""Shared by the peers' programs of kinds: names of kinds that are one operator, and kinds that are methods of arrays."""

# Named so in each library's main module, except JAX's sigmoid and erf.
FUNCTIONS = ("exp", "log", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "sinh", "cosh", "expm1", "log1p", "log2",
             "log10", "arcsin", "arccos", "arctan")
PERMUTATIONS = ("transpose_to_channels_last", "transpose_to_channels_first", "transpose_heads")
DENSE = ("few_rows", "dense_parameter", "dense_argument")
CONVOLUTIONS = ("convolution1", "convolution3", "convolution3_stride2", "depthwise3", "depthwise3_stride2",
                "depthwise5", "grouped3", "first7_stride2", "first3_dilated")
# In low precision (bench/low_precision.h): of DENSE and of CONVOLUTIONS.
INT8 = ("int8_few_rows", "int8_dense"), ("int8_convolution1", "int8_convolution3", "int8_depthwise3")
BF16 = ("bf16_few_rows", "bf16_dense"), ("bf16_convolution1", "bf16_convolution3", "bf16_depthwise3")
BF16_OPERANDS = tuple(tuple(f"precision_{name}" for name in names) for names in BF16)

# Methods of arrays, as in NumPy.
METHODS = {
    "sum_short": lambda x: x.sum(1),
    "sum_channels": lambda x: x.sum((0, 2, 3)),
    "argmax_first": lambda x: x.argmax(0),
    "argmax_last": lambda x: x.argmax(1),
    "argmin_first": lambda x: x.argmin(0),
    "argmin_last": lambda x: x.argmin(1),
    "cumsum_first": lambda x: x.cumsum(0),
    "cumsum_middle": lambda x: x.cumsum(1),
}
