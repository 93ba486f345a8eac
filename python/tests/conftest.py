"""What all tests share: matrices of small integers, whose sums are exact in any order."""

import numpy as np
import pytest
import scipy.sparse

import weft


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def matrix():
    """A csr of 30 × 20 with small integers as values."""
    made = scipy.sparse.random(30, 20, 0.2, format="csr", random_state=3)
    made.data = np.arange(1.0, made.nnz + 1) % 7 + 1
    return made


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace):
    doctest_namespace.update(np=np, weft=weft)
