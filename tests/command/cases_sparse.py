"""Sparse results: every format that can be asked for, what they store, how they are written and reported."""

import itertools
import math
import random
import re

from cases_real import downloaded
from evaluation import dense_operand, sparse_operand
from harness import require, require_equal, require_in
from tensors import Tensor, coordinates, dense, evaluate, lines_of, nonzero, read_mtx, read_npy, read_tns, same, sparse

B = Tensor((5, 4), {(0, 1): 7.0, (1, 0): 1.0, (1, 2): 2.0, (3, 1): 3.0, (3, 2): 1.0, (3, 3): 4.0})
C = Tensor((4, 6), {(0, 3): 1.0, (0, 1): 2.0, (2, 1): -1.0, (2, 5): 5.0, (3, 1): 0.25, (3, 0): 0.0})
T = Tensor((4, 3, 5), {(0, 0, 1): 1.0, (0, 2, 4): 2.0, (2, 0, 0): 3.0, (2, 0, 3): -1.0, (2, 1, 1): 4.0, (3, 2, 2): 5.0, (3, 2, 3): 1.0})
U = Tensor((4, 5), {(0, 0): 2.0, (0, 3): 1.0, (2, 1): 1.0, (3, 3): -2.0, (3, 4): 1.0})

ORDER_2 = ["ds", "ss", "sd", "dd", "uq", "ds:1,0", "ss:1,0", "sd:1,0", "uq:1,0", "hs", "sh", "hh", "dh", "hd", "db", "bd", "bs", "sb", "bb", "bh:1,0"]
ORDER_3 = ["dss", "sds", "ssd", "sss", "dsd", "dds", "sdd", "uqq", "sss:2,0,1", "dss:1,2,0", "ssd:2,1,0", "uqq:1,0,2", "uqs", "duq", "hss", "shb", "dhs", "hhh:2,1,0",
           "bds"]


def layout(text):
    """Kinds and the mode of every level."""
    kinds, _, order = text.partition(":")
    return kinds, [int(mode) for mode in order.split(",")] if order else list(range(len(kinds)))


def stored(tensor, text):
    """The entries, and the zeros of the dense levels below them."""
    kinds, order = layout(text)
    trailing = [order[level] for level in range(len(kinds)) if set(kinds[level:]) == {"d"}]
    if len(trailing) == len(kinds):
        return {at: tensor.entries.get(at, 0.0) for at in coordinates(tensor.extents)}
    entries = dict(tensor.entries)
    for at in tensor.entries:
        for values in itertools.product(*[range(tensor.extents[mode]) for mode in trailing]):
            whole = list(at)
            for mode, value in zip(trailing, values):
                whole[mode] = value
            entries.setdefault(tuple(whole), 0.0)
    return entries


def require_stored(weft, report, wanted, text, name="A"):
    """The report and the file NAME.tns have the stored entries of the result in this format."""
    entries = stored(wanted, text)
    found = report["results"][name]
    kinds, order = layout(text)
    modes = ",".join(str(mode) for mode in order)
    require_in(found["format"], (kinds, f"{kinds}:{modes}"), "the format")
    require_equal(found["extents"], list(wanted.extents), "extents")
    require_equal(found["nnz"], len(entries), "stored entries")
    require(found["bytes"] > 0 or not entries, f"bytes {found['bytes']}")
    require(abs(found["sum"] - sum(entries.values())) < 1e-9, f"sum {found['sum']}, wanted {sum(entries.values())}")
    norm = math.sqrt(sum(value * value for value in entries.values()))
    require(abs(found["norm"] - norm) < 1e-9, f"norm {found['norm']}, wanted {norm}")
    content = weft.text(f"{name}.tns")
    # Zeros are left out when the last level is dense.
    listed = nonzero(wanted) if kinds.endswith("d") else entries
    require(same(read_tns(content), listed), f"entries of {text}: found {read_tns(content)}, wanted {listed}")
    at = [tuple(int(word) for word in words[:-1]) for words in lines_of(content)]
    require_equal(at, sorted(at), "the order of the lines")


def run_stored(weft, expression, operands, wanted, text, *options):
    report = weft("run", expression, *operands, "--format", f"A:{text}", "--out", "A=A.tns", "--json", *options).json
    require_stored(weft, report, wanted, text)
    return report


