"""What callers get: sparse matrices of scipy, tensors, and memory for results that kernels cannot write to."""

import re

import numpy as np

import _weft

from weft.errors import InputError


_ARRAYS = ("data", "indices", "indptr", "row", "col", "offsets")  # of the matrices of scipy that are read where they lie
DIAGONALS = "(i,j) -> (j-i:s, j:d)"  # as the data of a dia of scipy stand

# bcsr(3,2) is (i/3:d, j/2:s, i%3:d, j%2:d); parts of 1 are left out
_BLOCKS = re.compile(r"\((\w+),(\w+)\) -> \(\1(?:/(\d+))?:d, \2(?:/(\d+))?:s(?:<\d+>)?(?:, \1%(\d+):d)?(?:, \2%(\d+):d)?\)")
_DIAGONALS = re.compile(r"\((\w+),(\w+)\) -> \(\2-\1:s(?:<\d+>)?(?: unordered)?, (\1|\2):d(?:\(\.\.\d+\))?\)")


def by_diagonals(tensor):
    """Whether each stored diagonal of a matrix is a row of values, by rows or by columns."""
    return _DIAGONALS.fullmatch(tensor.format) is not None


def scipy_of(tensor, as_matrix, writable=True, shared=0):
    """A csr, csc, bsr or dia over the memory of a tensor that is stored as these are, which lives as long as any view of it;
    None for others.

    shared: as `deliver` has it.
    """
    kinds, _, order = tensor.format.partition(":")
    blocks = _BLOCKS.fullmatch(tensor.format)
    diagonals = _DIAGONALS.fullmatch(tensor.format)
    if kinds != "ds" and blocks is None and (diagonals is None or diagonals[3] != diagonals[2]):
        return None
    try:
        from scipy import sparse
    except ImportError:
        return None
    last = "matrix" if as_matrix else "array"
    if diagonals is not None:
        return _dia(getattr(sparse, f"dia_{last}"), tensor, writable, shared)
    sides = [int(side or 1) for side in blocks.groups()[2:]] if blocks is not None else [1, 1, 1, 1]
    if sides[:2] != sides[2:] or any(extent % side for extent, side in zip(tensor.shape, sides)):
        return None
    _, _, starts, coordinates, _ = tensor._level(1, writable)  # scipy's own methods sort and shorten in place
    width = np.int64 if memoryview(starts).itemsize == 8 else np.int32
    indptr = np.asarray(starts)
    if blocks is not None and 0 in tensor.shape:  # where a mode has no coordinates, no level has
        indptr = np.zeros(tensor.shape[0] // sides[0] + 1, width)
    indices = np.asarray(coordinates) if coordinates is not None else np.empty(0, width)
    if indices.itemsize < 4:
        indices = indices.astype(width)
    elif indices.itemsize == 4 and max(tensor.shape) > 1 << 31:  # without a sign up to 2**32
        indices = indices.view(np.uint32).astype(np.int64)
    values = np.asarray(tensor._values(writable))
    if shared & 1:
        indptr, indices = indptr.copy(), indices.copy()
    if shared & 2:
        values = values.copy()
    if tensor.nnz > np.iinfo(indptr.dtype).max:
        indptr = indptr.view(np.uint32).astype(np.int64)
    if not len(values) and not tensor.nnz:
        values = np.empty(0, values.dtype)
    values = values[:tensor.nnz]
    if blocks is not None:
        made = getattr(sparse, f"bsr_{last}")((values.reshape(-1, *sides[:2]), indices, indptr), shape=tensor.shape, copy=False)
        made.has_sorted_indices = True
        return made
    kind = ("csr_" if order in ("", "0,1") else "csc_") + last
    made = getattr(sparse, kind)((values, indices, indptr), shape=tensor.shape, copy=False)
    made.has_canonical_format = True
    return made


def _dia(kind, tensor, writable, shared):
    """Coordinates of the level j-i count from 1 - rows."""
    places = tensor._level(0)[3]
    places = np.asarray([] if places is None else places)
    offsets = (places.view(np.uint32) if places.itemsize == 4 else places).astype(np.int64) + 1 - tensor.shape[0]
    values = np.asarray(tensor._values(writable))[:tensor.nnz]
    values = (values.copy() if shared & 2 else values).reshape(len(offsets), -1 if len(offsets) else tensor.shape[1])
    return kind((values, offsets), shape=tensor.shape, copy=False)


def deliver(tensor, as_matrix, shared):
    """A sparse result as scipy's, where it is a matrix stored as one of these; the caller may change it by all its methods.

    shared: what other tensors have too, and is therefore copied: 1 indices, 2 values. 4: other tensors of which the caller
    may change the memory, as scipy's methods do in place; tensors do not keep that either.
    """
    made = scipy_of(tensor, as_matrix, shared=shared) if tensor.ndim == 2 else None
    if made is None:
        return tensor._apart() if shared & 4 else tensor
    return made


def _memory_of(out):
    """What gives the memory of an array of torch, xarray or pandas as one of numpy, if it has such memory."""
    for way, take in (("out.numpy()", lambda: out.numpy()), ("out.values", lambda: out.values)):
        try:
            array = take()
            if isinstance(array, np.ndarray) and array.flags.writeable and np.shares_memory(array, take()):
                return way
        except Exception:  # whatever else has such a name
            continue
    return None


def into(name, out, like, used):
    """Memory like `like`, for an `out` that a kernel cannot write to; what cannot be one at all is an error.

    `used`: the operands, and the other outputs.
    """
    if not isinstance(out, np.ndarray):
        what = "a weft.Tensor, which does not change" if isinstance(out, _weft.Tensor) else "sparse" if hasattr(out, "tocsr") else "no array"
        way = _memory_of(out)
        raise _wrong(name, f"out= for {name} is {what}: a dense numpy array is wanted" + (f"; {way} is one over the same memory" if way else ""))
    if out.shape != like.shape:
        raise _wrong(name, f"out= for {name} has the shape {out.shape}, the result has {like.shape}")
    if out.dtype.newbyteorder("=") not in (np.float64, np.float32):
        raise _wrong(name, f"out= for {name} is of type {out.dtype}; the result is of {like.dtype}, f8 and f4 can hold it")
    if not out.flags.writeable:
        raise _wrong(name, f"out= for {name} is read-only")
    if out.size > 1 and _coincides(out):
        raise _wrong(name, f"places of out= for {name} coincide: its strides are {out.strides}")
    for other in used:
        for array in _arrays(other):
            try:
                shared = np.shares_memory(out, array, max_work=100000)
            except Exception:  # numpy's TooHardError has another name in every version
                continue  # computed into memory of its own, then copied: right in any case
            if shared:
                raise _wrong(name, f"out= for {name} overlaps an operand or another out")
    return np.empty(like.shape, like.dtype)


def _wrong(name, told):
    return InputError(told, operand=name, option="out")


def finish(name, out, memory):
    """Copies what was computed to where it was wanted."""
    np.copyto(out, memory, casting="same_kind")


def _arrays(operand):
    if isinstance(operand, np.ndarray):
        return [operand]
    owners = getattr(operand, "_owners", None)
    if owners is not None:
        return [owner for owner in owners if isinstance(owner, np.ndarray)]
    return [array for array in (getattr(operand, word, None) for word in _ARRAYS)
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
