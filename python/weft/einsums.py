"""numpy's einsum over dense and sparse operands."""

import functools
import re
import string

import numpy as np

import _weft

from weft import _engines, evaluations, formats
from weft.errors import InputError, UnsupportedError

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_NAMES = tuple(f"T{number}" for number in range(64))


def einsum(subscripts, *operands, out=None, dtype=None, format=None, semiring=None, where=None, tree=None):
    """Einstein's summation, with the forms of `numpy.einsum`, over any mix of dense and sparse operands.

    subscripts: ``"ij,jk->ik"``, with implicit results (``"ij,jk"``) and ``...``; or operands and lists of numbers in
    turn, ``einsum(A, [0, 1], x, [1], [0])``. Extents of 1 are not stretched: unequal extents are an error.
    out: a dense array. dtype: f8 or f4, of the result, whose format stays. format: that of the result, as in ``"ds"``, or as of
    `weft.evaluate` with the operands ``T0``, ``T1``, … and the result ``out``. tree: a contraction tree,
    ``"(T0 * T1) * T2"``. Operands and results are those of `weft.evaluate`.

    >>> import weft, numpy as np, scipy.sparse
    >>> A = scipy.sparse.csr_array(np.array([[0, 2.0], [3, 0]]))
    >>> weft.einsum("ij,jk->ik", A, np.eye(2))
    array([[0., 2.],
           [3., 0.]])
    >>> weft.einsum("ij,ij->", A, A)
    13.0
    >>> weft.einsum(A, [0, 1], [1, 0])
    array([[0., 3.],
           [2., 0.]])
    """
    if semiring is not None or where is not None:
        option = "semiring" if semiring is not None else "where"
        raise UnsupportedError(f"einsum with {option}= is not supported yet", option=option)
    if type(subscripts) is not str:
        if isinstance(subscripts, str):
            subscripts = str(subscripts)
        else:
            subscripts, operands = _interleaved((subscripts, *operands))
    if "." in subscripts:
        subscripts = _without_dots(subscripts, tuple(_order(operand) for operand in operands))
    named = dict(zip(_NAMES, operands))
    if len(named) != len(operands):
        raise UnsupportedError(f"einsum of {len(operands)} operands; {len(_NAMES)} are the most")
    text = _notation(subscripts, len(operands))
    if dtype is not None or format is not None:
        format = _format(dtype, format, operands)
    elif tree is None and len(operands) > 1:
        # One object is one operand, which is read once: trees and formats name each place.
        first = {}
        places = tuple(first.setdefault(id(operand), place) for place, operand in enumerate(operands))
        written = _with_places(text, places) if len(first) < len(places) else None
        if written is not None:
            text, named = written, {_NAMES[place]: operands[place] for place in places}
    if format is None and tree is None:
        engine = _engines.current()
        lent = () if out is None else evaluations.lent_to(text, None, out)
        key, read = _weft.signature(f"{text}\x1flent" if lent else text, named)
        kernel = engine._kernels.get(key) or evaluations.known(engine, key, text, read, named, lent=lent)
        return kernel._run(read, out)
    return evaluations.evaluate(text, named, out=out, format=format, tree=tree)


def _order(operand):
    order = getattr(operand, "ndim", None)
    return order if isinstance(order, int) else np.ndim(operand)


@functools.lru_cache(maxsize=4096)
def _notation(subscripts, count):
    """The einsum as weft reads it, its operands T0, T1, …; as many as are given."""
    terms = subscripts.partition("->")[0].split(",")
    if len(terms) != count:
        raise InputError(f"einsum({subscripts!r}) has {len(terms)} operands, {count} {'is' if count == 1 else 'are'} given")
    if count == 1 and "->" not in subscripts and terms[0].strip() == "":
        return "->"
    return subscripts


@functools.lru_cache(maxsize=4096)
def _with_places(subscripts, places):
    """In index notation, with the operands that stand at these places: ``"ij,ij->"`` of T0 twice is ``"out = T0(i,j) * T0(i,j)"``. None of
    what is no einsum, for weft to say why."""
    before, arrow, result = subscripts.partition("->")
    terms, result = [term.strip(" ") for term in before.split(",")], result.strip(" ")
    if not all(re.fullmatch("[A-Za-z]*", letters) for letters in [*terms, result]):
        return None
    if not arrow:
        letters = "".join(terms)
        result = "".join(letter for letter in sorted(set(letters)) if letters.count(letter) == 1)
    access = lambda name, letters: f"{name}({','.join(letters)})" if letters else name  # noqa: E731
    factors = (access(_NAMES[place], term) for place, term in zip(places, terms))
    return f"{access('out', result)} = {' * '.join(factors)}"


