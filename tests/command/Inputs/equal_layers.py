"""A symbol file of N equal layers, one after the other, each with weights of its own.

usage: equal_layers.py N FILE
"""
import json
import sys

count, path = int(sys.argv[1]), sys.argv[2]
nodes, weights = [{"op": "null", "name": "data", "inputs": []}], []
for i in range(count):
    last = len(nodes) - 1
    weights.append(len(nodes))
    nodes.append({"op": "null", "name": f"weight{i}", "inputs": []})
    nodes.append({"op": "FullyConnected", "name": f"layer{i}", "attrs": {"num_hidden": "64", "no_bias": "True"}, "inputs": [[last, 0, 0], [weights[-1], 0, 0]]})
symbol = {"nodes": nodes, "arg_nodes": [0, *weights], "heads": [[len(nodes) - 1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}
with open(path, "w") as file:
    json.dump(symbol, file, indent=0)
