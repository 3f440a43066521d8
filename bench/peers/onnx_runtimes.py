"""PyTorch's modules by ONNX Runtime, or with RUNTIME=openvino in the environment by OpenVINO."""
import io
import os

import torch

import steps

OPENVINO = os.environ.get("RUNTIME") == "openvino"
PEER = "OpenVINO" if OPENVINO else "ONNX Runtime"


def exported(net, inputs, any_batch=False):
    """The bytes of the ONNX file; with any_batch the first axis of the inputs may have any length."""
    names = [f"x{i}" for i in range(len(inputs))]
    file = io.BytesIO()
    torch.onnx.export(net.eval(), tuple(inputs), file, input_names=names, dynamo=False, opset_version=18,
                      dynamic_axes={name: {0: "batch"} for name in names} if any_batch else None)
    return file.getvalue()


def compiled(model):
    """A function of NumPy arrays that returns the list of results."""
    if OPENVINO:
        import openvino
        core = openvino.Core()
        settings = {"INFERENCE_NUM_THREADS": steps.THREADS, "PERFORMANCE_HINT": "LATENCY",
                    "INFERENCE_PRECISION_HINT": "f32"}  # else bfloat16 on some processors
        request = core.compile_model(core.read_model(io.BytesIO(model)), "CPU", settings).create_infer_request()
        return lambda *arrays: list(request.infer(list(arrays), share_inputs=True, share_outputs=True).values())
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = steps.THREADS
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return lambda *arrays: session.run(None, dict(zip(names, arrays)))
