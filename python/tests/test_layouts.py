"""Blocks and diagonals of scipy read where they lie, packed triangles, and layouts as scipy's matrices again."""

import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import weft

SPMV = "y(i) = M(i,j) * x(j)"


def blocks(dtype=np.float64, index=np.int32, sides=(2, 3), kind=sp.bsr_matrix):
    """12 × 18 in blocks, sorted, rows of blocks without one among them."""
    dense = np.zeros((12, 18), dtype)
    dense[0:6, 3:9], dense[6:8, 15:18], dense[10:12, 0:3] = np.arange(36).reshape(6, 6) % 5 + 1, 2, 3
    made = kind(dense, blocksize=sides)
    made.sort_indices()
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


def diagonals(dtype=np.float64, index=np.int32, kind=sp.dia_matrix, shape=(6, 9), width=9, outside=np.nan):
    """Offsets out of order, and `outside` where the data are not of the matrix."""
    offsets = np.array([2, -1, 0, -4, 5], index)
    data = np.full((5, width), outside, dtype)
    for row, k in enumerate(offsets):
        for j in range(max(0, int(k)), min(shape[1], width, shape[0] + int(k))):
            data[row, j] = (row + 2 * j) % 5 - 1
    made = kind(shape, dtype=dtype)
    made.data, made.offsets = data, offsets
    return made


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sides", [(1, 1), (2, 3), (3, 1), (1, 3), (3, 3), (12, 18)])
@pytest.mark.parametrize("kind", [sp.bsr_matrix, sp.bsr_array])
def test_blocks_are_borrowed(index, dtype, sides, kind):
    M = blocks(dtype, index, sides, kind)
    T = weft.tensor(M)
    assert np.shares_memory(np.asarray(T._values(False)), M.data)
    assert np.shares_memory(np.asarray(T._level(1)[3]), M.indices) and np.shares_memory(np.asarray(T._level(1)[2]), M.indptr)
    assert np.array_equal(T.to_numpy(), M.toarray()) and T.dtype == dtype
    x = np.arange(18, dtype=dtype)
    kernel = weft.compile(SPMV, M=M, x=x)
    for _ in range(3):
        assert np.array_equal(kernel(M=M, x=x), M @ x) and np.array_equal(weft.evaluate(SPMV, M=M, x=x), M @ x)
        assert np.array_equal(T.to_numpy(), M.toarray())
        M.data += 1


def test_kernels_run_over_the_blocks():
    M = blocks(sides=(3, 3))
    loops = weft.compile(SPMV, M=M, x=np.ones(18)).plan.loops
    assert "access M[i_0,j_0,i_1,j_1]" in loops and "extent(i_1) = 3" in loops


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_unsorted_and_duplicate_blocks_are_copied(index, dtype):
    M = blocks(dtype, index)
    M.data, M.indices, M.indptr = M.data[::-1].copy(), M.indices[::-1].copy(), M.indptr[-1] - M.indptr[::-1]
    M.indices[0] = M.indices[1]
    before = [array.copy() for array in (M.indices, M.indptr)]
    x = np.arange(18, dtype=dtype)
    kernel = weft.compile(SPMV, M=M, x=x)
    for _ in range(3):
        assert np.array_equal(kernel(M=M, x=x), M.toarray() @ x) and np.array_equal(weft.einsum("ij,j", M, x), M.toarray() @ x)
        assert np.array_equal(weft.tensor(M).to_numpy(), M.toarray())
        M.data += 1
    assert np.array_equal(M.indices, before[0]) and np.array_equal(M.indptr, before[1])
    M.sort_indices()
    assert np.array_equal(kernel(M=M, x=x), M.toarray() @ x)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(6, 9), (9, 9), (9, 6), (1, 7), (7, 1)])
