"""What an expression means where floating point, absence and odd shapes make it interesting."""

from evaluation import dense_operand, require_result, result_of, sparse_operand
from harness import require, require_equal
from tensors import Tensor, coordinates, dense, evaluate, npy, read_npy, read_tns, tns

NAN = float("nan")
INF = float("inf")


def case_absent_entry_annihilates_nan(weft):
    left = Tensor((2, 3), {(0, 0): 2.0, (1, 1): 3.0})
    right = dense((3,), [1.0, 10.0, NAN])
    found = result_of(weft, "A(i) = S(i,j) * v(j)", sparse_operand(weft, "S", left), dense_operand(weft, "v", right))
    require_result(found, Tensor((2,), {(0,): 2.0, (1,): 30.0}))


def case_absent_meets_infinity_in_both_orders(weft):
    left = Tensor((3,), {(1,): 1.0})
    right = dense((3,), [INF, 2.0, NAN])
    for text in ("a = s(i) * v(i)", "a = v(i) * s(i)"):
        found = result_of(weft, text, sparse_operand(weft, "s", left), dense_operand(weft, "v", right), name="a")
        require_equal(found, {(): 2.0}, text)


def case_explicit_zero_times_infinity_is_nan(weft):
    left = Tensor((3,), {(0,): 0.0, (1,): 1.0})
    right = dense((3,), [INF, 2.0, NAN])
    found = result_of(weft, "A(i) = s(i) * v(i)", sparse_operand(weft, "s", left), dense_operand(weft, "v", right))
    require_result(found, Tensor((3,), {(0,): NAN, (1,): 2.0}))


def case_dense_zero_times_nan_is_nan(weft):
    found = result_of(weft, "A(i) = u(i) * v(i)", dense_operand(weft, "u", dense((2,), [0.0, 1.0])), dense_operand(weft, "v", dense((2,), [NAN, 2.0])))
    require_result(found, Tensor((2,), {(0,): NAN, (1,): 2.0}))


def case_stored_nan_propagates(weft):
    left = Tensor((2, 2), {(0, 0): NAN, (1, 1): 3.0, (1, 0): INF})
    found = result_of(weft, "A(i) = S(i,j) * v(j)", sparse_operand(weft, "S", left), dense_operand(weft, "v", dense((2,), [1.0, 2.0])))
    require_result(found, Tensor((2,), {(0,): NAN, (1,): INF}))
    weft.write("x.tns", "1 NaN\n2 Inf\n3 -INF\n4 infinity\n5 -nan\n")
    found = result_of(weft, "A(i) = X(i)", "X=x.tns")
    require_result(found, Tensor((5,), {(0,): NAN, (1,): INF, (2,): -INF, (3,): INF, (4,): NAN}))


def cases_workspace_of_nothing_is_absent(_):
    """(S * C) has no entry at i = 1: there the NaN of D must not show, however the product is factored."""
    s = Tensor((3, 4), {(0, 0): 1.0, (0, 1): 2.0, (2, 3): 3.0})
    c = dense((4, 2), range(1, 9))
    d = dense((3, 2), [1.0, 2.0, NAN, INF, 5.0, 6.0])
    for text in ("A(i,r) = (S(i,k) * C(k,r)) * D(i,r)", "A(i,r) = (S(i,k) * C(k,r) * D(i,r))", "A(i,r) = S(i,k) * C(k,r) * D(i,r)",
                 "A(r,i) = (S(i,k) * C(k,r)) * D(i,r)"):
        def one(weft, text=text):
            operands = [sparse_operand(weft, "S", s), dense_operand(weft, "C", c), dense_operand(weft, "D", d)]
            spec = "ik,kr,ir->ri" if "A(r,i)" in text else "ik,kr,ir->ir"
            require_result(result_of(weft, text, *operands), evaluate(spec, s, c, d))
        yield text, one


def case_nan_in_a_workspace_summed_later(weft):
    """sum over i of (S C)(i,r) D(i): row 1 of S is empty and D(1) is NaN."""
    s = Tensor((3, 2), {(0, 0): 1.0, (2, 1): 3.0})
    c = dense((2, 2), [1.0, 2.0, 3.0, 4.0])
    d = dense((3,), [1.0, NAN, 2.0])
    operands = [sparse_operand(weft, "S", s), dense_operand(weft, "C", c), dense_operand(weft, "D", d)]
    for text in ("A(r) = (S(i,k) * C(k,r)) * D(i)", "A(r) = S(i,k) * (C(k,r) * D(i))"):
        require_result(result_of(weft, text, *operands), evaluate("ik,kr,i->r", s, c, d))


