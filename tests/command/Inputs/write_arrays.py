"""Writes a .safetensors file of ones: FILE NAME=TYPE:EXTENT,EXTENT ..., with the types F32 and I32."""
import json
import struct
import sys

path, arrays = sys.argv[1], sys.argv[2:]
header, data = {}, b""
for array in arrays:
    name, _, kind = array.rpartition("=")
    dtype, _, extents = kind.partition(":")
    shape = [int(extent) for extent in extents.split(",") if extent]
    count = 1
    for extent in shape:
        count *= extent
    one = struct.pack("<f" if dtype == "F32" else "<i", 1)
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
    data += one * count
text = json.dumps(header).encode()
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
