"""What torch, pydata/sparse, xarray and pandas have, where these are installed: Debian's python3-torch, -sparse, -xarray, -pandas."""

import numpy as np
import pytest
import weft

MATRIX = np.array([[0, 2, 0, 0], [1, 0, 0, 3], [0, 0, 0, 0]], dtype=float)
VECTOR = np.array([1.0, 2, 3, 4])


def product(matrix):
    return weft.einsum("ij,j->i", matrix, VECTOR)


def test_torch_dense():
    torch = pytest.importorskip("torch")
    dense = torch.from_numpy(MATRIX.copy())
    assert np.array_equal(product(dense), MATRIX @ VECTOR)
    assert np.array_equal(product(dense.t().contiguous().t()), MATRIX @ VECTOR)  # strides
    dense[0, 0] = 5  # in place: borrowed, not copied
    assert product(dense)[0] == 5 + 4
    assert np.array_equal(weft.einsum("ij,j->i", dense, torch.from_numpy(VECTOR)), dense.numpy() @ VECTOR)
    grown = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert weft.einsum("i->", grown) == 3
    assert weft.einsum("i->", torch.ones(5, dtype=torch.float32)) == 5
    assert weft.einsum("ij->", torch.zeros(0, 4, dtype=torch.float64)) == 0
    out = torch.empty(3, dtype=torch.float64)
    weft.einsum("ij,j->i", dense, VECTOR, out=out.numpy())
    assert np.array_equal(out.numpy(), dense.numpy() @ VECTOR)


@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_torch_sparse():
    torch = pytest.importorskip("torch")
    pytest.importorskip("scipy")
    dense = torch.from_numpy(MATRIX)
    for stored in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
        assert np.array_equal(product(stored), MATRIX @ VECTOR)
    twice = torch.sparse_coo_tensor([[1, 1], [3, 3]], [1.0, 2.0], (3, 4), dtype=torch.float64)  # adds up
    assert np.array_equal(product(twice), [0, 12, 0])
    cube = torch.zeros(2, 3, 4, dtype=torch.float64)
    cube[1, 2, 3] = 7
    assert weft.einsum("ijk->k", cube.to_sparse())[3] == 7
    assert np.array_equal(weft.tensor(dense.to_sparse()).to_numpy(), MATRIX)


def test_torch_refused():
    torch = pytest.importorskip("torch")
    for wrong, error in [(torch.ones(3, dtype=torch.float16), TypeError), (torch.ones(3, dtype=torch.bfloat16), TypeError),
                         (torch.ones(3, dtype=torch.int64), weft.UnsupportedError),
                         (torch.ones(3, dtype=torch.complex64), weft.UnsupportedError)]:
        with pytest.raises(error, match="T0"):
            weft.einsum("i->", wrong)
    with pytest.raises(weft.UnsupportedError, match=r"write .*\.cpu\(\)"):
        weft.evaluate("s = x(i)", x=torch.ones(3, device="meta"))


@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_torch_sparse_of_other_types():
    torch = pytest.importorskip("torch")
    pytest.importorskip("scipy")
    dense = torch.from_numpy(MATRIX)
    for layout in ("to_sparse", "to_sparse_csr", "to_sparse_csc"):
        def stored(dtype):
            return getattr(dense.to(dtype), layout)()

        for of in (torch.int64, torch.int32, torch.uint8, torch.float32):
            assert np.array_equal(product(stored(of)), MATRIX @ VECTOR)
        for of, error, line in [(torch.bool, weft.UnsupportedError, r"write M=M.double\(\)"), (torch.complex64, weft.UnsupportedError, "M=M.real"),
                                (torch.float16, TypeError, r"write M=M.double\(\)"), (torch.bfloat16, TypeError, r"write M=M.double\(\)")]:
            with pytest.raises(error, match=f"^M.*{line}"):
                weft.evaluate("y(i) = M(i,j)", M=stored(of))
        with pytest.raises(weft.InputError, match="M: .* lose digits"):
            weft.evaluate("y(i) = M(i,j)", M=getattr(dense.to(torch.int64) * 2**60, layout)())