def cases_matrix_product(_):
    wanted = evaluate("ik,kj->ij", B, C)
    assert 0.0 in wanted.entries.values() and len(wanted.entries) < 30
    for text in ORDER_2:
        def one(weft, text=text):
            operands = [sparse_operand(weft, "B", B), sparse_operand(weft, "C", C)]
            run_stored(weft, "A(i,j) = B(i,k) * C(k,j)", operands, wanted, text)
            run_stored(weft, "A(i,j) = B(i,k) * C(k,j)", operands, wanted, text, "--format", "B:ds", "--format", "C:ds", "--threads", "2")
            run_stored(weft, "A(i,j) = B(i,k) * C(k,j)", operands, wanted, text, "--format", "B:ss:1,0", "--format", "C:ss", "--strict-fp")
        yield text, one


def cases_tensor_times_matrix(_):
    wanted = evaluate("lji,lk->ijk", Tensor((4, 3, 5), T.entries), U)
    for text in ORDER_3:
        def one(weft, text=text):
            operands = [sparse_operand(weft, "T", T), sparse_operand(weft, "U", U)]
            run_stored(weft, "A(i,j,k) = T(l,j,i) * U(l,k)", operands, wanted, text)
            run_stored(weft, "A(i,j,k) = T(l,j,i) * U(l,k)", operands, wanted, text, "--format", "T:uqq", "--deterministic")
        yield text, one


def cases_vectors(_):
    v = Tensor((9,), {(1,): 2.0, (4,): -1.0, (7,): 3.0})
    w = Tensor((9,), {(0,): 1.0, (4,): 5.0, (7,): 0.0})
    wanted = evaluate("i,i->i", v, w)
    for text in ("d", "s", "h", "b", "u"):
        def one(weft, text=text):
            run_stored(weft, "A(i) = v(i) * w(i)", [sparse_operand(weft, "v", v), sparse_operand(weft, "w", w)], wanted, text)
        yield text, one


def cases_nothing_is_stored(_):
    empty = Tensor((4, 6), {})
    for text in ORDER_2:
        def one(weft, text=text):
            run_stored(weft, "A(i,j) = B(i,k) * C(k,j)", [sparse_operand(weft, "B", B), sparse_operand(weft, "C", empty)],
                       evaluate("ik,kj->ij", B, empty), text)
        yield text, one


def case_zeros_that_cancel_stay(weft):
    one = Tensor((1, 2), {(0, 0): 1.0, (0, 1): 1.0})
    other = Tensor((2, 3), {(0, 1): 2.0, (1, 1): -2.0})
    operands = [sparse_operand(weft, "B", one), sparse_operand(weft, "C", other)]
    run_stored(weft, "A(i,j) = B(i,k) * C(k,j)", operands, Tensor((1, 3), {(0, 1): 0.0}), "ss")
    require_equal(lines_of(weft.text("A.tns")), [["1", "2", "0"]], "the one line")


def case_absent_meets_no_nan(weft):
    nan = Tensor((2, 2), {(0, 0): float("nan"), (1, 1): 3.0})
    other = Tensor((2, 2), {(1, 0): 2.0})
    weft("run", "A(i,j) = B(i,k) * C(k,j)", sparse_operand(weft, "B", nan), sparse_operand(weft, "C", other), "--format", "A:ds", "--out", "A=A.tns", "--quiet")
    require_equal(read_tns(weft.text("A.tns")), {(1, 0): 6.0}, "entries")


def case_entries_counted_first(weft):
    """Every way of putting a result together, on two threads, for entries of scalars and of blocks."""
    for expression, operands, text in (
        ("A(i,j) = B(i,k) * C(k,j)", ["B=sparse(3000x2000,nnz=40000,seed=1)", "C=sparse(2000x2500,nnz=40000,seed=2)"], "ds"),
        ("A(i,j,r) = T(i,j,k) * C(k,r)", ["T=sparse(900x300x200,nnz=50000,seed=3)", "C=uniform(200x8,seed=4)"], "ssd"),
    ):
        run = [expression, *operands, "--format", f"A:{text}"]
        planned = weft("plan", *run, "--json").json["plan"]["schedule"].replace(" like T", "")  # appended
        reports = {}
        for root in ("owner", "counted", "serial"):
            weft.write("given.txt", re.sub(r"parallel i \w+", f"parallel i {root}", planned))
            reports[root] = weft("run", *run, "--schedule", "given.txt", "--threads", "2", "--json").json
            require_equal(reports[root]["results"], reports["owner"]["results"], f"the result, {root}")
        require_in("@parallel(A: count)", reports["counted"]["plan"]["loops"], "the loops")
        weft.write("given.txt", re.sub(r"parallel i \w+", "parallel i counted", planned))
        require_in("parallel, counted first", weft("plan", *run, "--schedule", "given.txt").out, "the plan")


