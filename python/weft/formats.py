"""Formats as users write them: ``"A:ds"``, a list of such, or a mapping."""

import re

import numpy as np

from weft.errors import InputError


# "(i,j) -> (i:d, j:s)", or a name with or without numbers; a colon behind is that of a scalar.
_LAYOUT = re.compile(r"\(|[a-z]+\(|(csr|csc|dcsr|coo|lower|upper|dia|ell|vbl|skyline)(:f32|:f64)?$")


def with_scalar(format, dtype):
    """A format with a type of values, that of an array unless it says one.

    >>> with_scalar("bcsr(2,2)", np.dtype("f4"))
    'bcsr(2,2):f32'
    """
    if not isinstance(format, str):
        raise TypeError(f"format={format!r}: a text such as 'ds' is wanted")
    return format if format.endswith((":f32", ":f64")) else f"{format}:{'f32' if dtype == np.float32 else 'f64'}"


def settled(format):
    """Formats as a text, a list or a dict, which can be read again: an iterator gives each but once.

    >>> settled(iter(["A:ds"])), settled("ds")
    (['A:ds'], 'ds')
    """
    if format is None or isinstance(format, str):
        return format
    if hasattr(format, "keys"):
        return {name: format[name] for name in format}
    try:
        return list(format)
    except TypeError:
        raise TypeError(f"format={format!r}: a text such as 'A:ds' is wanted") from None


def by_name(format, results, operands):
    """Formats by name, or None. A format without a name is that of the only result.

    >>> by_name("A:ds:1,0", ["A"], {})
    {'A': 'ds:1,0'}
    >>> by_name("ds", ["out"], {})
    {'out': 'ds'}
    >>> by_name("bcsr(3,3)", ["out"], {})
    {'out': 'bcsr(3,3)'}
    """
    if format is None:
        return None
    format = settled(format)
    if isinstance(format, dict):
        made = format
    else:
        made = {}
        for one in [format] if isinstance(format, str) else format:
            if not isinstance(one, str):
                raise TypeError(f"format={one!r}: a text such as 'A:ds' is wanted")
            name, colon, rest = one.partition(":")
            if colon and (name in results or name in operands):
                made[name] = rest
            elif len(results) == 1 and (not set(name) - set("dsuqhb") or _LAYOUT.match(one)):
                made[results[0]] = one
            else:
                raise InputError(f"format={one!r}: {name} is neither an operand nor a result; there are "
                                 f"{', '.join([*results, *operands])}", option="format")
    unknown = [name for name in made if name not in results and name not in operands]
    if unknown:
        raise InputError(f"format: {unknown[0]} is neither an operand nor a result; there are "
                         f"{', '.join([*results, *operands])}", option="format")
    return made


def typed(formats, operands):
    """Formats with a type of values: as without a format, that of the operand, or of results f4 if all operands are that are no numbers.

    >>> import numpy as np
    >>> typed({"A": "ds", "B": "dd:f64"}, {"x": np.ones(3, "f4")})
    {'A': 'ds:f32', 'B': 'dd:f64'}
    >>> typed({"A": "d"}, {"x": np.ones(3, "f4"), "a": 2.0})
    {'A': 'd:f32'}
    """
    if formats is None:
        return None
    single = {name for name, operand in operands.items() if getattr(operand, "dtype", None) == np.float32}
    others = [name for name, operand in operands.items() if type(operand) not in (int, float)]  # numbers have no type of their own
    made = {}
    for name, format in formats.items():
        narrow = name in single if name in operands else others and len(single) == len(others)
        given = not isinstance(format, str) or format.endswith((":f32", ":f64")) or format.startswith("like(")
        made[name] = format if given or not narrow else f"{format}:f32"
    return made


def is_matrix(operand):
    """Whether it is one of scipy's matrices, for which ``*`` is the matrix product; not an array."""
    from weft.operands import kind_of

    return kind_of(type(operand)).endswith("_matrix")
