"""The numbers of `kiln info --json`, computed again from the model: FILE.json MODEL."""
import json
import sys

info, model = json.load(open(sys.argv[1])), sys.argv[2]


def by_operator(name):
    return next(o for o in info["operators"] if o["name"] == name)


for group in ("inputs", "parameters", "outputs", "arrays"):
    for array in info.get(group, []):
        elements = 1
        for extent in array["shape"]:
            elements *= extent
        assert array["elements"] == elements and array["bytes"] == elements * {"float32": 4}[array["dtype"]], array

if model == "mlp":
    # Batches of 8 through layers of 512 -> 256 -> 128 -> 2.
    assert info["format"] == "symbol" and [a["name"] for a in info["inputs"]] == ["data"], info["inputs"]
    assert info["multiply_adds"] == by_operator("FullyConnected")["multiply_adds"] == 8 * (512 * 256 + 256 * 128 + 128 * 2)
    assert info["uncounted_nodes"] == 0 and not info["multiply_adds_are_bound"]
    assert info["total"] == {"elements": 512 * 256 + 256 + 256 * 128 + 128 + 128 * 2 + 2, "bytes": 4 * 164482, "known": True}, info["total"]
    assert info["outputs"][0]["shape"] == [8, 2], info["outputs"]
elif model == "lstm":
    # Two layers of 10 in two directions, for 3 sequences of 5 steps of 7: each weight (4 * 10, n) once for every step.
    weights = [(40, 7), (40, 10), (40, 20), (40, 10)]
    assert by_operator("RNN")["multiply_adds"] == 2 * sum(a * b for a, b in weights) * 3 * 5, info["operators"]
    assert by_operator("FullyConnected")["multiply_adds"] == 3 * 4 * 100
elif model == "controlflow":
    # A loop of 5 steps over (2, 4) and states (2, 6), with weights (6, 4) and (6, 6).
    assert by_operator("dot") == {"name": "dot", "nodes": 2, "known": True, "multiply_adds": 5 * (2 * 6 * 4 + 2 * 6 * 6)}, info
    assert info["multiply_adds"] == by_operator("dot")["multiply_adds"] and by_operator("_foreach")["multiply_adds"] == 0
else:
    assert info["format"] == model and len(info["arrays"]) == 1 and info["total"]["known"], info
