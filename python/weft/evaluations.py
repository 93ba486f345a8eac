"""Index notation: evaluate, compile, plan."""

import collections
import functools
import json
import re

import numpy as np

import _weft

from weft import _engines, formats
from weft.errors import InputError
from weft.plans import Plan

_MOST_KERNELS = 1024  # that an engine knows by text and operands


def evaluate(text, operands=None, /, *, out=None, format=None, results=None, tree=None, schedule=None, calls=1, **named):
    """Evaluates index notation, or einsum with names (``"X = ij,jk->ik A B"``), over arrays, sparse matrices and tensors.

    Operands are given by keyword, or in one mapping, by the names of the text; nothing is taken from the caller's
    variables. An operand is a numpy array, a number, a sparse matrix or array of scipy, a `weft.Tensor`, a
    ``sparse.COO`` or a tensor of torch on the CPU, of f8 or f4.

    The result is a numpy array if it is dense, a ``scipy.sparse`` csr (or csc) where it is a sparse matrix and scipy is
    there, a number of numpy if it has no dimension, else a `weft.Tensor`. Of several assignments the last is the
    result; with `results`, a list of names, they come as a named tuple.

    out: a dense array of the result's shape, f8 or f4, any strides; of several results a mapping or a sequence. A contiguous one
    of the result's type is computed in place, and does not count against a memory limit.
    format: ``"A:ds"``, a list of such, or a mapping, of operands and results. tree, schedule: replace the planner's
    choice. calls: how often this will be evaluated, which is worth converting layouts for.

    Errors: `weft.InputError` (a ValueError) with a picture of the text, `weft.UnsupportedError`, `weft.ResourceError`.

    >>> import weft, numpy as np, scipy.sparse
    >>> M = scipy.sparse.csr_array(np.array([[0, 2.0], [3, 0]]))
    >>> weft.evaluate("y(i) = M(i,j) * x(j)", M=M, x=np.array([10.0, 1.0]))
    array([ 2., 30.])
    >>> weft.evaluate("S(i,j) = 2 * M(i,j); t = S(i,j)", M=M, results=["S", "t"]).t
    10.0
    """
    if operands is not None:
        named = _all_of(operands, named)
    engine = _engines.current()
    prefix = text
    if format is not None or results is not None or tree is not None or schedule is not None or calls != 1:
        format, results = formats.settled(format), _names(results)  # texts of iterators do not tell what they give
        prefix = f"{text}\x1f{format!r}\x1f{results!r}\x1f{tree!r}\x1f{schedule!r}\x1f{calls!r}"
    elif type(text) is not str:
        raise TypeError(f"an expression is a text, not {type(text).__name__}")
    lent = () if out is None else lent_to(text, results, out)
    if lent:
        prefix = f"{prefix}\x1flent {','.join(lent)}"
    key, read = _weft.signature(prefix, named)
    kernel = engine._kernels.get(key) or known(engine, key, text, read, named, format, results, tree, schedule, calls, lent)
    return kernel._run(read, out)


def lent_to(text, results, out):
    """Results that are computed right in the arrays of `out`, if these are as kernels store dense ones: a memory limit does not count
    them. None of an `out` that says so when it is looked at later, as that of an iterator.

    >>> lent_to("S(i,j) = A(i,j); t(i) = S(i,j)", None, np.zeros(3)), lent_to("y = x", ["y"], [np.zeros((2, 2)).T])
    (('t',), ())
    """
    if results is None:
        return _last_result(text) if _is_contiguous(out) else ()
    if isinstance(out, (list, tuple)):
        out = dict(zip(results, out))
    elif not isinstance(out, dict):
        return ()
    return tuple(name for name in results if _is_contiguous(out.get(name)))


def _is_contiguous(out):
    return isinstance(out, np.ndarray) and out.flags.c_contiguous


@functools.lru_cache(maxsize=4096)
def _last_result(text):
    return tuple(assigned(text)[-1:])


def known(engine, key, text, read, given, format=None, results=None, tree=None, schedule=None, calls=1, lent=None):
    """Compiles a kernel that the engine knows by a key from then on. read: the operands as `_weft.signature` reads those `given`."""
    kernel = _compiled(engine, text, read, _of_matrices(given), format, results, tree, schedule, calls, lent=lent)
    if len(engine._kernels) >= _MOST_KERNELS:
        engine._kernels.clear()
    engine._kernels[key] = kernel
    return kernel


