"""What goes in and what comes out, without copies where there need be none, and never anything changed that is the user's."""

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import weft

SPMV = "y(i) = M(i,j) * x(j)"


def canonical(M):
    M = M.copy()
    M.sum_duplicates()
    return M


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_index_and_value_types(matrix, index, dtype, kind):
    M = kind(matrix).astype(dtype)
    M.indices, M.indptr = M.indices.astype(index), M.indptr.astype(index)
    x = np.arange(20, dtype=dtype)
    y = weft.evaluate(SPMV, M=M, x=x)
    assert y.dtype == dtype and np.array_equal(y, M @ x)
    assert weft.evaluate(SPMV, M=M, x=x.astype(np.float64)).dtype == np.float64


def test_arrays_of_a_matrix_are_borrowed(matrix):
    T = weft.tensor(matrix)
    assert np.shares_memory(np.asarray(T._values(False)), matrix.data)
    assert np.shares_memory(np.asarray(T._level(1)[3]), matrix.indices)
    assert np.shares_memory(T.to_scipy().data, matrix.data)
    matrix.data[0] = 17
    assert T._at((0, int(matrix.indices[0])))[0] == 17 or matrix.indptr[1] == 0
    assert np.shares_memory(weft.tensor(np.ones((3, 4))[:, ::2]).to_numpy(), np.ones(1)) is False
    x = np.ones((3, 4))[:, ::2]
    assert np.shares_memory(weft.tensor(x).to_numpy(), x) and np.array_equal(weft.tensor(x).to_numpy(), x)
    assert not np.shares_memory(weft.tensor(x, copy=True).to_numpy(), x)


def test_arrays_by_rows_by_columns_and_with_gaps_one_after_the_other():
    M = sp.random(60, 50, 0.1, format="csr", random_state=1)
    M.data[:] = np.arange(M.nnz) % 7 + 1
    X = np.arange(50.0 * 8).reshape(50, 8) % 11
    each = [X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1].copy()[::-1], np.ascontiguousarray(X.T).T]
    for first in each:
        kernel = weft.compile("C(i,k) = M(i,j) * X(j,k)", M=M, X=first)
        for then in each + each:
            assert np.array_equal(kernel(M=M, X=then), M @ X)
            assert np.array_equal(weft.einsum("ij,jk->ik", M, then), M @ X)
            assert np.array_equal(weft.einsum("ij,kj->ik", M, then.T), M @ X)
    assert weft.tensor(each[1]).format == "dd:1,0" and np.shares_memory(weft.tensor(each[1]).to_numpy(), each[1])


def test_results_share_the_memory_of_the_run():
    A = sp.random(100, 100, 0.02, format="csr", random_state=1)
    T = weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A, format="C:ss")
    assert np.shares_memory(np.asarray(T._values(False)), np.asarray(T._values(False)))
    C = weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A)
    assert not C.data.flags.owndata and C.data.base is not None


def scrambled(index=np.int32):
    """Rows unsorted, entries twice."""
    indptr = np.array([0, 4, 4, 7], index)
    indices = np.array([3, 0, 3, 1, 2, 2, 0], index)
    return sp.csr_matrix((np.array([1.0, 2, 4, 8, 16, 32, 64]), indices, indptr), shape=(3, 4))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("by_columns", [False, True])
def test_unsorted_and_duplicate_entries_are_copied(index, by_columns):
    M = scrambled(index)
    if by_columns:
        M = M.T
    before = [array.copy() for array in (M.data, M.indices, M.indptr)]
    x, y = np.arange(1.0, M.shape[1] + 1), np.empty(M.shape[0])
    kernel = weft.compile(SPMV, M=M, x=x)
    for step in range(3):
        assert np.array_equal(kernel(M=M, x=x), canonical(M) @ x)
        assert np.array_equal(kernel(M=M, x=x, out=y), canonical(M) @ x)
        assert np.array_equal(weft.einsum("ij,j->i", M, x), canonical(M) @ x)
        assert np.array_equal(weft.tensor(M).to_numpy(), canonical(M).toarray())
        M.data += 1
    assert np.array_equal(M.indices, before[1]) and np.array_equal(M.indptr, before[2])


