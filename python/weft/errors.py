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
    """What all errors of weft have in common."""

    code = 0
    operand = ""
    index = ""
    option = ""
    position = None


class InputError(Error, ValueError):
    """A text, an array or an argument is wrong."""


class UnsupportedError(Error, NotImplementedError):
    """Right, but not yet done."""


class ResourceError(Error, MemoryError):
    """The memory, or its limit, is exhausted."""


class InternalError(Error, RuntimeError):
    """A defect of weft; the message reproduces it."""


class CancelledError(Error, RuntimeError):
    """``weft.cancel()`` ended the call."""