def case_rows_at_the_fibers_of_an_operand(weft):
    """At the positions of its leading levels, or appended: one result."""
    for expression, format, levels in (("A(i,j,r) = T(i,j,k) * C(k,r)", "ssd", "its first 2 levels"), ("A(i,j) = T(i,j,k) * v(k)", "ss", "its first 2 levels"),
                                       ("A(r,i) = T(i,j,k) * C(k,r)", "sd:1,0", "its first level")):
        operands = ["T=sparse(900x300x200,nnz=50000,seed=3)", "C=uniform(200x8,seed=4)" if "C" in expression else "v=uniform(200,seed=4)"]
        run = [expression, *operands, "--format", f"A:{format}"]
        planned = weft("plan", *run, "--json").json["plan"]["schedule"]
        require_in(" like T", planned, "the schedule")
        require_in(f"at the positions of T in {levels}, which are shared", weft("plan", *run).out, "the plan")
        shared = weft("run", *run, "--threads", "2", "--json").json
        weft.write("given.txt", planned.replace(" like T", ""))
        appended = weft("run", *run, "--schedule", "given.txt", "--threads", "2", "--json").json
        require_equal(shared["results"], appended["results"], "the result")


def case_positions_of_an_operand_that_is_read_as_a_chain(weft):
    """Computed beside a copy of T whose entries are in the same order, handed over at T's own positions: one result."""
    operands = ["T=sparse(200x200x200,nnz=60000,seed=3)", "B=uniform(200x16,seed=1)", "C=uniform(200x16,seed=2)", "D=uniform(200x16,seed=3)"]
    for result in ("A(i,j,k)", "A(k,i,j)"):
        run = [f"{result} = T(i,j,k) * B(i,r) * C(j,r) * D(k,r)", *operands]
        often = weft("plan", *run, "--calls", "1000000", "--json").json["plan"]["schedule"]
        require_in("layout T duq:0,1,2 f64 converted", often, "the schedule")
        require_in(" delivered sss:", often, "the schedule")
        require_in("with the same entries in the same order", weft("plan", *run, "--calls", "1000000").out, "the plan")
        weft.write("given.txt", often)
        once = weft("run", *run, "--threads", "2", "--json").json
        walked = weft("run", *run, "--schedule", "given.txt", "--threads", "2", "--json").json
        require_equal(walked["results"], once["results"], "the result")


def case_absent_scalar_makes_no_entry(weft):
    one = sparse_operand(weft, "x", Tensor((4,), {(0,): 1.0, (1,): 2.0}))
    other = sparse_operand(weft, "y", Tensor((4,), {(2,): 1.0, (3,): 2.0}))
    same_place = sparse_operand(weft, "z", Tensor((4,), {(0,): 2.0, (1,): -1.0}))
    rows = sparse_operand(weft, "v", Tensor((3,), {(0,): 1.0, (2,): 5.0}))
    run_stored(weft, "A(j) = (x(i) * y(i)) * v(j)", [one, other, rows], Tensor((3,), {}), "s")
    run_stored(weft, "A(j) = (x(i) * z(i)) * v(j)", [one, same_place, rows], Tensor((3,), {(0,): 0.0, (2,): 0.0}), "s")
    # Of an assignment of its own too: the result has not the pattern of v.
    run_stored(weft, "s() = x(i) * y(i); A(j) = (s() * v(j)) * s()", [one, other, rows], Tensor((3,), {}), "s")
    run_stored(weft, "s() = x(i) * z(i); A(j) = (s() * v(j)) * s()", [one, same_place, rows], Tensor((3,), {(0,): 0.0, (2,): 0.0}), "s")