def test_a_matrix_changed_by_its_own_methods():
    x = np.arange(1.0, 5.0)
    kernel = weft.compile(SPMV, M=scrambled(), x=x)

    def check(M):
        expected = canonical(M) @ x[:M.shape[1]]
        v = x[:M.shape[1]]
        for _ in range(2):
            assert np.array_equal(kernel(M=M, x=v), expected)
            assert np.array_equal(weft.evaluate(SPMV, M=M, x=v), expected)

    changes = [lambda M: M.sort_indices(), lambda M: M.sum_duplicates(), lambda M: M.eliminate_zeros(), lambda M: M.resize(2, 3),
               lambda M: M.setdiag(5), lambda M: M.resize(3, 4), lambda M: M.__setitem__((0, 2), 9), lambda M: M.data.__imul__(3),
               lambda M: M.data.__setitem__(0, 0), lambda M: M.eliminate_zeros(), lambda M: setattr(M, "data", M.data * 2),
               lambda M: M.prune()]
    for start in range(len(changes)):
        M = scrambled()
        check(M)
        for change in changes[start:] + changes[:start]:
            change(M)
            check(M)


def entries(kind, index, dtype=np.float64):
    """A coo by rows; in no order; with entries twice."""
    rows, columns = np.array([0, 0, 1, 3, 3, 3]), np.array([1, 4, 0, 0, 2, 4])
    if kind != "sorted":
        order = np.array([4, 0, 3, 1, 5, 2])
        rows, columns = rows[order], columns[order]
    if kind == "twice":
        rows, columns = np.append(rows, [3, 0]), np.append(columns, [2, 1])
    made = sp.coo_matrix((np.arange(1, len(rows) + 1, dtype=dtype), (rows, columns)), shape=(4, 5))
    made.row, made.col = made.row.astype(index), made.col.astype(index)
    return made


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["sorted", "scrambled", "twice"])
def test_coo_in_any_order(kind, index, dtype, monkeypatch):
    M, x, y = entries(kind, index, dtype), np.arange(1.0, 6.0), np.empty(4)
    monkeypatch.setattr(sp.coo_matrix, "tocsr", None)  # read by weft itself
    kernel = weft.compile(SPMV, M=M, x=x)
    for step in range(3):
        wanted = M.toarray().astype(float) @ x
        assert np.array_equal(kernel(M=M, x=x), wanted) and np.array_equal(kernel(M=M, x=x, out=y), wanted)
        assert np.array_equal(weft.einsum("ij,j->i", M, x), wanted)
        assert np.array_equal(weft.tensor(M).to_numpy(), M.toarray())
        assert np.array_equal(weft.einsum("ij->ji", M, format="ds").toarray(), M.toarray().T)
        M.data += 1
    M.col[0] = 3  # as scipy's own methods never do: noticed all the same
    assert np.array_equal(kernel(M=M, x=x), M.toarray().astype(float) @ x)
    M.row, M.col = M.row[::-1], M.col[::-1]  # no arrays one after the other
    monkeypatch.undo()
    assert np.array_equal(kernel(M=M, x=x), M.toarray().astype(float) @ x)


def test_values_of_a_sorted_coo_are_read_where_they_lie():
    M = entries("sorted", np.int32)
    known = weft.evaluate("S(i,j) = M(i,j)", M=M, format="S:ds")
    M.data[:] = 0
    assert known.sum() == 21 and weft.evaluate("s = M(i,j)", M=M) == 0


def test_what_is_no_coo():
    x = np.ones(5)
    for change, told in [(lambda M: M.row.__setitem__(2, 4), "M: index 4 of entry 2 is not below 4, the extent of axis 0, or negative"),
                         (lambda M: M.col.__setitem__(5, -1), "M: index -1 of entry 5 is not below 5, the extent of axis 1, or negative"),
                         (lambda M: setattr(M, "data", M.data[:-1].copy()), "M: row has 6 elements, col 6 and data 5"),
                         (lambda M: setattr(M, "row", M.row[:-1].copy()), "M: row has 5 elements, col 6 and data 6")]:
        M = entries("sorted", np.int32)
        change(M)
        with pytest.raises(weft.InputError, match=told):
            weft.evaluate(SPMV, M=M, x=x)


