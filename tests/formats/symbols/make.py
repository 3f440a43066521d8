"""Writes the files of this folder: python3 make.py, with mxnet 1.9.1.

fused-symbol.json: a network after MXNet's pass for Intel CPUs. fused-1.5-symbol.json: the same under the attribute names
of MXNet 1.5, which MXNet 1.9.1 reads, and writes as the first.
"""
import mxnet as mx

data = mx.sym.var("data")
conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
relu = mx.sym.Activation(mx.sym.BatchNorm(conv, name="norm"), act_type="relu", name="relu")
total = mx.sym.Convolution(relu, kernel=(1, 1), num_filter=4, name="conv2") + relu
dense = mx.sym.FullyConnected(mx.sym.Activation(total, act_type="relu", name="relu2"), num_hidden=3, name="dense")
dense2 = mx.sym.FullyConnected(mx.sym.Activation(dense, act_type="relu", name="relu3"), num_hidden=3, name="dense2")
fused = mx.sym.Activation(dense2, act_type="relu", name="relu4").get_backend_symbol("MKLDNN").tojson()

old = fused
for now, before in (("with_act", "with_relu"), ("with_postsum_act", "with_postsum_relu"), ("with_eltwise", "with_relu")):
    assert f'"{now}"' in old
    old = old.replace(f'"{now}"', f'"{before}"')
assert mx.sym.load_json(old).tojson() == fused
for name, text in (("fused", fused), ("fused-1.5", old)):
    with open(name + "-symbol.json", "w") as file:
        file.write(text)