@pytest.mark.parametrize("kind", [sp.dia_matrix, sp.dia_array])
def test_diagonals_are_borrowed_and_nothing_outside_is_read(index, dtype, shape, kind):
    x = np.arange(1, shape[1] + 1, dtype=dtype)
    kernel = None
    for beside in (0, -1, 2):
        M = diagonals(dtype, index, kind, shape, shape[1] + beside)
        if M.data.shape[1] == 0:
            continue
        T = weft.tensor(M)
        inside = all(-shape[0] < k < shape[1] for k in M.offsets)
        assert np.shares_memory(np.asarray(T._values(False)), M.data) == (inside and beside <= 0)
        kernel = kernel or weft.compile(SPMV, M=M, x=x)
        for _ in range(3):
            dense = M.toarray()
            assert not np.isnan(dense).any()
            assert np.array_equal(kernel(M=M, x=x), dense @ x) and np.array_equal(weft.evaluate(SPMV, M=M, x=x), dense @ x)
            assert np.array_equal(weft.einsum("ij->j", M), dense.sum(0))
            assert not T._borrowed or not np.shares_memory(np.asarray(T._values(False)), M.data) or np.array_equal(T.to_numpy(), dense)
            M.data *= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(40, 40), (70, 33), (33, 70), (1, 9)])
@pytest.mark.parametrize("offsets", [[0, -1, 3], [5, -7, 2, 0], [-30, 30], [0]])
def test_products_run_over_the_diagonals_where_they_lie(dtype, shape, offsets):
    rows, columns = shape
    offsets = [k for k in offsets if -rows < k < columns]
    data = np.full((len(offsets), columns), np.nan, dtype)
    inside = [slice(max(0, k), min(columns, rows + k)) for k in offsets]
    for n, where in enumerate(inside):
        data[n, where] = (np.arange(columns)[where] + n) % 7 - 3
    M = sp.dia_matrix(shape, dtype=dtype)
    M.data, M.offsets = data, np.array(offsets, np.int32)
    x, z = np.arange(columns, dtype=dtype) % 5 + 1, np.arange(rows, dtype=dtype) % 4 - 1
    X, Z = np.arange(3 * columns, dtype=dtype).reshape(columns, 3) % 6, np.arange(rows * 11, dtype=dtype).reshape(rows, 11) % 3
    for text, operands, expected, in_place in [
            (SPMV, {"x": x}, lambda A, x: A @ x, True), ("y(j) = M(i,j) * z(i)", {"z": z}, lambda A, z: z @ A, True),
            ("Y(i,h) = M(i,j) * X(j,h)", {"X": X}, lambda A, X: A @ X, True),
            ("Y(h,j) = M(i,j) * Z(i,h)", {"Z": Z}, lambda A, Z: Z.T @ A, True),
            ("Y(i,h) = M(i,j) * X(j,h)", {"X": np.asfortranarray(X)}, lambda A, X: A @ X, True),
            ("y(i) = 2 * M(i,j) * x(j) * z(i)", {"x": x, "z": z}, lambda A, x, z: 2 * (A @ x) * z, True),
            ("s = M(i,j) * x(j) * z(i)", {"x": x, "z": z}, lambda A, x, z: z @ A @ x, False),
            ("y(h) = M(i,j) * X(j,h)", {"X": X}, lambda A, X: (A @ X).sum(0), False),
            ("R(i,j) = M(i,j) * x(j)", {"x": x}, lambda A, x: A * x, False)]:
        kernel = weft.compile(text, M=M, **operands)
        if in_place and len(offsets) > 1 and min(shape) > 1:
            assert "adjacent(M.1)" in kernel.plan.loops and "places<" in kernel.plan.loops, text
        for step in range(4):
            result = kernel(M=M, **operands)
            result = result.toarray() if sp.issparse(result) else result
            assert np.array_equal(result, expected(M.toarray(), **operands)), (text, step)
            for n, where in enumerate(inside):
                M.data[n, where] += step - 1
            if step == 1:  # and other arrays beside it
                operands = {name: operand + 1 for name, operand in operands.items()}


