"""weft: networks of sparse and dense tensors, planned from the data and compiled in milliseconds.

`einsum` is numpy's, over numpy arrays, scipy's sparse matrices and tensors of any order; `evaluate`, `compile` and
`plan` take index notation. Arrays are read where they lie, and results are numpy's and scipy's.

>>> import weft, numpy as np, scipy.sparse
>>> A = scipy.sparse.csr_array(np.array([[1.0, 0], [2, 3]]))
>>> weft.einsum("ij,j->i", A, np.array([1.0, 10.0]))
array([ 1., 32.])
"""

import numpy as _numpy

import _weft

from weft import _engines, _process, errors, evaluations, operands, progress, results, tensors
from weft._engines import Engine, default_engine, options
from weft.einsums import einsum
from weft.errors import CancelledError, Error, InputError, InternalError, ResourceError, UnsupportedError
from weft.evaluations import Kernel, compile, evaluate, plan
from weft.files import read, write
from weft.plans import Plan
from weft.tensors import Tensor, sparse, tensor, uniform

__version__ = _weft.version
__all__ = ["CancelledError", "Engine", "Error", "InputError", "InternalError", "Kernel", "Plan", "ResourceError",
           "Tensor", "UnsupportedError", "cancel", "compile", "default_engine", "einsum", "evaluate", "options", "plan",
           "read", "sparse", "tensor", "uniform", "write"]


def cancel():
    """Ends every call of weft that is under way in other threads, each with `weft.CancelledError`; how many there were.

    >>> import weft
    >>> weft.cancel()
    0
    """
    return _weft.cancel()


def load_ipython_extension(shell):
    """``%load_ext weft``: the cell magic ``%%weft``."""
    from weft import notebook

    notebook.load(shell)


_weft.start(
    Tensor, Kernel,
    input_error=errors.InputError, unsupported_error=errors.UnsupportedError, internal_error=errors.InternalError,
    resource_error=errors.ResourceError, cancelled_error=errors.CancelledError,
    kind_of=operands.kind_of, adapt=operands.adapt, empty=_numpy.empty,
    float64=_numpy.dtype(_numpy.float64), float32=_numpy.dtype(_numpy.float32),
    float64_scalar=_numpy.float64, float32_scalar=_numpy.float32,
    deliver=results.deliver, into=results.into, finish=results.finish, show=progress.show, wrong_operands=evaluations.wrong_operands,
)
_process.watch()
