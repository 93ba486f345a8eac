"""numpy's ufuncs and functions over tensors: weft's own where it has them, else numpy's on dense arrays."""

import numpy as np

from weft.errors import UnsupportedError

# Ufuncs of one operand that give 0 for 0, so that entries which are not stored stay so.
_ZERO_AT_ZERO = {np.absolute, np.fabs, np.sqrt, np.cbrt, np.square, np.sign, np.floor, np.ceil, np.rint, np.trunc, np.expm1, np.log1p,
                 np.sin, np.tan, np.arcsin, np.arctan, np.sinh, np.tanh, np.arcsinh, np.arctanh, np.deg2rad, np.rad2deg}
_OF_WEFT = {}  # numpy's functions, by what they are here; see weft/tensors.py
_OPERATORS = {}  # ufuncs likewise
# numpy's own implementation asks for attributes and methods that tensors have.
_BY_ATTRIBUTES = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.transpose, np.sum, np.mean, np.max, np.min, np.amax,
                  np.amin, np.any, np.all}


def is_dense(operand):
    """Whether all elements of an operand are there, for numpy to read where they lie."""
    from weft.tensors import Tensor

    return operand._dense() is not None if isinstance(operand, Tensor) else isinstance(operand, np.ndarray)


def unsupported(what, tensor):
    """The error for what weft does not do with a sparse tensor, with the ways to what does."""
    ways = "T.to_scipy() and T.to_numpy() give what has it" if tensor.ndim == 2 else "T.to_numpy() gives an array, T.to_coo() its entries"
    return UnsupportedError(f"{what} of sparse tensors is not supported yet; {ways}")


def arrays(what, operands, error=unsupported):
    """Operands, some in lists, as numpy's own. A sparse tensor is made dense only beside a dense operand of its shape, since
    the result is as large."""
    from weft.tensors import Tensor

    def leaves(each):
        return [leaf for one in each for leaf in leaves(one)] if type(each) in (list, tuple) else [each]

    shapes = [each.shape for each in leaves(operands) if is_dense(each)]

    def plain(each):
        if type(each) in (list, tuple):
            return type(each)(map(plain, each))
        if not isinstance(each, Tensor):
            return each
        if not is_dense(each) and each.shape not in shapes:
            raise error(what, each)
        return each.to_numpy()

    return plain(operands)


def ufunc(function, method, inputs, options):
    """What ``Tensor.__array_ufunc__`` gives."""
    from weft.tensors import Tensor

    if method == "__call__" and not options:
        made = _OPERATORS[function](*inputs) if function in _OPERATORS else NotImplemented
        if made is not NotImplemented:
            return made
        if function in _ZERO_AT_ZERO and not is_dense(inputs[0]):
            return inputs[0]._with_values(function)
    if any(isinstance(out, Tensor) for out in options.get("out", ())):
        raise TypeError("out= is a weft.Tensor, which does not change")
    return getattr(function, method)(*arrays(f"numpy.{function.__name__}", inputs), **options)


def _refused(what, _):
    return TypeError(f"{what} does not take sparse tensors of weft; T.to_numpy() makes one dense")


def function(called, arguments, options):
    """What ``Tensor.__array_function__`` gives: over sparse tensors no function of numpy runs that would make them dense."""
    if called in _OF_WEFT:
        return _OF_WEFT[called](*arguments, **options)
    if called in _BY_ATTRIBUTES:
        return called._implementation(*arguments, **options)
    arguments, given = arrays(f"{called.__module__}.{called.__name__}", (arguments, tuple(options.values())), _refused)
    return called(*arguments, **dict(zip(options, given)))