def test_matrices_changed_by_their_own_methods():
    x = np.arange(1.0, 10.0)
    for make in (lambda: diagonals(outside=0), lambda: sp.bsr_matrix(blocks().toarray()[:6, :9], blocksize=(2, 3))):
        M = make()
        kernel = weft.compile(SPMV, M=M, x=x)
        changes = [lambda M: M.data.__imul__(3), lambda M: setattr(M, "data", M.data * 2), lambda M: M.data.__setitem__(0, 0)]
        if M.format == "bsr":
            changes += [lambda M: M.eliminate_zeros(), lambda M: M.sort_indices(), lambda M: M.sum_duplicates(), lambda M: M.prune()]
        else:
            changes += [lambda M: M.setdiag(5), lambda M: M.setdiag(7, 3), lambda M: M.resize(5, 9), lambda M: M.resize(6, 9),
                        lambda M: M.offsets.__isub__(1)]
        for change in changes:
            change(M)
            for _ in range(2):
                assert np.array_equal(kernel(M=M, x=x), M.toarray() @ x) and np.array_equal(weft.evaluate(SPMV, M=M, x=x), M.toarray() @ x)


@pytest.mark.parametrize("shape", [(0, 0), (0, 6), (6, 0), (6, 6)])
def test_empty_ones(shape):
    for M in (sp.bsr_matrix(shape), sp.bsr_array(shape, blocksize=(1, 1)), sp.bsr_matrix(shape, blocksize=(2, 3)), sp.dia_matrix(shape),
              sp.dia_array((np.empty((0, shape[1])), []), shape=shape)):
        x = np.ones(shape[1])
        assert np.array_equal(weft.evaluate(SPMV, M=M, x=x), np.zeros(shape[0]))
        assert weft.evaluate("s = M(i,j)", M=M) == 0
        assert weft.tensor(M).shape == shape and weft.tensor(M).to_scipy().nnz == 0


def test_defects_are_told():
    x = np.ones(18)
    M = blocks()
    M.indices[1] = 6
    with pytest.raises(weft.InputError, match=r"M: index 6 at place 1 \(block row 0\) is not below 6, the blocks in a row"):
        weft.evaluate(SPMV, M=M, x=x)
    M = blocks()
    M.indptr[1] = 9
    with pytest.raises(weft.InputError, match="indptr is 9 after block row 0, beyond its end at 8"):
        weft.evaluate(SPMV, M=M, x=x)
    M = blocks()
    M.indptr = M.indptr[:-1]
    with pytest.raises(weft.InputError, match="one more than there are block rows"):
        weft.evaluate(SPMV, M=M, x=x)
    M = blocks()
    M.data = M.data[:, :, :2].repeat(2, axis=2)
    with pytest.raises(weft.InputError, match="blocks of 2 x 4 do not divide the shape, 12 x 18"):
        weft.evaluate(SPMV, M=M, x=x)
    M = diagonals()
    M.offsets[1] = 2
    with pytest.raises(weft.InputError, match="M: the offset 2 is there twice"):
        weft.evaluate(SPMV, M=M, x=x[:9])
    M = diagonals()
    M.offsets = M.offsets[:-1]
    with pytest.raises(weft.InputError, match="offsets"):
        weft.evaluate(SPMV, M=M, x=x[:9])
    for kind in (sp.bsr_matrix, sp.dia_matrix):
        with pytest.raises(weft.UnsupportedError, match=r"M=M\.astype\(float\)"):
            weft.evaluate(SPMV, M=kind(np.eye(3, dtype=int)), x=x[:3])


def test_arrays_that_are_not_one_after_the_other():
    M, D, x = blocks(), diagonals(), np.arange(18.0)
    for arrange in (lambda a: a.repeat(2, axis=-1)[..., ::2], np.asfortranarray, lambda a: a.astype(a.dtype.newbyteorder())):
        N, E = M.copy(), D.copy()
        N.data, E.data = arrange(M.data), arrange(D.data)
        assert np.array_equal(weft.evaluate(SPMV, M=N, x=x), M.toarray() @ x)
        assert np.array_equal(weft.evaluate(SPMV, M=E, x=x[:9]), D.toarray() @ x[:9])


