#!/usr/bin/env python3
"""The first calls of first_calls_torch.py by ONNX Runtime or, with RUNTIME=openvino, by OpenVINO: reading the ONNX file, which
has any batch size, and the calls.

    bench/peers/first_calls_onnx.py --kiln build/kiln-bench > first.jsonl   needs torch, torchvision, onnx, onnxruntime or openvino
    bench/compare first.jsonl

Prints JSON lines, as training_torch.py does. The memory includes PyTorch's, which exports the network.
"""
import sys
import time

import first_calls_torch
import onnx_runtimes
import steps


def first_calls(net, calls):
    """In place of PyTorch's: seconds."""
    model = onnx_runtimes.exported(net, calls[-1], any_batch=len(calls) > 1)
    calls = [[x.numpy() for x in call] for call in calls]
    begin = time.perf_counter()
    call = onnx_runtimes.compiled(model)
    for arrays in calls:
        call(*arrays)
    return time.perf_counter() - begin


if __name__ == "__main__":
    first_calls_torch.main(sys.argv, __file__, onnx_runtimes.PEER, __doc__, first_calls)
