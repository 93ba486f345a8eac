"""weft.Tensor: what it tells, elements and slices, arithmetic, files."""

import contextlib
import re

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import weft


@pytest.fixture
def dense(rng):
    return rng.integers(-2, 3, (4, 5, 6)).astype(float) * rng.integers(0, 2, (4, 5, 6))


@pytest.fixture(params=["sss", "ddd", "dss", "uqq", "sss:2,0,1"])
def T(request, dense):
    return weft.tensor(dense, format=request.param)


def test_what_it_tells(T, dense):
    assert T.shape == (4, 5, 6) and T.ndim == 3 and T.size == 120 and len(T) == 4 and T.fill == 0
    assert T.dtype == np.float64 and T.nbytes > 0
    assert T.nnz == (120 if T.format.startswith("ddd") else np.count_nonzero(dense))
    assert repr(T) == f"<weft.Tensor 4x5x6 {T.format} f64, {T.nnz} stored>"
    assert repr(weft.tensor(2.5)) == "<weft.Tensor scalar f64, 1 stored>"
    with pytest.raises(AttributeError):
        T.shape = (1, 2, 3)
    with pytest.raises(TypeError):
        hash(T)
    with pytest.raises(TypeError):
        weft.Tensor()


def test_elements_and_slices(T, dense):
    for key in [(0, 0, 0), (3, 4, 5), (-1, -5, 2)]:
        assert T[key] == dense[key] and type(T[key]) is np.float64
    for key in [1, (1, 2), (slice(None), 2), (Ellipsis, 3), (1, Ellipsis), Ellipsis, slice(1, 3), (slice(None, None,
                                                                                                         2), slice(4, None, -1), 0),
                (slice(-2, None), slice(5, 2), slice(None)), (slice(3, 0, -2), Ellipsis, slice(1, 5, 3)), (0, 0)]:
        part = T[key]
        assert isinstance(part, weft.Tensor) and part.shape == dense[key].shape and np.array_equal(part.to_numpy(), dense[key]), key
    for key, error in [((4, 0, 0), IndexError), ((0, 0, 0, 0), IndexError), ((0, -6, 0), IndexError), ("a", TypeError), (1.5, TypeError),
                       ([0, 1], TypeError), (None, TypeError)]:
        with pytest.raises(error):
            T[key]


def test_arithmetic(T, dense):
    other = np.arange(120.0).reshape(4, 5, 6) % 3
    for made, expected in [(2 * T, 2 * dense), (T * 2.5, 2.5 * dense), (-T, -dense), (+T, dense), (T * other,
                                                                                                   dense * other),
                                                                                                   (other * T, dense * other),
                           (T * T, dense * dense), (T**3, dense**3), (T.T, dense.T)]:
        assert isinstance(made, weft.Tensor) and np.array_equal(made.to_numpy(), expected)
    for axis in (None, 0, -1, (0, 2), (1,)):
        assert np.array_equal(np.asarray(T.sum(axis)), dense.sum(axis)) and np.allclose(np.asarray(T.mean(axis)), dense.mean(axis))
    assert isinstance(T.sum(), np.float64)
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            T.sum(wrong)


def test_products():
    A, B, v = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) % 5, np.arange(3.0)
    S, W = weft.tensor(A, format="ss"), weft.tensor(v)
    for made, expected in [(S @ B, A @ B), (A.T @ S, A.T @ A), (S @ v, A @ v), (S @ W, A @ v), (S @ weft.tensor(B, format="ds"), A @ B),
                           (S @ sp.csr_matrix(B), A @ B), (W @ W, v @ v)]:
        assert np.array_equal(np.asarray(made), expected)
    for made in (S @ B, A.T @ S, S @ v, S @ sp.csr_matrix(B)):  # dense results of arrays are arrays, as everywhere
        assert isinstance(made, np.ndarray) and made.flags.writeable
    assert isinstance(v @ W, np.float64) and isinstance(W @ W, weft.Tensor)
    assert float(W @ W) == 5 and bool(W @ W)
    with pytest.raises(weft.InputError):
        S @ A
    with pytest.raises(weft.InputError):
        S @ 2.0
    with pytest.raises(ValueError):
        bool(S)


@pytest.mark.parametrize("operation", [
    lambda T: T + T, lambda T: T - 1, lambda T: 1 - T, lambda T: T / 0, lambda T: T / T, lambda T: 2 / T, lambda T: T // 2,
    lambda T: T % 2, lambda T: T == T, lambda T: T != 0, lambda T: T < 1, lambda T: T >= T, lambda T: T.any(axis=0),
    lambda T: T.all(axis=0), lambda T: T**-1, lambda T: 2.0**T, np.exp, lambda T: np.add(T, 1), lambda T: T + np.ones(2),
    lambda T: np.add.reduce(T), lambda T: T.sum(0, keepdims=True), lambda T: T.astype(int), lambda T: weft.tensor(T, fill=1),
])
def test_what_the_language_has_not_yet(operation):
    with pytest.raises(weft.UnsupportedError):
        operation(weft.tensor(np.eye(2), format="ss"))