def test_torch_without_dimensions_is_a_number():
    torch = pytest.importorskip("torch")
    T = weft.tensor(MATRIX, format="ds")
    for two in (torch.tensor(2.0), torch.tensor(2), torch.tensor(2.0, requires_grad=True)):
        for made, expected in [(T / two, MATRIX / 2), (T * two, MATRIX * 2), (T**two, MATRIX**2)]:
            assert made.format == "ds:0,1" and np.array_equal(made.to_numpy(), expected)


@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_torch_of_other_makes():
    torch = pytest.importorskip("torch")
    negative = torch.full((3,), 1 + 2j, dtype=torch.complex128).conj().imag
    assert negative.is_neg() and weft.einsum("i->", negative) == -6
    batched = torch.sparse_csr_tensor(torch.tensor([[0, 1, 2]] * 2), torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 2).double(), (2, 2, 2))
    hybrid = torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3).double(), (2, 3))
    for stored in (batched, hybrid, torch.ones(4, 4).double().to_sparse_bsr((2, 2))):
        letters = "ijk"[:stored.ndim]
        with pytest.raises(weft.UnsupportedError, match=r"T0: .*write T0=T0.to_dense\(\)"):
            weft.einsum(letters, stored)
        assert np.array_equal(weft.einsum(letters, stored.to_dense().to_sparse()).sum(), stored.to_dense().sum())


def test_xarray():
    xarray = pytest.importorskip("xarray")
    labelled = xarray.DataArray(MATRIX, dims=("a", "b"), coords={"a": [1, 2, 3]})
    assert np.array_equal(product(labelled), MATRIX @ VECTOR)
    assert np.array_equal(weft.tensor(labelled, format="ds").to_numpy(), MATRIX)
    with pytest.raises(weft.UnsupportedError, match=r"write T0=T0.astype\(float\)"):
        product(labelled.astype(int))


def test_xarray_of_several_arrays_is_named():
    xarray = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match="^M: cannot directly convert"):
        weft.evaluate("y(i) = M(i,j)", M=xarray.Dataset({"m": (("a", "b"), MATRIX)}))


def test_pandas_dense():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(MATRIX, columns=list("abcd"))
    assert np.array_equal(product(table), MATRIX @ VECTOR)
    assert np.array_equal(weft.einsum("ij,j->i", table, pandas.Series(VECTOR)), MATRIX @ VECTOR)
    assert weft.einsum("i->", table["d"]) == 3
    for wrong in (table.astype(int), table["a"].astype(int)):
        with pytest.raises(weft.UnsupportedError, match=r"write T0=T0.astype\(float\)"):
            weft.einsum("ij"[:wrong.ndim], wrong)
    for wrong in (pandas.Series([1.0, None], dtype="Float64"), pandas.Series(["a"]), pandas.Series(pandas.date_range("2020", periods=2))):
        with pytest.raises(TypeError, match="^T0: an array of type"):
            weft.einsum("i->", wrong)


def test_pandas_sparse():
    """Without the zeros between: a column of 10^9 rows is read as its entries."""
    pandas = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    for dtype in (np.float64, np.float32, np.int64):
        table = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(MATRIX.astype(dtype)))
        assert np.array_equal(product(table), MATRIX @ VECTOR)
        read = weft.tensor(table)
        assert read.format == "ss:0,1" and read.nnz == 3 and np.array_equal(read.to_numpy(), MATRIX)
        assert np.array_equal(weft.einsum("i,i->i", table[3], VECTOR[:3], format="d"), [0, 6, 0])
    assert weft.einsum("i->", table[3].array) == 3
    long = pandas.arrays.SparseArray(np.array([2.0, 5.0]), sparse_index=pandas._libs.sparse.IntIndex(10**9, np.array([7, 10**9 - 1], np.int32)),
                                     fill_value=0.0)
    assert weft.tensor(pandas.Series(long)).nnz == 2
    assert weft.einsum("i,i->", pandas.Series(long), long) == 29
    filled = pandas.Series(pandas.arrays.SparseArray([1.0, np.nan, np.nan]))  # NaN is what fills
    assert np.array_equal(weft.einsum("i->i", filled, format="d"), [1, np.nan, np.nan], equal_nan=True)
    with pytest.raises(weft.UnsupportedError, match=r"T0 is of type bool"):
        weft.einsum("i->", pandas.arrays.SparseArray([False, True]))
    mixed = pandas.DataFrame({"a": pandas.arrays.SparseArray([0.0, 1.0], fill_value=0.0), "b": [2.0, 3.0]})
    assert np.array_equal(weft.einsum("ij->i", mixed), [2, 4])


