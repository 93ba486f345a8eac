"""Random einsums against numpy's: kinds of operands × types × strides × widths of indices × long extents × formats × outs.

WEFT_DRAW chooses what is drawn, WEFT_EXAMPLES how much; hypothesis prints the smallest example that fails, and the line that repeats it.
"""

import os

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import weft

KINDS = ["C", "F", "strided", "reversed", "read-only", "swapped", "csr", "csc", "coo", "unsorted csr", "unsorted csc",
         "unsorted coo", "bsr", "unsorted bsr", "dia", "tensor", "layout", "list", "pair"]
LONG = [2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**62]
MATRICES = ("csr", "csc", "coo", "unsorted csr", "unsorted csc", "unsorted coo", "bsr", "unsorted bsr", "dia", "layout")


def unsorted(dense, by_columns, index, rng):
    """Every entry split in two, the parts of a row in any order."""
    rows, columns = (dense.T if by_columns else dense).shape
    at, across = np.nonzero(dense.T if by_columns else dense)
    values = (dense.T if by_columns else dense)[at, across]
    at, across, values = np.tile(at, 2), np.tile(across, 2), np.concatenate([values - 1, np.ones_like(values)])
    order = np.lexsort((rng.permutation(len(at)), at))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=rows))])
    made = (sp.csc_matrix if by_columns else sp.csr_matrix)(dense.shape, dtype=dense.dtype)
    made.data, made.indices, made.indptr = values[order].astype(dense.dtype), across[order].astype(index), indptr.astype(index)
    assert columns >= 0 and np.array_equal(made.toarray(), dense)
    return made


def in_blocks(dense, in_order, index, rng):
    """Blocks of sides that divide the extents; out of order each is there twice, as two halves."""
    sides = [int(rng.choice([side for side in (1, 2, 3, 4) if extent % side == 0])) for extent in dense.shape]
    made = (sp.bsr_array if rng.integers(0, 2) else sp.bsr_matrix)(dense, blocksize=sides)
    made.sort_indices()
    if not in_order:
        counts = np.diff(made.indptr)
        twice = np.concatenate([np.tile(np.arange(*ends), 2) for ends in zip(made.indptr[:-1], made.indptr[1:])] or [[]]).astype(int)
        order = twice[np.lexsort((rng.permutation(len(twice)), np.repeat(np.arange(len(counts)), 2 * counts)))]
        made.data, made.indices, made.indptr = made.data[order] / 2, made.indices[order], 2 * made.indptr
        made.has_sorted_indices = made.has_canonical_format = False
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    assert np.array_equal(made.toarray(), dense)
    return made


def by_diagonals(dense, index, rng):
    """All diagonals with entries and some others, in any order, with what is no number where nothing of the matrix is."""
    rows, columns = dense.shape
    width = int(columns + rng.integers(-1, 3)) if columns and not dense[:, -1].any() else int(columns + rng.integers(0, 3))
    offsets = [k for k in range(-rows - 1, columns + 2) if rng.integers(0, 2) or (-rows < k < columns and dense.diagonal(k).any())]
    offsets = rng.permutation(np.array(offsets, index)).astype(index)
    data = np.full((len(offsets), width), np.nan, dense.dtype)
    for row, k in enumerate(offsets):
        for j in range(max(0, int(k)), min(columns, width, rows + int(k))):
            data[row, j] = dense[j - k, j]
    made = (sp.dia_array if rng.integers(0, 2) else sp.dia_matrix)(dense.shape, dtype=dense.dtype)
    made.data, made.offsets = data, offsets
    return made


def arranged(dense, kind, index, rng):
    """The operand in one of the kinds; in another that its dimensions allow where it cannot be that."""
    if dense.ndim != 2 and kind in MATRICES:
        kind = "tensor"
    if kind in ("csr", "csc", "coo"):
        made = getattr(sp, f"{kind}_{'array' if rng.integers(0, 2) else 'matrix'}")(dense)
        if kind != "coo":
            made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
        return made
    if kind.endswith("bsr"):
        return in_blocks(dense, kind == "bsr", index, rng)
    if kind == "dia":
        return by_diagonals(dense, index, rng)
    if kind == "layout":
        return weft.tensor(dense, format=str(rng.choice(["bcsr(2,2)", "bcsr(3,1)", "dia", "(i,j) -> (j-i:s unordered, j:d)", "ell"])))
    if kind == "unsorted coo":
        return unsorted(dense, False, index, rng).tocoo()
    if kind.startswith("unsorted"):
        return unsorted(dense, kind.endswith("csc"), index, rng)
    if kind == "tensor" and dense.ndim:
        return weft.tensor(dense, format="".join(rng.choice(list("sd"), dense.ndim)) + ":" + ",".join(map(str,
                                                                                                          rng.permutation(dense.ndim))))
    if kind == "pair" and dense.ndim:
        return weft.tensor((dense[np.nonzero(dense)], np.array(np.nonzero(dense), index)), shape=dense.shape)
    if kind == "list" and dense.dtype == np.float64 and dense.size:
        return dense.tolist()
    if kind == "F" and dense.ndim:
        return np.asfortranarray(dense)
    if kind == "reversed" and dense.ndim:
        return dense[(slice(None, None, -1),) * dense.ndim].copy()[(slice(None, None, -1),) * dense.ndim]
    if kind == "strided" and dense.ndim:
        return np.repeat(dense, 2, axis=-1)[..., ::2]
    if kind == "swapped":
        return dense.astype(dense.dtype.newbyteorder())
    made = np.array(dense)
    made.flags.writeable = kind != "read-only"
    return made


