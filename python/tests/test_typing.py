"""What a type checker says of code that uses weft: nothing where it is right, and where it is wrong that it is."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import weft

USE = '''\
from collections.abc import Hashable

import numpy as np

import weft
from weft import Kernel, Plan, Tensor

T: Tensor = weft.tensor(([1.0], ([0], [0])), shape=(2, 2), format="ss")
kernel: Kernel = weft.compile("y(i) = T(i,j) * x(j)", {"T": T}, x=np.ones(2), threads=1)
kernel(T=T, x=np.ones(2), out=np.empty(2)).sum()
plan: Plan = kernel.plan
text: str = plan.tree + plan.html() + T.format
entries: int = T.nnz + T.ndim
coordinates, values = T.to_coo()
coordinates.reshape(-1)
sum_of_two: Tensor = T @ T * 2 + T[0]
with weft.options(threads=1) as engine:
    engine.evaluate("t = T(i,j)", T=T)
    engine.tensor(([1.0], [[0]]), (3,)).nnz
(T == T).any() or (T != 0).all()
weft.einsum("ij,j", T, [1.0, 2.0], out=np.empty(2))
weft.einsum("ij", [0, 1], T, [0], format={"out": "d"})
try:
    weft.plan("y(i) = x(i)", x=np.ones(3), run=True, why=True)
except (weft.InputError, weft.UnsupportedError) as error:
    where = error.position[0] if error.position else error.operand
weft.read(3)  # wrong
weft.tensor([1.0], form="d")  # wrong
weft.Engine(threads="all")  # wrong
number: int = kernel.plan.tree  # wrong
weft.evaluate(3, x=1.0)  # wrong
kernel.run()  # wrong
same: bool = T == T  # wrong
key: Hashable = T  # wrong
T.nnz = 3  # wrong
'''


def test_mypy_accepts_what_is_right_and_refuses_what_is_wrong(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(USE)
    package = pathlib.Path(weft.__file__).parents[1]
    found = {} if package.name == "site-packages" else {"MYPYPATH": str(package)}  # mypy looks there of its own accord
    told = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "use.py"], cwd=tmp_path,
                          env={**os.environ, **found}, capture_output=True, text=True).stdout
    refused = {int(line) for line in re.findall(r"^use\.py:(\d+): error:", told, re.M)}
    wrong = {number for number, line in enumerate(USE.splitlines(), 1) if line.endswith("# wrong")}
    assert refused == wrong, told
