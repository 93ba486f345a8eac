"""Formats as users write them: ``"A:ds"``, a list of such, or a mapping."""

from weft.errors import InputError


def by_name(format, results, operands):
    """Formats by name, or None. A format without a name is that of the only result.

    >>> by_name("A:ds:1,0", ["A"], {})
    {'A': 'ds:1,0'}
    >>> by_name("ds", ["out"], {})
    {'out': 'ds'}
    """
    if format is None:
        return None
    if hasattr(format, "keys"):
        made = {name: format[name] for name in format}
    else:
        made = {}
        for one in [format] if isinstance(format, str) else format:
            if not isinstance(one, str):
                raise TypeError(f"format={one!r}: a text such as 'A:ds' is wanted")
            name, colon, rest = one.partition(":")
            if colon and (name in results or name in operands):
                made[name] = rest
            elif len(results) == 1 and not set(name) - set("dsuqhb"):
                made[results[0]] = one
            else:
                raise InputError(f"format={one!r}: {name} is neither an operand nor a result; there are "
                                 f"{', '.join([*results, *operands])}")
    unknown = [name for name in made if name not in results and name not in operands]
    if unknown:
        raise InputError(f"format: {unknown[0]} is neither an operand nor a result; there are "
                         f"{', '.join([*results, *operands])}")
    return made


def is_matrix(operand):
    """Whether it is one of scipy's matrices, for which ``*`` is the matrix product; not an array."""
    from weft.operands import kind_of

    return kind_of(type(operand)).endswith("_matrix")