def test_errors_of_sparse_tensors_name_the_way_out():
    huge = weft.tensor(([1.0, 2.0], ([0, 10**9], [5, 7])), shape=(2**40, 2**40))
    row = weft.tensor(([1.0, 2.0], ([0, 10**9],)), shape=(2**40,))
    for operation in (lambda T: T + 1, lambda T: T - T, lambda T: T > 0, np.exp, lambda T: 1 / T):
        with pytest.raises(weft.UnsupportedError, match=r"T.to_scipy\(\) and T.to_numpy\(\)"):
            operation(huge)
        with pytest.raises(weft.UnsupportedError, match=r"T.to_numpy\(\)"):
            operation(row)
    for called in (lambda T: np.concatenate([T, T]), lambda T: np.kron(T, T), np.cumsum, np.median, lambda T: np.where(T, 1, 2)):
        with pytest.raises(TypeError, match=r"^numpy.*T.to_numpy\(\)"):
            called(huge)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dense_tensors_compute_as_arrays(dtype, rng):
    D = rng.integers(-3, 4, (4, 5)).astype(dtype)
    E, x = rng.integers(1, 4, (4, 5)).astype(dtype), rng.integers(1, 4, 5).astype(dtype)
    for T in (weft.tensor(D), weft.tensor(D, format="dd:1,0")):
        for of_two in (lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a - b, lambda a, b: a / b, lambda a, b: a // b,
                       lambda a, b: a % b, lambda a, b: a == b, lambda a, b: b != a, lambda a, b: a < b, lambda a, b: b >= a,
                       lambda a, b: b**a, np.maximum, lambda a, b: np.maximum(b, a), lambda a, b: np.concatenate([a, b]), np.allclose,
                       np.hypot, divmod_of):
            for other in (E, weft.tensor(E), weft.tensor(E, format="ds")):
                made, expected = of_two(T, other), of_two(D, E)
                assert not isinstance(made, weft.Tensor) and np.array_equal(made, expected)
        for of_one in (lambda a: a + 1, lambda a: 2 - a, lambda a: a / 2, lambda a: 2.0**a, lambda a: a**-1.0, lambda a: a + x,
                       lambda a: x - a, lambda a: a * x, lambda a: a * x[:4, None], lambda a: a[:, 1] > 0, np.exp, abs,
                       lambda a: a.max(), lambda a: a.min(0), lambda a: a.any(1), lambda a: a.all((0, 1)),
                       lambda a: a.max(axis=1, keepdims=True), np.cumsum, np.ptp,
                       lambda a: np.add.reduce(a, axis=1), lambda a: np.linalg.norm(a), lambda a: a == 0, lambda a: np.clip(a, 0, 1)):
            with np.errstate(divide="ignore"):
                made, expected = of_one(T), of_one(D)
            assert not isinstance(made, weft.Tensor) and np.array_equal(made, expected) and made.dtype == expected.dtype
        y = E.copy()
        y += T
        y -= weft.tensor(D, format="ds")
        assert np.array_equal(y, E)
        with pytest.raises(TypeError, match="does not change"):
            np.add(D, E, out=T)


def divmod_of(a, b):
    return np.divmod(a, b)[1]


def test_iterations_over_a_tensor_read_as_over_a_matrix():
    A = sp.diags([4.0 * np.ones(50), -np.ones(49), -np.ones(49)], [0, 1, -1]).tocsr()
    T, b = weft.tensor(A), np.ones(50)
    x = np.zeros(50)
    r = b - T @ x
    p, rs = r.copy(), r @ r
    for _ in range(50):
        Ap = T @ p
        step = rs / (p @ Ap)
        x += step * p
        r -= step * Ap
        rs, before = r @ r, rs
        if rs < 1e-24:
            break
        p = r + rs / before * p
    assert np.allclose(A @ x, b)
    solved, info = scipy.sparse.linalg.cg(T, b, atol=0)
    assert info == 0 and np.allclose(A @ solved, b, atol=1e-4)
    skewed = weft.tensor(sp.csr_matrix(A + sp.eye(50, k=3)))
    assert np.allclose(scipy.sparse.linalg.lsqr(skewed, skewed @ x)[0], x, atol=1e-4)
    assert np.array_equal(skewed.rmatvec(np.ones((50, 1)))[:, 0], skewed.to_numpy().sum(0))
    d, x = T.diagonal(), np.zeros(50)
    for _ in range(60):
        x += (b - T @ x) / d
    assert np.allclose(A @ x, b)
    sparse_diagonal = weft.einsum("ii->i", T, format="s")
    assert np.array_equal((b - T @ x) / sparse_diagonal, (b - T @ x) / d) and np.array_equal(sparse_diagonal + b, d + b)


