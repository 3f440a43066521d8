"""ONNX models and PyTorch's modules by ONNX Runtime, or with RUNTIME=openvino in the environment by OpenVINO."""
import io
import os
import tempfile

import steps

OPENVINO = os.environ.get("RUNTIME") == "openvino"
PEER = "OpenVINO" if OPENVINO else "ONNX Runtime"


def exported(net, inputs, any_batch=False):
    """The bytes of the ONNX file; with any_batch the first axis of the inputs may have any length."""
    import torch
    names = [f"x{i}" for i in range(len(inputs))]
    file = io.BytesIO()
    torch.onnx.export(net.eval(), tuple(inputs), file, input_names=names, dynamo=False, opset_version=18,
                      dynamic_axes={name: {0: "batch"} for name in names} if any_batch else None)
    return file.getvalue()


def quantized(model, inputs):
    """The bytes of the ONNX file with QuantizeLinear and DequantizeLinear, as the tool of ONNX Runtime writes it. Weights are
    int8 with a step for each channel, activations uint8 with the range of these inputs. In networks of images all operators
    with a form of 8 bits have it, in others the products with weights."""
    import onnx
    from onnxruntime import quantization

    class Inputs(quantization.CalibrationDataReader):
        batches = iter([{f"x{i}": x.contiguous().numpy() for i, x in enumerate(inputs)}])

        def get_next(self):
            return next(self.batches, None)

    with tempfile.TemporaryDirectory() as folder:
        optimized, path = (os.path.join(folder, name) for name in ("optimized.onnx", "int8.onnx"))
        quantization.quant_pre_process(onnx.load_from_string(model), optimized, skip_symbolic_shape=True)
        quantization.quantize_static(optimized, path, Inputs(), per_channel=True,
                                     op_types_to_quantize=None if inputs[0].dim() == 4 else ["Gemm", "MatMul"],
                                     extra_options={"MatMulConstBOnly": True})
        with open(path, "rb") as file:
            return file.read()


def openvino_request(model, precision="f32"):
    import openvino
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": steps.THREADS, "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": precision}  # else bfloat16 on some processors
    return core.compile_model(core.read_model(io.BytesIO(model)), "CPU", settings).create_infer_request()


def openvino_tensor(array):
    """A tensor in the memory of the array, whose dtype may be ml_dtypes' bfloat16."""
    import openvino
    if array.dtype.name == "bfloat16":
        return openvino.Tensor(array.view("uint16"), openvino.Shape(array.shape), openvino.Type.bf16)
    return openvino.Tensor(array, shared_memory=True)


def onnxruntime_session(model):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = steps.THREADS
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def compiled(model, precision="f32"):
    """A function of NumPy arrays that returns the list of results. `precision`: the dtype to which OpenVINO may round
    operands."""
    if OPENVINO:
        request = openvino_request(model, precision)
        return lambda *arrays: list(request.infer(list(arrays), share_inputs=True, share_outputs=True).values())
    session = onnxruntime_session(model)
    names = [value.name for value in session.get_inputs()]
    return lambda *arrays: session.run(None, dict(zip(names, arrays)))


def bound(model, arrays, precision="f32"):
    """A step whose inputs x0, x1, ... and results are bound once, which takes the least time around the model. It
    returns the first result."""
    if OPENVINO:
        request = openvino_request(model, precision)
        tensors = [openvino_tensor(array) for array in arrays]
        for i, tensor in enumerate(tensors):
            request.set_tensor(f"x{i}", tensor)

        def step():
            request.start_async()
            request.wait()
            return request.get_output_tensor(0).data
        step.memory = tensors
        return step
    import onnxruntime
    session = onnxruntime_session(model)
    inputs = {f"x{i}": array for i, array in enumerate(arrays)}
    names = [value.name for value in session.get_outputs()]
    results = dict(zip(names, session.run(names, inputs)))
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in {**inputs, **results}.items()}
    binding = session.io_binding()
    for name in inputs:
        binding.bind_ortvalue_input(name, values[name])
    for name in names:
        binding.bind_ortvalue_output(name, values[name])

    def step():
        session.run_with_iobinding(binding)
        return results[names[0]]
    step.memory = inputs, results, values
    return step
