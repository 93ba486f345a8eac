"""What goes wrong, as subclasses of Python's own exceptions.

Messages name operand, index, file or line, and show the place in the text. Where it is known, an error has the attributes
``operand``, ``index``, ``option`` (names, else ``""``) and ``position`` (offset, line and column in bytes, else ``None``).

>>> import weft, numpy as np
>>> try:
...     weft.evaluate("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)), x=np.ones(4))
... except ValueError as error:
...     print(error)
index j is 3 in M (mode 1) but 4 in x (mode 0)
  y(i) = M(i,j) * x(j)
             ^      ^
"""


class Error(Exception):
    """What all errors of weft have in common: ``code``, ``operand``, ``index``, ``option``, ``position``.

    >>> import weft, numpy as np
    >>> try:
    ...     weft.evaluate("y(i) = M(i,j) * x(j)", M=np.ones((2, 3)))
    ... except weft.Error as error:
    ...     error.operand, error.position
    ('x', (16, 1, 17))
    """

    code = 0
    operand = ""
    index = ""
    option = ""
    position = None

    def __init__(self, *message, operand="", option=""):
        super().__init__(*message)
        if operand:
            self.operand = operand
        if option:
            self.option = option


class InputError(Error, ValueError):
    """A text, an array or an argument is wrong.

    >>> import weft, numpy as np
    >>> weft.einsum("ij,j", np.ones((2, 3)), np.ones(4))
    Traceback (most recent call last):
    ...
    weft.errors.InputError: index j is 3 in T0 (mode 1) but 4 in T1 (mode 0)
      ij,j
       ^ ^
    """


class UnsupportedError(Error, NotImplementedError):
    """Right, but not yet done.

    >>> import weft, numpy as np
    >>> weft.einsum("i,i", np.arange(3), np.ones(3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    weft.errors.UnsupportedError: ...
    """


class ResourceError(Error, MemoryError):
    """The memory, or its limit, is exhausted.

    >>> import weft, numpy as np
    >>> with weft.options(memory_limit="1M"):
    ...     weft.einsum("i,j->ij", np.ones(1000), np.ones(1000))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    weft.errors.ResourceError: ...
    """


class InternalError(Error, RuntimeError):
    """A defect of weft; the message reproduces it.

    >>> import weft
    >>> issubclass(weft.InternalError, RuntimeError)
    True
    """


class CancelledError(Error, RuntimeError):
    """``weft.cancel()`` ended the call.

    >>> import weft
    >>> issubclass(weft.CancelledError, RuntimeError)
    True
    """
