"""What an operand may be, and how each is read: in place where it can be, else turned into what can."""

import numbers
import sys

import numpy as np

from weft import _engines
from weft.errors import Error, InputError, UnsupportedError

_IN_PLACE = ("csr", "csc", "bsr", "dia", "coo")  # formats of scipy whose arrays are read where they lie
_FLOATS = {np.dtype(np.float64), np.dtype(np.float32)}


def kind_of(type_):
    """What objects of a type are: ``"dense"``, ``"csr_matrix"``, ``"csc_array"`` and so on, or ``"other"``, which `adapt`
    turns into one of these; ``"other_matrix"`` for one of scipy's matrices."""
    if type_ is np.ndarray or type_ is np.memmap or type_ is np.matrix:
        return "dense"
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None:
        for base in type_.__mro__:
            if base.__module__.startswith("scipy.sparse") and base.__name__.endswith(("_matrix", "_array")):
                known = base.__name__.startswith(tuple(f"{format}_" for format in _IN_PLACE))
                return base.__name__ if known else "other" + base.__name__[base.__name__.rindex("_"):]
    return "other"


def adapt(name, operand):
    """The operand as an array of f8 or f4, a canonical layout of scipy's, or a `weft.Tensor`."""
    try:
        return _adapted(name, operand)
    except Error as error:
        error.operand = error.operand or (name if name.isidentifier() else "")
        raise


def _adapted(name, operand):
    if isinstance(operand, (bool, np.bool_)):
        raise _other_type(name, np.dtype(bool), "float({})")
    if isinstance(operand, (np.integer, np.floating)) and operand.dtype not in _FLOATS:  # as Python's numbers
        from weft.tensors import exact

        return float(exact(operand))
    if isinstance(operand, numbers.Number) or isinstance(operand, np.generic):
        return _array(name, np.asarray(operand), "{}.astype(float)" if isinstance(operand, np.generic) else "float({})")
    if _is_scipy(operand):
        return _scipy(name, operand)
    if operand is None or isinstance(operand, (str, bytes, bytearray, dict, set)):
        raise TypeError(f"{name}: a tensor is wanted, not {_described(operand)}")
    unmasked(name, operand)
    if isinstance(operand, np.ndarray):
        return _array(name, operand)
    for entries in (_pandas, _pydata):
        made = entries(name, operand)
        if made is not None:
            return made
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(operand, torch.Tensor):
        return _torch(name, operand)
    return as_array(name, operand)


def as_array(name, operand):
    """An array, or lists and whatever else becomes one, with values of a type that the language has."""
    if isinstance(operand, np.ndarray):
        return _array(name, unmasked(name, operand))
    return _array(name, _converted(name, operand), "{}.astype(float)" if hasattr(operand, "astype") else "np.asarray({}, float)")


