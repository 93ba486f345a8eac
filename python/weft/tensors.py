"""Tensors of any order and layout."""

import functools
import math
import numbers
import operator
import string
import warnings

import numpy as np

import _weft

from weft import _engines, array_protocols, results
from weft.errors import InputError, UnsupportedError
from weft.formats import with_scalar

_LETTERS = string.ascii_letters
_EXACT = 1 << 53  # f8 has every integer up to it
_SCALARS = (np.dtype(np.float64), np.dtype(np.float32))


def checked_shape(shape):
    """Extents as a tuple of Python's integers."""
    try:
        shape = tuple(operator.index(extent) for extent in (shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        raise InputError(f"shape={shape!r}: extents are integers", option="shape") from None
    if any(extent < 0 for extent in shape):
        raise InputError(f"shape={shape!r}: extents are not negative", option="shape")
    if any(extent >= 1 << 63 for extent in shape):
        raise InputError(f"shape={shape!r}: extents are below 2**63", option="shape")
    return shape


def exact(number):
    """The number, or an error for what f8 may not have: an integer, digits of a long double; a time is none."""
    if isinstance(number, np.timedelta64):
        raise TypeError(f"{number!r} is a time, and no number")
    if isinstance(number, np.longdouble) and number == number and float(number) != number:
        raise TypeError(f"{number!r} would lose digits; write float(number)")
    if isinstance(number, numbers.Integral) and abs(number) > _EXACT:
        raise InputError("an integer beyond 2**53 would lose digits; write float(number)")
    return number


def tensor(obj, shape=None, *, format=None, fill=None, copy=False, trusted=False):
    """Makes a `weft.Tensor` of an array, a sparse matrix, or ``(values, coordinates)``.

    obj: whatever an operand of `weft.evaluate` may be, or a pair of the values and, for each mode, the coordinates of
    the entries in any order (an array of modes × entries, or a sequence of arrays); entries at the same place are
    summed. shape: extents, needed for pairs with empty slices at an end. format: a layout such as ``"sss"``, ``"ds"``,
    ``"ds:1,0"``, ``"bcsr(3,3)"``. Arrays, canonical csr, csc and bsr matrices, and dia ones are borrowed, and their values
    may change, unless `copy`, or a `format` that is not theirs, asks for a copy; the others are copied. A line of values
    with a shape of more dimensions and a format is what the format stores, one after the other: with ``"lower"`` a packed
    triangle by rows, borrowed. trusted: indices are not looked at; a defect in them is then undefined behaviour.

    >>> import weft, numpy as np
    >>> T = weft.tensor(([1.0, 2.0], ([0, 2], [1, 0], [3, 3])), shape=(3, 2, 4))
    >>> T
    <weft.Tensor 3x2x4 sss:0,1,2 f64, 2 stored>
    >>> T[2, 0, 3]
    2.0
    >>> weft.tensor(np.array([1.0, 2, 3, 4, 5, 6]), shape=(3, 3), format="lower").to_numpy()
    array([[1., 0., 0.],
           [2., 3., 0.],
           [4., 5., 6.]])
    """
    if fill is not None and fill != 0:
        raise UnsupportedError(f"fill={fill}: entries that are not stored are 0 so far", option="fill")
    engine = _engines.current()
    pair = isinstance(obj, tuple) and len(obj) == 2 and not isinstance(obj[0], numbers.Number)
    packed = None if pair else _packed(engine, obj, shape, format, copy, trusted)
    if packed is not None:
        return packed
    if pair:
        made = _of_coordinates(engine, obj[0], obj[1], shape)
    else:
        made = obj if isinstance(obj, Tensor) else engine._tensor("the tensor", obj, copy, trusted)
        if shape is not None:
            made = _with_shape(made, checked_shape(shape))
    return made if format is None or made.format == format else made.convert(format)


def _with_shape(made, shape):
    if len(shape) != made.ndim:
        raise InputError(f"a shape of {len(shape)} extents for a tensor of {made.ndim} modes", option="shape")
    return made if shape == made.shape else made._with_extents(shape)


def _packed(engine, values, shape, format, copy, trusted):
    """Values as a format stores them, without other arrays; None where the arguments do not say that."""
    if not isinstance(format, str) or shape is None or not isinstance(values, (np.ndarray, list, tuple)):
        return None
    shape = checked_shape(shape)
    if len(shape) < 2:
        return None
    from weft.operands import as_array

    array = as_array("the tensor", values)
    if array.ndim != 1:
        return None
    values = np.ascontiguousarray(array)
    return engine._packed(with_scalar(format, values.dtype), shape, values, copy, trusted)


def _of_coordinates(engine, values, coordinates, shape):
    from weft.operands import unmasked, values_of_entries

    values = np.asarray(unmasked("values", values))
    if isinstance(coordinates, np.ndarray) and coordinates.ndim == 2:
        coordinates = list(coordinates)
    coordinates = [np.asarray(each) for each in coordinates]
    if values.ndim != 1:
        raise InputError(f"the values of entries have one dimension, not {values.ndim}")
    for mode, each in enumerate(coordinates):
        if each.size == 0:
            each = coordinates[mode] = each.astype(np.int64)
        if each.dtype.kind not in "iu":
            raise TypeError(f"coordinates of mode {mode} are of type {each.dtype}; integers are wanted")
        if each.shape != values.shape:
            raise InputError(f"{each.size} coordinates of mode {mode}, but {values.size} values")
        if each.size and each.min() < 0:
            raise InputError(f"coordinate {each.min()} of mode {mode} is negative")
    if not coordinates:
        raise InputError("entries without coordinates: a number is a tensor of no dimension")
    if shape is None:
        shape = [int(each.max()) + 1 if each.size else 0 for each in coordinates]
    shape = checked_shape(shape)
    if len(shape) != len(coordinates):
        raise InputError(f"a shape of {len(shape)} extents for coordinates of {len(coordinates)} modes", option="shape")
    values = np.ascontiguousarray(values_of_entries("values", values))
    coordinates = [np.ascontiguousarray(each, dtype=np.int64) for each in coordinates]
    return engine._coo(shape, coordinates, values)


def uniform(*shape, seed=0, dtype=np.float64):
    """A dense array of numbers from 0 up to 1, the same for every machine: those of the command's ``uniform(…)``.

    >>> import weft
    >>> weft.uniform(2, 2, seed=1).shape
    (2, 2)
    """
    return _generated("uniform", shape, f"seed={seed}", dtype).to_numpy().copy()


def sparse(*shape, nnz, seed=0, dtype=np.float64, format=None):
    """A tensor with exactly `nnz` entries at places drawn with a seed: that of the command's ``sparse(…)``.

    >>> import weft
    >>> weft.sparse(20, 30, 5, nnz=100, seed=1).nnz
    100
    """
    made = _generated("sparse", shape, f"nnz={operator.index(nnz)},seed={seed}", dtype)
    return made if format is None else made.convert(format)


def _generated(kind, shape, rest, dtype):
    shape = checked_shape(shape[0] if len(shape) == 1 and hasattr(shape[0], "__iter__") else shape)
    letter = "d" if kind == "uniform" else "s"
    if np.dtype(dtype) not in _SCALARS:
        raise UnsupportedError(f"dtype={np.dtype(dtype)}: weft computes in f8 and f4 so far", option="dtype")
    scalar = "f32" if np.dtype(dtype) == np.float32 else "f64"
    spec = f"{kind}({'x'.join(map(str, shape))},{rest})"
    return _engines.current()._load(spec, f"{letter * len(shape)}:{scalar}")


class Tensor(_weft.Tensor):
    """An immutable tensor of any order and layout; made by `weft.tensor`, `weft.read`, and as results.

    ``shape``, ``ndim``, ``dtype``, ``nnz`` (stored entries), ``format`` (kinds of the levels, and their modes), ``fill``
    (of what is not stored), ``nbytes``. ``+ - * / @ **``, comparisons and reductions evaluate; what weft cannot compute
    yet is an `UnsupportedError`.

    >>> import weft, numpy as np
    >>> T = weft.tensor(np.array([[0.0, 2], [3, 0]]), format="ss")
    >>> (2 * T @ T).to_numpy()
    array([[12.,  0.],
           [ 0., 12.]])
    >>> float(T.sum()), T.nnz, T.dtype
    (5.0, 2, dtype('float64'))
    """

    __slots__ = ("__weakref__",)
    __hash__ = None
    fill = 0.0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return array_protocols.ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function, _, arguments, options):
        return array_protocols.function(function, arguments, options)

    @property
    def dtype(self):
        """Type of the values: float64 or float32.

        >>> import weft
        >>> weft.sparse(4, 4, nnz=3, dtype="f4").dtype
        dtype('float32')
        """
        return _SCALARS[self._scalar]

    @property
    def size(self):
        """The product of the extents: how many entries a dense tensor of this shape has.

        >>> import weft
        >>> T = weft.sparse(4, 5, 6, nnz=3)
        >>> T.size, T.nnz
        (120, 3)
        """
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def T(self):
        """Modes in the other order: of a matrix of n × m one of m × n, a new tensor.

        >>> import weft
        >>> T = weft.tensor(([5.0, 6.0], ([0, 1], [1, 2])), shape=(2, 3))
        >>> T.T.to_numpy().tolist()
        [[0.0, 0.0], [5.0, 0.0], [0.0, 6.0]]
        """
        return self.transpose()

    def transpose(self, *axes):
        """Modes in another order, as numpy has it: without axes the reverse; a new tensor.

        >>> import weft
        >>> weft.sparse(4, 5, 6, nnz=3).transpose(1, 2, 0).shape
        (5, 6, 4)
        """
        axes = axes[0] if len(axes) == 1 and (axes[0] is None or hasattr(axes[0], "__iter__")) else axes
        modes = [_coordinate(axis, self.ndim, None) for axis in axes or range(self.ndim)[::-1]]
        if sorted(modes) != list(range(self.ndim)):
            raise InputError(f"axes={axes!r}: each of the {self.ndim} axes is wanted once", option="axes")
        letters = _LETTERS[:self.ndim]
        return self._einsum(f"{letters}->{''.join(letters[mode] for mode in modes)}", self)

    def __repr__(self):
        shape = "x".join(map(str, self.shape)) or "scalar"
        words = (shape, self.format, "f32" if self._scalar else "f64")  # a scalar has no format
        return f"<weft.Tensor {' '.join(word for word in words if word)}, {self.nnz} stored>"

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without a dimension has no length")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a tensor without a dimension")
        dense = self._dense() if self.ndim == 1 else None
        return iter(self[row] for row in range(self.shape[0])) if dense is None else iter(np.asarray(dense))

    def _repr_html_(self):
        from weft import notebook_tensor

        return notebook_tensor.html(self)

    # Conversions.

    def to_numpy(self):
        """A dense numpy array: a read-only view where the tensor is dense, else a new array.

        >>> import weft
        >>> weft.tensor(([5.0], ([1], [0])), shape=(2, 2)).to_numpy()
        array([[0., 0.],
               [5., 0.]])
        """
        memory = self._dense()
        if memory is not None:
            return np.asarray(memory)
        array = np.empty(self.shape, self.dtype)
        self._to_dense(array)
        return array

    def toarray(self):
        """A dense numpy array of the caller's own, which may be changed.

        >>> import weft
        >>> weft.tensor(([5.0], ([1], [0])), shape=(2, 2)).toarray()
        array([[0., 0.],
               [5., 0.]])
        """
        return np.array(self._dense()) if self._dense() is not None else self.to_numpy()

    todense = toarray

    def __array__(self, dtype=None, copy=None):
        array = self.to_numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy and array.base is not None else array

    def to_scipy(self):
        """A csr array of scipy (csc for a tensor by columns), over the tensor's memory where its format is ds.

        A tensor in blocks that divide its shape, as ``"bcsr(3,3)"`` has them, is a bsr array, one of diagonals (``"dia"``) a
        dia array; both over the tensor's memory, unless its diagonals are stored by rows, which scipy's are not.

        >>> import weft
        >>> weft.tensor(([5.0], ([1], [0])), shape=(2, 2)).to_scipy().toarray()
        array([[0., 0.],
               [5., 0.]])
        """
        if self.ndim != 2:
            raise InputError(f"a tensor of {self.ndim} dimensions is no matrix")
        made = results.scipy_of(self, False, False)
        if made is None:
            made = results.scipy_of(self.convert(results.DIAGONALS if results.by_diagonals(self) else "ds"), False)
        if made is None:
            raise UnsupportedError("scipy is not installed")
        return made

    def to_coo(self, drop_zeros=False):
        """The stored entries: ``(coordinates, values)``, an array of modes × entries and one of the values.

        >>> import weft
        >>> coordinates, values = weft.tensor(([5.0, 6.0], ([1, 0], [0, 1])), shape=(2, 2)).to_coo()
        >>> coordinates.tolist(), values.tolist()
        ([[0, 1], [1, 0]], [6.0, 5.0])
        """
        room = self._coo(True, None, None) if drop_zeros else self.nnz  # layouts store padding beside entries
        coordinates, values = np.empty((self.ndim, room), np.int64), np.empty(room, self.dtype)
        count = self._coo(drop_zeros, list(coordinates.view(np.uint64)), values)
        return (coordinates, values) if count == room else (coordinates[:, :count].copy(), values[:count].copy())

    def convert(self, format):
        """The same tensor in another format: ``"sss"``, ``"ds:1,0"``, ``"dd:f32"``.

        A letter says of each level how it is stored: d dense, s sparse (compressed); the numbers say which mode it is of.
        In a format other than the tensor's own it borrows nothing.

        >>> import weft
        >>> T = weft.tensor(([5.0, 6.0], ([0, 1], [1, 2])), shape=(2, 3))
        >>> T.format, T.convert("ds:1,0").format, T.convert("dd").nnz
        ('ss:0,1', 'ds:1,0', 6)
        """
        made = self._convert(with_scalar(format, self.dtype))
        return made._apart() if made._borrowed and (made.format, made.dtype) != (self.format, self.dtype) else made

    def astype(self, dtype):
        """The same tensor with values of another type, f8 or f4; itself where it is of that type.

        >>> import weft
        >>> T = weft.tensor(([5.0, 6.0], ([0, 1], [1, 2])), shape=(2, 3))
        >>> T.astype("f4").dtype, T.astype("f8") is T
        (dtype('float32'), True)
        """
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype not in _SCALARS:
            raise UnsupportedError(f"dtype={dtype}: weft computes in f8 and f4 so far", option="dtype")
        return self.convert(f"{self.format}:{'f32' if dtype == np.float32 else 'f64'}")

    def copy(self):
        """A tensor that borrows nothing; itself where that is so already, since tensors do not change.

        >>> import weft, numpy as np
        >>> x = np.ones(3)
        >>> lent, kept = weft.tensor(x), weft.tensor(x).copy()
        >>> x[0] = 7
        >>> float(lent[0]), float(kept[0]), kept.copy() is kept
        (7.0, 1.0, True)
        """
        return self._apart() if self._borrowed else self

    def _apart(self):
        """The same tensor in memory of its own."""
        dense = self._dense()
        return _rebuilt(*self._arrays()) if dense is None else tensor(np.asarray(dense), copy=True)

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()

    def save(self, path):
        """Writes a file; the extension says the format: as `weft.write`.

        >>> import weft, tempfile, os
        >>> with tempfile.TemporaryDirectory() as place:
        ...     weft.tensor(([5.0], ([0], [1])), shape=(2, 3)).save(os.path.join(place, "T.mtx"))
        ...     weft.read(os.path.join(place, "T.mtx"))
        <weft.Tensor 2x3 ss:0,1 f64, 1 stored>
        """
        from weft import files

        files.write(path, self)

    def __reduce__(self):
        return _rebuilt, self._arrays()

    def _arrays(self):
        """Format, shape, arrays of the levels and values: all that a tensor is."""
        kinds = self.format.partition(":")[0]
        if set(kinds) - set("dsuq") or any(self._level(level)[4] for level in range(self.ndim)):
            plain = self.convert("s" * self.ndim if set(kinds) - {"d"} else "d" * self.ndim)
            return (*plain._arrays()[:-1], self.format)
        starts, coordinates = [], []
        for level in range(self.ndim):
            _, _, pos, crd, _ = self._level(level)
            starts.append(None if pos is None else _wide(pos))
            coordinates.append(None if crd is None else _wide(crd))
        scalar = "f32" if self._scalar else "f64"
        return f"{self.format}:{scalar}", self.shape, starts, coordinates, np.array(self._values(False)), self.format

    def identical(self, other):
        """Whether shape, type, format, structure and values are equal, stored zeros included.

        >>> import weft
        >>> a, b = (weft.sparse(5, 5, nnz=7, seed=3) for _ in range(2))
        >>> a.identical(b)
        True
        """
        if not isinstance(other, Tensor) or (self.shape, self.dtype, self.format) != (other.shape, other.dtype, other.format):
            return False
        mine, theirs = self._arrays(), other._arrays()
        same = all((one is None) == (two is None) and (one is None or np.array_equal(one, two))
                   for one, two in zip(mine[2] + mine[3], theirs[2] + theirs[3]))
        return same and np.array_equal(mine[4], theirs[4], equal_nan=True)

    # Elements and slices.

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        if Ellipsis in [each for each in key if each is Ellipsis]:
            place = next(number for number, each in enumerate(key) if each is Ellipsis)
            key = key[:place] + (slice(None),) * (self.ndim - len(key) + 1) + key[place + 1:]
        if len(key) > self.ndim:
            raise IndexError(f"{len(key)} indices for a tensor of {self.ndim} dimensions")
        key += (slice(None),) * (self.ndim - len(key))
        for each in key:
            if not isinstance(each, slice) and (isinstance(each, (bool, np.bool_)) or np.ndim(each) > 0 or not hasattr(each, "__index__")):
                what = "an array" if np.ndim(each) > 0 else f"of type {type(each).__name__}"
                raise TypeError(f"an index is an integer, a slice or ..., not {what}")
        if all(hasattr(each, "__index__") for each in key):
            value, _ = self._at(tuple(_coordinate(each, extent, mode) for mode, (each, extent) in enumerate(zip(key, self.shape))))
            return self.dtype.type(value)
        return self._slice(key)

    def _slice(self, key):
        memory = self._dense()
        if memory is not None:
            return tensor(np.asarray(memory)[key], copy=True)
        places = [range(*each.indices(extent)) if isinstance(each, slice) else range(_coordinate(each, extent, mode), extent)[:1]
                  for mode, (each, extent) in enumerate(zip(key, self.shape))]
        counts = tuple(map(len, places))
        starts, steps = (tuple(getattr(each, of) if count > least else least for each, count in zip(places, counts))
                         for of, least in (("start", 0), ("step", 1)))
        return self._slice_of(starts, steps, counts, tuple(not isinstance(each, slice) for each in key))

    # Arithmetic.

    @staticmethod
    def _einsum(subscripts, *operands):
        from weft import einsums

        format = _format_of_rows(subscripts, operands)
        if format is None and any(isinstance(each, Tensor) and not array_protocols.is_dense(each) or hasattr(each, "tocsr") for each in operands):
            # The entries of a sparse operand at most, whatever share of all elements they are.
            order = len(subscripts.partition("->")[2])
            format = "ds" if order == 2 else "s" * order
        return _as_tensor(einsums.einsum(subscripts, *operands, format=format))

    def _times(self, other):
        if self.ndim == 0 and isinstance(other, Tensor) and other.ndim:
            return other._times(self)
        other = _number(other)
        if isinstance(other, numbers.Real) and not isinstance(other, bool) or np.ndim(other) == 0 and hasattr(other, "dtype"):
            letters = _LETTERS[:self.ndim]
            if isinstance(other, numbers.Real):  # which has no precision of its own, as for numpy
                other = np.asarray(exact(other), np.float64 if isinstance(other, np.float64) else self.dtype)
            number = np.asarray(other).reshape(1)
            if number.dtype.kind in "fb" and np.isfinite(number) and not array_protocols.is_dense(self):
                return self._with_values(lambda values: values * number)
            return self._einsum(f"{letters},->{letters}", self, other)
        both_dense = array_protocols.is_dense(self) and array_protocols.is_dense(other)
        sparse = any(isinstance(each, Tensor) and not array_protocols.is_dense(each) for each in (self, other))
        if sparse and np.ndim(other) not in (0, self.ndim):
            raise _not_stretched(self.shape, np.shape(other))
        if np.ndim(other) != self.ndim or both_dense and np.shape(other) != self.shape:
            return NotImplemented
        letters = _LETTERS[:self.ndim]
        return self._einsum(f"{letters},{letters}->{letters}", self, other)

    def __mul__(self, other):
        made = self**2 if other is self and not array_protocols.is_dense(self) else self._times(other)
        return self._by_numpy(operator.mul, other) if made is NotImplemented else made

    __rmul__ = __mul__  # for numbers and lists; numpy's arrays come by __array_ufunc__

    def _by_numpy(self, function, other, reflected=False):
        if other is None or isinstance(other, (str, bytes)):
            return NotImplemented
        mine, theirs = array_protocols.arrays(_SYMBOLS[function.__name__], (self, other))
        return function(theirs, mine) if reflected else function(mine, theirs)

    def _with_values(self, function):
        """The same entries with other values; `function` gives 0 for 0, which is what stands at places without an entry."""
        values = np.ascontiguousarray(function(np.asarray(self._values(False))))
        if set(self.format.partition(":")[0]) - set("dsuq"):
            values = values + 0.0  # -0 is no empty place
        return self._over_pattern(values)

    def __neg__(self):
        return self * -1.0

    def __pos__(self):
        return self

    def __matmul__(self, other):
        return self._product(self, other)

    def __rmatmul__(self, other):
        return self._product(other, self)

    @staticmethod
    def _product(left, right):
        from weft import einsums

        orders = [each.ndim if hasattr(each, "ndim") else np.ndim(each) for each in (left, right)]
        if 0 in orders:
            raise InputError("@ takes no numbers; * does")
        if max(orders) > 2:
            raise UnsupportedError("@ of tensors of more than 2 dimensions: write weft.einsum")
        first, second = ("ij" if orders[0] == 2 else "j"), ("jk" if orders[1] == 2 else "j")
        subscripts = f"{first},{second}->{first.replace('j', '')}{second.replace('j', '')}"
        made = einsums.einsum(subscripts, left, right, format=_format_of_rows(subscripts, (left, right)))
        both = isinstance(left, Tensor) and isinstance(right, Tensor)
        return made if isinstance(made, (np.ndarray, np.generic)) and not both else _as_tensor(made)

    def dot(self, other):
        """``T @ other``, or ``T * other`` where that is a number.

        >>> import weft, numpy as np
        >>> weft.tensor(np.eye(2), format="ds").dot(np.array([1.0, 2.0]))
        array([1., 2.])
        """
        return self * other if np.ndim(other) == 0 else self @ other

    def matvec(self, x):
        """``T @ x``; with `rmatvec` what scipy.sparse.linalg wants of an operator.

        >>> import weft, numpy as np, scipy.sparse.linalg
        >>> x, info = scipy.sparse.linalg.cg(weft.tensor(2 * np.eye(2), format="ds"), np.array([1.0, 2.0]), atol=0)
        >>> x
        array([0.5, 1. ])
        """
        return self @ x

    def rmatvec(self, x):
        """``T.T @ x``, without another tensor.

        >>> import weft, numpy as np
        >>> weft.tensor(np.array([[1.0, 2.0], [0.0, 3.0]]), format="ds").rmatvec(np.array([1.0, 10.0]))
        array([ 1., 32.])
        """
        from weft import einsums

        return einsums.einsum("ji,jk->ik" if np.ndim(x) == 2 else "ji,j->i", self, x)

    def diagonal(self, offset=0):
        """A diagonal of a matrix, as an array of numpy; an offset above 0 is of one above the main diagonal.

        >>> import weft, numpy as np
        >>> weft.tensor(np.array([[1.0, 2.0], [0.0, 3.0]]), format="ds").diagonal()
        array([1., 3.])
        """
        from weft import einsums

        if self.ndim != 2:
            raise InputError(f"a tensor of {self.ndim} dimensions is no matrix")
        row, column = max(-offset, 0), max(offset, 0)
        length = min(self.shape[0] - row, self.shape[1] - column)
        if length <= 0:
            return np.zeros(0, self.dtype)
        whole = not offset and self.shape[0] == self.shape[1]
        return einsums.einsum("ii->i", self if whole else self[row:row + length, column:column + length], format="d")

    def __pow__(self, exponent):
        exponent, dense = _number(exponent), array_protocols.is_dense(self)
        if isinstance(exponent, numbers.Integral) and 1 <= exponent <= 8:
            letters = _LETTERS[:self.ndim]
            if dense:
                return self._einsum(",".join([letters] * int(exponent)) + "->" + letters, *[self] * int(exponent))
            return self._with_values(lambda values: functools.reduce(np.multiply, [values] * int(exponent)))
        if isinstance(exponent, numbers.Real) and exponent > 0 and not dense:
            return self._with_values(lambda values: values**exponent)
        return self._by_numpy(operator.pow, exponent)

    def __truediv__(self, other):
        other = _number(other)
        if isinstance(other, numbers.Real) and not array_protocols.is_dense(self):
            if other == 0 or other != other:
                raise UnsupportedError(f"/ by {other} makes NaN of all zeros, and a sparse tensor has none of them; "
                                       "T.to_numpy() gives an array")
            kind = np.float64 if isinstance(other, np.float64) else self.dtype
            return self._with_values(lambda values: values / np.full(1, other, kind))
        return self._by_numpy(operator.truediv, other)

    def __abs__(self):
        return np.absolute(self)

    def _reduce(self, axis, keepdims, dtype, out):
        if keepdims:
            raise UnsupportedError("keepdims=True: extents of 1 are not made", option="keepdims")
        if dtype is not None or out is not None:
            raise UnsupportedError("dtype= and out= of reductions: weft.einsum has them", option="out" if dtype is None else "dtype")
        axes = range(self.ndim) if axis is None else [axis] if hasattr(axis, "__index__") else axis
        given = [_coordinate(each, self.ndim, None) for each in axes]
        axes = set(given)
        if len(axes) < len(given):
            raise InputError(f"axis={axis!r} names an axis twice", option="axis")
        letters = _LETTERS[:self.ndim]
        return letters, "".join(letter for mode, letter in enumerate(letters) if mode not in axes), axes

    def sum(self, axis=None, dtype=None, out=None, *, keepdims=False):
        """Sums over axes, or all: a number of numpy, an array where the result is dense, else sparse as of `weft.einsum`.

        axis: an integer, a tuple of such, or None for all. dtype, out: None, as ``numpy.sum(T)`` passes them; others, and
        keepdims=True, are an `UnsupportedError`.

        >>> import weft
        >>> T = weft.tensor(([5.0, 6.0], ([0, 1], [1, 2])), shape=(2, 3))
        >>> float(T.sum()), T.convert("dd").sum(axis=0)
        (11.0, array([0., 5., 6.]))
        """
        from weft import einsums

        letters, left, _ = self._reduce(axis, keepdims, dtype, out)
        subscripts = f"{letters}->{left}"
        return einsums.einsum(subscripts, self, format=_format_of_rows(subscripts, [self]))

    def mean(self, axis=None, dtype=None, out=None, *, keepdims=False):
        """Means over axes, entries that are not stored included; axis as of `sum`.

        >>> import weft
        >>> T = weft.tensor(([5.0, 6.0], ([0, 1], [1, 2])), shape=(2, 3))
        >>> float(T.mean()), T.mean(axis=1).tolist()
        (1.8333333333333333, [1.6666666666666667, 2.0])
        """
        _, _, axes = self._reduce(axis, keepdims, dtype, out)
        count = 1
        for mode in axes:
            count *= self.shape[mode]
        if not count:
            warnings.warn("mean of no elements", RuntimeWarning, stacklevel=2)
            return np.full([extent for mode, extent in enumerate(self.shape) if mode not in axes], np.nan, self.dtype)[()]
        total = self.sum(axis)
        if isinstance(total, Tensor):
            coordinates, values = total.to_coo()
            return tensor((values / values.dtype.type(count), coordinates), shape=total.shape).convert(total.format)
        return total.dtype.type(float(total) / count) if isinstance(total, np.generic) else total / count

    def max(self, axis=None, out=None, *, keepdims=False):
        """The largest over axes, or of all, entries that are not stored included; axis and results as of `sum`.

        >>> import weft
        >>> T = weft.tensor(([-5.0, 6.0], ([0, 1], [1, 2])), shape=(2, 3))
        >>> float(T.max()), T.max(axis=1).tolist()
        (6.0, [0.0, 6.0])
        """
        return self._extreme(np.maximum, axis, out, keepdims)

    def min(self, axis=None, out=None, *, keepdims=False):
        """The least over axes, or of all; as `max`."""
        return self._extreme(np.minimum, axis, out, keepdims)

    def _extreme(self, of_two, axis, out, keepdims):
        if array_protocols.is_dense(self):
            axis = axis if axis is None or hasattr(axis, "__index__") else tuple(axis)
            return of_two.reduce(self.to_numpy(), axis=axis, out=out, keepdims=keepdims)
        _, _, axes = self._reduce(axis, keepdims, None, out)
        shape = [extent for mode, extent in enumerate(self.shape) if mode not in axes]
        size = math.prod(self.shape[mode] for mode in axes)
        if size == 0:
            raise InputError(f"{of_two.__name__} of no elements")
        kept = [mode for mode in range(self.ndim) if mode not in axes]
        if not kept:
            # Layouts may have places beyond the last row.
            plain = not set(self.format.partition(":")[0]) - set("dsuq")
            values = np.asarray(self._values(False)) if plain else self.to_coo(drop_zeros=True)[1]
            return of_two.reduce(values, **({"initial": 0} if len(values) < size else {}))
        kinds, _, order = self.format.partition(":")
        if kinds == "ds" and kept == [int(order[:1] or 0)]:
            return self._extreme_of_rows(of_two, size)
        coordinates, values = self.convert(f"{'s' * self.ndim}:{','.join(map(str, [*kept, *sorted(axes)]))}").to_coo(drop_zeros=True)
        coordinates = [coordinates[mode] for mode in kept]
        differs = np.ones(len(values), bool)
        differs[1:] = np.any([each[1:] != each[:-1] for each in coordinates], axis=0)
        first = np.flatnonzero(differs)
        made = of_two.reduceat(values, first) if len(first) else values
        full = np.diff(first, append=len(values)) == size
        made = tensor((np.where(full, made, of_two(made, 0)), [each[first] for each in coordinates]), shape=shape)
        return made.to_numpy() if 10 * made.nnz >= made.size else made

    def _extreme_of_rows(self, of_two, size):
        """Of a csr or csc along its rows, which lie one behind the other, each of `size` elements."""
        starts = np.asarray(self._level(1, False)[2]).astype(np.int64)
        values = np.asarray(self._values(False))
        entries = np.diff(starts)
        rows = np.flatnonzero(entries)
        made = of_two.reduceat(values, starts[rows]) if len(rows) else values
        made = np.where(entries[rows] == size, made, of_two(made, 0))
        if 10 * len(rows) < len(entries):
            return tensor((made, [rows]), shape=entries.shape)
        every = np.zeros(len(entries), values.dtype)
        every[rows] = made
        return every

    def any(self, axis=None, out=None, *, keepdims=False):
        """Whether an element is not 0; over axes where the tensor is dense."""
        if axis is None and out is None and not keepdims:
            return np.bool_(self._coo(True, None, None) > 0)
        return self._as_array("any").any(axis, out, keepdims=keepdims)

    def all(self, axis=None, out=None, *, keepdims=False):
        """Whether no element is 0; over axes where the tensor is dense."""
        if axis is None and out is None and not keepdims:
            return np.bool_(self._coo(True, None, None) == self.size)
        return self._as_array("all").all(axis, out, keepdims=keepdims)

    def _as_array(self, what):
        return array_protocols.arrays(what, (self,))[0]

    def __bool__(self):
        if self.ndim == 0:
            return bool(self._at(())[0])
        raise ValueError("a tensor of several elements is neither true nor false")

    def __float__(self):
        if self.ndim == 0:
            return float(self._at(())[0])
        raise TypeError("only a tensor without dimensions is a number")

    def __int__(self):
        return int(float(self))