@pytest.mark.parametrize("format", ["ss", "ds", "ds:1,0", "dd", "bcsr(2,2)", "hh"])
def test_methods_of_scipy(format, rng):
    D = rng.integers(-3, 4, (6, 4)) * (rng.random((6, 4)) < 0.6) + 0.0
    D[2] = [1, 2, 3, 4]
    T, x = weft.tensor(D).convert(format), np.arange(4.0)
    array = T.toarray()
    array[0, 0] = 9
    assert np.array_equal(T.todense(), D)
    for made, expected in [
        (T.transpose(), D.T), (T.transpose(1, 0), D.T), (T.transpose((0, 1)), D), (np.transpose(T), D.T), (T.dot(x), D @ x),
        (T.dot(2), 2 * D), (np.dot(T, x), D @ x), (np.dot(2, T), 2 * D), (np.matmul(T, x), D @ x), (abs(T), abs(D)), (np.square(T), D * D),
        (np.sqrt(abs(T)), np.sqrt(abs(D))), (T / 2, D / 2), (T / np.int64(4), D / 4), (abs(T)**0.5, abs(D)**0.5), (T**np.int64(2), D**2),
        (np.multiply(T, 2), 2 * D), (np.multiply(D, T), D * D), (np.float64(2) * T, 2 * D), (np.negative(T), -D),
        (np.einsum("ij,j->i", T, x, optimize=True), D @ x), (np.tensordot(T, x, 1), D @ x),
        (np.tensordot(T, D, axes=([0, 1], [0, 1])), np.sum(D * D)), (np.tensordot(D, T, (0, 0)), D.T @ D),
        (np.linalg.norm(T)**2, np.linalg.norm(D)**2), (np.linalg.norm(2 * T) / 2, np.linalg.norm(D)),
    ]:
        assert np.allclose(np.asarray(made), expected, rtol=1e-15, atol=0)
    assert format == "dd" or (abs(T).format, (T / 2).format) == (T.format, T.format)
    for offset in (0, 1, 3, -2, -5, 7, -7):
        assert np.array_equal(T.diagonal(offset), D.diagonal(offset) if -6 <= offset <= 4 else [])
    for matrix in (D, -D, abs(D) + 1, -abs(D) - 1):
        T = weft.tensor(matrix).convert(format)
        for of in (np.max, np.min):
            assert of(T) == of(matrix)
            for axis in (0, 1, -1, (0, 1)):
                made = of(T, axis=axis)
                assert np.array_equal(np.asarray(made), of(matrix, axis=axis))
    assert np.any(T) and T.all() and np.shape(T) == (6, 4) and np.size(T) == 24 and np.ndim(T) == 2
    with pytest.raises(weft.InputError):
        T.transpose(0, 0)
    with pytest.raises(weft.InputError):
        weft.sparse(2, 3, 4, nnz=2).diagonal()


def test_extremes_of_huge_modes_stay_sparse():
    T = weft.tensor(([-8.0, 4.0, np.nan], ([1, 10**12, 5], [3, 3, 0])), shape=(10**13, 4))
    assert np.isnan(T.max()) and T.max(1).shape == (10**13,) and T.min(1)[1] == -8 and T.max(1)[10**12] == 4 and T.max(1)[1] == 0
    assert T.any() and not T.all() and not weft.tensor((np.zeros(0), np.zeros((2, 0), int)), shape=(3, 4)).any()
    empty = weft.tensor((np.zeros(0), np.zeros((2, 0), int)), shape=(3, 4))
    assert empty.max() == 0 and np.array_equal(np.asarray(empty.min(axis=0)), np.zeros(4))
    cube = weft.sparse(5, 6, 7, nnz=80, seed=1)
    for axis in (None, 0, (0, 2), (1, -1), (0, 1, 2)):
        assert np.array_equal(np.asarray(cube.max(axis)), cube.toarray().max(axis))
    with pytest.raises(weft.InputError):
        weft.tensor((np.zeros(0), np.zeros((2, 0), int)), shape=(0, 4)).max()


def test_as_an_array(T, dense):
    assert np.array_equal(np.asarray(T), dense) and np.asarray(T, dtype="f4").dtype == np.float32
    assert np.array_equal(np.add(T.to_numpy(), 1), dense + 1)
    if T.format.startswith("ddd"):
        with pytest.raises(ValueError):
            T.to_numpy()[0, 0, 0] = 1
    coordinates, values = T.to_coo(drop_zeros=True)
    assert coordinates.shape == (3, np.count_nonzero(dense)) and np.array_equal(values, dense[tuple(coordinates)])


def test_to_scipy(rng):
    A = rng.integers(0, 2, (5, 7)).astype(float)
    for format in ("ds", "ds:1,0", "ss", "dd", "uq"):
        made = weft.tensor(A, format=format).to_scipy()
        assert isinstance(made, sp.csc_array if format == "ds:1,0" else sp.csr_array) and np.array_equal(made.toarray(), A)
        assert made.has_canonical_format
    with pytest.raises(weft.InputError):
        weft.tensor(np.ones(3)).to_scipy()


def test_generated_ones_are_the_commands():
    assert np.array_equal(weft.uniform(2, 3, seed=1), weft.uniform((2, 3), seed=1))
    assert weft.uniform(4, dtype="f4").dtype == np.float32
    T = weft.sparse(20, 30, 5, nnz=100, seed=1)
    assert T.nnz == 100 and T.identical(weft.sparse((20, 30, 5), nnz=100, seed=1)) and not T.identical(weft.sparse(20,
                                                                                                                   30, 5, nnz=100, seed=2))
    assert weft.sparse(20, 30, nnz=7, format="ds").format == "ds:0,1"
    with pytest.raises(weft.InputError):
        weft.sparse(2, 2, nnz=5)
    with pytest.raises(weft.InputError):
        weft.sparse(-2, 2, nnz=5)