def cases_chains(_):
    """Three to six sparse factors in a row."""
    for factors in range(3, 7):
        def one(weft, factors=factors):
            letters = "ijklmno"[:factors + 1]
            tensors = [Tensor((6, 6), {((3 * n + 2 * at) % 6, (5 * at * at + n) % 6): float(at - 2 + n) for at in range(7)}) for n in range(factors)]
            wanted = evaluate(",".join(letters[n:n + 2] for n in range(factors)) + "->" + letters[0] + letters[-1], *tensors)
            expression = f"A({letters[0]},{letters[-1]}) = " + " * ".join(f"M{n}({letters[n]},{letters[n + 1]})" for n in range(factors))
            operands = [sparse_operand(weft, f"M{n}", tensor) for n, tensor in enumerate(tensors)]
            for text in ("ss", "ds:1,0", "uq"):
                run_stored(weft, expression, operands, wanted, text)
        yield f"{factors} factors", one


def case_default_format_by_fill(weft):
    operands = ["B=sparse(2000x2000,nnz=4000,seed=1)", "C=sparse(2000x2000,nnz=4000,seed=2)"]
    report = weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--json").json["results"]["A"]
    require("s" in report["format"] or "u" in report["format"], f"a fill of 0.2 % is sparse: {report['format']}")
    require(report["nnz"] < 20_000, f"stored entries {report['nnz']}")
    operands = ["B=sparse(50x50,nnz=600,seed=1)", "C=sparse(50x50,nnz=600,seed=2)"]
    report = weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--json").json["results"]["A"]
    require_in("dd", report["format"], "the format of a full result")


def case_blocks_that_an_absent_factor_leaves_out(weft):
    """Row 1 of B is empty, so that nothing is summed for it: its place in the block of each row of the result is 0, not what the memory held."""
    weft.write("t.tns", "2 2 2 2\n1 3 4 2\n1 2 1 -1\n2 1 2 -2\n")
    weft.write("b.tns", "4 2 -1\n2 3 2\n3 2 1\n4 3 1\n3 3 1\n4 1 1\n3 1 1\n")
    for value in (0, 3):
        weft.write("v.tns", f"2 {value}\n")
        text = "P(m,i,j) = 0.5 * (v(j) * T(j,j,i)) * B(m,l); S(m,i,j) = P(j,m,i) * P(m,l,i)"
        operands = ["v=v.tns:3", "T=t.tns:3x3x4", "B=b.tns:4x3", "--format", "v:d:0", "--format", "T:sss:2,1,0", "--format", "B:ds:0,1"]
        dense = weft("run", text, *operands, "--format", "S:ddd:0,1,2", "--out", "S=dense.tns", "--json").json["results"]["S"]
        for form in ("dsd:0,1,2", "ssd:1,0,2", "ssd"):
            found = weft("run", text, *operands, "--format", f"S:{form}", "--out", "S=s.tns", "--json").json["results"]["S"]
            require_equal((found["sum"], found["norm"]), (dense["sum"], dense["norm"]), f"S as {form}")
            require_equal(weft.text("s.tns"), weft.text("dense.tns"), f"the entries of S as {form}")


def case_like_an_operand_with_rows_and_a_sum_around_them(weft):
    """Rows that stay in registers over the sum: they cannot be added where only the operand knows the positions."""
    weft.write("t.tns", "3 -2\n3 1\n1 5\n")
    weft.write("m.tns", "1 2 1\n1 3 -1\n4 2 1\n3 4 1\n3 3 1\n3 2 -1\n4 1 -1\n3 1 -1\n")
    weft("run", "R(m,l) = (t(k) * M(l,m) * t(l))", "t=t.tns:4", "M=m.tns:4x4", "--format", "t:d:0:f32", "--format", "M:sd:0,1:f32",
               "--format", "R:like(M)", "--out", "R=r.tns")
    t, rows = [5, 0, -1, 0], {(0, 1): 1, (0, 2): -1, (3, 1): 1, (2, 3): 1, (2, 2): 1, (2, 1): -1, (3, 0): -1, (2, 0): -1}
    wanted = {(m, l): sum(t) * value * t[l] for (l, m), value in rows.items()}
    stored = {tuple(int(word) - 1 for word in line.split()[:2]): float(line.split()[2]) for line in weft.text("r.tns").splitlines() if line[0] != "#"}
    require_equal({place: value for place, value in stored.items() if value}, {place: float(value) for place, value in wanted.items() if value}, "R")