def test_layouts_become_matrices_of_scipy():
    M = blocks()
    dense = M.toarray()
    T = weft.tensor(M, copy=True)
    for format, kind, shares in [("bcsr(2,3)", "bsr", True), ("bcsr(3,1)", "bsr", True), ("bcsr(1,2)", "bsr", True),
                                 ("(r,c) -> (r/2:d, c/3:s<8>, r%2:d, c%3:d)", "bsr", True), ("bcsr(5,3)", "csr", False),
                                 ("(i,j) -> (j-i:s unordered, j:d)", "dia", True), ("dia", "dia", False), ("dia(4)", "csr", False),
                                 ("ell", "csr", False), ("csr", "csr", True)]:
        made = T.convert(format)
        matrix = made.to_scipy()
        assert matrix.format == kind and np.array_equal(matrix.toarray(), dense), format
        assert np.shares_memory(matrix.data, np.asarray(made._values(False))) == shares, format
        assert pickle.loads(pickle.dumps(made)).identical(made)
    assert np.shares_memory(weft.tensor(M).to_scipy().data, M.data)
    D = diagonals()
    assert np.shares_memory(weft.tensor(D).to_scipy().data, D.data)
    assert np.array_equal(weft.tensor(D).to_scipy().toarray(), D.toarray())


@pytest.mark.parametrize("shape", [(0, 6), (6, 0), (0, 0)])
def test_results_in_blocks_without_entries(shape):
    made = weft.einsum("ij->ji", np.zeros(shape), format="bcsr(2,2)")
    assert made.shape == shape[::-1] and made.nnz == 0 and made.indptr.size == shape[1] // 2 + 1


def test_results_in_layouts():
    M, x = blocks(), np.ones(18)
    for format, kind in [("bcsr(2,3)", "bsr"), ("C:bcsr(2,3)", "bsr"), ("(i,j) -> (j-i:s, j:d)", "dia"), ({"C": "bcsr(2,3)"}, "bsr")]:
        C = weft.evaluate("C(i,j) = 2 * M(i,j)", M=M, format=format)
        assert C.format == kind and sp.isspmatrix(C) and np.array_equal(C.toarray(), 2 * M.toarray())
        for array in (C.data, C.indices, C.indptr) if kind == "bsr" else (C.data, C.offsets):
            assert not any(np.shares_memory(array, each) for each in (M.data, M.indices, M.indptr))
        C.data += 1  # the caller's
    assert np.array_equal(M.toarray(), blocks().toarray())
    assert weft.einsum("ij->ij", sp.bsr_array(M), format="bcsr(3,3)").blocksize == (3, 3)
    assert isinstance(weft.evaluate("C(i,j) = M(i,j)", M=M, format="bcsr(5,2)"), weft.Tensor)
    assert np.array_equal(weft.evaluate(SPMV, M=M, x=x), M @ x)


def test_packed_triangles():
    values = np.arange(1.0, 11.0)
    lower = np.zeros((4, 4))
    lower[np.tril_indices(4)] = values
    upper = np.zeros((4, 4))
    upper[np.triu_indices(4)] = values
    x = np.arange(1.0, 5.0)
    for format, dense in [("lower", lower), ("upper", upper)]:
        for dtype in (np.float64, np.float32):
            packed = values.astype(dtype)
            T = weft.tensor(packed, shape=(4, 4), format=format)
            assert T.dtype == dtype and T.nnz == 10 and np.shares_memory(np.asarray(T._values(False)), packed)
            kernel = weft.compile(SPMV, M=T, x=x)
            for factor in (1, 2):
                assert np.array_equal(T.to_numpy(), factor * dense) and np.array_equal(kernel(M=T, x=x), factor * dense @ x)
                assert np.array_equal(weft.evaluate(SPMV, M=T, x=x), factor * dense @ x)
                packed *= 2
    kept = weft.tensor(values, shape=(4, 4), format="lower", copy=True)
    band = weft.tensor(np.arange(12.0), shape=(4, 4), format="band(1,1)", trusted=True)
    values[0] = 70
    assert kept[0, 0] == 1 and not kept._borrowed and band._dense() is None
    simplex = weft.tensor(np.arange(10.0), shape=(3, 3, 3), format="(i,j,k) -> (i:d, j:d(..i+1), k:d(..j+1))")
    assert simplex[2, 1, 0] == 5 and simplex[2, 2, 2] == 9 and simplex[0, 1, 0] == 0
    for wrong, shape, format in [(values[:9], (4, 4), "lower"), (values, (3, 3), "lower"), (values, (4, 4, 4), "lower"),
                                 (values, (4, 4), "ds"), (values, (4, 4), "bcsr(2,2)"), (values, (4, 4), "(i:d")]:
        with pytest.raises(weft.InputError):
            weft.tensor(wrong, shape=shape, format=format)


