#!/usr/bin/env python3
"""The networks of networks_torch.py, exported to ONNX, by ONNX Runtime or, with RUNTIME=openvino, by OpenVINO.

    bench/peers/networks_onnx.py --kiln build/kiln-bench > networks.jsonl   needs torch, torchvision, onnx, onnxruntime or openvino
    bench/compare networks.jsonl

Prints JSON lines, as training_torch.py does.
"""
import networks_torch
import onnx_runtimes
import steps


def forward(net, *inputs):
    """In place of PyTorch's."""
    parameters = sum(p.numel() for p in net.parameters())
    arrays = [x.contiguous().numpy() for x in inputs]
    call = onnx_runtimes.compiled(onnx_runtimes.exported(net, inputs))

    def step():
        return call(*arrays)
    step.parameters = parameters
    return step


if __name__ == "__main__":
    networks_torch.forward = forward
    steps.run(onnx_runtimes.PEER, __doc__)