def case_like_an_operand(weft):
    mask = Tensor((5, 6), {(0, 3): 2.0, (1, 1): 1.0, (2, 2): 4.0, (3, 1): 3.0, (4, 0): 1.0})
    arguments = [sparse_operand(weft, "M", mask), sparse_operand(weft, "B", B), sparse_operand(weft, "C", C)]
    wanted = evaluate("ij,ik,kj->ij", mask, B, C)
    whole = Tensor(mask.extents, {at: wanted.entries.get(at, 0.0) for at in mask.entries})
    for text in ("ss", "ds", "ss:1,0", "uq", "uq:1,0", "hh", "dh", "hs", "sh:1,0", "bb", "db", "sb", "bs:1,0", "hb", "bh", "hd", "bd:1,0"):
        report = weft("run", "A(i,j) = M(i,j) * B(i,k) * C(k,j)", *arguments, "--format", f"M:{text}", "--format", "A:like(M)", "--out", "A=A.tns", "--json").json
        require_stored(weft, report, Tensor(mask.extents, stored(whole, text)), text)
    weft.error("run", "A(i,j) = M(i,j) * B(i,k) * C(k,j)", *arguments, "--format", "A:like(X)", says="X")
    weft.error("run", "A(i,j) = M(i,j) * B(i,k) * C(k,j)", *arguments, "--format", "A:like(B)", says="B")


def case_stored_zeros_are_entries_of_what_is_read(weft):
    """A result in a format that stores zeros has them for later assignments too."""
    chosen, column = Tensor((2,), {(0,): 3.0}), Tensor((2,), {(0,): -1.0, (1,): -1.0})
    operands = [sparse_operand(weft, "v", chosen), sparse_operand(weft, "w", column)]
    for text, entries in (("hd", {(0, 0): -27.0, (0, 1): 0.0}), ("bd", {(0, 0): -27.0, (0, 1): 0.0}), ("sd:1,0", {(0, 0): -27.0, (1, 0): 0.0}), ("ss", {(0, 0): -27.0})):
        report = weft("run", "S(m,k) = v(k) * v(k) * v(m); R(m,j) = S(m,j) * w(j)", *operands, "--format", f"S:{text}", "--format", "R:ss", "--out", "R=R.tns",
                      "--json").json
        require_stored(weft, report, Tensor((2, 2), entries), "ss", "R")


def case_sampled_product_and_what_reads_it(weft):
    mask = Tensor((3, 4), {(0, 1): 1.0, (1, 0): 2.0, (1, 3): -1.0})
    left, right, last = dense((3, 2), range(1, 7)), dense((4, 2), range(1, 9)), dense((4, 2), [1.0, -1.0, 2.0, 0.0, 3.0, 1.0, -2.0, 5.0])
    sampled = evaluate("ij,ik,jk->ij", mask, left, right)
    arguments = [sparse_operand(weft, "M", mask), dense_operand(weft, "B", left), dense_operand(weft, "C", right), dense_operand(weft, "D", last)]
    for text in ("ds", "ss", "like(M)", "uq:1,0"):
        report = weft("run", "S(i,j) = M(i,j) * B(i,k) * C(j,k); O(i,h) = S(i,j) * D(j,h)", *arguments, "--format", f"S:{text}", "--format", "M:ds",
                      "--out", "S=S.tns", "--out", "O=O.tns", "--json").json
        require_stored(weft, report, sampled, "ds" if text.startswith("like") else text, "S")
        require(same(nonzero(Tensor((), read_tns(weft.text("O.tns")))), nonzero(evaluate("ij,jh->ih", sampled, last))), "values of O")


