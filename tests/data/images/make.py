"""Writes the files of this folder: small ones of MNIST's IDX and CIFAR's form, to begin fuzzing with."""

import gzip
import pathlib
import struct

folder = pathlib.Path(__file__).parent


def idx(code, shape, elements):
    return struct.pack(">BBBB", 0, 0, code, len(shape)) + struct.pack(f">{len(shape)}I", *shape) + elements


pixels = bytes(i * 7 % 256 for i in range(3 * 4 * 5))
(folder / "images.idx").write_bytes(idx(8, (3, 4, 5), pixels))
(folder / "images.idx.gz").write_bytes(gzip.compress(idx(8, (3, 4, 5), pixels), mtime=0))
(folder / "floats.idx").write_bytes(idx(0x0D, (3,), struct.pack(">3f", 1.5, -2, 0)))
(folder / "empty.idx").write_bytes(idx(9, (0, 2), b""))
(folder / "cifar.bin").write_bytes(b"\x03" + bytes(i // 12 for i in range(3072)))