def test_memory_of_others_for_results():
    for package, make, way in (("torch", lambda module: module.zeros(3, dtype=module.float64), "out.numpy()"),
                               ("xarray", lambda module: module.DataArray(np.zeros(3)), "out.values"),
                               ("pandas", lambda module: module.Series(np.zeros(3)), "out.values")):
        try:
            module = __import__(package)
        except ImportError:
            continue
        out = make(module)
        with pytest.raises(weft.InputError, match=f"out= for out is no array: a dense numpy array is wanted; {way.replace('(', '.').replace(')', '.')} is one"):
            weft.einsum("ij,j->i", MATRIX, VECTOR, out=out)
        weft.einsum("ij,j->i", MATRIX, VECTOR, out=eval(way))
        assert np.array_equal(np.asarray(out), MATRIX @ VECTOR)
    with pytest.raises(weft.InputError, match="a dense numpy array is wanted$"):
        weft.einsum("ij,j->i", MATRIX, VECTOR, out=[0.0, 0, 0])


def test_arrays_with_coordinates_of_their_own():
    own = {"coords": {"a": [1, 2]}, "data": np.ones(2), "shape": (2,), "__array__": lambda self, *_, **__: np.ones(2)}
    labelled = type("Labelled", (), own)
    assert weft.einsum("i->", labelled()) == 2


def test_pydata_compressed():
    sparse = pytest.importorskip("sparse")
    for axes in ((0,), (1,)):
        stored = sparse.GCXS.from_numpy(MATRIX, compressed_axes=axes)
        assert np.array_equal(product(stored), MATRIX @ VECTOR)
        lent = weft.tensor(stored)
        assert lent.format == ("ds:0,1" if axes == (0,) else "ds:1,0") and np.array_equal(lent.to_numpy(), MATRIX)
        assert np.array_equal(product(sparse.GCXS.from_numpy(MATRIX.astype(int), compressed_axes=axes)), MATRIX @ VECTOR)
    assert weft.einsum("ijk->", sparse.GCXS.from_numpy(np.ones((2, 3, 4)))) == 24
    for made in (sparse.COO, sparse.GCXS):
        with pytest.raises(weft.UnsupportedError, match="T0: a fill value of 2"):
            product(made.from_numpy(MATRIX, fill_value=2))
        with pytest.raises(weft.UnsupportedError, match=r"write T0=T0.astype\(float\)"):
            product(made.from_numpy(MATRIX.astype(bool)))
    with pytest.raises(weft.UnsupportedError, match=r"write T0=T0.to_coo\(\)"):
        product(sparse.DOK.from_numpy(MATRIX))


def test_pydata_without_dimensions_is_a_number():
    sparse = pytest.importorskip("sparse")
    for number in (0.0, 3.0, np.float32(3)):
        stored = sparse.COO(np.array(number))
        assert weft.tensor(stored).shape == () and weft.tensor(stored)[()] == number
        assert np.array_equal(weft.einsum(",i", stored, VECTOR), number * VECTOR)


def test_pydata_sparse():
    sparse = pytest.importorskip("sparse")
    stored = sparse.COO.from_numpy(MATRIX)
    assert np.array_equal(product(stored), MATRIX @ VECTOR)
    assert np.array_equal(product(sparse.GCXS.from_numpy(MATRIX)), MATRIX @ VECTOR)
    assert np.array_equal(product(sparse.DOK.from_numpy(MATRIX).to_coo()), MATRIX @ VECTOR)
    cube = sparse.random((4, 5, 6), density=0.2, random_state=1)
    B, C = np.ones((5, 2)), np.ones((6, 2))
    assert np.allclose(weft.einsum("ijk,jr,kr->ir", cube, B, C), np.einsum("ijk,jr,kr->ir", cube.todense(), B, C))
    made = weft.tensor(cube)
    assert made.nnz == cube.nnz and np.array_equal(made.to_numpy(), cube.todense())
    coordinates, values = made.to_coo()
    assert (sparse.COO(coordinates, values, shape=made.shape) != cube).nnz == 0
    with pytest.raises(weft.UnsupportedError, match="fill value of 1"):
        product(sparse.COO.from_numpy(MATRIX, fill_value=1.0))
