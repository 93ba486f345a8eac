"""Whose memory it is: results are the caller's, to change by scipy's methods; views of tensors are read-only; conversions that keep
memory of an operand keep the operand, and copies keep nothing."""

import copy
import gc
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import weft


def test_results_can_be_changed_by_scipys_methods(matrix):
    made = weft.evaluate("S(i,j) = A(i,j) * B(i,j)", A=matrix, B=matrix)
    wanted = matrix.multiply(matrix).tocsr()
    for each in (made, wanted):
        each.data[::2] = 0
        each.eliminate_zeros()
    assert made.nnz == wanted.nnz and (made.toarray() == wanted.toarray()).all()
    assert (weft.evaluate("y(i) = S(i,j)", S=made) == wanted.sum(axis=1).A1).all()


def test_indices_of_results_can_be_written(matrix):
    made = weft.evaluate("S(i,j) = A(i,j) * B(i,j)", A=matrix, B=matrix)
    kept = made.copy()
    for row in range(made.shape[0]):  # every row backwards
        part = slice(*made.indptr[row:row + 2])
        made.indices[part], made.data[part] = made.indices[part][::-1].copy(), made.data[part][::-1].copy()
    made.has_sorted_indices = False
    made.sort_indices()
    assert np.array_equal(made.indices, kept.indices) and np.array_equal(made.data, kept.data)


def test_views_of_a_tensor_are_read_only(matrix):
    view = weft.tensor(matrix, copy=True).to_scipy()
    for array in (view.data, view.indices, view.indptr):
        assert not array.flags.writeable


OBJECTS = {"array": lambda: np.arange(1.0, 13).reshape(3, 4), "columns": lambda: np.asfortranarray(np.arange(1.0, 13).reshape(3, 4)),
           "backwards": lambda: np.arange(1.0, 25).reshape(3, 8)[::-1, ::2], "vector": lambda: np.arange(1.0, 9),
           "csr": lambda: sp.csr_array(np.arange(12.0).reshape(3, 4)), "csc": lambda: sp.csc_array(np.arange(12.0).reshape(3, 4))}


def values_of(made):
    return made.data if hasattr(made, "indptr") else made


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("way", [lambda T: T.copy(), copy.copy, copy.deepcopy], ids=["copy", "copy.copy", "copy.deepcopy"])
def test_copies_borrow_nothing(name, way):
    made = OBJECTS[name]()
    kept = way(weft.tensor(made))
    before = kept.to_numpy().copy()
    assert not kept._borrowed and kept.shape == made.shape
    values_of(made)[...] = 7
    assert np.array_equal(kept.to_numpy(), before) and not (before == 7).all()


@pytest.mark.parametrize("name", OBJECTS)
def test_conversions_keep_what_they_borrow(name):
    made = OBJECTS[name]()
    wanted = made.toarray() if hasattr(made, "indptr") else made.copy()
    tensor = weft.tensor(made)
    for format in (tensor.format, "d" * made.ndim, "s" * made.ndim, "d" * (made.ndim - 1) + "s", "d" * made.ndim + ":f32"):
        converted = tensor.convert(format)
        again = converted.convert(converted.format)
        if not converted._borrowed:
            continue
        assert again._borrowed and np.array_equal(again.to_numpy(), wanted)
    same = tensor.convert(tensor.format)
    assert same._borrowed or name in ("columns", "backwards")  # which have no format of their own: copied
    owner = weakref.ref(values_of(made)) if name in ("array", "vector") else None
    del tensor, made, converted, again
    gc.collect()
    scratch = [np.full(wanted.shape, 9.0) for _ in range(100)]  # memory that was freed would be written over
    assert np.array_equal(same.to_numpy(), wanted) and scratch
    if owner is not None:
        assert owner() is not None
        del same
        gc.collect()
        assert owner() is None


@pytest.mark.parametrize("format", ["dd", "ds", "ss", "uq", "ds:1,0", "dd:1,0", "ds:f32", "bcsr(2,2)", "dia"])
@pytest.mark.parametrize("name", [name for name in OBJECTS if name != "vector"])
def test_other_formats_borrow_nothing(name, format):
    made = OBJECTS[name]()
    T = weft.tensor(made)
    for converted in (T.convert(format), weft.tensor(made, format=format), weft.tensor(T, format=format)):
        before = converted.toarray()
        own = (converted.format, converted.dtype) == (T.format, T.dtype) and name != "backwards"  # which is copied by rows
        assert converted._borrowed == own
        values_of(made)[...] += 1
        assert np.array_equal(converted.toarray(), before) != own
    if hasattr(made, "indptr") and not own:
        made.indices[:] = 0
        assert np.array_equal(converted.toarray(), before)