def test_empty_ones():
    for shape in [(0, 0), (0, 5), (5, 0), (5, 5), (1, 1)]:
        M, x = sp.csr_matrix(shape), np.ones(shape[1])
        assert np.array_equal(weft.evaluate(SPMV, M=M, x=x), np.zeros(shape[0]))
        assert np.array_equal(weft.evaluate(SPMV, M=sp.coo_matrix(shape), x=x), np.zeros(shape[0]))
        assert weft.evaluate("s = M(i,j)", M=M) == 0
        C = weft.evaluate("C(i,j) = 2 * M(i,j)", M=M, format="C:ds")
        assert C.shape == shape and C.nnz == 0
        T = weft.tensor(M, format="ss")
        assert T.shape == shape and T.nnz == 0 and T.to_scipy().nnz == 0 and T.to_numpy().shape == shape


def arrangements(a):
    byte = np.empty(a.nbytes + 1, np.uint8)
    misaligned = byte[1:].view(a.dtype).reshape(a.shape)
    misaligned[...] = a
    record = np.zeros(a.shape, [("flag", "u1"), ("value", a.dtype)])
    record["value"] = a
    read_only = a.copy()
    read_only.flags.writeable = False
    return {"C": np.ascontiguousarray(a), "F": np.asfortranarray(a), "reversed": a[::-1, ::-1].copy()[::-1, ::-1],
            "strided": np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3], "transposed": a.T.copy().T,
            "swapped": a.astype(a.dtype.newbyteorder()),
            "misaligned": misaligned, "field": record["value"], "read only": read_only, "matrix": np.asmatrix(a),
            "broadcast": np.broadcast_to(a[:, :1], a.shape), "list": a.tolist()}


@pytest.mark.parametrize("name", list(arrangements(np.ones((2, 3)))))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_arrangements(name, dtype):
    a = arrangements((np.arange(12.0).reshape(3, 4) - 5).astype(dtype))[name]
    dense = np.asarray(a)
    x = np.arange(4.0)
    assert np.array_equal(weft.evaluate(SPMV, M=a, x=x), dense.astype(float) @ x)
    assert np.array_equal(weft.einsum("ij->ji", a), dense.T)
    assert np.array_equal(weft.tensor(a).to_numpy(), dense)
    kernel = weft.compile(SPMV, M=np.ones((3, 4)), x=x)
    assert np.array_equal(kernel(M=a, x=x), dense.astype(float) @ x)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_types_that_weft_has_not_yet(dtype):
    a = np.ones((2, 2), dtype)
    for operand in (a, sp.csr_matrix(a) if dtype != "?" else a):
        with pytest.raises(weft.UnsupportedError, match=r"M=M\.astype\(float\)"):
            weft.evaluate("s = M(i,j)", M=operand)
    assert weft.evaluate("s = M(i,j)", M=a.astype(float)) == 4


@pytest.mark.parametrize("dtype", ["c8", "c16", "G"])
def test_complex_numbers(dtype):
    with pytest.raises(weft.UnsupportedError, match=r"M\.real"):
        weft.evaluate("s = M(i,j)", M=np.ones((2, 2), dtype))


@pytest.mark.parametrize("operand", [np.ones(2, "f2"), np.ones(2, "g"), np.ones(2, object), np.array(["a", "b"]),
                                     np.zeros(2, "M8[s]"), None,
                                     "abc", b"abc", {}, {1, 2}, object(), np.ma.masked_array([1.0, 2], [0, 1]), len, 1j, True])
def test_what_is_no_tensor(operand):
    with pytest.raises((TypeError, weft.UnsupportedError)) as caught:
        weft.evaluate("s = M(i)", M=operand)
    assert "M" in str(caught.value)
    with pytest.raises((TypeError, weft.UnsupportedError)):
        weft.einsum("i->", operand)
    assert weft.evaluate("s = M(i)", M=np.ones(3)) == 3


def test_masks_are_seen_wherever_they_are():
    masked = np.ma.masked_array([1.0, 2], [0, 1])
    array = type("Array", (), {"__array__": lambda self, *_, **__: masked})()
    for operand in ([masked, masked], (masked, [1.0, 2]), array):
        with pytest.raises(TypeError, match="masked"):
            weft.einsum("ij->" if isinstance(operand, (list, tuple)) else "i->", operand)
    with pytest.raises(TypeError, match="masked"):
        weft.tensor((masked, [np.array([0, 1])]))
    fake = type("COO", (), {"coords": np.array([[0, 1]]), "data": masked, "shape": (2,)})()
    with pytest.raises(TypeError, match="masked"):
        weft.einsum("i->", fake)