@pytest.mark.parametrize("extension", ["tns", "mtx", "npy", "tns.gz", "tns.zst", "mtx.gz", "npy.zst"])
def test_files(tmp_path, extension, rng):
    A = rng.integers(0, 3, (5, 7)).astype(float)
    A[-1, -1] = 1
    path = tmp_path / f"a matrix.{extension}"
    for thing in (A, sp.csr_matrix(A), weft.tensor(A, format="ss")):
        weft.write(path, thing)
        assert np.array_equal(weft.read(path).to_numpy(), A) and np.array_equal(weft.read(str(path), format="ds").to_numpy(), A)
        assert weft.read(path, dtype="f4").dtype == np.float32
    weft.tensor(A).save(path)
    assert weft.read(path, format="ds:1,0").format == "ds:1,0"


def test_files_of_numpy_and_scipy(tmp_path, rng):
    A = rng.integers(0, 3, (5, 7)).astype(float)
    sp.save_npz(tmp_path / "s.npz", sp.csr_matrix(A))
    np.save(tmp_path / "d.npy", A.T)
    assert np.array_equal(weft.read(tmp_path / "s.npz").to_numpy(), A)
    assert np.array_equal(weft.read(tmp_path / "d.npy").to_numpy(), A.T)
    T = weft.sparse(4, 5, 6, nnz=20, seed=1)
    T.save(tmp_path / "t.tns")
    assert weft.read(tmp_path / "t.tns", shape=(4, 5, 6)).identical(T)
    assert weft.read(tmp_path / "t.tns", shape=(9, 9, 9)).shape == (9, 9, 9)


def test_files_by_array_and_by_format(tmp_path):
    np.savez(tmp_path / "z.npz", a=np.ones(2), b=np.arange(3.0))
    with pytest.raises(weft.InputError, match="name one of them, such as .*z.npz:a"):
        weft.read(tmp_path / "z.npz")
    assert weft.read(f"{tmp_path}/z.npz:b").to_numpy().tolist() == weft.read(f"npz:{tmp_path}/z.npz:b").to_numpy().tolist() == [0, 1, 2]
    assert weft.Engine(threads=1).read(tmp_path / "z.npz:a").shape == (2,)
    with pytest.raises(weft.InputError, match="no member 'c'; the archive holds a, b"):
        weft.read(f"{tmp_path}/z.npz:c")
    for kind in ("tns", "npy", "mtx", "npz"):
        weft.write(f"{kind}:{tmp_path}/{kind}", np.eye(3))
        assert np.array_equal(weft.read(f"{kind}:{tmp_path}/{kind}").to_numpy(), np.eye(3))
    (tmp_path / "odd:name.tns").write_text("2 5\n")
    assert weft.read(tmp_path / "odd:name.tns").to_numpy().tolist() == [0, 5]


def test_engines_take_shapes_as_the_module_does():
    for make in (weft.tensor, weft.Engine(threads=1).tensor):
        assert make(([1.0], [[0]]), (3,)).shape == make(([1.0], [[0]]), shape=(3,)).shape == (3,)


@pytest.mark.parametrize("values", [[1.0, 2, 3, 4, 5, 6], (1.0, 2, 3, 4, 5, 6), np.arange(1.0, 7)])
def test_values_of_a_format_in_lists(values):
    wanted = [[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 5.0, 6.0]]
    assert weft.tensor(values, shape=(3, 3), format="lower").to_numpy().tolist() == wanted
    assert weft.tensor(wanted, shape=(3, 3), format="ds").to_numpy().tolist() == wanted


def test_shapes_that_grow():
    T = weft.tensor(weft.sparse(3, 3, nnz=4, seed=1), shape=(5, 6))
    assert T.shape == (5, 6) and T.nnz == 4
    with pytest.raises(weft.InputError):
        weft.tensor(weft.sparse(3, 3, nnz=9, seed=1), shape=(2, 3))


def test_borrowed_tensors_are_followed():
    A = sp.csr_matrix(np.eye(3))
    T, kept = weft.tensor(A), weft.tensor(A, copy=True)
    assert weft.einsum("ij->", T) == 3
    A.data[:] = 5
    assert weft.einsum("ij->", T) == 15 and weft.einsum("ij->", kept) == 3 and weft.evaluate("s = T(i,j)", T=T) == 15
    assert T.copy().sum() == 15 and not T.copy()._borrowed and kept.copy() is kept


def test_operators_keep_hypersparse_matrices_small():
    rows = 2 * 10**8 + 1
    tensor = weft.tensor(([1.0, 2.0], ([0, rows - 1], [3, 7])), shape=(rows, 10))
    for made in (2 * tensor, -tensor, tensor * tensor, tensor.T, tensor @ np.ones((10, 3))):
        assert made.nbytes < 1000, made
    assert (2 * tensor)[rows - 1, 7] == 4.0
    wide = weft.tensor(([3.0], ([2**60], [2**40])), shape=(2**63 - 1, 2**41))
    assert (-wide)[2**60, 2**40] == -3.0 and wide.T.shape == (2**41, 2**63 - 1)