def compile(text, operands=None, /, *, format=None, results=None, tree=None, schedule=None, calls=1000,
            choose_layouts=False, lent_results=None, threads=None, **named):
    """Compiles index notation for operands like these, to be called with any of the same orders.

    Arguments as of `weft.evaluate`; `calls` is how often the kernel is expected to run. threads: as of `weft.Engine`.
    The kernel may be called from many threads at once.

    choose_layouts: matrices of weft's own (``weft.tensor(M, copy=True)``) may be stored in blocks, in strips of
    diagonals or in slices of rows where that pays within `calls`; ``kernel.plan`` says so. Matrices of later calls are stored in the same way.

    lent_results: names of dense results that every call has a contiguous array for, ``out=``: a memory limit does not count them.

    >>> import weft, numpy as np
    >>> x, y = np.arange(4.0), np.empty(2)
    >>> kernel = weft.compile("y(i) = M(i,j) * x(j)", M=np.ones((2, 4)), x=x)
    >>> kernel(M=np.ones((2, 4)), x=x, out=y)
    array([6., 6.])
    """
    if operands is not None:
        named = _all_of(operands, named)
    if threads is not None:
        with _engines.options(threads=threads):
            return compile(text, named, format=format, results=results, tree=tree, schedule=schedule, calls=calls,
                           choose_layouts=choose_layouts, lent_results=lent_results)
    if not isinstance(text, str):
        raise TypeError(f"an expression is a text, not {type(text).__name__}")
    _, read = _weft.signature(text, named)
    return _compiled(_engines.current(), text, read, _of_matrices(named), format, results, tree, schedule, calls, choose_layouts,
                     _names(lent_results, "lent_results"))


def plan(text, operands=None, /, *, format=None, results=None, tree=None, schedule=None, calls=1, choose_layouts=False,
         run=False, why=False, prove=False, unfused=False, **named):
    """How an expression would be evaluated over these operands, and why: a `weft.Plan`.

    Arguments as of `weft.compile`. run: evaluates it once, so that measured times stand beside the estimated ones.
    why: also what each constraint costs. prove: plans until nothing cheaper can exist. unfused: the best plan that
    stores every intermediate.

    >>> import weft, numpy as np
    >>> weft.plan("ij,jk->ik", {"T0": np.ones((2, 3)), "T1": np.ones((3, 4))}).tree
    '(T0 * T1)'
    """
    if operands is not None:
        named = _all_of(operands, named)
    if not isinstance(text, str):
        raise TypeError(f"an expression is a text, not {type(text).__name__}")
    _, named = _weft.signature(text, named)
    engine = _engines.current()
    request = _request(text, named, format, results, tree, schedule, calls)
    request["formats"] = _with_levels(engine, text, named, request)
    request.update(plan_only=True, why=why or None, prove=prove or None, unfused=unfused or None,
                   choose_layouts=choose_layouts or None, stages=["network", "tree", "schedule", "loops", "llvm", "asm"])
    planned = Plan(engine._evaluate(text, named, request))
    made = {name: (result["format"], result["extents"]) for name, result in planned.report["results"].items()}
    other = _delivered(made, request, named)
    if other or run:
        request.update(formats=other or request["formats"], plan_only=not run, count=run or None)
        planned = Plan(engine._evaluate(text, named, request))
    return planned


