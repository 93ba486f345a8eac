"""Files: .tns, .mtx, .npy, .npz, each also .gz and .zst."""

import os
import re

import numpy as np

from weft import _engines, formats, tensors
from weft.errors import InputError


def read(path, *, shape=None, format=None, dtype=None):
    """Reads a tensor from a file: .tns, .mtx, .npy, .npz (of ``scipy.sparse.save_npz`` too), each also .gz or .zst.

    path: a text or path-like object; of an archive of several arrays with the name of one behind, ``"z.npz:a"``, and of a file
    without an extension with its format in front, ``"tns:x"``. shape: extents of a .tns with empty slices at an end. format: such as ``"sss"`` or
    ``"ds"``; without it a .npy is dense, the others have compressed levels alone. dtype: f8 (the default) or f4.
    Returns a `weft.Tensor`. Errors name file and line.

    >>> import weft, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as place:
    ...     path = pathlib.Path(place, "T.tns")
    ...     _ = path.write_text("1 1 2.5\\n3 2 -1\\n")
    ...     weft.read(path).to_numpy()
    array([[ 2.5,  0. ],
           [ 0. ,  0. ],
           [ 0. , -1. ]])
    """
    path = os.fspath(path)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not os.path.exists(path) and not os.path.exists(_file_of(path)):
        raise FileNotFoundError(2, os.strerror(2), path)
    dtype = np.dtype(dtype or np.float64)
    if dtype not in (np.float64, np.float32):
        raise InputError(f"dtype={dtype}: f8 or f4 is wanted", option="dtype")
    shape = None if shape is None else tensors.checked_shape(shape)
    if format is not None:
        format = formats.with_scalar(format, dtype)
    try:
        return _engines.current()._read(path, shape, format, 1 if dtype == np.float32 else 0, os.path.basename(path))
    except InputError as error:
        if shape is None:  # an argument here, behind the path elsewhere
            error.args = (error.args[0].replace(f"needs a shape, such as {path}:100x200", "needs a shape, such as shape=(100, 200)"),)
        raise


def _file_of(path):
    """Without the format in front, and the name of an array behind.

    >>> _file_of("npz:x:a"), _file_of("d/z.npz.gz:a/b"), _file_of("tns:x:y")
    ('x', 'd/z.npz.gz', 'x:y')
    """
    word, _, rest = path.partition(":")
    rest = rest if word in ("tns", "mtx", "npy", "npz") else path
    member = re.match(r"(.*?\.npz(?:\.gz|\.zst)?):", rest, re.IGNORECASE | re.DOTALL)
    return member[1] if member else rest.rpartition(":")[0] or rest if word == "npz" else rest


def write(path, tensor):
    """Writes a tensor, array or sparse matrix; the extension of `path` says the format. A file is whole or not there.

    >>> import weft, numpy as np, tempfile, os
    >>> with tempfile.TemporaryDirectory() as place:
    ...     weft.write(os.path.join(place, "x.npy"), np.arange(3.0))
    ...     np.load(os.path.join(place, "x.npy"))
    array([0., 1., 2.])
    """
    path = os.fspath(path)
    tensors.tensor(tensor)._write(os.fsdecode(path))