@pytest.mark.parametrize("layout", ["sss", "dss", "uqq", "ssd", "sss:1,0,2", "sss:2,1,0", "dds", "sds", "ddd", "uqq:2,0,1", "hss", "bss", "ssd:1,2,0"])
def test_slices_are_those_of_numpy(layout):
    random = np.random.default_rng(1)
    for scalar in "f8", "f4":
        D = (random.integers(-3, 4, (40, 30, 20)) * (random.random((40, 30, 20)) < 0.1)).astype(scalar)
        T = weft.tensor(D, format=layout)
        for key in (np.s_[5:9], np.s_[7], np.s_[:, 3:8], np.s_[:, :, 1:9], np.s_[5:9, 3, 2:15], np.s_[5:9, 3:20:3, 4], np.s_[9:5], np.s_[0:40],
                    np.s_[39:40], np.s_[-1], np.s_[::-1], np.s_[..., 4], np.s_[2:30, :, 5], np.s_[3:4, 1:2, 0:1]):
            part = T[key]
            assert part.dtype == D.dtype and np.array_equal(part.to_numpy(), D[key]), key
            rows = T[key].to_coo()
            assert len(rows[1]) == part.nnz


def test_slices_of_dense_tensors_are_copies_of_what_is_asked_for():
    D = np.arange(24.0).reshape(2, 3, 4)
    for T in (weft.tensor(D), weft.tensor(D, copy=True), weft.tensor(D.transpose(2, 0, 1)).T, weft.tensor(D[::-1])):
        dense = T.to_numpy()
        part = T[1, :, 1:3]
        assert np.array_equal(part.to_numpy(), dense[1, :, 1:3]) and part.format == "dd:0,1" and not part._borrowed
    T = weft.tensor(D)
    part = T[0]
    D[:] = 0
    assert part.to_numpy()[2, 3] == 11 and T[0, 2, 3] == 0


def test_shapes_of_another_number_of_modes():
    for made in (np.zeros((2, 0, 0)), np.eye(3), 3.0, sp.csr_matrix(np.eye(3)), weft.sparse(3, 3, nnz=2)):
        for shape in ((), (7,), (3, 3, 3, 3), 7):
            if np.shape(made) != shape:
                with pytest.raises(weft.InputError, match="extents for a tensor of"):
                    weft.tensor(made, shape=shape)
    with pytest.raises(weft.InputError, match="below 2"):
        weft.tensor(([1.0], ([0], [0])), shape=(2**64, 2))


def test_numbers_keep_the_type_of_a_tensor():
    for dtype in "f4", "f8":
        T = weft.sparse(4, 5, nnz=7, seed=2, dtype=dtype)
        made = (T * 2, 2 * T, -T, T * 0.5, T * np.float32(2), T * np.array(2, dtype), T**2, T.mean(0), T.mean(), T.sum())
        for one in made:
            assert one.dtype == T.dtype, one
        assert np.array_equal((T * 2).to_numpy(), T.to_numpy() * 2)
    assert (weft.sparse(4, 5, nnz=7, dtype="f4") * np.float64(2)).dtype == np.float64
    assert (T * weft.tensor(2.0)).identical(T * 2) and int(weft.tensor(3.0)) == 3 and np.sum(weft.tensor(np.eye(3))) == 3 and np.mean(weft.tensor(np.eye(2))) == 0.5


def test_means_of_huge_modes_stay_sparse():
    T = weft.tensor(([8.0, 4.0], ([1, 10**12], [3, 3])), shape=(10**13, 4))
    assert T.mean(1)[10**12] == 1 and T.mean(1).shape == (10**13,) and T.mean(1).nnz == 2
    cube = weft.tensor(([8.0], ([1], [3], [2])), shape=(1000, 1000, 4), format="sss")
    assert cube.mean(2)[1, 3] == 2


def test_tensors_of_many_modes_have_operators():
    T = weft.tensor(([3.0], tuple([1] for _ in range(32))), shape=(2,) * 32)
    at = (1,) * 32
    assert T.sum() == 3 and (2 * T)[at] == 6 and (-T)[at] == -3 and (T**2)[at] == 9 and T.T[at] == 3


def test_matrices_of_few_entries_in_many_rows_are_small_files(tmp_path):
    T = weft.tensor(([1.0, 2.0], ([0, 3 * 10**9], [5, 0])), shape=(4 * 10**9, 6))
    T.save(tmp_path / "few.npz")
    assert (tmp_path / "few.npz").stat().st_size < 10000 and weft.read(tmp_path / "few.npz").identical(T.convert("ss"))
    read = sp.load_npz(tmp_path / "few.npz")
    assert read.format == "coo" and read.shape == T.shape and read.data.tolist() == [1, 2] and read.row.tolist() == [0, 3 * 10**9]