def _format_of_rows(subscripts, operands):
    """ss for a matrix most of whose rows have no entry for certain: the starts of its rows, which scipy wants, would take more than these."""
    inputs, _, result = subscripts.partition("->")
    if len(result) != 2:
        return None
    for letters, operand in zip(inputs.split(","), operands):
        if result[0] in letters and isinstance(operand, Tensor) and operand.format.partition(":")[0].strip("d"):
            if operand.shape[letters.index(result[0])] > 16 * operand.nnz + 1000:
                return "ss"
    return None


def _as_tensor(result):
    """What an operator gives: a tensor, whatever the form that results have elsewhere."""
    return result if isinstance(result, Tensor) else tensor(result)


def _number(other):
    """The number in what has no dimension, of numpy, torch or weft; anything else as it is."""
    if isinstance(other, np.ndarray):
        return other if other.ndim else other[()]
    if isinstance(other, Tensor):
        return other if other.ndim else other[()]
    return other.item() if getattr(other, "shape", None) == () and not isinstance(other, np.generic) and hasattr(other, "item") else other


def _not_stretched(left, right):
    """The error for a product of shapes that numpy's rules stretch, with the einsum that says it."""
    order = max(len(left), len(right))
    letters = (_LETTERS[8:] + _LETTERS[:8])[:order]  # i, j, ...
    terms = [letters[order - len(shape):] for shape in (left, right)]
    told = f"* of shapes {tuple(left)} and {tuple(right)} of which one is sparse: extents are not stretched"
    fits = all(one == two for one, two in zip(left[::-1], right[::-1])) and min(len(left), len(right))
    return UnsupportedError(f'{told}; write weft.einsum("{",".join(terms)}->{letters}", …)' if fits else told)