def case_written_as_mtx_and_npy(weft):
    wanted = evaluate("ik,kj->ij", B, C)
    operands = [sparse_operand(weft, "B", B), sparse_operand(weft, "C", C)]
    for text in ("ds", "ss:1,0", "uq", "hh"):
        weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", f"A:{text}", "--out", "A=A.mtx", "--quiet")
        require(same(read_mtx(weft.text("A.mtx")), wanted.entries), f"A.mtx of {text}: {weft.text('A.mtx')!r}")
        weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", f"A:{text}", "--out", "A=A.npy", "--quiet")
        extents, _, values = read_npy(weft.read("A.npy"))
        require_equal(tuple(extents), wanted.extents, "extents")
        require_equal(values, stored(wanted, "dd"), f"values of {text}")


def case_single_precision(weft):
    report = weft("run", "A(i,j) = B(i,k) * C(k,j)", "B=sparse(30x40,nnz=50,seed=1)", "C=sparse(40x20,nnz=40,seed=2)", "--format", "B:ss:f32", "--format", "C:ss:f32",
                  "--format", "A:ss:f32", "--json").json
    require_equal(report["operands"]["B"]["scalar"], "f32", "scalar")
    wanted = evaluate("ik,kj->ij", sparse((30, 40), 50, 1, "f32"), sparse((40, 20), 40, 2, "f32"))
    require_equal(report["results"]["A"]["nnz"], len(wanted.entries), "stored entries")
    require(abs(report["results"]["A"]["sum"] - sum(wanted.entries.values())) < 1e-4, "sum")


def case_growing_results_stop_at_the_limit(weft):
    operands = ["B=sparse(20000x2000,nnz=200000,seed=1)", "C=sparse(2000x20000,nnz=200000,seed=2)"]
    weft.error("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", "A:ds", "--memory-limit", "40M", status=5, says="A")
    weft("run", "A(i,j) = B(i,k) * C(k,j)", "B=sparse(200x200,nnz=500,seed=1)", "C=sparse(200x200,nnz=500,seed=2)", "--format", "A:ds", "--memory-limit", "40M")