def spread(at, extents, shape):
    """Coordinates over longer extents: half of them stay at the beginning, the others go to the end."""
    return [np.where((place < extent // 2) | (extent == length), place, place + (length - extent))
            for place, extent, length in zip(at, extents, shape)]


def stretched(dense, shape, kind, rng):
    """The operand over longer extents, in one of the kinds that can be: entries alone, in levels without a place for each coordinate."""
    entries = dense[np.nonzero(dense)], np.array(spread(np.nonzero(dense), dense.shape, shape), np.int64)
    if kind in ("csr", "unsorted csr", "csc", "unsorted csc", "coo", "unsorted coo") and dense.ndim == 2:
        made = sp.coo_array(entries, shape=shape)
        by_rows = kind.endswith("csr")
        return made.asformat(kind[-3:]) if not kind.endswith("coo") and shape[0 if by_rows else 1] < 2**31 - 1 else made
    levels = "".join(rng.choice(list("sh"), dense.ndim)) if kind == "layout" else "s" * dense.ndim
    format = levels + ":" + ",".join(map(str, rng.permutation(dense.ndim))) if kind in ("tensor", "layout") else None
    return weft.tensor(entries, shape=shape, format=format)


def nonzeros(made):
    """By coordinates."""
    made = made if isinstance(made, weft.Tensor) else weft.tensor(made)
    at, values = made.to_coo(drop_zeros=True)
    return dict(zip(zip(*(place.tolist() for place in at)), values))


@st.composite
def einsums(draw):
    letters = "abcd"[:draw(st.integers(1, 4))]
    terms = draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=4))
    used = sorted(set("".join(terms)))
    result = "".join(draw(st.permutations(used))[:draw(st.integers(0, len(used)))])
    return {"terms": terms, "result": result, "extents": {letter: draw(st.sampled_from([1, 2, 3, 3, 4, 0])) for letter in letters},
            "kinds": [draw(st.sampled_from(KINDS)) for _ in terms], "types": [draw(st.sampled_from(["f8", "f8", "f4"])) for _ in terms],
            "index": draw(st.sampled_from([np.int32, np.int64])), "format": draw(st.sampled_from([None, None, "sparse", "dense"])),
            "out": draw(st.sampled_from([None, None, "C", "F", "strided", "f4"])), "seed": draw(st.integers(0, 1000)),
            "long": draw(st.just({}) | st.just({}) | st.just({}) | st.dictionaries(st.sampled_from(letters), st.sampled_from(LONG)))}


def checked(drawn, kernels):
    rng = np.random.default_rng(drawn["seed"])
    dense = [np.array(rng.integers(-3, 4, shape) * rng.integers(0, 2, shape), kind)
             for shape, kind in (([drawn["extents"][letter] for letter in term], kind) for term,
                                 kind in zip(drawn["terms"], drawn["types"]))]
    extents = {letter: drawn["long"].get(letter, extent) if extent > 1 else extent for letter, extent in drawn["extents"].items()}

    def made_of(each, term, kind):
        shape = tuple(extents[letter] for letter in term)
        return arranged(each, kind, drawn["index"], rng) if shape == each.shape else stretched(each, shape, kind, rng)

    operands = [made_of(*each) for each in zip(dense, drawn["terms"], drawn["kinds"])]
    types = {kind for kind, operand in zip(drawn["types"], operands) if type(operand) is not float}  # numbers have that of the others
    expression = ",".join(drawn["terms"]) + "->" + drawn["result"]
    expected = np.einsum(expression, *(each.astype(float) for each in dense))
    order = len(drawn["result"])
    format = {"sparse": "s" * order, "dense": "d" * order}.get(drawn["format"]) or None
    out = None
    shape = tuple(extents[letter] for letter in drawn["result"])
    if shape != expected.shape:
        format = "s" * order
    elif drawn["out"] and order and format != "s" * order:
        format = "d" * order
        out = np.full(expected.shape, -9.0, "f4" if drawn["out"] == "f4" else "f8", order="F" if drawn["out"] == "F" else "C")
        out = np.repeat(out, 2, axis=0)[::2] if drawn["out"] == "strided" else out
    results = [weft.einsum(expression, *operands, format=format, out=out)]
    if kernels:
        names = [f"T{number}" for number in range(len(operands))]
        kernel = weft.compile(expression, dict(zip(names, operands)), format=format)
        others = [made_of(each, term, "C") for each, term in zip(dense, drawn["terms"])]
        results += [kernel(dict(zip(names, operands)), out=out), kernel(dict(zip(names, others)))]
    for made in results[:2 if out is not None else None]:
        assert out is None or made is out
        assert made.shape == shape
        if shape != expected.shape:
            places = spread(np.nonzero(expected), expected.shape, shape)
            assert nonzeros(made) == dict(zip(zip(*map(np.ndarray.tolist, places)), expected[np.nonzero(expected)]))
        else:
            assert np.array_equal(made.toarray() if sp.issparse(made) else np.asarray(made), expected)
        if out is None:
            assert made.dtype == (np.float32 if types == {"f4"} else np.float64)


SETTINGS = settings(max_examples=int(os.environ.get("WEFT_EXAMPLES", 150)), deadline=None, database=None, print_blob=True,
                    suppress_health_check=list(HealthCheck))
DRAW = int(os.environ.get("WEFT_DRAW", 0))


@seed(DRAW)
@SETTINGS
@given(einsums())
def test_random_einsums(drawn):
    checked(drawn, False)


@seed(DRAW + 1)
@SETTINGS
@given(einsums())
def test_random_kernels_over_operands_of_other_kinds(drawn):
    checked(drawn, True)