def case_nan_beside_a_workspace_that_a_long_dense_loop_fills(weft):
    m = dense((2, 300), range(600))
    b = dense((300, 2), [1.0] * 600)
    e = dense((2,), [1.0, NAN])
    operands = [dense_operand(weft, "M", m), dense_operand(weft, "B", b), dense_operand(weft, "E", e)]
    require_result(result_of(weft, "A(i,r) = (M(i,k) * B(k,r)) * E(i)", *operands), evaluate("ik,kr,i->ir", m, b, e))


def cases_nan_beside_pinned_intermediates(_):
    """(U * C) has no entry at m = 1, and none where rows of U and C do not meet: the NaN of w must not show there."""
    u = Tensor((3, 4), {(0, 0): 2.0, (1, 2): 3.0, (2, 3): 5.0})
    c = Tensor((3,), {(0,): 1.0, (1,): 7.0})
    w = dense((4,), [1.0, NAN, INF, NAN])
    wanted = Tensor((4,), {(0,): 2.0, (1,): 0.0, (2,): INF, (3,): 0.0})
    for options in ((), ("--unfused",), ("--strict-fp",), ("--format", "U:ss:0,1"), ("--format", "U:ss:0,1", "--unfused"), ("--calls", "1000")):
        for text in ("F(m)=(U(j,m)*C(j))*w(m)", "F(m)=(w(m)*(C(j)*U(j,m)))"):
            def one(weft, text=text, options=options):
                operands = [sparse_operand(weft, "U", u), sparse_operand(weft, "C", c), dense_operand(weft, "w", w)]
                require_result(result_of(weft, text, *operands, "--format", "F:d", *options, name="F"), wanted)
            yield f"{text} {' '.join(options)}", one


def case_what_keeps_absence_is_told(weft):
    u = Tensor((3, 4), {(0, 0): 2.0, (1, 2): 3.0})
    operands = [sparse_operand(weft, "U", u), dense_operand(weft, "C", dense((3,), [1.0, 2.0, 3.0]))]
    text = "F(m)=(U(j,m)*C(j))*w(m)"
    sentence = "w holds NaN or Inf, so that x has to tell absent entries from zeros"
    require(sentence in weft("plan", text, *operands, dense_operand(weft, "w", dense((4,), [NAN] * 4)), "--format", "F:d").out, "the plan names w")
    require("NaN" not in weft("plan", text, *operands, dense_operand(weft, "v", dense((4,), [1.0] * 4)).replace("v=", "w="), "--format", "F:d").out,
            "nothing to tell of finite operands")


def cases_scalar_of_nothing_beside_nan(_):
    """C is absent where no entries of Q and T meet."""
    f = Tensor((3,), {(0,): 1.0, (2,): 2.0})
    q = Tensor((3,), {(0,): 2.0})
    for what, t, wanted in (("absent", Tensor((3,), {(1,): 1.0}), 0.0), ("there", Tensor((3,), {(0,): 1.0}), NAN)):
        for options in ((), ("--unfused",), ("--strict-fp",)):
            def one(weft, t=t, wanted=wanted, options=options):
                operands = [sparse_operand(weft, name, tensor) for name, tensor in (("Q", q), ("T", t), ("F", f))]
                for text in ("C=(Q(i)*T(i)*Q(i)); M1=(C*F(i)*H)", "M1=((Q(j)*T(j)*Q(j))*F(i)*H)", "C=Q(i)*T(i); M1=(H*(F(i)*C))"):
                    found = result_of(weft, text, *operands, "H=nan", *options, name="M1")
                    require_result(found, Tensor((), {(): wanted}))
            yield f"{what} {' '.join(options)}", one


def cases_two_factors_in_parentheses(_):
    """2 Inf - Inf is NaN, (2 - 1) Inf is Inf: parentheses around two factors say that neither is summed before they meet."""
    s, t = dense((2,), [2.0, -1.0]), dense((2,), [1.0, INF])
    for text, name, wanted in (("F(m) = (S(j) * T(m))", "F", {(0,): 1.0, (1,): NAN}), ("F(m) = 3 * (T(m) * S(j))", "F", {(0,): 3.0, (1,): NAN}),
                               ("y = S(j); F(m) = (y * T(m))", "F", {(0,): 1.0, (1,): INF}), ("y = (S(j) * T(m))", "y", {(): NAN}),
                               ("z = S(j); y = (z * T(m))", "y", {(): INF}), ("y = (S(j) * T(m)); F(m) = (y * T(m))", "F", {(0,): NAN, (1,): NAN})):
        for options in ((), ("--unfused",), ("--strict-fp",)):
            def one(weft, text=text, name=name, wanted=wanted, options=options):
                found = result_of(weft, text, dense_operand(weft, "S", s), dense_operand(weft, "T", t), *options, name=name)
                require_result(found, Tensor((2,) if name == "F" else (), wanted))
            yield f"{text} {' '.join(options)}", one


