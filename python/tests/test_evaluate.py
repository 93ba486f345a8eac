"""Index notation: evaluate, compile, plan, out=, several results."""

import pathlib
import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import weft

SPMV = "y(i) = M(i,j) * x(j)"


def test_product_of_a_csr_and_a_vector(matrix):
    x = np.arange(20.0)
    y = weft.evaluate(SPMV, M=matrix, x=x)
    assert type(y) is np.ndarray and y.flags.owndata and y.flags.writeable
    assert np.array_equal(y, matrix @ x)


@pytest.mark.parametrize("text, result", [("ij,j->i M x", "out"), ("y = ij,j->i M x", "y"), ("y = ij,j->i", "y"), ("ij,j->i", "out"),
                                          ("y = ij,j M x", "y"), ("ij,j->i\tM\nx ", "out")])
def test_einsum_with_names(matrix, text, result):
    named = "M" in text
    x = np.arange(20.0)
    operands = {"M": matrix, "x": x} if named else {"T0": matrix, "T1": x}
    assert np.array_equal(weft.evaluate(text, operands), matrix @ x)
    kernel = weft.compile(text, operands)
    assert kernel.operands == tuple(operands) and kernel.results == {result: "d"}
    assert np.array_equal(kernel(operands), matrix @ x)
    x[0] = 7  # values of arrays may change between calls
    assert np.array_equal(kernel(operands), matrix @ x)
    assert np.array_equal(weft.evaluate(text, operands, results=[result])[0], matrix @ x)
    plan = weft.plan(text, operands)
    assert plan.tree == ("(M * x)" if named else "(T0 * T1)") and list(plan.report["results"]) == [result]


def test_einsum_names_are_missed_with_their_place(matrix):
    with pytest.raises(weft.InputError, match=r"no tensor is named N; given and not used: M\n  y = ij,j->i N x\n +\^") as raised:
        weft.evaluate("y = ij,j->i N x", M=matrix, x=np.ones(20))
    assert raised.value.operand == "N"
    with pytest.raises(weft.InputError, match="stand behind it, as in ij,jk->ik A B"):
        weft.evaluate("ij,j->i", M=matrix, x=np.ones(20))


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "dok_matrix", "bsr_matrix", "dia_matrix",
                                  "csr_array", "csc_array", "coo_array"])
def test_every_class_of_scipy(matrix, kind):
    M = getattr(sp, kind)(matrix)
    before = M.copy()
    assert np.array_equal(weft.evaluate(SPMV, M=M, x=np.arange(20.0)), matrix @ np.arange(20.0))
    assert type(M) is type(before) and np.array_equal(M.toarray(), before.toarray())


def test_operands_in_a_mapping_and_by_keyword(matrix):
    x = np.ones(20)
    assert np.array_equal(weft.evaluate(SPMV, {"M": matrix, "x": x}), matrix @ x)
    assert np.array_equal(weft.evaluate(SPMV, {"M": matrix}, x=x), matrix @ x)
    kernel = weft.compile(SPMV, {"M": matrix}, x=x)
    assert np.array_equal(kernel({"M": matrix, "x": x}), matrix @ x)
    assert np.array_equal(kernel({"M": matrix}, x=x), matrix @ x)


def test_nothing_is_taken_from_the_caller(matrix):
    x = np.ones(20)  # noqa: F841
    M = matrix  # noqa: F841
    with pytest.raises(weft.InputError, match="M"):
        weft.evaluate(SPMV)


def test_kernel_takes_other_arrays_of_the_same_orders(matrix):
    x = np.arange(20.0)
    kernel = weft.compile(SPMV, M=matrix, x=x)
    for rows, columns in [(30, 20), (7, 20), (1, 1), (50, 3), (0, 4), (4, 0)]:
        for make in (sp.csr_matrix, sp.csc_matrix, lambda a: a, np.asfortranarray, lambda a: a[::-1][::-1], weft.tensor):
            dense = np.arange(float(rows * columns)).reshape(rows, columns) % 5
            v = np.arange(float(columns))
            assert np.array_equal(kernel(M=make(dense), x=v), dense @ v)


def test_values_changed_in_place_are_seen(matrix):
    x, y = np.arange(20.0), np.empty(30)
    kernel = weft.compile(SPMV, M=matrix, x=x)
    for step in range(5):
        x += step
        matrix.data *= 2
        kernel(M=matrix, x=x, out=y)
        assert np.array_equal(y, matrix @ x)
        assert np.array_equal(weft.evaluate(SPMV, M=matrix, x=x), y)
        assert np.array_equal(weft.einsum("ij,j->i", matrix, x), y)