def _interleaved(arguments):
    """Operands and lists of indices in turn, as subscripts and operands. The last list, if it is one too many, is the result's."""
    count = len(arguments) // 2
    if count == 0:
        raise InputError("einsum takes subscripts and operands, or operands and lists of indices in turn")
    operands, lists = arguments[0:2 * count:2], list(arguments[1:2 * count:2])
    result = arguments[-1] if len(arguments) % 2 else None
    numbers = sorted({index for indices in (lists if result is None else [*lists, result]) for index in _indices(indices) if index is not Ellipsis})
    if len(numbers) > len(_LETTERS):
        raise UnsupportedError(f"einsum with {len(numbers)} indices; {len(_LETTERS)} are the most")
    letters = dict(zip(numbers, _LETTERS))  # in their order, which implicit results follow
    word = lambda indices: "".join("..." if index is Ellipsis else letters[index] for index in _indices(indices))  # noqa: E731
    subscripts = ",".join(word(indices) for indices in lists)
    return (subscripts if result is None else f"{subscripts}->{word(result)}"), operands


def _indices(indices):
    if getattr(indices, "ndim", 1) != 1:
        raise InputError(f"einsum: a list of indices is wanted, not an array of shape {tuple(indices.shape)}")
    try:
        indices = list(indices)
    except TypeError:
        raise InputError(f"einsum: a list of indices is wanted, not {indices!r}") from None
    for index in indices:
        if index is not Ellipsis and (isinstance(index, bool) or not hasattr(index, "__index__")):
            raise InputError(f"einsum: an index is a number, or ..., not {index!r}")
    indices = [index if index is Ellipsis else index.__index__() for index in indices]
    if any(index is not Ellipsis and index < 0 for index in indices):
        raise InputError(f"einsum: an index is not negative, as in {indices}")
    return indices


@functools.lru_cache(maxsize=4096)
def _without_dots(subscripts, orders):
    """``...`` written out: for each operand the dimensions that its letters leave, the last of which belong together."""
    before, arrow, result = (part.strip() for part in subscripts.replace(" ", "").partition("->"))
    terms = before.split(",")
    if len(terms) != len(orders):
        raise InputError(f"einsum({subscripts!r}) has {len(terms)} operands, {len(orders)} are given")
    free = [letter for letter in _LETTERS if letter not in subscripts]
    lengths = []
    for term, order in zip(terms, orders):
        if "..." not in term:
            lengths.append(0)
            continue
        letters = term.replace("...", "", 1)
        if "." in letters:
            raise InputError(f"einsum({subscripts!r}): '...' stands once in {term!r}")
        if order < len(letters):
            raise InputError(f"einsum({subscripts!r}): an operand of {order} dimensions is written with {len(letters)} indices")
        lengths.append(order - len(letters))
    longest = max(lengths)
    if longest > len(free):
        raise UnsupportedError(f"einsum({subscripts!r}) stands for more than {len(_LETTERS)} indices")
    dots = "".join(free[:longest])
    written = [term.replace("...", dots[longest - length:], 1) for term, length in zip(terms, lengths)]
    if not arrow:
        counts = {}
        for letter in before.replace("...", "").replace(",", ""):
            counts[letter] = counts.get(letter, 0) + 1
        result = "..." + "".join(sorted(letter for letter, count in counts.items() if count == 1))
    elif longest and "..." not in result and any(lengths):
        raise InputError(f"einsum({subscripts!r}): the result has no '...', which its operands have")
    result = result.replace("...", dots, 1)
    if "." in result or any("." in term for term in written):
        raise InputError(f"einsum({subscripts!r}): '...' has three dots")
    return f"{','.join(written)}->{result}"


def _format(dtype, format, operands):
    """The formats that `dtype` and `format` ask for; a type alone leaves it to the plan how the result is stored."""
    if dtype is None:
        return format
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise UnsupportedError(f"dtype={dtype}: weft computes in f8 and f4 so far", option="dtype")
    given = [each for each in (getattr(operand, "dtype", None) for operand in operands) if isinstance(each, np.dtype)]  # torch has its own
    if not all(np.can_cast(each, dtype, "same_kind") for each in given):
        raise TypeError(f"dtype={dtype}: operands are of type {', '.join(map(str, given))}")
    made = {} if format is None else formats.by_name(format, ["out"], dict(zip(_NAMES, operands)))
    return {**made, "out": formats.with_scalar(made.get("out", ""), dtype)}