@pytest.mark.parametrize("number", [np.timedelta64(5, "ns"), np.timedelta64(5, "D"), np.longdouble("1e400"), np.longdouble(1) / 3])
def test_times_and_long_doubles_are_no_factors(number):
    with pytest.raises(TypeError):
        weft.einsum(",i->i", number, np.ones(2))
    with pytest.raises(TypeError):
        weft.tensor(np.eye(2), format="ds") * number


def test_coordinates():
    coords = np.array([[2, 0, 2, 1], [0, 1, 0, 3], [4, 4, 4, 0]])
    values = np.array([1.0, 2, 4, 8])
    dense = np.zeros((3, 4, 5))
    np.add.at(dense, tuple(coords), values)
    for index in (np.int32, np.int64, np.uint8):
        T = weft.tensor((values, coords.astype(index)), shape=(3, 4, 5))
        assert T.nnz == 3 and np.array_equal(T.to_numpy(), dense)
    assert weft.tensor((values, list(coords))).shape == (3, 4, 5)
    back, stored = T.to_coo()
    again = np.zeros((3, 4, 5))
    again[tuple(back)] = stored
    assert np.array_equal(again, dense)
    for wrong in [(values, coords[:, :3]), (values, coords - 1), (values[:, None], coords), (values, coords + 0.5), (values, [])]:
        with pytest.raises((weft.InputError, TypeError)):
            weft.tensor(wrong, shape=(3, 4, 5))
    with pytest.raises(weft.InputError, match="extent"):
        weft.tensor((values, coords), shape=(3, 3, 5))


class LikeCOO:
    """What pydata.sparse has."""

    def __init__(self, dense):
        self.coords = np.array(np.nonzero(dense))
        self.data, self.shape, self.ndim, self.dtype = dense[tuple(self.coords)], dense.shape, dense.ndim, dense.dtype
        self.fill_value = 0.0


def test_arrays_of_coordinates_by_their_looks():
    dense = np.arange(24.0).reshape(2, 3, 4) % 3
    assert np.array_equal(weft.einsum("ijk->ki", LikeCOO(dense)), dense.sum(1).T)
    assert np.array_equal(weft.einsum("...k->k...", LikeCOO(dense)), np.moveaxis(dense, 2, 0))


def test_tensors_of_every_format(rng):
    dense = rng.integers(0, 3, (4, 5, 6)).astype(float)
    for format in ("sss", "ddd", "dss", "uqq", "sss:2,0,1", "dds", "ddd:2,1,0", "hhs"):
        T = weft.tensor(dense, format=format)
        assert np.array_equal(T.to_numpy(), dense)
        assert np.array_equal(weft.einsum("ijk->ik", T), dense.sum(1))
        for other in (pickle.loads(pickle.dumps(T)), copy.copy(T), copy.deepcopy(T)):
            assert other.identical(T) and other.format == T.format
        assert not T.identical(weft.tensor(2 * dense, format=format))
        assert T.astype(np.float32).dtype == np.float32 and np.array_equal(T.astype("f4").to_numpy(), dense)


def test_pickles_of_borrowed_and_single_tensors(matrix):
    for T in (weft.tensor(matrix), weft.tensor(sp.csc_matrix(matrix)), weft.tensor(np.float64(4)), weft.tensor(matrix.toarray()[::2]),
              weft.tensor(matrix.astype("f4")), weft.tensor(sp.csr_matrix((0, 3)))):
        other = pickle.loads(pickle.dumps(T))
        assert np.array_equal(other.to_numpy(), T.to_numpy()) and other.dtype == T.dtype and not other._borrowed


def test_arrays_live_as_long_as_what_borrows_them():
    x = np.arange(5.0)
    dead = weakref.ref(x)
    T = weft.tensor(x)
    view = T.to_numpy()
    del x, T
    gc.collect()
    assert dead() is not None and view[4] == 4
    del view
    gc.collect()
    assert dead() is None


def test_kernels_hold_no_arrays_between_calls(matrix):
    x, M = np.arange(20.0), matrix.copy()
    kernel = weft.compile(SPMV, M=M, x=x)
    kernel(M=M, x=x)
    weft.evaluate(SPMV, M=M, x=x)
    dead = [weakref.ref(x), weakref.ref(M), weakref.ref(M.data), weakref.ref(M.indices), weakref.ref(M.indptr)]
    count = sys.getrefcount(matrix.data)
    kernel(M=matrix, x=x)
    now = sys.getrefcount(matrix.data)
    assert now == count
    del x, M
    gc.collect()
    assert [each() for each in dead] == [None] * 5
    # Other arrays may come to lie where those were.
    for _ in range(200):
        N, v = matrix.copy(), np.arange(20.0)
        assert np.array_equal(kernel(M=N, x=v), N @ v)