def test_values_that_become_nan_or_infinite_are_seen(matrix):
    x = np.arange(20.0)
    kernel = weft.compile(SPMV, M=matrix, x=x)
    kernel(M=matrix, x=x)
    x[3] = np.nan
    assert np.array_equal(kernel(M=matrix, x=x), matrix @ x, equal_nan=True)
    matrix.data[0] = np.inf
    assert np.array_equal(kernel(M=matrix, x=x), matrix @ x, equal_nan=True)


@pytest.mark.parametrize("out", [np.empty(30), np.empty(60)[::2], np.empty(30)[::-1], np.empty(30, "f4"), np.empty(30, ">f8"),
                                 np.empty((30, 4))[:, 1], np.empty(31 * 8, np.uint8)[1:241].view("f8")])
def test_out_of_any_strides_and_types(matrix, out):
    x = np.arange(20.0)
    assert weft.evaluate(SPMV, M=matrix, x=x, out=out) is out
    assert np.array_equal(out, (matrix @ x).astype(out.dtype))
    kernel = weft.compile(SPMV, M=matrix, x=x)
    out[...] = 0
    assert kernel(M=matrix, x=x, out=out) is out
    assert np.array_equal(out, (matrix @ x).astype(out.dtype))


def test_several_results(matrix):
    B = np.arange(40.0).reshape(20, 2)
    text = "S(i,j) = 2 * M(i,j); O(i,h) = S(i,j) * B(j,h)"
    both = weft.evaluate(text, M=matrix, B=B, results=["S", "O"])
    assert both._fields == ("S", "O") and np.array_equal(both.O, 2 * (matrix @ B))
    assert np.array_equal(weft.evaluate(text, M=matrix, B=B, results=["O", "S"], format="S:dd").S, 2 * matrix.toarray())
    assert np.array_equal(weft.evaluate(text, M=matrix, B=B), 2 * (matrix @ B))
    O, S = np.empty((30, 2)), np.empty((30, 20))
    text = "S(i,j) = 2 * D(i,j); O(i,h) = S(i,j) * B(j,h)"
    D = matrix.toarray()
    for out in [(S, O), {"S": S, "O": O}, {"O": O}]:
        O[...] = S[...] = -1
        got = weft.evaluate(text, D=D, B=B, results=["S", "O"], out=out)
        assert got.O is O and np.array_equal(O, 2 * (D @ B)) and np.array_equal(got.S, 2 * D)


def test_results_are_matrices_if_an_operand_is_one_whatever_it_is_read_as():
    entries, shape = ([1.0], ([9999], [0])), (10000, 1)  # nearly empty rows are read as a tensor
    for kind, wanted in ((sp.coo_matrix, sp.csr_matrix), (sp.coo_array, sp.csr_array), (sp.dok_matrix, sp.csr_matrix)):
        M = kind(sp.coo_matrix(entries, shape=shape))
        for _ in range(2):
            assert type(weft.einsum("ij->ij", M, format="ds")) is wanted
            assert type(weft.evaluate("S(i,j) = M(i,j)", M=M, format="S:ds")) is wanted
        assert type(weft.compile("S(i,j) = M(i,j)", M=M, format="S:ds")(M=M)) is wanted


@pytest.mark.parametrize("number", [2, 2.0, 0.1, np.int64(2), np.int8(2), np.uint16(2)])
def test_numbers_have_the_type_of_the_other_operands(number):
    for dtype in ("f4", "f8"):
        x, S = np.arange(3, dtype=dtype), sp.random(20, 30, 0.3, format="csr", dtype=dtype, random_state=1)
        for made in (weft.einsum("i,->i", x, number), weft.einsum(",i", number, weft.tensor(x)), weft.evaluate("y(i) = a * x(i)", x=x, a=number)):
            assert made.dtype == dtype and np.array_equal(made, x * x.dtype.type(number))
        for format in ("S:ds", "S:dd", "S:ss", None):
            made = weft.evaluate("S(i,j) = a * M(i,j)", M=S, a=number, format=format)
            assert made.dtype == dtype
        assert weft.evaluate("y(i) = a * x(i) * b(i)", x=x, a=number, b=np.ones(3)).dtype == np.float64
        assert weft.einsum("i,->i", x, number, dtype="f8").dtype == np.float64
        kernel = weft.compile("y(i) = a * x(i)", x=x, a=number)
        other = np.arange(5, dtype="f4" if dtype == "f8" else "f8")
        for each in (x, other, x):
            assert np.allclose(kernel(x=each, a=number), each * number) and np.allclose(kernel(x=each, a=number + 1), each * (number + 1))
        assert weft.plan("y(i) = a * x(i)", x=x, a=number, run=True).report["results"]["y"]["bytes"] == x.nbytes
    assert weft.einsum(",", number, number).dtype == np.float64
    assert weft.einsum("i,->i", np.ones(3, "f4"), np.float64(number)).dtype == np.float64
    assert weft.einsum("i,->i", np.ones(3, "f4"), np.float32(number)).dtype == np.float32


