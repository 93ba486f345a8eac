"""Tensors of torch and of pydata/sparse, where these are installed: Debian's python3-torch and python3-sparse."""

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
        with pytest.raises(error):
            weft.einsum("i->", wrong)
    with pytest.raises(weft.UnsupportedError, match=r"write .*\.cpu\(\)"):
        weft.evaluate("s = x(i)", x=torch.ones(3, device="meta"))


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
