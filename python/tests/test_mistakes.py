"""Wrong input: the right exception, one sentence that names what is wrong, nothing crashed, and the next call is fine."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import weft

SPMV = "y(i) = M(i,j) * x(j)"
M = sp.random(6, 5, 0.5, format="csr", random_state=1)
M.data = np.arange(1.0, M.nnz + 1)
X = np.arange(5.0)


@pytest.fixture(autouse=True)
def next_call_is_fine():
    yield
    assert np.array_equal(weft.evaluate(SPMV, M=M, x=X), M @ X)


def refused(match, call, error=weft.InputError):
    with pytest.raises(error, match=match) as caught:
        call()
    return caught.value


def calls(**operands):
    """The same mistake in every way of calling."""
    kernel = weft.compile(SPMV, M=M, x=X)
    return [lambda: weft.evaluate(SPMV, **operands), lambda: kernel(**operands), lambda: weft.plan(SPMV, **operands),
            lambda: weft.compile(SPMV, **operands), lambda: kernel(operands), lambda: weft.evaluate(SPMV, operands)]


def test_operands_that_are_missing_or_unknown():
    for call in calls(M=M):
        assert refused(r"\bx\b", call).operand == "x"
    for call in calls(M=M, x=X, z=X):
        assert "z" in str(refused(r"M|x", call))
    for call in calls(M=M, X=X):
        refused("x", call)
    refused("S", lambda: weft.evaluate(SPMV, M=M, x=X, results=["S"]))
    refused("z", lambda: weft.evaluate(SPMV, M=M, x=X, format="z:ds"))
    refused("z", lambda: weft.evaluate(SPMV, M=M, x=X, format={"z": "ds"}))
    refused("mapping", lambda: weft.compile(SPMV, M=M, x=X)(M, X), TypeError)
    refused("", lambda: weft.evaluate(SPMV, 3), TypeError)
    refused("text", lambda: weft.evaluate(3, M=M), TypeError)
    refused("text", lambda: weft.evaluate(None, M=M), TypeError)
    refused("text", lambda: weft.compile(b"s = M(i,j)", M=M), TypeError)


def test_extents_that_disagree():
    for call in calls(M=M, x=np.ones(6)):
        message = str(refused("index j", call))
        assert "5 in M (mode 1)" in message and "6 in x (mode 0)" in message
    refused("index j", lambda: weft.einsum("ij,j", M, np.ones(4)))
    refused("i", lambda: weft.einsum("ii", M))


def test_numbers_of_dimensions():
    for call in calls(M=M, x=np.ones((5, 1))):
        refused("x", call)
    for call in calls(M=X, x=X):
        refused("M", call)
    for call in calls(M=M, x=3.0):
        refused("x", call)
    refused("", lambda: weft.evaluate("s = T()", T=np.ones((1,) * 20)))


def test_lists():
    refused("x", lambda: weft.evaluate("s = x(i)", x=[[1.0, 2], [3]]), (weft.InputError, TypeError))
    refused("x", lambda: weft.evaluate("s = x(i)", x=["a"]), TypeError)
    refused("x", lambda: weft.evaluate("s = x(i)", x=[None]), (weft.InputError, TypeError))
    assert weft.evaluate("s = x(i)", x=[1.5, 2.5]) == 4
    assert weft.evaluate("s = x(i,j)", x=((1.5, 2.5), (1.0, 0.0))) == 5


def test_text_that_cannot_be_read():
    error = refused(r"\^", lambda: weft.evaluate("y(i) = M(i,j", M=M))
    assert error.position is not None and error.position[1] == 1
    refused(r"\^", lambda: weft.evaluate("y(i) = M(i,j) * ", M=M))
    refused("", lambda: weft.evaluate("", M=M))
    refused("", lambda: weft.evaluate("y(i) = M(i,j) \0 x(j)", M=M, x=X), ValueError)
    refused("", lambda: weft.evaluate("y(i) = M(i,j) * \ud800(j)", M=M, x=X), ValueError)
    refused("", lambda: weft.evaluate("y(i) = M(i,j) + x(i)", M=M, x=np.ones(6)), NotImplementedError)


def broken(indptr=None, indices=None, data=None, shape=None, columns=False):
    made = (sp.csc_matrix if columns else sp.csr_matrix)(M)
    for name, value in {"indptr": indptr, "indices": indices, "data": data}.items():
        if value is not None:
            setattr(made, name, value(getattr(made, name).copy()))
    if shape is not None:
        made._shape = shape
    return made


def changed(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("defect", [
    {"indptr": changed(2, 90)}, {"indptr": changed(2, -1)}, {"indptr": changed(0, 1)}, {"indptr": changed(-1, 1000)},
    {"indptr": changed(-1, -4)}, {"indptr": changed(1, 2**30)}, {"indptr": lambda a: a[:-1]}, {"indptr": lambda a: a[:0]},
    {"indices": changed(3, 77)}, {"indices": changed(0, -1)}, {"indices": changed(-1, 2**31 - 1)}, {"indices": lambda a: a[:-1]},
    {"data": lambda a: a[:-1]}, {"data": lambda a: a[:0]}, {"shape": (5, 4)}, {"shape": (3, 2)},
    {"indptr": lambda a: a[::-1]}, {"indices": lambda a: a.reshape(1, -1)}, {"data": lambda a: a.reshape(-1, 1)},
], ids=str)
def test_defects_of_compressed_matrices(defect, index, columns):
    bad = broken(columns=columns, **defect)
    if bad.indices.ndim == 1:
        bad.indices, bad.indptr = bad.indices.astype(index), bad.indptr.astype(index)
    text = "s = M(i,j)"
    kernel = weft.compile(text, M=sp.csr_matrix(M))
    for call in (lambda: weft.evaluate(text, M=bad), lambda: kernel(M=bad), lambda: weft.einsum("ij->", bad), lambda: weft.tensor(bad)):
        refused("M|T0|the tensor", call)


def test_indices_of_other_types():
    bad = M.copy()
    bad.indices = bad.indices.astype(float)
    refused("integers", lambda: weft.evaluate("s = M(i,j)", M=bad), TypeError)
    good = M.copy()
    good.indices, good.indptr = good.indices.astype(np.int16), good.indptr.astype(np.uint8)
    assert weft.evaluate("s = M(i,j)", M=good) == M.sum()
    mixed = M.copy()
    mixed.indptr = mixed.indptr.astype(np.int64)
    assert weft.evaluate("s = M(i,j)", M=mixed) == M.sum()
    strided = M.copy()
    strided.data = np.repeat(M.data, 2)[::2]
    assert weft.evaluate("s = M(i,j)", M=strided) == M.sum()


def outs():
    read_only = np.empty(6)
    read_only.flags.writeable = False
    return {"longer": np.empty(7), "order": np.empty((6, 1)), "integers": np.empty(6, int), "complex": np.empty(6, complex),
            "half": np.empty(6, "f2"), "read-only": read_only, "sparse": sp.csr_matrix((6, 1)), "list": [0.0] * 6, "text": "y", "number": 3,
            "tensor": weft.tensor(np.empty(6)), "coincide": np.lib.stride_tricks.as_strided(np.empty(6), (6,), (0,)),
            "objects": np.empty(6, object), "tuple": (np.empty(6),), "dict": {"y": np.empty(6)}}


@pytest.mark.parametrize("name", list(outs()))
def test_outs_that_cannot_be(name):
    out = outs()[name]
    kernel = weft.compile(SPMV, M=M, x=X)
    for call in (lambda: weft.evaluate(SPMV, M=M, x=X, out=out), lambda: kernel(M=M, x=X, out=out),
                 lambda: weft.einsum("ij,j->i", M, X, out=out)):
        refused("out", call)


def test_outs_that_overlap_operands():
    square = np.arange(25.0).reshape(5, 5)
    kernel = weft.compile(SPMV, M=square, x=X)
    for x, out in [(X, X), (square[0], square[:, 0]), (X[::-1], X), (square[2], np.empty(5))]:
        operands = {"M": square, "x": x}
        if np.shares_memory(out, square) or np.shares_memory(out, x):
            refused("overlaps", lambda: kernel(operands, out=out))
            refused("overlaps", lambda: weft.evaluate(SPMV, operands, out=out))
        else:
            assert np.array_equal(kernel(operands, out=out), square @ x)
    both = np.arange(10.0)
    assert np.array_equal(kernel(M=square, x=both[::2], out=both[1::2]), square @ [0, 2, 4, 6, 8])
    assert both[2] == 2 and both[3] == (square @ [0, 2, 4, 6, 8])[1]
    S = sp.csr_matrix(square)
    refused("overlaps", lambda: kernel(M=S, x=X, out=S.data[:5]))
    refused("overlaps", lambda: kernel(M=weft.tensor(square), x=X, out=square[0]))
    text = "a(i) = M(i,j) * x(j); b(i) = 2 * M(i,j) * x(j)"
    one = np.empty(5)
    refused("overlaps", lambda: weft.evaluate(text, M=square, x=X, results=["a", "b"], out=(one, one)))
    refused("2 results", lambda: weft.evaluate(text, M=square, x=X, results=["a", "b"], out=(one,)))
    refused("c", lambda: weft.evaluate(text, M=square, x=X, results=["a", "b"], out={"c": one}))


@pytest.mark.parametrize("turned", [lambda S: S, lambda S: S.T, lambda S: S[::-1], lambda S: S.view(">f8")])
def test_outs_that_overlap_each_other(turned):
    square, text, names = np.arange(9.0).reshape(3, 3), "S(i,j) = X(i,k) * X(k,j); r(i) = S(i,j)", ["S", "r"]
    kernel = weft.compile(text, X=square, results=names)
    S = np.zeros((3, 3))
    for r in (S[0], S[:, 1], S.reshape(-1)[5:8]):
        for call in (lambda out: weft.evaluate(text, X=square, results=names, out=out), lambda out: kernel(X=square, out=out)):
            refused("out= for r overlaps", lambda: call({"S": turned(S), "r": r}))
            refused("out= for r overlaps", lambda: call((turned(S), r)))
    made = kernel(X=square, out={"S": turned(S), "r": (r := np.zeros(3))})
    assert made.r is r and np.array_equal(turned(S), square @ square) and np.array_equal(r, (square @ square).sum(1))


def test_outs_over_indices():
    wide = lambda made, *arrays: [setattr(made, array, getattr(made, array).astype(np.int64)) for array in arrays]  # noqa: E731
    for kind, arrays in (("csr", ("indices", "indptr")), ("csc", ("indices", "indptr")), ("coo", ("row", "col")), ("dia", ("offsets",))):
        made = getattr(sp, f"{kind}_array")(np.eye(4))
        wide(made, *arrays)
        for array in arrays:
            before = getattr(made, array).copy()
            out = getattr(made, array).view(np.float64)[:1].reshape(())
            refused("overlaps", lambda: weft.einsum("ij->", made, out=out))
            assert np.array_equal(getattr(made, array), before)


def test_errors_name_operand_and_option(tmp_path):
    assert refused("T0", lambda: weft.einsum("i,i", np.ones(3, int), X[:3]), weft.UnsupportedError).operand == "T0"
    assert refused("x", lambda: weft.evaluate(SPMV, M=M, x=np.ones(5, complex)), weft.UnsupportedError).operand == "x"
    assert refused("x", lambda: weft.evaluate(SPMV, M=M, x=[[1.0], [2.0, 3.0]])).operand == "x"
    assert refused("the tensor", lambda: weft.tensor(2**60)).operand == ""
    for out in (np.empty(7), np.empty(6, int), 3, sp.csr_array((6, 1)), weft.tensor(np.empty(6)), np.broadcast_to(1.0, 6), M.data[:6]):
        error = refused("out", lambda: weft.evaluate(SPMV, M=M, x=X, out=out))
        assert (error.operand, error.option) == ("y", "out")
    error = refused("sparse", lambda: weft.evaluate("C(i,j) = 2 * M(i,j)", M=M, format="C:ds", out=np.empty((6, 5))))
    assert (error.operand, error.option) == ("C", "out")
    for option in ({"threads": 0}, {"threads": "two"}, {"memory_limit": "lots"}, {"memory_limit": -3}, {"verify": "never"}):
        assert refused("", lambda: weft.Engine(**option)).option == next(iter(option))
    for option, value in [("format", "z:d"), ("format", {"z": "d"}), ("format", "y:dd"), ("format", "y:xx"), ("results", ["z"]), ("results", ["y", "y"]),
                          ("calls", 0), ("calls", np.nan), ("tree", "(q"), ("schedule", "nonsense")]:
        for call in (weft.evaluate, weft.compile, weft.plan):
            assert refused("", lambda: call(SPMV, M=M, x=X, **{option: value})).option == option
    two = "a(i) = x(i); b(i) = x(i)"
    for out in ([X], {"c": X}):
        assert refused("out", lambda: weft.evaluate(two, x=X, results=["a", "b"], out=out)).option == "out"
    refused("out", lambda: weft.evaluate(two, x=X, results=["a", "b"], out=3), TypeError)
    refused("results=3", lambda: weft.evaluate(two, x=X, results=3), TypeError)
    (tmp_path / "t.tns").write_text("1 2\n")
    for option, call in [("dtype", lambda: weft.einsum("i", X, dtype=int)), ("dtype", lambda: weft.read(tmp_path / "t.tns", dtype=int)),
                         ("shape", lambda: weft.tensor(X, shape=(2, 2))), ("shape", lambda: weft.tensor(X, shape=-1)), ("fill", lambda: weft.tensor(X, fill=1)),
                         ("axes", lambda: weft.tensor(np.eye(2)).transpose(0)), ("axis", lambda: weft.tensor(np.eye(2)).sum((0, 0))),
                         ("semiring", lambda: weft.einsum("i", X, semiring="min.plus"))]:
        assert refused("", call, weft.Error).option == option
    error = pickle.loads(pickle.dumps(refused("", lambda: weft.Engine(threads=0))))
    assert type(error) is weft.InputError and error.option == "threads" and "from 1" in str(error)


def test_operands_that_are_given_twice_or_in_no_mapping():
    kernel = weft.compile(SPMV, M=M, x=X)
    both = {"M": M, "x": X}
    for call in (weft.evaluate, weft.compile, weft.plan):
        assert refused("x is given twice", lambda: call(SPMV, both, x=2 * X)).operand == "x"
        for wrong in ([M, X], [("M", M), ("x", X)], 3, "Mx"):
            refused("one mapping", lambda: call(SPMV, wrong), TypeError)
    assert refused("x is given twice", lambda: kernel(both, x=2 * X)).operand == "x"
    for wrong in ([M, X], [("M", M), ("x", X)], 3, "Mx"):
        refused("one mapping", lambda: kernel(wrong), TypeError)


def test_lines_to_write_are_those_of_the_object():
    refused(r"T0=np\.real\(T0\) and T0=np\.imag\(T0\)", lambda: weft.einsum("i->", [1j, 2]), weft.UnsupportedError)
    refused(r"x=x\.real and x=x\.imag", lambda: weft.evaluate("s = x(i)", x=np.ones(2, complex)), weft.UnsupportedError)
    refused(r"x=x\.real\.astype\(float\)", lambda: weft.evaluate("s = x(i)", x=np.ones(2, np.clongdouble)), weft.UnsupportedError)
    refused(r"write float\(number\)$", lambda: weft.tensor(2**60))
    refused("weft.Tensor, which does not change", lambda: weft.evaluate(SPMV, M=M, x=X, out=weft.tensor(np.zeros(6))))


def test_sparse_results_have_no_out():
    refused("sparse", lambda: weft.evaluate("C(i,j) = 2 * M(i,j)", M=M, format="C:ds", out=np.empty((6, 5))))
    refused("sparse", lambda: weft.evaluate("C(i,j) = 2 * M(i,j)", M=M, format="C:ds", out=M))


@pytest.mark.parametrize("format", ["C:xy", "C:d", "C:dds", "C:ds:0", "C:ds:0,0", "C:ds:f16", "C", "ds:9,1", "", "C:",
                                    7, {"C": 7}, {"C": None},
                                    "M:sss", ["C:ds", 3]])
def test_formats_that_are_none(format):
    refused("", lambda: weft.evaluate("C(i,j) = 2 * M(i,j)", M=M, format=format), (weft.InputError, TypeError, weft.UnsupportedError))


def test_options_that_cannot_be():
    for option in ({"threads": 0}, {"threads": -1}, {"threads": 2.5}, {"threads": True}, {"memory_limit": "lots"}, {"memory_limit": -3},
                   {"threads": "two"}):
        refused("", lambda: weft.Engine(**option))
        refused("", lambda: weft.options(**option))
    refused("", lambda: weft.Engine(colour="red"), TypeError)
    refused("", lambda: weft.evaluate(SPMV, M=M, x=X, tree="(M *"))
    refused("", lambda: weft.evaluate(SPMV, M=M, x=X, schedule="nonsense"))
    refused("", lambda: weft.evaluate(SPMV, M=M, x=X, calls=-1))
    refused("", lambda: weft.evaluate(SPMV, M=M, x=X, calls="often"), (TypeError, ValueError))


def test_a_limit_of_memory():
    engine = weft.Engine(memory_limit="1M", threads=1)
    error = refused("memory|limit", lambda: engine.evaluate("C(i,j) = a(i) * b(j)", a=np.ones(3000), b=np.ones(3000)), MemoryError)
    assert isinstance(error, weft.ResourceError)
    assert engine.evaluate("s = a(i)", a=np.ones(10)) == 10


def test_files(tmp_path):
    refused("", lambda: weft.read(tmp_path / "none.tns"), FileNotFoundError)
    (tmp_path / "bad.tns").write_text("1 1 2\n1 x 3\n")
    message = str(refused("bad.tns", lambda: weft.read(tmp_path / "bad.tns")))
    assert "2" in message
    (tmp_path / "empty.tns").write_text("")
    message = str(refused("shape", lambda: weft.read(tmp_path / "empty.tns")))
    assert "such as shape=(100, 200)" in message and "tns:100" not in message
    assert weft.read(tmp_path / "empty.tns", shape=(3, 2)).shape == (3, 2)
    for format in (3, ["ds"]):
        refused("a text such as 'ds'", lambda: weft.read(tmp_path / "empty.tns", format=format), TypeError)
    refused("no-such", lambda: weft.read(tmp_path / "no-such.npz:a"), FileNotFoundError)
    refused("no-such", lambda: weft.read(f"tns:{tmp_path}/no-such"), FileNotFoundError)
    refused("", lambda: weft.write(tmp_path / "x.xyz", X))
    refused("", lambda: weft.read(3), TypeError)
    refused("", lambda: weft.read(tmp_path / "bad.tns", dtype=int), weft.InputError)
    refused("", lambda: weft.read(tmp_path / "bad.tns", shape="ab"), weft.InputError)


@pytest.mark.parametrize("number", [np.int64(3), np.int8(3), np.uint64(3), np.float16(3), np.longdouble(3), np.float32(3),
                                    np.float64(3), 3])
def test_single_numbers_of_numpy_are_taken_as_those_of_python(number):
    x = np.arange(3.0)
    assert weft.evaluate("y(i) = a * x(i)", a=number, x=x).tolist() == [0, 3, 6]
    T = weft.sparse(4, 4, nnz=3, dtype="f4")
    assert np.array_equal(np.asarray(T * number), 3 * T.toarray())


def test_types_of_arrays_that_weft_has_not_come_with_the_line_to_write():
    for array in (np.ones(3, np.float16), np.ones(3, np.longdouble), np.ones(3, object)):
        refused("write x=x.astype\\(float\\)", lambda: weft.evaluate("y(i) = x(i)", x=array), TypeError)
        refused("write T0=T0.astype\\(float\\)", lambda: weft.einsum("i->i", array), TypeError)
    refused("lose digits", lambda: weft.evaluate("y(i) = a * x(i)", a=np.int64(2**53 + 1), x=np.ones(3)))
    refused("write a=float", lambda: weft.evaluate("y(i) = a * x(i)", a=np.bool_(True), x=np.ones(3)), weft.UnsupportedError)


def test_integers_that_lose_digits():
    for call in (lambda: weft.tensor(([2**53 + 1], ([0], [0]))), lambda: weft.tensor((np.array([-2**60]), ([0], [0]))),
                 lambda: weft.einsum(",->", 2**53 + 1, 1.0), lambda: weft.tensor(np.eye(2)) * (2**53 + 1), lambda: weft.einsum(",->", 10**400, 1.0)):
        refused("lose digits", call)
    assert weft.tensor(([2**53, -2**53], ([0, 1], [0, 0])))[0, 0] == 2**53 and weft.einsum(",->", 2**53, 1.0) == 2**53


def test_texts_with_a_null_character(tmp_path):
    for call in (lambda: weft.evaluate("y(i) = x(i)\0 * 2", x=X), lambda: weft.einsum("i->i\0x", X), lambda: weft.tensor(X).convert("s\0x"),
                 lambda: weft.einsum("i,i->", X, X, tree="(T0 * T1)\0x"), lambda: weft.write(str(tmp_path / "a.npy\0b.tns"), X),
                 lambda: weft.Engine(cache_dir="a\0b"), lambda: weft.evaluate("y(i) = x(i)", {"x\0": X})):
        refused("null", call, ValueError)
    assert not list(tmp_path.iterdir())


def test_axes_and_indices():
    T = weft.tensor(np.eye(3))
    for axis in (0, 0), (0, -2):
        refused("twice", lambda: T.sum(axis))
    for key in True, np.True_, np.array([0, 1]), np.array([True, False, True]), (0, [1]):
        refused("an index is an integer", lambda: T[key], TypeError)
    refused("not negative", lambda: weft.einsum(X, [-1], [-1]))
    for call in (lambda: T.sum(dtype="f4"), lambda: T.mean(out=np.empty(3)), lambda: weft.sparse(3, 3, nnz=1, dtype=int),
                 lambda: weft.uniform(3, dtype="f2")):
        refused("dtype", call, weft.UnsupportedError)


def test_options_of_engines():
    for threads in (0, -1, 4097, 2**32, 2**32 + 3, True, 1.5, "2"):
        refused("from 1 to 4096", lambda: weft.Engine(threads=threads))
    for limit in (-1, 2**70, True, "many", 1.5):
        refused("a number of bytes", lambda: weft.Engine(memory_limit=limit))
    assert weft.Engine(threads=np.int64(2), memory_limit=np.int64(10**9)).threads == 2


def test_names_and_formats_of_results():
    assert weft.evaluate("_a(i) = x(i)", x=X, format={"_a": "s"}).format == "s:0"
    assert np.array_equal(weft.evaluate("_a(i) = x(i); class = _a(i)", x=X, results=["_a", "class"])[0], X)
    refused("twice", lambda: weft.evaluate("a(i) = x(i)", x=X, results=["a", "a"]))
    for format in "ds", "ds:f32", ["out:ds"], {"out": "ds"}:
        assert weft.einsum("ij->ij", M, dtype="f4", format=format).dtype == np.float32
    assert weft.einsum("ij->ij", M, dtype="f4", format="T0:ds").dtype == np.float32
    refused("a text is wanted", lambda: weft.evaluate("y(i) = x(i)", {1: X}), TypeError)
    refused("a text is wanted", lambda: weft.evaluate("y(i) = x(i)", x=X, format={"y": 5}), TypeError)
    refused("write array=array.astype", lambda: weft.tensor(np.arange(3)), weft.UnsupportedError)


def test_starts_beyond_the_entries():
    S = sp.csr_array(np.eye(3))
    S.indptr[1] = 9
    refused("S: indptr is 9 after row 0, beyond its end at 3", lambda: weft.evaluate("y(i) = S(i,j)", S=S))


def test_empty_fields_of_records_are_arrays():
    for shape in [(0, 3), (3, 0), (0,)]:
        field = np.zeros(shape, [("p", "i1"), ("x", "f8")])["x"]
        assert weft.einsum("ij->i" if len(shape) == 2 else "i->i", field).shape == shape[:1]
        assert weft.tensor(field).shape == shape