def test_a_new_matrix_where_an_old_one_was():
    kernel = weft.compile(SPMV, M=sp.eye(50, format="csr"), x=np.ones(50))
    for seed in range(100):
        M = sp.random(50, 50, 0.04, format="csr", random_state=seed)
        M.data = np.round(M.data * 8)
        assert np.array_equal(kernel(M=M, x=np.ones(50)), M @ np.ones(50))
        del M


def test_memory_stays_flat(matrix):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    x, y = np.arange(20.0), np.empty(30)
    A = sp.random(60, 60, 0.05, format="csr", random_state=1)
    kernel = weft.compile(SPMV, M=matrix, x=x)

    def work(count):
        for number in range(count):
            kernel(M=matrix, x=x, out=y)
            kernel(M=matrix, x=x)
            kernel(M=matrix, x=x + 1)
            weft.evaluate(SPMV, M=matrix, x=x)
            weft.einsum("ij,j->i", matrix, x)
            if number % 20 == 0:
                weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A, format="C:ds")
                kernel(M=matrix.copy(), x=x)
                weft.tensor(matrix).to_numpy()
                try:
                    kernel(M=matrix, x=y)
                except weft.InputError:
                    pass

    work(2000)
    before = resident()
    work(6000)
    assert resident() - before < 2 << 20


def test_indices_changed_by_hand_with_verify_always():
    M = sp.csr_matrix(np.eye(4))
    with weft.options(verify="always"):
        assert np.array_equal(weft.evaluate(SPMV, M=M, x=np.arange(4.0)), [0, 1, 2, 3])
        M.indices[:] = [1, 0, 3, 2]
        assert np.array_equal(weft.evaluate(SPMV, M=M, x=np.arange(4.0)), [1, 0, 3, 2])
        M.indices[1] = 9
        with pytest.raises(weft.InputError, match="index 9"):
            weft.evaluate(SPMV, M=M, x=np.arange(4.0))
    with pytest.raises(weft.InputError):
        weft.Engine(verify="never")


def test_other_values_over_the_same_indices():
    M = sp.random(300, 300, 0.05, format="csr", random_state=5)
    x = np.arange(300.0)
    kernel = weft.compile(SPMV, M=M, x=x)
    for step in range(4):
        M.data = np.arange(float(M.nnz)) % (step + 2)
        assert np.array_equal(kernel(M=M, x=x), M @ x) and np.array_equal(weft.einsum("ij->j", M), M.sum(0).A1)


def test_what_dies_is_let_go_of_at_once():
    """Kernels that were called with it, and what they made of it: copies in other layouts."""
    engine = weft.Engine(threads=1)
    rng = np.random.default_rng(1)
    M = sp.random(3000, 3000, 0.02, format="csr", random_state=1)
    text = "y(j) = M(i,j) * x(i)"
    csc = engine.compile(text, M=sp.csc_matrix(M), x=np.ones(3000))
    row_major = engine.compile("y(j) = D(i,j) * x(i) * x(j)", D=np.asfortranarray(rng.random((800, 800))), x=np.ones(800))
    csc(M=sp.csc_matrix(M), x=np.ones(3000))
    engine.give_back()
    before = engine.memory_used
    for make, free in [(lambda: M.copy(), 0), (lambda: engine.tensor(M, copy=True), 1 << 20), (lambda: engine.tensor(M.copy()), 0),
                       (lambda: M[:, ::-1].tocsr(), 0)]:
        operand = make()
        for _ in range(2):
            assert np.allclose(csc(M=operand, x=np.ones(3000)),
                               operand.T @ np.ones(3000) if sp.issparse(operand) else operand.to_scipy().T @ np.ones(3000))
            engine.evaluate(text, M=operand, x=np.ones(3000))
        assert engine.memory_used > before + free
        del operand
        gc.collect()
        engine.give_back()
        assert engine.memory_used <= before + (1 << 18)
    D = rng.random((800, 800))
    dead = weakref.ref(D)
    row_major(D=D, x=np.ones(800))
    del D
    assert dead() is None
    assert row_major(D=np.ones((800, 800)), x=np.ones(800))[0] == 800


