"""Sparse results belong to the caller, whose methods of scipy write to their indices; views of a tensor do not."""

import numpy as np

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