def test_numbers_beyond_the_type_of_the_other_operands():
    x, kernel = np.ones(3, "f4"), weft.compile("y(i) = a * x(i)", a=2, x=np.ones(3, "f4"))
    for call in (lambda a: weft.evaluate("y(i) = a * x(i)", a=a, x=x), lambda a: kernel(a=a, x=x), lambda a: weft.plan("y(i) = a * x(i)", a=a, x=x)):
        with pytest.raises(weft.InputError, match=r"a=1e\+300 is beyond f4, .*; write np.float64\(a\)") as caught:
            call(1e300)
        assert caught.value.operand == "a"
        call(np.inf), call(-3e38)
    assert kernel(a=3, x=x).tolist() == [3, 3, 3]
    assert weft.evaluate("y(i) = a * x(i)", a=np.float64(1e300), x=x).tolist() == [1e300] * 3


def test_results_and_formats_of_iterators_are_read_by_every_call(matrix):
    text = "S(i,j) = 2 * M(i,j); r(i) = S(i,j)"
    for names in (["S"], ["r"], ["r", "S"], ["S"]):
        made = weft.evaluate(text, M=matrix, results=map(str, names))
        assert made._fields == tuple(names)
        assert weft.compile(text, M=matrix, results=iter(names))(M=matrix)._fields == tuple(names)
    for format in ("S:ds", "S:dd", "S:ds:1,0", "S:ss"):
        kinds = [type(weft.evaluate("S(i,j) = 2 * M(i,j)", M=matrix, format=each)) for each in (iter([format]), [format], {"S": format[2:]})]
        assert len(set(kinds)) == 1 and kinds[0] is {"S:ds": sp.csr_matrix, "S:dd": np.ndarray, "S:ds:1,0": sp.csc_matrix}.get(format, weft.Tensor)


def test_sparse_results_are_scipys():
    A = sp.random(200, 200, 0.01, format="csr", random_state=1)
    A.data = np.round(A.data * 8)
    C = weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A)
    assert type(C) is sp.csr_matrix and C.has_canonical_format and abs(C - A @ A).nnz == 0
    assert type(weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=sp.csr_array(A))) is sp.csr_array
    assert type(weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A, format="C:ds:1,0")) is sp.csc_matrix
    T = weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A, format="C:ss")
    assert isinstance(T, weft.Tensor) and np.array_equal(T.to_numpy(), (A @ A).toarray())
    dense = weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A, format={"C": "dd"})
    assert type(dense) is np.ndarray and np.array_equal(dense, (A @ A).toarray())
    C.data *= 2  # nobody else's
    assert abs(weft.evaluate("C(i,j) = A(i,k) * A(k,j)", A=A) - A @ A).nnz == 0


def test_results_outlive_what_they_came_from():
    A = sp.random(200, 200, 0.01, format="csr", random_state=1)
    expected = (A @ A).toarray()
    engine = weft.Engine(threads=1)
    kernel = engine.compile("C(i,j) = A(i,k) * A(k,j)", A=A)
    first = kernel(A=A)
    view = first.data[::2]
    seen = view.copy()
    A.data[:] = 0
    rest = [kernel(A=A) for _ in range(5)]
    del kernel, engine, first, rest
    assert np.array_equal(view, seen)
    assert expected.any()


def test_scalars_and_numbers():
    x = np.arange(4.0)
    s = weft.evaluate("s = x(i) * x(i)", x=x)
    assert type(s) is np.float64 and s == 14
    assert type(weft.evaluate("s = x(i)", x=x.astype("f4"))) is np.float32
    for number in (2, 2.0, np.float64(2), np.array(2.0), np.float32(2)):
        assert np.array_equal(weft.evaluate("y(i) = a * x(i)", a=number, x=x), 2 * x)
    kernel = weft.compile("y(i) = a * x(i)", a=1.0, x=x)
    assert [kernel(a=a, x=x)[3] for a in (1, 2.5, -3)] == [3, 7.5, -9]