def test_engines_and_kernels_are_collected():
    dead = []
    for _ in range(3):
        engine = weft.Engine(threads=1)
        kernel = engine.compile("s = x(i)", x=np.ones(3))
        assert engine.evaluate("s = x(i)", x=np.ones(3)) == 3 == kernel(x=np.ones(3))
        dead += [weakref.ref(engine), weakref.ref(kernel)]
    del engine, kernel
    gc.collect()
    assert [each() for each in dead] == [None] * 6


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [50, 3000, 10**6, 2**31 - 1, 2**40])
@pytest.mark.parametrize("twice", [False, True])
def test_many_unsorted_entries(index, columns, twice, rng):
    if columns > 2**31 and index is np.int32:
        pytest.skip("indices of 32 bits")
    rows = np.sort(np.concatenate([rng.integers(0, 3000, 90000), np.full(30000, 7)]))
    indices = rng.integers(0, columns, len(rows))
    if not twice:
        rows, indices = rng.permutation(np.unique([rows, indices], axis=1), axis=1)
        order = np.argsort(rows, kind="stable")
        rows, indices = rows[order], indices[order]
    data = rng.integers(1, 9, len(rows)).astype(float)
    M = sp.csr_array((3000, columns))
    M.data, M.indices, M.indptr = data, indices.astype(index), np.searchsorted(rows, np.arange(3001)).astype(index)
    listed = sp.coo_array((data, (rows.astype(index), indices.astype(index))), shape=M.shape)
    order = np.lexsort([indices, rows])
    first = np.flatnonzero((np.diff(rows[order], prepend=-1) != 0) | (np.diff(indices[order], prepend=-1) != 0))
    for threads in (1, 4):
        with weft.options(threads=threads):
            for form in (M, listed, M.copy()):
                for _ in range(2):
                    places, values = weft.tensor(form).to_coo()
                    assert np.array_equal(places, [rows[order][first], indices[order][first]])
                    assert np.array_equal(values, np.add.reduceat(form.data[order], first))
                    assert np.array_equal(weft.einsum("ij->i", form), np.bincount(rows, form.data, 3000))
                    form.data += 1


def test_many_indices_that_are_sorted_in_place_are_noticed():
    A = sp.random(2000, 2000, 0.05, format="csr", random_state=1)
    M = A @ A.T
    assert not M.has_sorted_indices
    x = np.arange(2000.0)
    with weft.options(threads=4):
        for _ in range(3):
            assert np.allclose(weft.einsum("ij,j", M, x), M @ x)
            M.sort_indices()
            M.indices[1], M.indices[2] = M.indices[2], M.indices[1]
            M.has_sorted_indices = False


@pytest.mark.parametrize("format", ["ss", "ds", "ds:1,0", "sd", "sd:1,0", "uq", "hs", "hh", "bb", "db", "sb", "hd", "bcsr(2,2)", "bcsr(3,5)",
                                    "bcsr(2,2,unaligned)", "dia", "dia(4)", "ell", "vbl", "sell(8)", "csb(4)", "skyline", "nm(20,26)"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_dense_arrays_of_every_format(format, dtype, rng):
    dense = np.where(rng.random((37, 26)) < 0.2, rng.integers(-4, 5, (37, 26)), 0).astype(dtype)
    dense[3, 4], dense[5, 5] = np.nan, -0.0
    for threads in (1, 3):
        with weft.options(threads=threads):
            made = weft.tensor(dense, format=format)
            for array in (made.to_numpy(), made.toarray(), np.asarray(made)):
                assert array.dtype == dtype and np.array_equal(array, dense, equal_nan=True) and array.flags.writeable
                assert np.signbit(array[5, 5]) == np.signbit(made[5, 5])


def test_dense_arrays_of_large_tensors_are_not_made_twice(rng):
    entries = (rng.random(200_000), rng.integers(0, 3000, (2, 200_000)))
    expected = sp.coo_array(entries, shape=(3000, 3000)).toarray()
    with weft.options(memory_limit="60M"):  # the array has 72 MB, of numpy's
        for format in ("ss", "ds:1,0"):
            assert np.allclose(weft.tensor(entries, shape=(3000, 3000)).convert(format).toarray(), expected)