@pytest.mark.parametrize("layout", ["bcsr(2,2)", "bcsr(3,3,unaligned)", "ell", "sell(2)", "vbl", "dia", "dia(2)", "csb(2)", "(i,j) -> (i:d, j:s desc)",
                                    "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", "(i,j) -> (*:v, i:q, *:d, j:q)",
                                    "(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(3))",
                                    sp.dia_array, sp.bsr_array])
@pytest.mark.parametrize("made_for", [sp.csr_array, sp.csc_array, sp.coo_array, np.asarray, "ss"])
def test_kernels_take_layouts_that_they_were_not_made_for(layout, made_for):
    """Also of other extents and with other leanings: a kernel that does not fit is replaced by one over the modes, not over the levels."""
    given = np.eye(6) if made_for is not np.asarray else np.ones((6, 6))
    first = weft.tensor(given).convert(made_for) if isinstance(made_for, str) else made_for(given)
    for extent in (6, 7):
        dense = np.diag(np.arange(1.0, extent + 1)) + np.eye(extent, k=1)
        laid_out = weft.tensor(dense).convert(layout) if isinstance(layout, str) else layout(dense)
        for text in ("y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)"):
            kernel = weft.compile(text, A=first, x=np.ones(6))
            x = np.arange(1.0, extent + 1)
            expected = dense @ x if "y(i)" in text else dense.T @ x
            for _ in range(2):
                assert np.array_equal(kernel(A=laid_out, x=x), expected)


@pytest.mark.parametrize("calls", [1, 1000])
def test_dense_operands_beside_blocks_may_change_in_place(calls):
    blocks, dense = sp.bsr_array(np.ones((12, 12)), blocksize=(3, 3)), np.ones((40, 12))
    kernel = weft.compile("R(i,l) = B(i,k) * X(l,k)", B=blocks, X=dense, calls=calls)
    for factor in (1, 2, 5):
        dense[:] = factor
        for result in (weft.einsum("ik,lk->il", blocks, dense), weft.evaluate("R(i,l) = B(i,k) * X(l,k)", B=blocks, X=dense, calls=calls),
                       kernel(B=blocks, X=dense)):
            assert np.array_equal(result, np.full((12, 40), 12.0 * factor))


def test_arrays_are_let_go_of():
    for make in (blocks, diagonals):
        M = make()
        x = np.ones(M.shape[1])
        kernel = weft.compile(SPMV, M=M, x=x)
        kernel(M=M, x=x)
        T = weft.tensor(M)
        dead = [weakref.ref(M), weakref.ref(M.data)]
        del M
        gc.collect()
        assert dead[0]() is None and dead[1]() is not None and T.to_numpy().any()
        del T
        gc.collect()
        assert dead[1]() is None
        for _ in range(50):
            N = make()
            assert np.array_equal(kernel(M=N, x=x), N.toarray() @ x)


KINDS = ["dd", "ds", "ss", "sd", "ds:1,0", "bcsr(2,2)", "dia", "dia(2)", "ell", "sell(2)", "band(1,2)", "vbl", "csb(2)"]