def case_an_estimate_alone_refuses_nothing(weft):
    """Blocks on the diagonal: the products of a row meet in few entries, but are estimated to spread over all of it."""
    block = [(i, j) for i in range(1000) for j in range(i // 100 * 100, i // 100 * 100 + 100) if (i + j) % 2 == 0]
    weft.write("b.tns", "".join(f"{i + 1} {j + 1} 1\n" for i, j in block))
    weft.write("c.tns", "".join(f"{i + 1} {j + 1} 1\n" for i, j in block))
    operands = ("B=b.tns:1000x1000", "C=c.tns:1000x1000")
    planned = weft("plan", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", "A:ds", "--json").json
    require(planned["plan"]["peak_bytes"] > 8_000_000, f"the estimate is large: {planned['plan']['peak_bytes']}")
    report = weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", "A:ds", "--memory-limit", "6M", "--json").json
    require(report["results"]["A"]["nnz"] == len(block), f"what is stored: {report['results']}")


def case_dense_that_does_not_fit_advises_sparse(weft):
    operands = ["B=sparse(200000x200000,nnz=1000,seed=1)", "C=sparse(200000x200000,nnz=1000,seed=2)"]
    weft.error("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", "A:dd", "--memory-limit", "1G", status=5, says="sparse")
    report = weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--memory-limit", "1G", "--json").json
    require(report["results"]["A"]["nnz"] < 100, "stored entries")


def case_threads_agree_bit_for_bit(weft):
    operands = ["B=sparse(3000x3000,nnz=60000,seed=1)", "C=sparse(3000x3000,nnz=60000,seed=2)"]
    texts = set()
    for threads in (1, 2, 4, 8):
        weft("run", "A(i,j) = B(i,k) * C(k,j)", *operands, "--format", "A:ds", "--threads", threads, "--deterministic", "--out", "A=A.tns", "--quiet")
        texts.add(weft.read("A.tns"))
    require_equal(len(texts), 1, "different results")


def random_rows(extent, count, seed):
    """A matrix with small integers, hubs first."""
    dice = random.Random(seed)
    return {(int(extent * dice.random() ** 2), int(extent * dice.random() ** 2)): float(dice.randint(1, 4)) for _ in range(count)}


def case_masks_and_triangles_look_rows_up(weft):
    extent, tensors = 1500, {}
    for seed, name in enumerate("MBC"):
        tensors[name] = Tensor((extent, extent), random_rows(extent, 30_000, seed))
    operands = [sparse_operand(weft, name, tensor) for name, tensor in tensors.items()]
    rows = {}
    for name, tensor in tensors.items():
        for (i, j), value in tensor.entries.items():
            rows.setdefault(name, {}).setdefault(i, {})[j] = value
    wanted = {}
    for i, row in product(rows["B"], rows["C"]).items():
        kept = {j: value * rows["M"][i][j] for j, value in row.items() if j in rows["M"].get(i, {})}
        if kept:
            wanted[i] = kept
    expression = "A(i,j) = M(i,j) * B(i,k) * C(k,j)"
    for text in ("ds", "ss:1,0", "dd"):
        report = weft("run", expression, *operands, "--format", f"A:{text}", "--threads", 2, "--json").json
        if text == "dd":
            require_equal(report["results"]["A"]["sum"], sum(sum(row.values()) for row in wanted.values()), "the sum")
        else:
            require_counted(report, wanted)
    schedule = "\n".join(["schedule", "  tree (M * B * C)", "  layout M ss:0,1 f64", "  layout B ss:0,1 f64", "  layout C ds:0,1 f64 opened",
                          "  intermediate m[i,j] da:0,1 f64", "  result A ds:0,1 f64", "  m[i,j] += M[i,j]   loops i,j",
                          "  A[i,j] += m[i,j] * B[i,k] * C[k,j]   loops i,k,j   fused 1   drained accumulator",
                          "    meet j: search m@2.1, drive C@2.3", "  parallel i owner", ""])
    weft.write("s.txt", schedule)
    report = weft("run", expression, *operands, "--format", "A:ds", "--schedule", "s.txt", "--json").json
    require_counted(report, wanted)
    require_equal(report["plan"]["schedule"], schedule, "the schedule")
    weft.write("s.txt", schedule.replace("m[i,j] da", "m[i,j] dh").replace("m[i,j] += M", "m[i,j] += M[i,j] * M"))
    weft.error("run", expression, *operands, "--format", "A:ds", "--schedule", "s.txt", says="statement 1")

    # Rows so long that clearing a dense one takes longer than looking its few entries up.
    apart = 40
    wide = [sparse_operand(weft, name, Tensor((extent, apart * extent), {(i, apart * k): value for (i, k), value in tensors[name].entries.items()}))
            for name in "BC"]
    count = weft("run", "s() = M(i,j) * B(j,k) * C(i,k)", operands[0], *wide, "--json").json
    paths = sum(value * other * rows["C"][i].get(k, 0.0) for i, row in rows["M"].items() for j, value in row.items()
                for k, other in rows["B"].get(j, {}).items() if i in rows["C"])
    require_equal(count["results"]["s"]["sum"], paths, "triangles")
    require_in("_row[", count["plan"]["schedule"], "the schedule")


# Real matrices: the structure is counted by rows of sets, which shares nothing with weft but the reader of the file.

def rows_of(weft, name):
    path = downloaded(name)
    weft("convert", path, "M.tns")
    entries = [line.split() for line in weft.text("M.tns").splitlines() if line and not line.startswith("#")]
    rows = {}
    for i, j, value in entries:
        rows.setdefault(int(i) - 1, {})[int(j) - 1] = float(value)
    return path, rows


def transposed(rows):
    result = {}
    for i, row in rows.items():
        for j, value in row.items():
            result.setdefault(j, {})[i] = value
    return result


def product(left, right):
    result = {}
    for i, row in left.items():
        sums = {}
        for k, value in row.items():
            for j, other in right.get(k, {}).items():
                sums[j] = sums.get(j, 0.0) + value * other
        if sums:
            result[i] = sums
    return result


def require_counted(report, wanted, relative=1e-9):
    found = report["results"]["A"]
    require_equal(found["nnz"], sum(len(row) for row in wanted.values()), "stored entries")
    total = sum(sum(row.values()) for row in wanted.values())
    size = sum(sum(abs(value) for value in row.values()) for row in wanted.values())
    require(abs(found["sum"] - total) <= relative * max(size, 1), f"sum {found['sum']}, wanted {total}")


def case_a_sparse_result_beside_a_long_dense_loop(weft):
    """That the loop over k, of 257, runs at all is known where entries are those that something was added to."""
    for extent in (256, 257, 1000):
        weft("run", "R(l,r) = T(l,r); S(l) = (E(l,i,s) * F(k,j,r) * R(l,r)) * G(r,j)", "T=sparse(150x8,nnz=1)", "E=ones(150x20x8)",
             f"F=ones({extent}x1x8)", "G=ones(8x1)", "--format", "R:ss", "--format", "S:s", "--out", "S=S.tns", "--out", "R=R.tns", "--quiet")
        (row, _), value = read_tns(weft.text("R.tns")).popitem()
        require_equal(list(read_tns(weft.text("S.tns"))), [(row,)], "entries")
        require(abs(read_tns(weft.text("S.tns"))[(row,)] - 160 * extent * value) < 1e-9 * 160 * extent, "the sum")


def cases_real_squares(_):
    for name in ("cage10", "basker1", "maxwell_curl", "bcsstk16"):
        def one(weft, name=name):
            path, rows = rows_of(weft, f"{name}.mtx.zst")
            wanted = product(rows, rows)
            for text in ("ds", "ss:1,0"):
                report = weft("run", "A(i,j) = M(i,k) * M(k,j)", f"M={path}", "--format", f"A:{text}", "--json").json
                require_counted(report, wanted)
        yield name, one


def cases_real_times_transpose(_):
    for name in ("lp_dfl001", "lp_80bau3b", "maxwell_grad", "groebner_f855_aug"):
        def one(weft, name=name):
            path, rows = rows_of(weft, f"{name}.mtx.zst")
            wanted = product(rows, transposed(rows))
            report = weft("run", "A(i,j) = M(i,k) * M(j,k)", f"M={path}", "--format", "A:ds", "--json").json
            require_counted(report, wanted)
        yield name, one


def case_real_triple_product(weft):
    curl_path, curl = rows_of(weft, "maxwell_curl.mtx.zst")
    grad_path, grad = rows_of(weft, "maxwell_grad.mtx.zst")
    wanted = product(product(transposed(grad), curl), grad)
    for text in ("ds", "ss", "uq"):
        report = weft("run", "A(i,j) = D(k,i) * S(k,l) * D(l,j)", f"D={grad_path}", f"S={curl_path}", "--format", f"A:{text}", "--json").json
        require_counted(report, wanted)


def cases_sums_over_fibers_that_meet_other_operands(_):
    """A finger into another operand begins anew with each fiber, where sums need the coordinates of none but its entries."""
    T = "T=sparse(4x3x10000,nnz=3000,seed=1)"
    for name, words in {
        "rows": ["s(i,r) = T(i,j,k) * X(k,r)", "X=sparse(10000x3,nnz=9000,seed=3)"],
        "all_rows": ["s(r) = T(i,j,k) * X(k,r)", "X=sparse(10000x3,nnz=20000,seed=3)"],
        "two_others": ["s(i) = T(i,j,k) * X(i,k) * Y(i,k)", "X=sparse(4x10000,nnz=30000,seed=3)", "Y=sparse(4x10000,nnz=30000,seed=4)"],
        "like": ["s(k) = T(i,j,k) * x(k)", "x=sparse(10000,nnz=9000,seed=2)", "--format", "s:like(x)"],
        "layout": ["s(i) = T(i,j,k) * x(k)", "x=sparse(10000,nnz=900,seed=2)", "--format", "x:(k) -> (k/4:s, k%4:d)"],
        "vector": ["s(i) = T(i,j,k) * x(k)", "x=sparse(10000,nnz=900,seed=2)", "--tree", "(T * x)"],
        "number": ["s = T(i,j,k) * x(k)", "x=sparse(10000,nnz=9000,seed=2)", "--tree", "(T * x)", "--threads", "2"],
    }.items():
        def one(weft, words=words):
            results = [weft("run", words[0], T, *words[1:], *more, "--no-cache", "--json").json["results"]["s"] for more in ([], ["--checked"])]
            for figure in ("sum", "norm"):
                found, wanted = (result[figure] for result in results)
                require(math.isclose(found, wanted, rel_tol=1e-9), f"{figure} is {found}, with every access checked {wanted}")
        yield name, one