PATTERNS = ["S(i,j) = 2 * A(i,j)", "S(i,j) = A(i,j) * u(i)", "S(i,j) = A(i,j) * A(i,j)", "S(j,i) = A(i,j)"]


def sparse_operand(kind):
    made = sp.random(300, 200, 0.05, format="csr", random_state=2)
    made.data[:] = np.arange(made.nnz) % 9 + 1
    if kind == "unsorted":
        order = np.concatenate([np.arange(*made.indptr[row:row + 2])[::-1] for row in range(300)])
        made = sp.csr_matrix((made.data[order], made.indices[order], made.indptr))
    if kind in ("tensor", "borrowing"):
        return weft.tensor(made, copy=kind == "tensor")
    if kind == "scrambled":
        order = np.random.default_rng(3).permutation(made.nnz)
        made = made.tocoo()
        return sp.coo_matrix((made.data[order], (made.row[order], made.col[order])), shape=made.shape)
    return made.tocsc() if kind == "csc" else made.tocoo() if kind == "coo" else made


@pytest.mark.parametrize("format", ["ds", "ss"])
@pytest.mark.parametrize("kind", ["csr", "csc", "unsorted", "coo", "scrambled", "tensor", "borrowing"])
@pytest.mark.parametrize("text", PATTERNS)
def test_results_live_without_operands_and_change_without_them(text, kind, format):
    A, u = sparse_operand(kind), np.arange(300.0) % 5 + 1
    operands = {"A": A, **({"u": u} if "u(" in text else {})}
    dense = A.to_numpy() if isinstance(A, weft.Tensor) else A.toarray()
    wanted = {"S(i,j) = 2 * A(i,j)": 2 * dense, "S(i,j) = A(i,j) * u(i)": dense * u[:, None],
              "S(i,j) = A(i,j) * A(i,j)": dense ** 2, "S(j,i) = A(i,j)": dense.T}[text]
    shown = lambda S: S.to_numpy() if isinstance(S, weft.Tensor) else S.toarray()  # noqa: E731
    first, second = (weft.evaluate(text, operands, format="S:" + format) for _ in range(2))
    if not isinstance(first, weft.Tensor):
        first.data[::2] = 0
        first.eliminate_zeros()
    assert np.array_equal(shown(second), wanted)
    assert np.array_equal(A.to_numpy() if isinstance(A, weft.Tensor) else A.toarray(), dense)
    if not isinstance(A, weft.Tensor):
        A.data[:] = 0
        indices = A.col if A.format == "coo" else A.indices
        indices[:] = indices[::-1].copy()
        assert np.array_equal(shown(second), wanted)
        del indices
    del A, operands, first
    gc.collect()
    scratch = [np.full(3000, 7, np.int32) for _ in range(50)]
    assert np.array_equal(shown(second), wanted) and scratch


def test_results_of_one_call_share_nothing(matrix):
    text = "S(i,j) = A(i,j) * B(i,j); R(i,j) = 2 * S(i,j)"
    both = weft.evaluate(text, A=matrix, B=matrix, results=["S", "R"], format=["S:ds", "R:ds"])
    wanted = 2 * matrix.multiply(matrix).toarray()
    both.S.data[::2] = 0
    both.S.eliminate_zeros()
    assert np.array_equal(both.R.toarray(), wanted)


def test_unsorted_matrices_that_die_while_others_are_bound():
    A = sp.random(1500, 1500, 0.01, format="csr", random_state=1)
    products, x, wrong = [A @ A for _ in range(2)], np.ones((1500, 2)), []

    def work(number):
        for step in range(12):
            M = products[(number + step) % 2]
            for each in (M, M.copy()):
                if not np.allclose(weft.einsum("ij,jk->ik", each, x), M @ x):
                    wrong.append(step)
            del each
        wrong.append("done")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == ["done"] * 6
