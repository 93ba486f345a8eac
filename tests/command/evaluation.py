"""Evaluating an expression over tensors through files, and judging the result."""

from harness import Failure, require
from tensors import nonzero, npy, read_tns, same, tns


def sparse_operand(weft, name, tensor):
    """NAME=FILE:SHAPE of a .tns with the tensor's entries."""
    weft.write(f"{name}.tns", tns(tensor))
    shape = "x".join(str(extent) for extent in tensor.extents)
    return f"{name}={name}.tns:{shape}" if shape else f"{name}={name}.tns"


def dense_operand(weft, name, tensor):
    weft.write(f"{name}.npy", npy(tensor.extents, tensor.entries.values()))
    return f"{name}={name}.npy"


def result_of(weft, expression, *arguments, name="A"):
    """Runs and returns the nonzero entries of the result."""
    weft("run", expression, *arguments, "--out", f"{name}={name}.tns", "--quiet")
    text = weft.text(f"{name}.tns")
    return read_tns(text)


def require_result(found, wanted):
    """wanted: a Tensor; the zeros of a dense result are not written."""
    missing = nonzero(wanted)
    found = {at: value for at, value in found.items() if value != 0}
    if same(found, missing):
        return
    wrong = sorted(at for at in missing.keys() | found.keys()
                   if at not in found or at not in missing or not same({at: found[at]}, {at: missing[at]}))
    raise Failure(f"{len(wrong)} entries are wrong, first {wrong[0]}: found {found.get(wrong[0])}, wanted {missing.get(wrong[0])}")


def require_close(found, wanted, relative=1e-12):
    wanted = nonzero(wanted)
    require(found.keys() == wanted.keys(), f"coordinates: found {sorted(found)[:9]}, wanted {sorted(wanted)[:9]}")
    for at, value in found.items():
        require(abs(value - wanted[at]) <= relative * max(1.0, abs(wanted[at])), f"entry {at}: found {value!r}, wanted {wanted[at]!r}")
