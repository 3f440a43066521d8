"""Writes the files of this folder: python3 make.py, with numpy 2.4, ml_dtypes 0.6 and safetensors 0.8."""
import ml_dtypes
import numpy as np
from safetensors.numpy import save_file


def counting(dtype, *shape):
    """0, 1, 2, ... in C order."""
    return np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)


dtypes = ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"]
every = {name: counting(name, 2, 3) for name in dtypes}
every["bfloat16"] = counting(ml_dtypes.bfloat16, 2, 3)
every["scalar"] = counting("float32")
every["nothing"] = counting("int64", 0, 4)

np.save("plain.npy", counting("float32", 2, 3))
np.save("long.npy", counting("int32", 40))
np.save("scalar.npy", counting("float32"))
np.save("nothing.npy", counting("int64", 0, 4))
np.save("fortran.npy", np.asfortranarray(counting("int32", 2, 3, 4)))
np.save("big_endian.npy", counting(">i4", 2, 3))
np.save("big_endian_fortran.npy", np.asfortranarray(counting(">f8", 3, 2)))
for version in (2, 3):
    with open(f"version{version}.npy", "wb") as file:
        np.lib.format.write_array(file, counting("float32", 2, 3), version=(version, 0))
np.save("int16.npy", counting("int16", 2))
np.save("complex.npy", counting("complex64", 2))
ends = np.array([0, 1, 2, 3, 4, 65535]).astype(">u2")
np.save("big_endian_fortran_uint16.npy", np.asfortranarray(ends.reshape(3, 2)))
wide = {"int16": np.array([-32768, -1, 0, 32767], "int16"), "uint16": np.array([0, 1, 32768, 65535], "uint16"),
        "float": counting("float32", 2), "uint32": np.array([0, 1, 2**31, 2**32 - 1], "uint32"),
        "uint64": np.array([0, 1, 2**32, 2**63 - 1], "uint64")}
np.savez("wide.npz", **wide)
save_file(wide, "wide.safetensors")
np.savez("mixed.npz", first=counting("float32", 2), odd_complex=counting("complex64", 2), odd_text=np.array(["a", "bc"]),
         odd_large=np.array([2**63], "uint64"), last=counting("int16", 2))
save_file({"first": counting("float32", 2), "odd_large": np.array([2**63], "uint64"), "last": counting("int16", 2)},
          "mixed.safetensors")
np.save("fields.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
np.save("objects.npy", np.array([None, "text"], dtype=object))
np.savez("stored.npz", **every)
np.savez_compressed("deflated.npz", **every)
np.savez("positional.npz", counting("float32", 2), counting("int32", 3))
np.savez("umlaut.npz", **{"in:größe": counting("float32", 2)})
save_file(every, "every.safetensors", metadata={"format": "np", "note": "{[\"}"})