def test_many_threads_at_once(matrix):
    xs = [np.arange(20.0) + n for n in range(8)]
    kernel = weft.compile(SPMV, M=matrix, x=xs[0])
    wrong = []

    def work(x):
        expected = matrix @ x
        for _ in range(200):
            out = np.empty(30)
            if not (np.array_equal(kernel(M=matrix, x=x), expected) and np.array_equal(kernel(M=matrix, x=x, out=out), expected)
                    and np.array_equal(weft.evaluate(SPMV, M=matrix, x=x), expected)):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in xs]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_plan_and_report(matrix):
    plan = weft.plan(SPMV, M=matrix, x=np.ones(20))
    assert plan.tree == "(M * x)" and "for i" in plan.loops and "predicted" in str(plan) and "define" in plan.llvm
    assert re.search(r"predicted ([.\d]+ [mun]?s) on", str(plan))[1] in repr(weft.plan(SPMV, M=matrix, x=np.ones(20)))
    assert plan.report["operands"]["M"]["nnz"] == matrix.nnz
    assert np.array_equal(weft.evaluate(SPMV, M=matrix, x=np.ones(20), schedule=plan.schedule), matrix @ np.ones(20))
    ran = weft.plan(SPMV, M=matrix, x=np.ones(20), run=True)
    assert len(ran.report["run_ms"]) == 1 and "<html" in ran.html()
    kernel = weft.compile(SPMV, M=matrix, x=np.ones(20))
    assert kernel.report["cache"]["kernel"] in ("memory", "compiled") and "(M * x)" in str(kernel.plan)
    assert "for i" in kernel.plan.loops and "define" in kernel.plan.llvm and "<html" in kernel.plan.html()


def test_the_plan_of_a_sparse_matrix_is_that_of_its_evaluation():
    T, A = weft.tensor(([3.0], ([7], [0], [0], [1])), shape=(8, 1, 1, 2)), np.ones((2, 3))
    text = "R(j,r) = T(j,m,k,i) * A(i,r)"
    for asked in {}, {"unfused": True}, {"prove": True}, {"run": True}:
        plan = weft.plan(text, T=T, A=A, **asked)
        assert plan.report["results"]["R"]["format"] == "ds"
        assert weft.evaluate(text, T=T, A=A, schedule=plan.schedule).toarray()[7].tolist() == [3.0, 3.0, 3.0]
    in_sparse_rows = weft.plan(text, T=T, A=A, format={"R": "ss"}).schedule
    assert weft.evaluate(text, T=T, A=A, schedule=in_sparse_rows).to_numpy()[7].tolist() == [3.0, 3.0, 3.0]


def test_options_choose_an_engine(matrix):
    with weft.options(threads=1):
        assert weft.evaluate(SPMV, M=matrix, x=np.ones(20)).shape == (30,)
        with weft.options(deterministic=True):
            assert weft._engines.current()._options == {"deterministic": True, "threads": 1}
    assert weft._engines.current() is weft.default_engine()
    engine = weft.Engine(threads=2, memory_limit="1G")
    assert engine.threads == 2 and np.array_equal(engine.evaluate(SPMV, M=matrix, x=np.ones(20)), matrix @ np.ones(20))