def unmasked(name, array):
    """The array, or an error for one that has no value in some places."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array has entries without a value; write {name}={name}.filled(0)")
    return array


def _described(operand):
    return "None" if operand is None else f"an object of type {type(operand).__name__}"


def _converted(name, operand):
    """Lists, tuples, and whatever says how it becomes an array."""
    if not isinstance(operand, (list, tuple)) and not any(
        hasattr(operand, way) for way in ("__array__", "__array_interface__", "__dlpack__", "__buffer__")
    ):
        try:
            memoryview(operand)
        except TypeError:
            raise TypeError(f"{name}: a tensor is wanted, not {_described(operand)}") from None
    if hasattr(operand, "__dlpack__") and not hasattr(operand, "__array__"):
        return np.from_dlpack(operand)
    for each in operand if isinstance(operand, (list, tuple)) else ():
        unmasked(name, each)
    try:
        array = unmasked(name, np.asanyarray(operand))
    except ValueError as error:
        raise InputError(f"{name}: {error}") from None
    except TypeError as error:  # of what is no array after all, as a Dataset of xarray
        raise TypeError(f"{name}: {error}") from None
    if array.dtype == object and isinstance(operand, (list, tuple)):
        raise InputError(f"{name}: lists of different lengths, or of what are no numbers, are no tensor")
    return array


def _array(name, array, cast="{}.astype(float)"):
    """An array whose values are of a type that the language has."""
    native = array.dtype.newbyteorder("=") if array.dtype.kind in "biufc" else array.dtype
    if native not in _FLOATS:
        raise _other_type(name, array.dtype, cast)
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    usable = native == array.dtype and array.flags.aligned
    if not usable or any(stride % array.itemsize for stride in array.strides):
        return array.astype(native)
    return array


def _word(name):
    return name if name.isidentifier() else "array"  # of "the tensor"


def _other_type(name, dtype, cast="{}.astype(float)"):
    """An error, not a cast that nobody asked for: it could take as much memory again, or lose digits."""
    native = dtype.newbyteorder("=") if dtype.kind in "biufc" else dtype
    word = _word(name)
    if native.kind in "biu":
        told = f"{name} is of type {native}, of which weft computes nothing yet"
        return UnsupportedError(f"{told}; write {word}={cast.format(word)}")
    if native.kind == "c":
        parts = [f"np.{part}({word})" if cast.startswith("np.") else f"{word}.{part}" for part in ("real", "imag")]
        real, imag = (cast.format(part) for part in parts) if native.itemsize > 16 else parts
        return UnsupportedError(f"{name} is of type {native}: complex numbers are not supported yet; {word}={real} and {word}={imag} are")
    way = f"; write {word}={cast.format(word)}" if native.kind in "fO" else ""
    return TypeError(f"{name}: an array of type {dtype} is no tensor of numbers that weft has; f8 and f4 are{way}")


def _is_scipy(operand):
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(operand)


def _scipy(name, matrix):
    """Other layouts than those read in place, other types of values, and arrays that are not one after the other."""
    if matrix.dtype.newbyteorder("=") not in _FLOATS:
        raise _other_type(name, matrix.dtype)
    if matrix.ndim != 2:
        return _engines.current().tensor((matrix.data, matrix.coords), shape=matrix.shape)
    if matrix.format == "coo" and matrix.shape[0] // 16 > matrix.nnz + 64:  # see compressed.cpp
        return _engines.current().tensor((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
    if matrix.format not in _IN_PLACE or matrix.format == "coo" or (matrix.format == "bsr" and 0 in matrix.data.shape[1:]):
        return matrix.tocsr()
    if matrix.format == "dia":
        return _diagonals(name, matrix)
    # The user's matrix stays as it is: a new one of the same class over arrays that can be read.
    indices = np.int64 if max(matrix.indices.itemsize, matrix.indptr.itemsize) == 8 else np.int32
    if matrix.indices.dtype.kind not in "iu" or matrix.indptr.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices and indptr are arrays of integers")
    other = _like(matrix, data=np.ascontiguousarray(matrix.data, dtype=matrix.dtype.newbyteorder("=")),
                  indices=np.ascontiguousarray(matrix.indices, dtype=indices),
                  indptr=np.ascontiguousarray(matrix.indptr, dtype=indices))
    if matrix.format == "bsr" and other.data.ndim != 3:
        raise InputError(f"{name}: the data of blocks have three dimensions, not {other.data.ndim}")
    for one in (other.indices, other.indptr) if matrix.format == "bsr" else (other.data, other.indices, other.indptr):
        if one.ndim != 1:
            raise InputError(f"{name}: data, indices and indptr have one dimension, not {one.ndim}")
    return other


def _like(matrix, **arrays):
    """A matrix of the same class and shape over other arrays."""
    other = type(matrix).__new__(type(matrix))
    other.__dict__.update(matrix.__dict__)
    other.__dict__.update(arrays)
    return other


def _diagonals(name, matrix):
    """A dia without what lies outside of the matrix: other diagonals, and columns of the data behind its last."""
    offsets, data = np.asarray(matrix.offsets), matrix.data
    if offsets.dtype.kind not in "iu":
        raise TypeError(f"{name}: offsets is an array of integers")
    if offsets.ndim != 1 or data.ndim != 2 or len(offsets) != len(data):
        raise InputError(f"{name}: offsets of shape {offsets.shape} for data of shape {data.shape}")
    rows, columns = matrix.shape
    inside = (-rows < offsets) & (offsets < columns) if rows and columns and data.shape[1] else np.zeros(len(offsets), bool)
    return _like(matrix, data=np.ascontiguousarray(data[inside, :columns], dtype=matrix.dtype.newbyteorder("=")),
                 offsets=np.ascontiguousarray(offsets[inside], dtype=np.int64))


def _pandas(name, operand):
    """Columns of pandas that store what is not 0 alone, as their entries; None for others, which become arrays."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(operand, (pandas.DataFrame, pandas.Series, pandas.arrays.SparseArray)):
        return None
    if isinstance(operand, pandas.DataFrame):
        columns = [operand.iloc[:, number].array for number in range(operand.shape[1])]
    else:
        columns = [operand.array if isinstance(operand, pandas.Series) else operand]
    # NaN and other numbers that fill are read as the values that they are.
    if not columns or not all(isinstance(column, pandas.arrays.SparseArray) and column.fill_value == 0 for column in columns):
        return None
    rows = [column.sp_index.to_int_index().indices for column in columns]
    values = values_of_entries(name, np.concatenate([column.sp_values for column in columns]))
    coordinates = [np.concatenate(rows)]
    if isinstance(operand, pandas.DataFrame):
        coordinates.append(np.repeat(np.arange(len(columns)), [len(each) for each in rows]))
    return _engines.current().tensor((values, coordinates), shape=operand.shape)


