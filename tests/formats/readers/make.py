"""Writes npy.json, safetensors.json and rec.json: 200 files each, of headers as programs write them and some that none
should, with what the formats' own readers make of them. `python3 make.py`, with numpy 1.23, safetensors 0.8, mxnet 1.9.1.

A case is the file's bytes (as a string of Latin-1) and what the reader gives: "refused", {"lacking": the dtype} for an
array of a dtype that Kiln has not, or what was read. Elements are small whole numbers.
"""
import io
import json
import os
import random
import struct
import tempfile

import mxnet as mx
import numpy as np
import safetensors

COUNT = 200
HERE = os.path.dirname(os.path.abspath(__file__))
# The dtypes that Kiln reads, and as which.
READ_AS = {"f2": "float16", "f4": "float32", "f8": "float64", "u1": "uint8", "i1": "int8", "i4": "int32", "i8": "int64",
           "b1": "bool", "i2": "int32", "u2": "int32", "u4": "int64", "u8": "int64"}


def save(name, cases):
    assert len(cases) == COUNT
    with open(os.path.join(HERE, name), "w") as out:
        lines = [json.dumps({"file": content.decode("latin-1"), "gives": gives}, separators=(",", ":"))
                 for content, gives in cases]
        out.write("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, {k: sum(g == k or k in g for _, g in cases) for k in ("refused", "lacking")})


def elements(array):
    return [float(v) if v != int(v) else int(v) for v in array.reshape(-1)]


# .npy

CODES = ("f4 f8 f2 u1 i1 i2 u2 i4 u4 i8 u8 b1 f d e B b h H i I l L q Q ?").split()
NAMES = ("float16 float32 float64 half single double float uint8 int8 int16 uint16 int32 uint32 int64 uint64 bool bool_ int "
         "byte ubyte short ushort intc uintc intp uintp longlong ulonglong").split()
LACKING = "<c8 <c16 |S3 <U2 <M8[s] <m8[ns] <f16".split()
WRONG = ["f3", "<q9", "float31", "<float32", "Float32", "", "<", "f4 ", " f4", "i0", "?1", "xx"]


def npy_file(rng):
    """A file, and its elements' dtype."""
    kind = rng.random()
    if kind < 0.55:
        descr = rng.choice("<<<<>=|") + rng.choice(CODES)
    elif kind < 0.65:
        descr = rng.choice(CODES)
    elif kind < 0.75:
        descr = rng.choice(NAMES)
    elif kind < 0.85:
        descr = rng.choice(LACKING)
    else:
        descr = rng.choice(WRONG)
    shape = tuple(rng.choice((0, 1, 2, 3)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5, 8))))
    try:
        dtype = np.dtype(descr)
        count = int(np.prod(shape, dtype=int))
        data = np.arange(count).astype(dtype).tobytes()
    except (TypeError, ValueError):
        data = b"\0" * 16
    major = rng.choice((1, 1, 1, 2, 3))
    quote = rng.choice("''\"")
    long = "L" if rng.random() < 0.15 else ""
    extents = [str(e) + long for e in shape]
    style = rng.random()
    if len(extents) == 1:
        inside = extents[0] + rng.choice((",", ",", ",", ", "))
    else:
        inside = rng.choice((", ", ",", " , ")).join(extents) + ("," if extents and rng.random() < 0.2 else "")
    text = rng.choice(("(%s)", "(%s)", "( %s )")) % inside
    order = rng.choice(("True", "False"))
    wrong = rng.random()
    if wrong < 0.04:
        text = rng.choice(("(3)", "[3]", "3", "(3.0,)", "(,)", "(3,,)", "('3',)", "(03,)", "None", "(3 3)"))
    elif wrong < 0.08:
        order = rng.choice(("0", "1", "None", "'False'", "true", "false"))
    prefix = rng.choice(("", "", "", "", "u"))
    fields = [("descr", prefix + quote + descr + quote), ("fortran_order", order), ("shape", text)]
    if wrong > 0.97:
        fields.append(("extra", "1"))
    elif wrong > 0.94:
        fields.pop(rng.randrange(3))
    if rng.random() < 0.4:
        rng.shuffle(fields)
    colon, comma = rng.choice((": ", ": ", ":", " : ")), rng.choice((", ", ", ", ",", " ,\n "))
    header = comma.join(prefix + quote + k + quote + colon + v for k, v in fields)
    header = rng.choice(("", "", " ")) + "{" + rng.choice(("", "", " ")) + header + rng.choice(("", ", ", ",", " ")) + "}"
    if 0.90 < wrong < 0.94:
        header += rng.choice((" x", "}", ", {}", " 7"))
    padding = rng.choice((16, 64, 1))
    fixed = 10 if major == 1 else 12
    header += " " * (-(fixed + len(header) + 1) % padding) + rng.choice(("\n", "\n", "\n", "", " "))
    if style < 0.03:
        data = data[:-1]
    length = struct.pack("<H" if major == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([major, 0]) + length + header.encode("latin-1") + data


def read_npy(content):
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # whatever the reader throws
        return "refused"
    name = array.dtype.newbyteorder("=").str[1:]
    if name not in READ_AS:
        return {"lacking": array.dtype.str}
    return {"read": [READ_AS[name], list(array.shape), elements(array.astype("f8"))]}


# .safetensors

ST = {"F16": "f2", "F32": "f4", "F64": "f8", "U8": "u1", "I8": "i1", "I16": "i2", "U16": "u2", "I32": "i4", "U32": "u4",
      "I64": "i8", "U64": "u8", "BOOL": "b1"}
ST_LACKING = {"F8_E4M3": 8, "F8_E5M2": 8, "C64": 64, "F4": 4}


def safetensors_file(rng):
    names = rng.sample(["a", "weight", "layer.0.bias", "größe", "\U0001f600", "a b", "x/y", "", "in:0", "quote\"", "line\n"],
                       rng.choice((0, 1, 1, 2, 3)))
    at, entries, data = 0, [], b""
    wrong = rng.random()
    for name in names:
        shape = [rng.choice((0, 1, 2, 3)) for _ in range(rng.choice((0, 1, 2, 3)))]
        count = int(np.prod(shape, dtype=int))
        if rng.random() < 0.12:
            word = rng.choice(list(ST_LACKING))
            if word == "F4":
                shape, count = [2], 2
            part = b"\0" * (count * ST_LACKING[word] // 8)
        else:
            word = rng.choice(list(ST))
            part = np.arange(count).astype("<" + ST[word]).tobytes()
        begin, end = at, at + len(part)
        at, data = end, data + part
        extents = ",".join(map(str, shape))
        fields = [("dtype", json.dumps(word)), ("shape", f"[{extents}]"), ("data_offsets", f"[{begin}, {end}]")]
        kind = rng.random()
        if kind < 0.02:
            fields[0] = ("dtype", rng.choice(('"f32"', '"FLOAT"', "7", "null")))
        elif kind < 0.05:
            fields[1] = ("shape", rng.choice(("[02]", "[1.0]", "[-1]", "[-0]", '["1"]', "[1,]", "2", "null")))
        elif kind < 0.08:
            fields[2] = ("data_offsets", rng.choice((f"[{begin}]", f"[{begin},{end},{end}]", f"[{end + 1},{end + 2}]",
                                                     f"[{begin},{end + 1}]", "null")))
        elif kind < 0.1:
            fields.pop(rng.randrange(3))
        elif kind < 0.13:
            fields.append(("note", rng.choice(("1", "null", '{"a":[1,{}]}', '"text"', "-1.5e3"))))
        elif kind < 0.14:
            fields.append(fields[0])
        if rng.random() < 0.5:
            rng.shuffle(fields)
        space = rng.choice(("", "", " ", "\n  "))
        body = ("," + space).join(f'"{k}":{space}{v}' for k, v in fields)
        entries.append(f"{json.dumps(name, ensure_ascii=rng.random() < 0.5)}:{space}{{{body}}}")
    if rng.random() < 0.3:
        good = ['{"format":"pt"}', '{"a":"b","c":"{}"}', "{}", "null"]
        bad = ['{"a":1}', "[]", '"text"', '{"a":null}', '{"a":{"b":"c"}}']
        entries.insert(rng.randrange(len(entries) + 1), '"__metadata__":' + rng.choice(good if rng.random() < 0.8 else bad))
    if rng.random() < 0.3:
        rng.shuffle(entries)
    header = "{" + rng.choice((",", ", ", ",\n")).join(entries) + "}"
    if wrong < 0.02:
        header = header[:-1] + ",}"
    elif wrong < 0.04:
        header += rng.choice((" x", "}", "\0", "[]"))
    elif wrong < 0.06:
        header = header.replace('"a"', '"a\t"').replace("weight", "wei\tght")
    elif wrong < 0.08:
        data += b"\0"
    elif wrong < 0.10:
        data = data[:-1]
    encoded = rng.choice(("", "", " ")).encode() + header.encode()
    if rng.random() < 0.7:
        encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + data


def read_safetensors(content):
    try:
        read = safetensors.deserialize(content)
    except Exception:  # whatever the reader throws
        return "refused"
    arrays = {}
    for name, entry in read:
        word = entry["dtype"]
        if word not in ST:
            arrays[name] = {"lacking": word}
            continue
        values = np.frombuffer(bytes(entry["data"]), "<" + ST[word])
        arrays[name] = [READ_AS[ST[word]], list(entry["shape"]), elements(values.astype("f8"))]
    return {"read": arrays}


# .rec

MAGIC = struct.pack("<I", 0xCED7230A)


def part(kind, content):
    return MAGIC + struct.pack("<I", kind << 29 | len(content)) + content + b"\0" * (-len(content) % 4)


def rec_file(rng):
    content = b""
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        count = rng.choice((1, 1, 1, 2, 3, 4))
        pieces = [bytes(rng.randrange(97, 123) for _ in range(rng.choice((0, 1, 3, 4, 7, 8, 12)))) for _ in range(count)]
        if rng.random() < 0.4:  # of a record with a header of labels
            labels = rng.choice((0, 0, 1, 3))
            pieces[0] = struct.pack("<IfQQ", labels, 2.0, 7, 0) + struct.pack("<f", 0.5) * labels + pieces[0]
        if count > 1:  # only the last part has a separate length
            pieces = [p + b"." * (-len(p) % 4) for p in pieces[:-1]] + pieces[-1:]
        kinds = [0] if count == 1 else [1] + [2] * (count - 2) + [3]
        content += b"".join(part(k, p) for k, p in zip(kinds, pieces))
    wrong = rng.random()
    if wrong < 0.1 and content:
        content = content[:rng.randrange(1, len(content))]
    elif wrong < 0.2:
        content += rng.choice((b"\0", b"\0" * 4, b"\0" * 8, MAGIC, MAGIC[::-1] + b"\0" * 4, MAGIC + b"\4\0\0\0abc"))
    elif wrong < 0.25 and len(content) > 8:
        at = 4 * rng.randrange(len(content) // 4)
        content = content[:at] + b"\xff\xff\xff\x1f" + content[at + 4:]
    return content


def read_rec(content):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.rec")
        with open(path, "wb") as out:
            out.write(content)
        records = []
        reader = mx.recordio.MXRecordIO(path, "r")
        try:
            while True:
                record = reader.read()
                if record is None:
                    return {"read": records}
                records.append(record.decode("latin-1"))
        except mx.base.MXNetError:
            return "refused"
        finally:
            reader.close()


def main():
    for name, make, read in (("npy", npy_file, read_npy), ("safetensors", safetensors_file, read_safetensors),
                             ("rec", rec_file, read_rec)):
        rng = random.Random(53)
        cases = []
        while len(cases) < COUNT:
            content = make(rng)
            cases.append((content, read(content)))
        save(name + ".json", cases)


main()