def test_plans_are_priced_by_what_was_measured(matrix, tmp_path, monkeypatch):
    usual = pathlib.Path(__file__).parents[2] / "tests" / "fuzz" / "corpus" / "calibration" / "usual"
    home = tmp_path / "weft" / "calibration"
    home.parent.mkdir()
    home.write_text(re.sub("drive_step .*", "drive_step 0.9", usual.read_text()))
    monkeypatch.delenv("WEFT_CALIBRATION", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def predicted(**options):
        return weft.Engine(threads=1, **options).plan(SPMV, M=matrix, x=np.ones(20)).report["predicted_ms"]

    assert predicted() == predicted(calibration=True) == predicted(calibration=home) != predicted(calibration=False)
    assert predicted(calibration=None) == predicted(calibration=False)
    with pytest.raises(weft.InputError, match="nowhere"):
        weft.Engine(calibration=tmp_path / "nowhere")
    home.write_text("nonsense")
    with pytest.raises(weft.InputError, match="calibration"):
        weft.Engine()
    weft.Engine(calibration=False)


def test_a_memory_limit_does_not_count_the_arrays_of_out():
    x, y = np.arange(600.0), np.arange(500.0)
    wanted = np.outer(x, y)  # 2.4 MB
    text = "R(i,j) = x(i) * y(j)"
    with weft.options(memory_limit="1M", threads=1):
        for refused in (lambda: weft.evaluate(text, x=x, y=y), lambda: weft.einsum("i,j->ij", x, y), lambda: weft.compile(text, x=x, y=y)):
            with pytest.raises(weft.ResourceError):
                refused()
        for _ in range(2):
            out = np.empty((600, 500))
            assert weft.evaluate(text, x=x, y=y, out=out) is out and np.array_equal(out, wanted)
            out = np.empty((600, 500))
            assert weft.einsum("i,j->ij", x, y, out=out) is out and np.array_equal(out, wanted)
            out = [np.empty((600, 500)), np.empty(600)]
            weft.evaluate(text + "; s(i) = 2 * x(i)", x=x, y=y, out=out, results=["R", "s"])
            assert np.array_equal(out[0], wanted) and np.array_equal(out[1], 2 * x)
            weft.evaluate(text + "; s(i) = 2 * x(i)", x=x, y=y, out={"R": out[0], "s": out[1]}, results=["R", "s"])
            with pytest.raises(weft.ResourceError):
                weft.evaluate(text, x=x, y=y)
            with pytest.raises(weft.ResourceError):  # written from a copy
                weft.evaluate(text, x=x, y=y, out=np.empty((500, 600)).T)
        kernel = weft.compile(text, x=x, y=y, lent_results="R")
        assert np.array_equal(kernel(x=x, y=y, out=np.empty((600, 500))), wanted)
        with pytest.raises(weft.InputError, match="memory is to be lent for x, which is no result"):
            weft.compile(text, x=x, y=y, lent_results=["x"])
        with pytest.raises(TypeError, match="lent_results=3: a list of names is wanted"):
            weft.compile(text, x=x, y=y, lent_results=3)


def test_kernels_made_for_strided_arrays_take_all_others():
    x = np.arange(8.0)
    a = np.arange(64.0).reshape(8, 8) % 7
    arrangements = [a, np.asfortranarray(a), np.repeat(a, 2, 0)[::2], a[::-1, ::-1].copy()[::-1, ::-1], sp.csr_matrix(a), sp.csc_array(a),
                    weft.tensor(a, format="ss"), weft.tensor(a, copy=True), a.astype("f4")]
    for made_for in arrangements:
        kernel = weft.compile("y(j) = D(i,j) * x(i) * x(j)", D=made_for, x=x)
        for D in arrangements:
            assert np.array_equal(kernel(D=D, x=x), (a.T @ x) * x)


def test_layouts_are_chosen_for_matrices_of_ones_own():
    n = 5000
    offsets = range(-240, 241, 4)
    M = sp.diags([np.arange(n) % (abs(d) % 7 + 2) + 1.0 for d in offsets], offsets, shape=(n, n)).tocsr()
    x = np.arange(n) % 11.0
    own = weft.tensor(M, copy=True)
    kernel = weft.compile(SPMV, M=own, x=x, calls=1e6, choose_layouts=True)
    assert "M is stored in diagonals in strips of" in kernel.plan.report["explanation"]["search"][0]
    for factor in (1, -2, 3):  # x changes in place, and is seen
        x *= factor
        assert np.array_equal(kernel(M=own, x=x), M @ x)
    M.data *= 2
    assert np.array_equal(kernel(M=M, x=x), M @ x)
    # Borrowed arrays may change in place, and are read as they are.
    borrowed = weft.compile(SPMV, M=M, x=x, calls=1e6, choose_layouts=True)
    assert not any("is stored in" in line for line in borrowed.plan.report["explanation"]["search"])
    assert "strips" in str(weft.plan(SPMV, M=own, x=x, calls=1e6, choose_layouts=True).report["explanation"])


def test_options_in_several_blocks_and_threads():
    import threading

    chosen, before = weft.options(threads=1), weft._engines.current()
    with chosen as engine, chosen:
        with chosen:
            assert weft._engines.current() is engine
        assert weft._engines.current() is engine
    assert weft._engines.current() is before
    both, seen = threading.Barrier(2), []

    def use():
        with chosen:
            both.wait()
            seen.append(weft._engines.current() is engine)
            both.wait()
        seen.append(weft._engines.current() is before)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4 and weft._engines.current() is before