def test_slices_of_tensors_in_layouts_and_without_entries():
    dense = np.arange(12.0).reshape(3, 4) % 5
    keys = np.s_[1, :], np.s_[:, 1], np.s_[0:2, :], np.s_[::2, 1:3]
    for layout in "csb(2)", "bcsr(2,2)", "dia", "dia(2)", "ell", "sell(2)", "vbl", "csc", "coo", "hh", "(i,j) -> (j:d, i:s)":
        T = weft.tensor(dense).convert(layout)
        for key in keys:
            assert np.array_equal(T[key].to_numpy(), dense[key]), (layout, key)
    for layout in "ss", "ds", "uq", "hh", "sd", "ss:1,0", "bcsr(2,2)":
        T = weft.tensor((np.zeros(0), np.zeros((2, 0), int)), shape=(3, 4)).convert(layout)
        for key in keys:
            assert T[key].nnz == 0 and T[key].shape == np.zeros((3, 4))[key].shape, (layout, key)


@pytest.mark.parametrize("extent", [2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40])
def test_long_rows_as_matrices_of_scipy(extent):
    T = weft.tensor(([1.0, 2.0], ([0, 1], [extent - 1, 5])), shape=(3, extent))
    assert T.to_scipy().indices.tolist() == [extent - 1, 5]
    assert (2 * T)[0, extent - 1] == 2 and (-T).identical(T * -1.0) and (T * T)[1, 5] == 4 and (T @ T.T)[1, 1] == 4
    made = weft.einsum("ij->ij", T.to_scipy(), format="bcsr(3,1)")
    assert made.format == "bsr" and made.indices.tolist() == [5, extent - 1]


def test_sums_of_few_entries_in_many_rows_stay_sparse():
    n = 10**12
    T = weft.tensor(([1.0, 2.0], ([0, 5], [7, n - 1], [1, 2])), shape=(n, n, 3))
    with weft.options(memory_limit="1G"):
        assert T.sum(2)[5, n - 1] == 2 and T.mean(2)[0, 7] == 1 / 3 and T.sum(2).nnz == 2


