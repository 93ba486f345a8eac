"""docs/python.md's table "from numpy, scipy, pydata.sparse and TACO": lines of numpy and scipy give what weft's beside them give."""

import pathlib
import re

import numpy as np
import scipy.sparse as sp

import weft

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


def rows():
    """Code of the left and of the right column, row by row."""
    table = PAGE.read_text().partition("## From numpy")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| (?!there|-)(.*?) \|$", table, re.M):
        left, _, right = line.partition(" | ")
        yield left, re.findall(r"`([^`]+)`", left), re.findall(r"`([^`]+)`", right)


def names():
    """What the lines take, so small that every product of them is exact."""
    integers = np.random.default_rng(5).integers
    A, B, C = (sp.random(4, 4, 0.5, format="csr", random_state=seed) for seed in (1, 2, 3))
    for each in (A, B, C):
        each.data = np.arange(1.0, each.nnz + 1)
    T = weft.sparse(4, 4, 4, nnz=9, seed=1)
    return {"np": np, "sp": sp, "weft": weft, "A": A, "B": B, "C": C, "T": T, "x": np.arange(4.0), "y": np.empty(4), "s": (4, 4),
            "X": integers(0, 5, (4, 3)).astype(float), "Y": integers(0, 5, (4, 3)).astype(float),
            "data": np.ones(2), "coords": np.array([[0, 1], [2, 3]])}


def dense(made):
    return np.asarray(made.toarray() if sp.issparse(made) else made.to_numpy() if isinstance(made, weft.Tensor) else made).squeeze()


def test_lines_beside_each_other_give_the_same():
    compared = 0
    for left, theirs, ours in rows():
        if not re.search(r"np\.|scipy|A\.|A @", left) or "TACO" in left or "todense" in left:
            continue
        known = names()
        if "np." in left:
            known.update({name: known[name].toarray() for name in "AB"})
        lines = [each for each in ours if each.startswith("weft.") and "(" in each][:len(theirs)]
        assert len(lines) == len(theirs), left
        for their, our in zip(theirs, lines):
            assert np.array_equal(dense(eval(their, known)), dense(eval(our, known))), (their, our)
            compared += 1
    assert compared >= 6


def test_every_line_of_weft_can_be_run():
    ran = 0
    for _, _, ours in rows():
        for line in ours:
            known = names()
            if "…" in line or not re.match(r"weft\.|T\.|k = |k\(", line):
                continue
            if line.startswith("k("):
                known["k"] = weft.compile("y(i) = A(i,j) * x(j)", A=known["A"], x=known["x"])
            if "T.to_scipy" in line:
                known["T"] = weft.tensor(known["A"])
            exec(line, known)
            ran += 1
    assert ran >= 12