def test_kernels_take_operands_as_they_are_called_beside_nan():
    entries, at = np.array([1.0, 2.0, 3.0, 0.0]), (np.array([0, 2, 2, 3]), np.array([0, 1, 2, 3]))
    x = np.array([1.0, np.inf, 2.0, np.nan])
    made = {}
    for kind in KINDS:
        made[kind] = weft.tensor((entries, at), shape=(4, 4), format=kind)
    for text in "y(i) = M(i,j) * x(j)", "y(i) = (M(i,j) * x(j) * M(i,i))", "y(i,j) = M(i,j) * M(j,i)":
        names = ["M", "x"] if "x" in text else ["M"]
        spoiled = {kind: weft.tensor((np.array([np.inf, 2.0, 3.0, 0.0]), at), shape=(4, 4), format=kind) for kind in KINDS}
        expected = {kind: weft.evaluate(text, {"M": (made if "x" in names else spoiled)[kind], "x": x} if "x" in names else {"M": spoiled[kind]},
                                        format="y:" + "d" * text.split("=")[0].count(",") + "d") for kind in KINDS}
        for one in KINDS:
            kernel = weft.compile(text, {"M": made[one], "x": np.ones(4)} if "x" in names else {"M": made[one]},
                                  format="y:" + "d" * text.split("=")[0].count(",") + "d")
            for other in KINDS:
                got = kernel({"M": made[other], "x": x} if "x" in names else {"M": spoiled[other]})
                assert np.array_equal(got, expected[other], equal_nan=True), (text, one, other)


@pytest.mark.parametrize("layout", ["bcsr(2,2)", "ell", "sell(2)", "dia", "dia(2)", "band(1,2)", "lower", "bcsr(2,2,unaligned)", "skyline"])
def test_pinned_layouts_have_their_places_however_operands_come(layout):
    B = weft.tensor((np.array([1.0, 2, 3]), (np.array([0, 2, 2]), np.array([0, 1, 2]))), shape=(4, 4))
    A = np.full((4, 4), np.nan)
    for text, result in ("R(i,j) = A(i,j) * B(i,j)", "ds"), ("R(i) = A(i,i) * B(i,i)", "d"), ("R(i,j) = A(i,k) * B(k,j)", "dd"):
        there = weft.evaluate(text, A=A, B=B.convert(layout), format="R:" + result)
        pinned = ["R:" + result, "B:" + layout]
        kernel = weft.compile(text, A=A, B=B, format=pinned)
        for got in weft.evaluate(text, A=A, B=B, format=pinned), kernel(A=A, B=B), kernel(A=A, B=B.convert(layout)), kernel(A=A, B=B.convert("ss")):
            if result == "ds":
                assert got.nnz == there.nnz and np.array_equal(got.toarray(), there.toarray(), equal_nan=True)
            else:
                assert np.array_equal(got, there, equal_nan=True)


@pytest.mark.parametrize("layout", ["bcsr(2,2)", "csb(2)", "dia(2)", "sell(2)"])
def test_zeros_of_dense_fibers_are_entries_beside_blocks(layout):
    A = weft.tensor((np.zeros(4), (np.zeros(4, int), np.arange(4))), shape=(4, 4), format="ss")
    B = weft.tensor((np.array([np.inf, 1.0]), (np.array([0, 2]), np.array([1, 3]))), shape=(4, 4))
    for text in "R(i,j) = A(i,k) * B(k,j)", "R(i,k) = A(i,k) * B(i,k)":
        results = [weft.evaluate(text, A=A.convert(kind), B=B.convert(layout), format="R:ds") for kind in ("ss", "sd", "sd:1,0")]
        assert np.isnan(results[0].toarray()[0, 1])
        for one in results[1:2]:
            assert one.nnz == results[0].nnz and np.array_equal(one.toarray(), results[0].toarray(), equal_nan=True)


