"""Tensors as maps from coordinates to values: the einsum oracle, generated tensors, and the file formats.

Nothing here is shared with weft: the formulas and formats are those of the interface.
"""

import ast
import itertools
import math
import struct

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Tensor:
    """entries: stored coordinates (tuples) to values. A dense one stores every coordinate."""

    def __init__(self, extents, entries):
        self.extents = tuple(extents)
        self.entries = dict(entries)


def coordinates(extents):
    return itertools.product(*[range(extent) for extent in extents])


def dense(extents, values):
    return Tensor(extents, zip(coordinates(extents), values))


def evaluate(spec, *tensors, coefficient=1.0):
    """'ij,jk->ik' over stored entries: a combination contributes only where every factor stores an entry."""
    factors, result = spec.split("->")
    factors = factors.split(",")
    extent = {}
    for letters, tensor in zip(factors, tensors, strict=True):
        for letter, size in zip(letters, tensor.extents, strict=True):
            assert extent.setdefault(letter, size) == size
    partial = [({}, coefficient)]
    for letters, tensor in zip(factors, tensors):
        bound = set(partial[0][0]) if partial else set()
        known = [place for place, letter in enumerate(letters) if letter in bound]
        by_key = {}
        for coordinate, value in tensor.entries.items():
            binding = {}
            if all(binding.setdefault(letter, at) == at for letter, at in zip(letters, coordinate)):
                by_key.setdefault(tuple(coordinate[place] for place in known), []).append((binding, value))
        partial = [({**binding, **more}, product * value) for binding, product in partial
                   for more, value in by_key.get(tuple(binding[letters[place]] for place in known), [])]
    sums = {}
    for binding, product in partial:
        at = tuple(binding[letter] for letter in result)
        sums[at] = sums.get(at, 0.0) + product
    return Tensor([extent[letter] for letter in result], sums)


def nonzero(tensor):
    return {at: value for at, value in tensor.entries.items() if value != 0}


def same(found, wanted):
    """Equal maps; NaN equals NaN."""
    return found.keys() == wanted.keys() and all(
        value == wanted[at] or (math.isnan(value) and math.isnan(wanted[at])) for at, value in found.items())


# Generated operands.

def splitmix64(z):
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & MASK
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def uniform_value(seed, n, scalar="f64"):
    z = splitmix64((seed * GOLDEN + n + 1) & MASK)
    return (z >> 11) * 2.0**-53 if scalar == "f64" else (z >> 40) * 2.0**-24


def uniform(extents, seed=0, scalar="f64"):
    return dense(extents, (uniform_value(seed, n, scalar) for n in range(math.prod(extents))))


def sparse(extents, nnz, seed=0, scalar="f64"):
    chosen = set()
    t = 0
    while len(chosen) < nnz:
        chosen.add(tuple(extent * splitmix64(((seed + 0x5EED) * GOLDEN + t * len(extents) + m + 1) & MASK) >> 64
                         for m, extent in enumerate(extents)))
        t += 1
    return Tensor(extents, ((at, uniform_value(seed, n, scalar)) for n, at in enumerate(sorted(chosen))))


# Text.

def tns(tensor):
    return "".join(" ".join([*(str(c + 1) for c in at), repr(float(value))]) + "\n" for at, value in tensor.entries.items())


def lines_of(text):
    return [line.split() for line in text.splitlines() if line.strip() and not line.startswith(("#", "%"))]


def read_tns(text):
    return {tuple(int(word) - 1 for word in words[:-1]): float(words[-1]) for words in lines_of(text)}


def read_mtx(text):
    rows = lines_of(text)
    if text.split(maxsplit=3)[2] == "array":
        extents = tuple(int(word) for word in rows[0])
        return {(n % extents[0], n // extents[0]): float(words[0]) for n, words in enumerate(rows[1:])}
    assert len(rows) - 1 == int(rows[0][2])
    return {(int(words[0]) - 1, int(words[1]) - 1): float(words[2]) for words in rows[1:]}


def zstandard(content):
    """A frame of uncompressed blocks."""
    if isinstance(content, str):
        content = content.encode()
    assert len(content) < 1 << 17
    return (bytes([0x28, 0xB5, 0x2F, 0xFD, 0xA0]) + struct.pack("<I", len(content)) +
            (len(content) << 3 | 1).to_bytes(3, "little") + content)


# NumPy.

CODES = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u8": "Q", "u4": "I", "u2": "H", "u1": "B", "b1": "?"}


def npy(extents, values, descr="<f8", fortran=False, version=1):
    """values in row-major order, whatever the order of the file."""
    values = list(values)
    if fortran:
        by_coordinate = dict(zip(coordinates(extents), values))
        values = [by_coordinate[at[::-1]] for at in coordinates(extents[::-1])]
    if descr[1:] == "f2":
        packed = struct.pack(f"{descr[0]}{len(values)}e", *values)
    else:
        packed = struct.pack(("<" if descr[0] == "|" else descr[0]) + f"{len(values)}{CODES[descr[1:]]}", *values)
    shape = "(" + "".join(f"{extent}, " for extent in extents).strip() + ")"
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    size = 10 if version == 1 else 12
    header += " " * (-(size + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header.encode() + packed


def read_npy(content):
    """(extents, descr, map of all coordinates)."""
    assert content[:6] == b"\x93NUMPY"
    size, begin = (struct.unpack("<H", content[8:10])[0], 10) if content[6] == 1 else (struct.unpack("<I", content[8:12])[0], 12)
    header = ast.literal_eval(content[begin:begin + size].decode())
    extents = header["shape"]
    data = content[begin + size:]
    count = math.prod(extents)
    values = struct.unpack(f"{header['descr'][0]}{count}{CODES[header['descr'][1:]]}", data)
    order = (at[::-1] for at in coordinates(extents[::-1])) if header["fortran_order"] else coordinates(extents)
    return extents, header["descr"], dict(zip(order, values))
