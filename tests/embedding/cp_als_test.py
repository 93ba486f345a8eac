#!/usr/bin/env python3
"""cp_als_test.py CP_ALS DIRECTORY: the fit that the sample prints is that of the factors it writes, summed over every entry;
it never falls, and a tensor of rank 2 is found."""

import ast
import itertools
import math
import pathlib
import random
import re
import subprocess
import struct
import sys

cp_als, directory = sys.argv[1], pathlib.Path(sys.argv[2])


def matrix(path):
    """A two-dimensional .npy of doubles in C order."""
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    described = ast.literal_eval(data[10:10 + length].decode())
    assert described["descr"] == "<f8" and not described["fortran_order"], described
    rows, columns = described["shape"]
    values = struct.unpack(f"<{rows * columns}d", data[10 + length:])
    return [values[row * columns:(row + 1) * columns] for row in range(rows)]


def fits(entries, extents, rank, sweeps):
    """The fits printed, and the last one by brute force from the factors."""
    file = directory / "small.tns"
    file.write_text("".join(" ".join(str(c + 1) for c in at) + f" {value!r}\n" for at, value in sorted(entries.items())))
    prefix = directory / "factor"
    ran = subprocess.run([cp_als, str(file), str(rank), str(sweeps), str(prefix)], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    printed = [float(fit) for fit in re.findall(r"fit (-?[0-9.]+)", ran.stdout)]
    assert len(printed) == sweeps, ran.stdout
    factors = [matrix(directory / f"factor{mode}.npy") for mode in range(len(extents))]
    assert [len(factor) for factor in factors] == list(extents)
    wrong = total = 0.0
    for at in itertools.product(*map(range, extents)):
        value = entries.get(at, 0.0)
        model = sum(math.prod(factors[mode][c][r] for mode, c in enumerate(at)) for r in range(rank))
        wrong += (value - model) ** 2
        total += value ** 2
    return printed, 1 - math.sqrt(wrong / total)


draw = random.Random(7)
for extents in ((6, 5, 4), (5, 3, 4, 2), (7, 8)):
    everywhere = list(itertools.product(*map(range, extents)))
    chosen = set(draw.sample(everywhere, len(everywhere) // 3)) | {tuple(extent - 1 for extent in extents)}
    entries = {at: float(draw.randint(1, 9)) for at in chosen}
    printed, counted = fits(entries, extents, 3, 8)
    assert abs(printed[-1] - counted) < 1e-8, (extents, printed, counted)
    assert all(later > earlier - 1e-9 for earlier, later in zip(printed, printed[1:])), printed
    assert 0 < printed[0] < printed[-1] < 1, printed

extents = (6, 5, 4)
parts = [[[draw.randint(-5, 5) for _ in range(extent)] for extent in extents] for _ in range(2)]
entries = {at: float(sum(math.prod(part[mode][c] for mode, c in enumerate(at)) for part in parts))
           for at in itertools.product(*map(range, extents))}
printed, counted = fits(entries, extents, 2, 200)
assert printed[-1] > 0.9999 and abs(printed[-1] - counted) < 1e-6, (printed[-1], counted)