@pytest.mark.parametrize("rows", [10**8, 2**31 - 2, 2**40, 2**62])
def test_coordinates_of_scipy_in_many_rows(rows):
    M = sp.coo_matrix((np.array([1.0, 2, 3]), (np.array([rows - 1, 0, rows // 2]), np.array([0, 1, 2]))), shape=(rows, 3))
    with weft.options(memory_limit="1G"):
        assert weft.einsum("ij->j", M).tolist() == [1, 2, 3] and weft.tensor(M)[rows // 2, 2] == 3
        assert weft.evaluate("y(j) = M(i,j) * x(j)", M=M, x=np.ones(3)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("shape", [(2**62, 2**62), (2**63 - 1, 5), (10**12, 10**12), (2**62, 3), (3, 2**63 - 1)])
def test_pictures_of_long_extents(shape):
    T = weft.tensor(([1.0, 2.0], ([0, shape[0] - 1], [shape[1] - 1, 0])), shape=shape)
    assert T._repr_html_().count("<img") == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_at_the_positions_of_an_operand_have_its_type(dtype):
    A = (np.arange(12.0).reshape(3, 4) % 3).astype(dtype)
    N = weft.tensor(A, format="ss")
    for M in A, N, weft.tensor(A, format="bcsr(2,2)"):
        made = weft.evaluate("A(i,j) = M(i,j) * N(i,j)", M=M, N=N, format="A:like(N)")
        assert made.dtype == A.dtype and made.nnz == N.nnz and np.array_equal(made.to_numpy(), A * A)
        assert weft.compile("A(i,j) = M(i,j) * N(i,j)", M=M, N=N, format="A:like(N)")(M=M, N=N).dtype == A.dtype


FORMATS = ["sss", "dss", "dds", "ssd", "sds", "sdd", "uqq", "duq", "suq", "hss", "shs", "bss", "dhb", "(i,j,k) -> (i:s, j:s desc, k:s)"]


@pytest.mark.parametrize("seed", range(40))
def test_random_slices(seed):
    random = np.random.default_rng(seed)
    shape = tuple(int(each) for each in random.integers(1, [(9, 40, 5), (300, 2, 70), (3, 4, 900)][seed % 3]))
    D = (random.integers(1, 9, shape) * (random.random(shape) < random.choice([0.02, 0.2, 0.9]))).astype(random.choice(["f4", "f8"]))
    format = str(random.choice(FORMATS[:-1]))
    format += ":" + ",".join(map(str, random.permutation(3))) if seed % 2 else ""
    T = weft.tensor(D).convert(format if seed % 5 else FORMATS[-1])

    def part(extent):
        if random.random() < 0.3:
            return slice(None)
        if random.random() < 0.4:
            return int(random.integers(-extent, extent))
        begin, end = (None if random.random() < 0.3 else int(each) for each in random.integers(-extent - 1, extent + 2, 2))
        return slice(begin, end, random.choice([None, 1, 2, 3, 50, -1, -2]) if random.random() < 0.7 else None)

    for threads in (1, 2):
        with weft.options(threads=threads):
            for _ in range(30):
                key = tuple(part(extent) for extent in shape)
                made = weft.tensor(T, copy=True)[key] if threads == 1 else T[key]
                if all(isinstance(each, int) for each in key):
                    assert made == D[key]
                    continue
                made._verify()
                assert made.dtype == D.dtype and np.array_equal(made.to_numpy(), D[key]), (format, shape, key)


def test_slices_keep_the_stored_order():
    A = sp.random(60, 80, 0.1, format="csc", random_state=1)
    T = weft.tensor(A)
    assert T[:, 3:70].format == T[::7, 3:70:2].format == "ss:1,0" and T[::-1].format == "ss:0,1"
    assert np.array_equal(T[::7, 3:70:2].toarray(), A.toarray()[::7, 3:70:2])
    cube = weft.sparse(5, 6, 7, nnz=30, seed=1).convert("sss:2,0,1")
    assert cube[1:, 2].format == "ss:1,0" and cube[:, :, 4].format == "ss:0,1" and cube[2, :, 3].format == "s:0"


def test_slices_of_huge_extents():
    n = 2**63 - 1
    T = weft.tensor(([1.0, 2.0, 3.0], ([0, n - 1, 5], [n - 1, 0, 7])), shape=(n, n))
    assert T[n - 1].nnz == 1 and T[:, n - 1][0] == 1 and T[::2][3 - 3, n - 1] == 1 and T[::-1].shape == (n, n)
    assert T[5:, ::7][0, 1] == 3 and T[::-1, ::-1][0, n - 1] == 2 and T[n:].shape == (0, n) and T[::2**40].nnz == 1


def test_slices_over_many_threads():
    A = sp.random(3000, 2000, 0.05, format="csr", random_state=2)
    with weft.options(threads=4):
        for T in weft.tensor(A), weft.tensor(A, format="uq"), weft.tensor(A, format="ss:1,0"):
            for key in np.s_[:, 5], np.s_[::2], np.s_[:, 100:1900], np.s_[10:2900, ::3], np.s_[::-2, 7:]:
                assert np.array_equal(T[key].to_numpy(), A.toarray()[key])


def test_extremes_along_rows_as_they_lie():
    rng = np.random.default_rng(5)
    for shape, share in [((40, 7), 0.5), ((40, 7), 0.95), ((300, 9), 0.01), ((3, 0), 0), ((0, 3), 0), ((5, 1), 1), ((60, 4), 1)]:
        dense = np.where(rng.random(shape) < share, rng.integers(-5, 6, shape), 0).astype(float)
        for format in ("ds", "ds:1,0"):
            T = weft.tensor(dense, format=format)
            for axis in (0, 1):
                if dense.shape[axis] == 0:
                    continue
                for name in ("max", "min"):
                    found = getattr(T, name)(axis=axis)
                    assert np.array_equal(found if isinstance(found, np.ndarray) else found.to_numpy(), getattr(dense, name)(axis=axis))
    dense[3, 2] = np.nan
    assert np.isnan(weft.tensor(dense, format="ds").max(axis=1)[3])


@pytest.mark.parametrize("fill", [0.05, 0.2, 0.5, 0.9, 1.0])
def test_operators_keep_sparse_tensors_sparse(fill):
    import scipy.sparse as sp

    random = np.random.default_rng(3)
    array = np.where(random.random((60, 60)) < fill, random.integers(1, 5, (60, 60)), 0).astype(float)
    T = weft.tensor(array, format="ds")
    x = np.ones(60)
    x[7] = np.nan  # meets the entries alone
    wanted = np.array([row[row != 0] @ x[row != 0] for row in array])
    for made in (T * 1, 1 * T, -(-T), T.T.T, T / 1, T * np.ones((60, 60)), T * weft.tensor((array != 0).astype(float), format="ds"),
                 T * sp.csr_array((array != 0).astype(float)), np.abs(T)):
        assert made.format == "ds:0,1" and made.nnz == T.nnz
        assert np.array_equal(made @ x, wanted, equal_nan=True)
    assert (T * np.nan).nnz == T.nnz and T.T.nnz == T.nnz
    cube = weft.tensor(np.ones((2, 3, 4)), format="sss")
    assert cube.transpose(2, 0, 1).format == "sss:0,1,2"


def test_extremes_along_modes_that_stand_anywhere():
    random = np.random.default_rng(4)
    array = np.where(random.random((6, 7, 5)) < 0.3, random.integers(-4, 5, (6, 7, 5)), 0).astype(float)
    for format in ("sss", "sss:2,0,1", "dss:1,2,0"):
        T = weft.tensor(array, format=format)
        for axis in (0, 1, 2, (0, 2), (2, 1), None, -1):
            assert np.array_equal(np.asarray(T.max(axis=axis)), array.max(axis=axis))
            assert np.array_equal(np.asarray(T.min(axis=axis)), array.min(axis=axis))


def test_powers_have_the_entries_and_the_format():
    for format in ["ss", "ds", "ds:1,0", "uq", "ss:0,1:f32", "bcsr(2,2)"]:
        T = weft.tensor(([3.0, 0.0, -2.0], ([0, 1, 4], [1, 3, 0])), shape=(5, 4)).convert(format)
        for power, expected in [(T * T, 2), (T**2, 2), (T**3, 3), (T**1, 1)]:
            assert power.format == T.format and power.dtype == T.dtype
            assert power.nnz == T.nnz or "bcsr" in format  # blocks hold zeros
            assert (power.to_numpy() == T.to_numpy() ** expected).all()
    D = weft.tensor(np.arange(6.0).reshape(2, 3))
    assert (np.asarray(D * D) == np.asarray(D) ** 2).all() and (np.asarray(D**3) == np.asarray(D) ** 3).all()


def test_products_in_many_rows_have_no_start_for_each():
    n = 10**9
    H = weft.tensor(([1.0, 2.0, 3.0], ([0, n - 1, 5], [n - 2, 0, 7])), shape=(n, n))
    for text, entries in [("ij,kj->ik", 3), ("ij,jk->ik", 1), ("ij,ij->ij", 3)]:
        made = weft.einsum(text, H, H)
        assert isinstance(made, weft.Tensor) and made.format == "ss:0,1" and made.nnz == entries and made.shape == (n, n)
    assert isinstance(weft.einsum("i,ij->ij", weft.tensor(([2.0], ([5],)), shape=(n,)), H), weft.Tensor)


def test_iteration_is_over_rows(T, dense):
    assert all(np.array_equal(row.to_numpy(), each) for row, each in zip(T, dense, strict=True))
    for format in ("d", "s", "h"):
        line = weft.tensor(np.arange(4.0), format=format)
        assert list(line) == [0, 1, 2, 3] and all(type(each) is np.float64 for each in line)
    assert np.iterable(T)
    with pytest.raises(TypeError):
        iter(weft.tensor(3.0))
    pandas = pytest.importorskip("pandas")
    line = weft.tensor(np.arange(3.0))
    for made in (pandas.Series(line), pandas.Series(np.ones(3)) * line, pandas.DataFrame({"y": [1, 2, 3]}).assign(x=line).x):
        assert made.tolist() == [0, 1, 2]


@pytest.mark.parametrize("format", ["ds", "dd", "ss:0,1:f32"])
def test_means_of_no_elements_are_nan(format):
    dtype = "f4" if "f32" in format else "f8"
    for shape in [(0, 3), (3, 0), (0, 0)]:
        T = weft.tensor(np.zeros(shape), format=format)
        for axis, count in [(None, 0), ((0, 1), 0), (0, shape[0]), (1, shape[1])]:
            with contextlib.nullcontext() if count else pytest.warns(RuntimeWarning, match="mean of no elements"):
                made = T.mean(axis)
            left = () if axis in (None, (0, 1)) else shape[1 - axis:2 - axis]
            assert np.array_equal(made, np.full(left, 0 if count else np.nan), equal_nan=True) and made.dtype == dtype


def test_arrays_without_dimensions_are_numbers():
    T = weft.tensor(np.array([[0.0, 2], [4, 0]]), format="ds")
    twos = [np.array(2.0), np.array(2), np.array(2, "f4"), weft.tensor(2.0)]
    for two in twos:
        for made, expected in [(T / two, [1, 2]), (T * two, [4, 8]), (two * T, [4, 8]), (T**two, [4, 16])]:
            assert made.format == "ds:0,1" and made.to_coo()[1].tolist() == expected
    assert (weft.tensor(np.eye(2)) * np.array(2)).to_numpy().tolist() == [[2, 0], [0, 2]]
    with pytest.raises(weft.UnsupportedError, match="NaN"):
        T / np.array(0.0)
    with pytest.raises(weft.UnsupportedError, match="complex"):
        T * np.array(1j)


def test_products_that_numpy_stretches_name_the_einsum():
    T, row = weft.sparse(4, 3, nnz=5), np.arange(1.0, 4)
    for product in (lambda: T * row, lambda: row * T, lambda: T * row.tolist(), lambda: T * weft.tensor(row, format="s")):
        with pytest.raises(weft.UnsupportedError, match=re.escape('(4, 3) and (3,) of which one is sparse: extents are not stretched; '
                                                                  'write weft.einsum("ij,j->ij"')):
            product()
    assert np.array_equal(weft.einsum("ij,j->ij", T, row, format="ds").toarray(), T.to_numpy() * row)
    with pytest.raises(weft.UnsupportedError, match=re.escape('write weft.einsum("jk,ijk->ijk"')):
        T * np.ones((2, 4, 3))
    with pytest.raises(weft.UnsupportedError, match=r"\(4, 3\) and \(4,\).*not stretched$"):
        T * np.ones(4)
    assert np.array_equal(weft.tensor(np.eye(3)) * row, np.diag(row))


def test_options_of_numpys_einsum():
    T = weft.sparse(4, 3, nnz=5)
    assert np.einsum("ij->ji", T, optimize=True, order="K", casting="safe").shape == (3, 4)
    for option in ({"order": "F"}, {"casting": "unsafe"}):
        with pytest.raises(weft.UnsupportedError, match=f"{next(iter(option))}=.*weft.einsum has"):
            np.einsum("ij->ji", T, **option)
