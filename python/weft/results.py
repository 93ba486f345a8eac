"""What callers get: sparse matrices of scipy, tensors, and memory for results that kernels cannot write to."""

import numpy as np

from weft.errors import InputError


def scipy_of(tensor, as_matrix, writable=True):
    """A csr or csc over the memory of a tensor of format ds, which lives as long as any view of it; None for others."""
    kinds, _, order = tensor.format.partition(":")
    if kinds != "ds":
        return None
    try:
        from scipy import sparse
    except ImportError:
        return None
    by_rows = order in ("", "0,1")
    _, _, starts, coordinates, _ = tensor._level(1, writable)  # scipy's own methods sort and shorten in place
    width = np.int64 if memoryview(starts).itemsize == 8 else np.int32
    indptr = np.asarray(starts)
    indices = np.asarray(coordinates) if coordinates is not None else np.empty(0, width)
    values = np.asarray(tensor._values(writable))
    if tensor.nnz > np.iinfo(indptr.dtype).max:
        indptr = indptr.view(np.uint32).astype(np.int64)
    if not len(values) and not tensor.nnz:
        values = np.empty(0, values.dtype)
    kind = ("csr_" if by_rows else "csc_") + ("matrix" if as_matrix else "array")
    made = getattr(sparse, kind)((values[:tensor.nnz], indices, indptr), shape=tensor.shape, copy=False)
    made.has_canonical_format = True
    return made


def deliver(tensor, as_matrix):
    """A sparse result as scipy's, where it is a matrix of format ds."""
    made = scipy_of(tensor, as_matrix) if tensor.ndim == 2 else None
    return tensor if made is None else made


def into(name, out, like, used):
    """Memory like `like`, for an `out` that a kernel cannot write to; what cannot be one at all is an error.

    `used`: the operands, and the other outputs.
    """
    if not isinstance(out, np.ndarray):
        sparse = hasattr(out, "tocsr") or hasattr(out, "nnz")
        raise InputError(f"out= for {name} is {'sparse' if sparse else 'no array'}: a dense numpy array is wanted")
    if out.shape != like.shape:
        raise InputError(f"out= for {name} has the shape {out.shape}, the result has {like.shape}")
    if out.dtype.newbyteorder("=") not in (np.float64, np.float32):
        raise InputError(f"out= for {name} is of type {out.dtype}; the result is of {like.dtype}, f8 and f4 can hold it")
    if not out.flags.writeable:
        raise InputError(f"out= for {name} is read-only")
    if out.size > 1 and _coincides(out):
        raise InputError(f"places of out= for {name} coincide: its strides are {out.strides}")
    for other in used:
        for array in _arrays(other):
            try:
                shared = np.shares_memory(out, array, max_work=100000)
            except Exception:  # numpy's TooHardError has another name in every version
                continue  # computed into memory of its own, then copied: right in any case
            if shared:
                raise InputError(f"out= for {name} overlaps an operand or another out")
    return np.empty(like.shape, like.dtype)


def finish(name, out, memory):
    """Copies what was computed to where it was wanted."""
    np.copyto(out, memory, casting="same_kind")


def _arrays(operand):
    if isinstance(operand, np.ndarray):
        return [operand]
    owners = getattr(operand, "_owners", None)
    if owners is not None:
        return [owner for owner in owners if isinstance(owner, np.ndarray)]
    return [array for array in (getattr(operand, word, None) for word in ("data", "indices", "indptr"))
            if isinstance(array, np.ndarray)]


def _coincides(array):
    """Whether two elements of an array are at one place."""
    if any(stride == 0 and extent > 1 for stride, extent in zip(array.strides, array.shape)):
        return True
    axes = sorted((abs(stride), extent) for stride, extent in zip(array.strides, array.shape) if extent > 1)
    reach = array.itemsize
    for stride, extent in axes:
        if stride < reach:
            break
        reach = stride * (extent - 1) + reach
    else:
        return False
    if array.size > 10**7:
        return True
    places = np.zeros(1, np.int64)
    for stride, extent in zip(array.strides, array.shape):
        places = np.add.outer(places, np.arange(extent, dtype=np.int64) * stride)
    return len(np.unique(places)) < array.size