def _by_numpy(function, reflected=False):
    def method(self, other):
        return self._by_numpy(function, other, reflected)

    return method


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
            "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
for _name in ("add", "sub", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _by_numpy(getattr(operator, _name)))
for _name in ("add", "sub", "truediv", "floordiv", "mod", "pow"):
    setattr(Tensor, f"__r{_name}__", _by_numpy(getattr(operator, _name), reflected=True))


def _tensordot(left, right, axes=2):
    from weft import einsums

    orders = [np.ndim(left), np.ndim(right)]
    if hasattr(axes, "__index__"):
        axes = range(orders[0] - axes, orders[0]), range(axes)
    summed = [[_coordinate(axis, order, None) for axis in ([each] if hasattr(each, "__index__") else each)]
              for each, order in zip(axes, orders)]
    if len(summed[0]) != len(summed[1]):
        raise InputError(f"tensordot: {len(summed[0])} axes of one operand, {len(summed[1])} of the other")
    letters = [list(_LETTERS[:orders[0]]), list(_LETTERS[orders[0]:sum(orders)])]
    for one, two in zip(*summed):
        letters[1][two] = letters[0][one]
    left_over = [letter for each, gone in zip(letters, summed) for mode, letter in enumerate(each) if mode not in gone]
    return einsums.einsum(f"{''.join(letters[0])},{''.join(letters[1])}->{''.join(left_over)}", left, right)