def _pydata(name, operand):
    """Sparse arrays of pydata.sparse, and what looks like them; None for others, as arrays of xarray with their coordinates."""
    word, fill = _word(name), getattr(operand, "fill_value", 0)
    if hasattr(operand, "to_coo") and isinstance(getattr(operand, "data", None), dict):
        raise UnsupportedError(f"{name} is a {type(operand).__name__}; write {word}={word}.to_coo()")
    if hasattr(operand, "tocoo") and hasattr(operand, "compressed_axes"):
        if operand.ndim == 2 and fill == 0 and "scipy.sparse" in sys.modules:
            by_rows = tuple(operand.compressed_axes) == (0,)
            return _lent(name, by_rows, operand.data, operand.indices, operand.indptr, operand.shape)
        operand = operand.tocoo()
    coords, data, shape = (getattr(operand, each, None) for each in ("coords", "data", "shape"))
    of_entries = isinstance(coords, np.ndarray) and coords.ndim == 2 and coords.dtype.kind in "iu"
    if not of_entries or data is None or shape is None or isinstance(operand, np.ndarray):
        return None
    if not tuple(shape):
        return values_of_entries(name, np.asarray(data[0] if len(data) else fill, data.dtype))
    if fill != 0:
        raise UnsupportedError(f"{name}: a fill value of {fill}; weft has 0 so far")
    return _engines.current().tensor((values_of_entries(name, data), coords), shape=shape)


def values_of_entries(name, values, cast="{}.astype(float)"):
    """Values beside coordinates: also integers, where f8 has each of them."""
    values = np.asarray(unmasked(name, values))
    if values.dtype.kind not in "iu":
        return _array(name, values, cast)
    if values.size and (values.max() > 1 << 53 or values.min() < -(1 << 53)):
        told = f"{name}: values of type {values.dtype} beyond 2**53 would lose digits"
        raise InputError(f"{told}; write {_word(name)}={cast.format(_word(name))}")
    return values.astype(np.float64)


def _lent(name, by_rows, values, indices, starts, shape, cast="{}.astype(float)"):
    """Arrays of another package as a csr or csc of scipy over them."""
    import scipy.sparse

    made = scipy.sparse.csr_array if by_rows else scipy.sparse.csc_array
    return made((values_of_entries(name, values, cast), indices, starts), shape=tuple(shape))


def _torch(name, tensor):
    """Tensors of torch on the CPU: dense ones, csr and csc in place, coo copied."""
    import torch

    word, cast = _word(name), "{}.double()"
    if tensor.device.type != "cpu":
        raise UnsupportedError(f"{name} is on {tensor.device}; write {word}={word}.cpu()")
    if tensor.is_complex():
        raise _other_type(name, np.dtype(f"c{tensor.element_size()}"))
    if tensor.is_quantized:
        raise UnsupportedError(f"{name} is of type {tensor.dtype}; write {word}={word}.dequantize()")
    if tensor.dtype == torch.bfloat16:
        raise TypeError(f"{name}: numbers of type {tensor.dtype} are none that weft has; f8 and f4 are; write {word}={word}.double()")
    tensor = tensor.detach()
    if tensor.layout == torch.strided:
        return _array(name, tensor.resolve_neg().numpy(), cast)
    other = UnsupportedError(f"{name}: a tensor of torch with layout {tensor.layout} and shape {tuple(tensor.shape)} is not read so far; "
                             f"write {word}={word}.to_dense(), or {word}={word}.to_dense().to_sparse()")
    if tensor.layout == torch.sparse_coo:
        if tensor.dense_dim():
            raise other
        tensor = tensor.coalesce()
        values = values_of_entries(name, tensor.values().numpy(), cast)
        return _engines.current().tensor((values, tensor.indices().numpy()), shape=tuple(tensor.shape))
    if tensor.layout in (torch.sparse_csr, torch.sparse_csc) and tensor.ndim == 2:
        by_rows = tensor.layout == torch.sparse_csr
        starts, indices = ((tensor.crow_indices(), tensor.col_indices()) if by_rows
                           else (tensor.ccol_indices(), tensor.row_indices()))
        return _lent(name, by_rows, tensor.values().numpy(), indices.numpy(), starts.numpy(), tensor.shape, cast)
    raise other