def case_duplicates_are_summed(weft):
    weft.write("x.tns", "2 1 1.0\n1 1 2.0\n2 1 3.0\n1 1 0.5\n2 2 1\n2 1 -4\n")
    run = weft("run", "A(i,j) = X(i,j)", "X=x.tns", "--json", "--out", "A=A.tns")
    require_equal(run.json["operands"]["X"]["nnz"], 3, "entries after summing, with the one that cancels")
    require_equal(read_tns(weft.text("A.tns")), {(0, 0): 2.5, (1, 1): 1.0}, "values")
    weft.write("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n1 1 2\n")
    require_equal(result_of(weft, "A(i,j) = X(i,j)", "X=x.mtx"), {(0, 0): 3.0, (1, 1): 1.0}, "values")


def case_repeated_coordinates_as_lists_are_summed_too(weft):
    weft.write("x.tns", "2 1 1.0\n1 1 2.0\n2 1 3.0\n")
    for layout in ("uq", "uq:1,0"):
        require_equal(result_of(weft, "A(i) = X(i,j)", "X=x.tns", "--format", f"X:{layout}"), {(0,): 2.0, (1,): 4.0}, layout)


def case_explicit_zeros_are_kept_in_operands(weft):
    weft.write("x.tns", "1 1 0.0\n2 2 1.0\n")
    weft.write("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0\n2 2 1\n")
    for name in ("x.tns", "x.mtx"):
        run = weft("run", "a = X(i,j)", f"X={name}", "--json")
        require_equal(run.json["operands"]["X"]["nnz"], 2, "nnz")


def cases_promotion(_):
    for left, right, result in (("f32", "f32", "<f4"), ("f32", "f64", "<f8"), ("f64", "f32", "<f8"), ("f64", "f64", "<f8")):
        def one(weft, left=left, right=right, result=result):
            weft("run", "A(i) = u(i) * v(i)", "u=uniform(3)", "v=uniform(3)", "--format", f"u:d:{left}", "--format", f"v:d:{right}", "--out", "A=A.npy")
            require_equal(read_npy(weft.read("A.npy"))[1], result, "scalar type")
        yield f"{left} * {right}", one


def case_f32_values_are_rounded_to_f32(weft):
    weft.write("x.tns", "1 0.1\n2 16777217\n")
    weft("run", "A(i) = X(i)", "X=x.tns", "--format", "X:s:f32", "--out", "A=A.tns")
    require_equal(weft.text("A.tns").split()[1::2], ["0.100000001", "16777216"], "values, 9 digits")
    weft("run", "A(i) = X(i)", "X=x.tns", "--format", "X:s:f32", "--format", "A:d:f64", "--out", "A=A.tns")
    require_equal(float(weft.text("A.tns").split()[1]), 0.10000000149011612, "value in f64")
    weft("run", "A(i) = X(i)", "X=x.tns", "--format", "A:d:f32", "--out", "A=A.npy")
    require_equal(read_npy(weft.read("A.npy"))[1], "<f4", "scalar type")


def cases_extents(_):
    for rows, inner, columns in ((0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0), (1, 1, 1), (1, 3, 1)):
        for sparse in (False, True):
            def one(weft, rows=rows, inner=inner, columns=columns, sparse=sparse):
                left = dense((rows, inner), [float(n % 5 + 1) for n in range(rows * inner)])
                right = dense((inner, columns), [float(n % 3 + 1) for n in range(inner * columns)])
                write = sparse_operand if sparse else dense_operand
                operands = [write(weft, "L", left), dense_operand(weft, "R", right)]
                run = weft("run", "A(i,k) = L(i,j) * R(j,k)", *operands, "--out", "A=A.npy", "--json")
                require_equal(run.json["results"]["A"]["extents"], [rows, columns], "extents")
                product = evaluate("ij,jk->ik", left, right).entries
                wanted = {at: product.get(at, 0.0) for at in coordinates((rows, columns))}
                require_equal(read_npy(weft.read("A.npy")), ((rows, columns), "<f8", wanted), "product")
            yield f"{rows}x{inner} times {inner}x{columns} {'sparse' if sparse else 'dense'}", one


def case_scalar_product_over_nothing_is_zero(weft):
    weft("run", "a = u(i) * v(i)", "u=uniform(0)", "v=uniform(0)", "--out", "a=a.tns")
    require_equal(float(weft.text("a.tns")), 0.0, "value")