def test_results_keep_their_format_whatever_kernel_takes_the_place():
    M = weft.tensor((np.array([1.0, 2.0]), (np.array([0, 2]), np.array([1, 2]))), shape=(3, 3))
    nothing = weft.tensor((np.empty(0), (np.empty(0, int), np.empty(0, int))), shape=(3, 3))
    kernel = weft.compile("R(i) = M(i,j) * x(j)", M=M.convert("sell(2)"), x=np.ones(3))
    for kind in "ds", "sell(2)", "dd", "bcsr(2,2)":
        assert np.array_equal(kernel(M=nothing.convert(kind), x=np.ones(3)), np.zeros(3))


def test_chosen_layouts_give_way_beside_nan(rng):
    dense = np.kron(rng.random((300, 300)) < 0.03, np.ones((3, 3))) * rng.integers(1, 5, (900, 900))
    dense[rng.random((900, 900)) < 0.1] = 0
    M, x = weft.tensor(sp.csr_array(dense), copy=True), np.ones(900)
    kernel = weft.compile("y(i) = M(i,j) * x(j)", M=M, x=x, calls=10**6, choose_layouts=True)
    assert "blocks" in str(kernel.plan.report["explanation"]) or "blocks" in str(kernel.plan)
    assert np.array_equal(kernel(M=M, x=x), dense @ x)
    for place in 5, 77, 300:
        spoiled = x.copy()
        spoiled[place] = np.nan
        expected = np.where(dense[:, place] != 0, np.nan, dense @ x)
        assert np.array_equal(kernel(M=M, x=spoiled), expected, equal_nan=True)
        assert np.array_equal(kernel(M=M, x=x), dense @ x)
    looked_up = weft.tensor((np.array([1.0, 5.0]), (np.array([0, 1]),)), shape=(3,), format="b")
    cube = weft.sparse(2, 3, 7, nnz=26, seed=1)
    kernel = weft.compile("s = A(i) * B(j,i,k)", A=looked_up, B=cube, calls=10**5, choose_layouts=True)
    coordinates, values = cube.to_coo()
    values[(coordinates[1] == 2).argmax()] = np.nan
    spoiled = weft.tensor((values, coordinates), shape=cube.shape)
    assert kernel(A=looked_up, B=spoiled) == weft.evaluate("s = A(i) * B(j,i,k)", A=looked_up, B=spoiled) and not np.isnan(kernel(A=looked_up, B=spoiled))


def test_as_many_places_as_elements_are_not_the_same_entries():
    text, B = "A(i,r) = (M(i,j) * B(j,r))", np.ones((4, 2))
    B[0, 0] = np.inf
    kernel = weft.compile(text, M=np.ones((2, 4)), B=B, format="A:dd")
    for values in [[4, 0, -2, 4], [0, 3, -1, 0]], [[4, 0, -2, 0], [0, 3, -1, 0]]:
        for layout in "dia", "dia(2)", "ss", "bcsr(2,2)", "sell(2)":
            M = weft.tensor(np.array(values, float), format="ss").convert(layout)
            assert np.array_equal(kernel(M=M, B=B), weft.evaluate(text, M=M, B=B, format="A:dd"), equal_nan=True), (values, layout)


@pytest.mark.parametrize("format", ["ss", "ds:1,0", "sh", "hh", "db", "bb", "bcsr(3,3)", "bcsr(4,2,unaligned)", "dia", "ell", "sell(8)", "vbl",
                                    "csb(8)", "uq", "sd", "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", "(i,j) -> (*:v, i:q, *:d, j:q)"])
def test_other_values_over_the_same_pattern(format):
    M = sp.random(50, 60, 0.2, format="csr", random_state=1)
    T = weft.tensor(M, copy=True).convert(format)
    for change in (lambda one: one * 2, lambda one: -one, abs, np.sqrt, lambda one: one / 4, lambda one: one**2, lambda one: one * one):
        made = change(T)
        made._verify()
        assert made.format == T.format and np.array_equal(made.to_numpy(), change(M.toarray()))
    assert np.array_equal(T.to_numpy(), M.toarray())
