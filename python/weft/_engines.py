"""Engines: the default one, those of `weft.options`, and what an engine offers."""

import contextvars
import os
import re
import threading

import _weft

from weft.errors import InputError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_chosen = contextvars.ContextVar("weft engine", default=None)  # with what it was chosen over
_engines = {}  # by their options, as a text
_guard = threading.Lock()


def _bytes(size):
    """``4G``, ``512M`` or a number of bytes."""
    if size is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", size, re.I) if isinstance(size, str) else None
    wanted = "a number of bytes is wanted, or a text such as '4G'"
    made = _whole("memory_limit", size, wanted) if match is None else int(float(match[1]) * _UNITS[match[2].upper()])
    if not 0 <= made < 1 << 64:
        raise InputError(f"memory_limit={size!r}: {wanted}", option="memory_limit")
    return made


def _whole(option, value, wanted):
    """An integer of Python's or numpy's as Python has it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{option}={value!r}: {wanted}", option=option)
    return value.__index__()


class Engine(_weft.Engine):
    """Threads, memory account and caches, and the functions of the module over them.

    threads: how many runs use; ``None``: all CPUs of the process. memory_limit: bytes or ``"4G"``, over everything that
    weft allocates; ``None``: none. cache_dir: where plans and kernels are kept from one process to the next;
    ``True``: where the command ``weft`` keeps them, ``None``: in memory only. calibration: a file that ``weft calibrate`` has
    written; ``True``: where it does by itself, if there is one, ``False``: the constants that weft ships with. deterministic: the same bits for every
    number of threads. strict_fp: sums in the order of the loops, no fused multiply-add. checked: kernels
    check every access; slow. verify: ``"always"`` looks at the indices of scipy's matrices in every call, for who
    changes them in place by hand. Any number of threads may use
    an engine at once.

    >>> import weft, numpy as np
    >>> engine = weft.Engine(threads=1, memory_limit="1G")
    >>> float(engine.einsum("i,i->", np.arange(3.0), np.arange(3.0)))
    5.0
    """

    def __new__(cls, *, threads=None, memory_limit=None, cache_dir=None, calibration=True, deterministic=False,
                strict_fp=False, checked=False, verify="once"):
        threads = None if threads is None else _whole("threads", threads, "a number from 1 to 4096 is wanted, or None for all CPUs")
        if threads is not None and not 1 <= threads <= 4096:
            raise InputError(f"threads={threads}: a number from 1 to 4096 is wanted, or None for all CPUs", option="threads")
        directory = "" if cache_dir is True else None if cache_dir in (None, False) else os.fspath(cache_dir)
        constants = "" if calibration is True else None if calibration in (None, False) else os.fspath(calibration)
        if verify not in ("once", "always"):
            raise InputError(f"verify={verify!r}: 'once' or 'always' is wanted", option="verify")
        engine = super().__new__(cls, threads or 0, _bytes(memory_limit), directory, constants, deterministic, strict_fp,
                                 checked, verify == "always")
        engine._kernels = {}
        return engine

    def __init__(self, **options):
        pass

    def __repr__(self):
        return f"<weft.Engine of {self.threads} threads, {self.memory_used} bytes in use>"

    def evaluate(self, text, operands=None, /, **named):
        """As `weft.evaluate`, in this engine.

        >>> import weft, numpy as np
        >>> engine = weft.Engine(threads=1)
        >>> float(engine.evaluate("s = x(i) * x(i)", x=np.arange(3.0)))
        5.0
        """
        with _Use(self):
            return evaluations.evaluate(text, operands, **named)

    def einsum(self, subscripts, *operands, **options):
        """As `weft.einsum`, in this engine.

        >>> import weft, numpy as np
        >>> engine = weft.Engine(threads=1)
        >>> float(engine.einsum("i,i", np.arange(3.0), np.arange(3.0)))
        5.0
        """
        with _Use(self):
            return einsums.einsum(subscripts, *operands, **options)

    def compile(self, text, operands=None, /, **named):
        """As `weft.compile`, in this engine.

        >>> import weft, numpy as np
        >>> engine = weft.Engine(threads=1)
        >>> float(engine.compile("s = x(i) * x(i)", x=np.arange(3.0))(x=np.arange(4.0)))
        14.0
        """
        with _Use(self):
            return evaluations.compile(text, operands, **named)

    def plan(self, text, operands=None, /, **named):
        """As `weft.plan`, in this engine.

        >>> import weft, numpy as np
        >>> engine = weft.Engine(threads=1)
        >>> engine.plan("s = x(i) * x(i)", x=np.arange(3.0)).tree
        '(x * x)'
        """
        with _Use(self):
            return evaluations.plan(text, operands, **named)

    def tensor(self, obj, shape=None, **options):
        """As `weft.tensor`, in this engine.

        >>> import weft, numpy as np
        >>> engine = weft.Engine(threads=1)
        >>> engine.tensor(np.eye(3), format="ss").nnz
        3
        """
        with _Use(self):
            return tensors.tensor(obj, shape, **options)

    def read(self, path, **options):
        """As `weft.read`, in this engine.

        >>> import weft, numpy as np
        >>> engine = weft.Engine(threads=1)
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     weft.write(os.path.join(place, "x.npy"), np.arange(3.0))
        ...     engine.read(os.path.join(place, "x.npy")).to_numpy()
        array([0., 1., 2.])
        """
        with _Use(self):
            return files.read(path, **options)


class _Use:
    """Makes an engine that of this context while a block lasts; in several blocks and threads at once, if wanted."""

    def __init__(self, engine):
        self._engine = engine

    def __enter__(self):
        _chosen.set((self._engine, _chosen.get()))
        return self._engine

    def __exit__(self, *_):
        chosen = _chosen.get()  # none in the child of a fork
        _chosen.set(chosen and chosen[1])


def _engine_with(options):
    key = repr(sorted(options.items()))  # a text: True is no number of threads
    with _guard:
        if key not in _engines:
            while len(_engines) > 16:
                del _engines[next(one for one in _engines if one != "[]")]
            _engines[key] = Engine(**options)
            _engines[key]._options = options
        return _engines[key]


def default_engine():
    """The engine that the functions of the module use: made at the first use, with the default options.

    >>> import weft
    >>> weft.default_engine().threads >= 1
    True
    """
    return _engines.get("[]") or _engine_with({})


def current():
    """That of `weft.options` in this context, else the default one."""
    chosen = _chosen.get()
    return chosen[0] if chosen else default_engine()


def options(**changed):
    """Other options within a block, in this thread alone: those of `weft.Engine`.

    Engines with the same options are one, so what it has compiled is found again.

    >>> import weft, numpy as np
    >>> with weft.options(threads=1, deterministic=True):
    ...     float(weft.einsum("i->", np.ones(5)))
    5.0
    """
    return _Use(_engine_with({**getattr(current(), "_options", {}), **changed}))


def forget():
    """After a fork: the child makes engines of its own; those of the parent stay as they are, and are never freed."""
    global _engines, _guard, _chosen
    _inherited.append((_engines, _chosen.get()))
    _engines = {}
    _guard = threading.Lock()
    _chosen = contextvars.ContextVar("weft engine", default=None)


_inherited = []

from weft import einsums, evaluations, files, tensors  # noqa: E402  (they need the engine that is current)