class Kernel(_weft.Kernel):
    """Compiled code of one expression: ``kernel(operands=None, /, *, out=None, **named)``.

    Called with operands of the orders that it was compiled for; other shapes, types of layouts and values are converted
    or compiled anew. Values of arrays may be changed in place between calls. Made by `weft.compile`. Pickled, as for processes of
    a pool, it is its plan and machine code, for engines of the same options on CPUs of the same kind.

    ``expression`` is the text, ``operands`` their names, ``results`` the formats of the results by name.

    >>> import weft, numpy as np
    >>> kernel = weft.compile("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
    >>> kernel.operands, kernel.results
    (('M', 'x'), {'y': 'd'})
    >>> kernel(M=np.ones((4, 5)), x=np.arange(5.0))
    array([10., 10., 10., 10.])
    """

    __slots__ = ("__weakref__", "expression")

    @property
    def plan(self):
        """How it computes: a `weft.Plan`.

        >>> import weft, numpy as np
        >>> kernel = weft.compile("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> kernel.plan.tree
        '(M * x)'
        """
        return Plan(self)

    @property
    def report(self):
        """What planning and compiling told: the report of ``weft --json`` as a dict, times in milliseconds, sizes in bytes.

        >>> import weft, numpy as np
        >>> kernel = weft.compile("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(3))
        >>> kernel.report["phases"]["plan"] >= 0
        True
        """
        return json.loads(self._report())

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        several = self._tuple
        return _kernel_again, (*self._saved(), self.expression, None if several is None else several.names)

    def __repr__(self):
        return f"<weft.Kernel {self.expression}>"


def _kernel_again(saved, orders, matrix, text, names):
    """A pickled kernel in the engine that is current: its machine code, which is run as pickle runs what it is told to."""
    kernel = _engines.current()._saved_kernel(saved, orders, matrix)
    if names is not None:
        kernel._tuple = _Several(names, list(kernel.results))
    kernel.expression = text
    return kernel


@functools.cache
def _tuple_of(names):
    """The type of the named tuple of results, which pickle finds by these names."""
    # Fields of a named tuple are no keywords, and do not begin with _: those are found by their place.
    fields = collections.namedtuple("Results", names, rename=True)
    return type("Results", (fields,), {"__slots__": (), "__doc__": fields.__doc__,
                                       "__reduce__": lambda made: (_results_again, (names, tuple(made)))})


def _results_again(names, values):
    return _tuple_of(names)(*values)


class _Several:
    """Makes the named tuple of several results, which the kernel has in the order of their names."""

    def __init__(self, names, made):
        self.names = names
        self._places = [made.index(name) for name in names]
        self._type = _tuple_of(tuple(names))

    def __call__(self, values):
        return self._type(*(values[place] for place in self._places))

    def outputs(self, out):
        """Arrays by name: a mapping, or a sequence in the order of the tuple."""
        if hasattr(out, "keys"):
            unknown = [name for name in out if name not in self.names]
            if unknown:
                raise InputError(f"out= names {unknown[0]}; the results are {', '.join(self.names)}", option="out")
            return dict(out)
        try:
            out = list(out)
        except TypeError:
            raise TypeError(f"out= of {len(self.names)} results is a sequence or a mapping of arrays, not {type(out).__name__}") from None
        if len(out) != len(self.names):
            raise InputError(f"out= has {len(out)} arrays for {len(self.names)} results: {', '.join(self.names)}", option="out")
        return dict(zip(self.names, out))


def assigned(text):
    """Names of the results of a text, in order; those of einsum are ``out``.

    >>> assigned("S(i) = A(i,j); t = S(i)")
    ['S', 't']
    """
    if "=" not in text:
        return ["out"]
    return re.findall(r"(?:^|[;\n])\s*([A-Za-z_]\w*)\s*(?:\([^()]*\)|\[[^\[\]]*\])?\s*=", text)


def is_einsum(text):
    """Whether a text is einsum, with names or without: those of its operands stand behind it, or are T0, T1, …

    >>> is_einsum("X = ij,jk->ik A B"), is_einsum("y(i) = M(i,j) * x(j)"), is_einsum("s = a")
    (True, False, False)
    """
    return not re.search(r"[()\[\]*;]", text) and ("->" in text or "," in text)


def _names(results, option="results"):
    if results is None or isinstance(results, str):
        return results and [results]
    try:
        return list(results)
    except TypeError:
        raise TypeError(f"{option}={results!r}: a list of names is wanted") from None


def _all_of(operands, named):
    """Operands of a mapping and those by keyword."""
    if not hasattr(operands, "keys"):
        raise TypeError(f"operands are one mapping of names, and keywords; not an object of type {type(operands).__name__}")
    for name in named:
        if name in operands:
            raise _given_twice(name)
    return {**operands, **named}


def _given_twice(name):
    return InputError(f"the operand {name} is given twice, in the mapping and by keyword", operand=name)