def _dot(left, right):
    if np.ndim(left) == 0 or np.ndim(right) == 0:
        return left * right
    return left @ right


def _norm(x, *rest, **options):
    if not rest and not options and not array_protocols.is_dense(x):
        return np.linalg.norm(x.to_coo()[1])
    return np.linalg.norm(*array_protocols.arrays("numpy.linalg.norm", (x, *rest)), **options)


def _einsum_of_numpy(*arguments, optimize=None, order="K", casting="safe", **options):
    from weft import einsums

    if order != "K" or casting != "safe":
        option, value = ("casting", casting) if order == "K" else ("order", order)
        raise UnsupportedError(f"numpy.einsum over tensors of weft with {option}={value!r}: weft.einsum has dtype= and format= for its result",
                               option=option)
    return einsums.einsum(*arguments, **options)


array_protocols._OPERATORS.update({
    np.multiply: lambda a, b: a._times(b) if isinstance(a, Tensor) else b._times(a),
    np.matmul: Tensor._product,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.true_divide: lambda a, b: a / b if isinstance(a, Tensor) and not array_protocols.is_dense(a) else NotImplemented,
    np.power: lambda a, b: a**b if isinstance(a, Tensor) else NotImplemented,
})
array_protocols._OF_WEFT.update({
    np.dot: _dot,
    np.diagonal: lambda a, offset=0: a.diagonal(offset),
    np.tensordot: _tensordot,
    np.einsum: _einsum_of_numpy,
    np.linalg.norm: _norm,
})


def _coordinate(index, extent, mode):
    place = operator.index(index)
    if not -extent <= place < extent:
        what = f"axis {place}" if mode is None else f"index {place} of mode {mode}"
        raise IndexError(f"{what} is not within {-extent} to {extent - 1}")
    return place + extent if place < 0 else place


def _wide(memory):
    array = np.asarray(memory)
    return array.astype(np.int64) if array.itemsize == 8 else array.view(np.uint32).astype(np.int64)


def _rebuilt(layout, shape, starts, coordinates, values, format):
    """Of a pickle."""
    made = _engines.current()._levels(layout, tuple(shape), list(starts), list(coordinates), values)
    return made if made.format == format else made.convert(format)