M = Tensor((4, 4), {(0, 0): 1.0, (0, 2): 2.0, (1, 1): 3.0, (2, 0): 4.0, (3, 3): 5.0, (3, 1): 6.0})
Q = Tensor((3, 3, 4), {(0, 0, 1): 1.0, (0, 1, 2): 2.0, (1, 1, 1): 3.0, (2, 2, 3): 4.0, (2, 2, 0): 5.0, (1, 2, 0): 7.0})
CUBE = Tensor((3, 3, 3), {(0, 0, 0): 1.0, (0, 1, 1): 2.0, (1, 1, 1): 3.0, (2, 1, 2): 4.0, (2, 2, 2): 5.0})


def cases_shape(_):
    """Diagonals, indices in one operand only, transposed and outer results."""
    v = dense((4,), [1.0, 2.0, 3.0, 4.0])
    for spec, tensors in (("ii->i", [M]), ("ii->", [M]), ("iij->ij", [Q]), ("iij->ji", [Q]), ("iij->", [Q]), ("iii->i", [CUBE]), ("iji->ij", [CUBE]), ("jii->j", [CUBE]),
                          ("ij->", [M]), ("ij->j", [M]), ("ij->ji", [M]), ("ijk->kij", [Q]), ("ij,i->", [M, v]), ("ij,k->ik", [M, v]), ("i,j->ij", [v, v]),
                          ("ii,ij->j", [M, M]), ("ij,jk->ki", [M, M]), ("ij,ji->", [M, M]), ("ij,ij->ij", [M, M]), ("ij,kj,kl->il", [M, M, M]), ("ij,ij,ij->", [M, M, M]),
                          ("iij,iik->jk", [Q, Q]), ("ij,jj->i", [M, M]), ("ik,kk,kj->ij", [M, M, M])):
        for dense_too in (False, True):
            def one(weft, spec=spec, tensors=tensors, dense_too=dense_too):
                filled = [dense(t.extents, [t.entries.get(at, 0.0) for at in coordinates(t.extents)]) for t in tensors] if dense_too else tensors
                operands = [(dense_operand if dense_too or t is v else sparse_operand)(weft, f"X{n}", t) for n, t in enumerate(filled)]
                require_result(result_of(weft, spec, *operands, name="out"), evaluate(spec, *tensors))
            yield f"{spec} {'dense' if dense_too else 'sparse'}", one


def case_empty_operand_makes_zeros(weft):
    weft.write("e.tns", "")
    weft("run", "A(i,r) = E(i,j) * B(j,r)", "E=e.tns:3x4", "B=ones(4x2)", "--out", "A=A.npy")
    require_equal(read_npy(weft.read("A.npy"))[2], dense((3, 2), [0.0] * 6).entries, "result")


def case_product_of_extents_above_64_bits(weft):
    weft.write("x.tns", "1 1 1 1 2.0\n60000 500000 2500000 200000 3.0\n60000 1 2500000 7 5.0\n")
    found = result_of(weft, "A(i) = X(i,j,k,l)", "X=x.tns:63437x545332x2529595x216738")
    require_equal(found, {(0,): 2.0, (59999,): 8.0}, "sums")


def case_dense_result_beyond_memory(weft):
    """Exit status 5, advising a sparse format, before anything is allocated."""
    weft.write("x.tns", "1 1 1 1.0\n")
    run = weft.error("run", "A(i,j,k) = X(i,j,k)", "X=x.tns:4000000x4000000x4000000", "--format", "A:ddd", status=5,
                     says="A")
    require("sparse" in run.err, f"a sparse format is advised: {run.err!r}")
    weft.error("run", "A(i,j,k) = X(i,j,k)", "X=x.tns:100000000x100000000x10000000000", "--format", "A:ddd", status=5)


def case_strict_fp_sums_in_loop_order(weft):
    """A sum whose value depends on its order and on fused multiply-add."""
    u = [1e16, 1.0, -1e16, 1.0, 3.0, 1e-3, 7.0, 1e8] * 5
    v = [1.0, 1.0 + 2**-40, 1.0, 0.1, 1 / 3, 0.7, 1e-9, 1.1] * 5
    operands = [dense_operand(weft, "u", dense((40,), u)), dense_operand(weft, "v", dense((40,), v))]
    weft("run", "a = u(i) * v(i)", *operands, "--strict-fp", "--out", "a=a.tns")
    wanted = 0.0
    for left, right in zip(u, v):
        wanted += left * right
    require_equal(float(weft.text("a.tns")), wanted, "sum")


def case_trusted_values_survive_the_round_trip(weft):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.1, 123456789.123456789]
    weft.write("x.tns", tns(dense((6,), values)))
    require_equal(list(result_of(weft, "A(i) = X(i)", "X=x.tns").values()), values, "values")
    weft.write("x.npy", npy((6,), values))
    require_equal(list(result_of(weft, "A(i) = X(i)", "X=x.npy").values()), values, "values")