def _request(text, named, format, results, tree, schedule, calls):
    names = assigned(text)
    results = _names(results)
    if results is not None:
        unknown = [name for name in results if name not in names]
        if unknown:
            raise InputError(f"results={results!r}: nothing is assigned to {unknown[0]}; there are {', '.join(names)}", option="results")
        twice = [name for name in results if results.count(name) > 1]
        if twice:
            raise InputError(f"results={results!r}: {twice[0]} stands there twice", option="results")
    # Values of what is borrowed may change between any two calls. Names that the text does not have are told of later.
    words = set(re.findall(r"\w+", text)) if "=" in text and not is_einsum(text) else named
    changing = [name for name, operand in named.items()
                if name in words and (not isinstance(operand, _weft.Tensor) or operand._borrowed)]
    return {"formats": formats.typed(formats.by_name(format, names, named), named), "results": results, "tree": tree, "schedule": schedule,
            "calls": float(calls) if calls != 1 else None, "changing": changing}


def _of_matrices(given):
    """Whether sparse results are matrices of scipy, for which ``*`` is the matrix product: if an operand is one as it is given. Read,
    it may be a tensor."""
    return any(formats.is_matrix(operand) for operand in given.values())


def _compiled(engine, text, named, as_matrix, format, results, tree, schedule, calls, choose_layouts=False, lent=None):
    request = _request(text, named, format, results, tree, schedule, calls)
    request["choose_layouts"] = choose_layouts or None
    request["lent_results"] = lent or None
    request["formats"] = _with_levels(engine, text, named, request)
    kernel = engine._compile(text, named, request, as_matrix)
    shapes = {name: [np.shape(named[operand])[mode] for operand, mode in modes] for name, modes in kernel._extents.items()}
    other = _delivered({name: (kind, shapes[name]) for name, kind in kernel.results.items()}, request, named)
    if other:
        request["formats"] = other
        kernel = engine._compile(text, named, request, as_matrix)
    if request["results"] or len(kernel.results) > 1:
        made = list(kernel.results)
        kernel._tuple = _Several(request["results"] or [name for name in assigned(text) if name in made], made)
    unused = set(named) - set(kernel.operands)
    if unused:
        wrong_operands(kernel, list(named))
    kernel.expression = text
    return kernel


MANY_ROWS = 1 << 24  # whose starts take 134 MB


def _delivered(made, request, named):
    """The formats to ask for instead of those `made` by a plan, with the shapes, or None: a sparse matrix is delivered to scipy,
    whose rows are dense; a scipy operand of ours has them too. Not one of many rows, nearly all of them empty. A schedule says
    itself how its results are stored."""
    asked = request["formats"] or {}
    other = {name: "ds" for name, (kind, shape) in made.items()
             if name not in asked and len(kind.partition(":")[0]) == 2 and kind.strip("d") and kind not in ("ds", "ds:1,0")
             and not (kind.startswith("s") and shape[0] > MANY_ROWS)}
    return {**asked, **formats.typed(other, named)} if other and request["schedule"] is None else None


def _with_levels(engine, text, named, request):
    """The formats of a request. A type of values alone (``":f32"``), of a result, comes behind the levels chosen without it."""
    asked = request["formats"] or {}
    types = {name: format for name, format in asked.items() if name not in named and isinstance(format, str) and format[:1] == ":"}
    if not types:
        return request["formats"]
    free = {**request, "formats": {name: format for name, format in asked.items() if name not in types} or None}
    report = Plan(engine._evaluate(text, named, {**free, "plan_only": True})).report
    made = {name: (result["format"], result["extents"]) for name, result in report["results"].items()}
    levels = {**{name: kind for name, (kind, _) in made.items()}, **(_delivered(made, free, named) or {})}
    return {**asked, **{name: levels.get(name, "").removesuffix(":f32") + type_ for name, type_ in types.items()}}


def wrong_operands(kernel, given):
    """Raises the error that names what is missing, or what is not used."""
    there = ", ".join(kernel.operands)
    for name in kernel.operands:
        if name not in given:
            raise InputError(f"the operand {name} is missing; the expression has {there}", operand=name)
    for name in given:
        if name not in kernel.operands:
            raise InputError(f"the expression has no operand {name}; it has {there or 'none'}", operand=name)
    raise _given_twice(next(name for name in given if given.count(name) > 1))
