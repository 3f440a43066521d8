#!/usr/bin/env python3
"""The networks of networks_torch.py, exported to ONNX, by ONNX Runtime or, with RUNTIME=openvino, by OpenVINO.

    bench/peers/networks_onnx.py --kiln build/kiln-bench > networks.jsonl   needs torch, torchvision, onnx, onnxruntime or openvino
    bench/compare networks.jsonl

Prints JSON lines, as training_torch.py does. Networks in int8 are quantised by ONNX Runtime's tool, for OpenVINO too. In
bfloat16 they run by OpenVINO alone, with float32 inputs and results.
"""
import logging

import networks_torch
import onnx_runtimes
import steps


def step_of(model, inputs, precision="f32"):
    arrays = [x.contiguous().numpy() for x in inputs]
    call = onnx_runtimes.compiled(model, precision)
    return lambda: call(*arrays)


def forward(net, *inputs):
    """In place of PyTorch's."""
    parameters = sum(p.numel() for p in net.parameters())
    step = step_of(onnx_runtimes.exported(net, inputs), inputs)
    step.parameters = parameters
    return step


def forward_in_bf16(net, *inputs):
    return step_of(onnx_runtimes.exported(net, inputs), inputs, "bf16")


def forward_in_int8(net, *inputs):
    return step_of(onnx_runtimes.quantized(onnx_runtimes.exported(net, inputs), inputs), inputs)


for name, make in networks_torch.LOW_PRECISION.items():
    steps.workload(f"{name}_int8")(lambda make=make: forward_in_int8(*make()))
    if not onnx_runtimes.OPENVINO:
        del steps.workloads[f"{name}_bf16"]

if __name__ == "__main__":
    logging.disable(logging.WARNING)  # advice of the tool that quantises
    networks_torch.forward, networks_torch.forward_in_bf16 = forward, forward_in_bf16
    steps.run(onnx_runtimes.PEER, __doc__)
