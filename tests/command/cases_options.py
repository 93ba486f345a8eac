"""Formats, trees, schedules, stages, threads and limits."""

import os
import re
import subprocess
import time

from evaluation import dense_operand, require_close, require_result, result_of, sparse_operand
from harness import PATIENCE, Skip, require, require_equal, require_in
from tensors import Tensor, dense, evaluate, npy, read_npy, sparse, uniform

EXPRESSION = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)"
OPERANDS = ["T=sparse(12x10x11,nnz=150,seed=1)", "B=uniform(10x5,seed=2)", "C=uniform(11x5,seed=3)"]
WANTED = evaluate("ijk,jr,kr->ir", sparse((12, 10, 11), 150, 1), uniform((10, 5), 2), uniform((11, 5), 3))
TREES = ("((T * C) * B)", "((T * B) * C)", "(T * (B * C))", "(T * B * C)", "(T*(C*B))")
STAGES = ("network", "tree", "schedule", "loops", "proofs", "signature", "llvm", "asm", "object")


def cases_operand_format(_):
    for layout in ("sss", "dss", "dds", "ddd", "sss:2,0,1", "sss:1,2,0", "dss:1,0,2", "uqq", "uqq:2,1,0", "suq", "duq", "sds", "ssd", "ssd:0,2,1", "sss:0,1,2:f64"):
        def one(weft, layout=layout):
            run = weft("run", EXPRESSION, *OPERANDS, "--format", f"T:{layout}", "--out", "A=A.npy", "--json")
            kinds, _, order = layout.partition(":")
            require_equal(run.json["operands"]["T"]["format"], f"{kinds}:{order.partition(':')[0] or '0,1,2'}", "format of T")
            require_close({at: value for at, value in read_npy(weft.read("A.npy"))[2].items() if value}, WANTED)
        yield layout, one
    for layout in ("dd", "dd:1,0", "ss", "ds", "ss:1,0", "uq", "sd"):
        def of_dense(weft, layout=layout):
            require_close(result_of(weft, EXPRESSION, *OPERANDS, "--format", f"B:{layout}"), WANTED)
        yield f"B:{layout}", of_dense


def cases_one_entry_per_row(_):
    """A singleton below a dense level: a permutation is its columns alone."""
    permutation = Tensor((5, 5), {(0, 3): 2.0, (1, 0): 1.0, (2, 4): 3.0, (3, 1): 1.0, (4, 2): -1.0})
    b = sparse((5, 4), 9, 2)
    for layout in ("dq", "sq", "dq:1,0"):
        def one(weft, layout=layout):
            operands = [sparse_operand(weft, "P", permutation), sparse_operand(weft, "B", b), "--format", f"P:{layout}"]
            for kinds in ("dd", "ss"):
                found = result_of(weft, "A(i,k) = P(i,j) * B(j,k)", *operands, "--format", f"A:{kinds}", "--checked")
                require_close(found, evaluate("ij,jk->ik", permutation, b))
        yield layout, one


def cases_result_format(_):
    for layout, descr, told in (("dd", "<f8", "dd"), ("dd:1,0", "<f8", "dd:1,0"), ("dd:0,1:f32", "<f4", "dd"), ("dd:1,0:f32", "<f4", "dd:1,0")):
        def one(weft, layout=layout, descr=descr, told=told):
            run = weft("run", EXPRESSION, *OPERANDS, "--format", f"A:{layout}", "--out", "A=A.npy", "--json")
            extents, found, entries = read_npy(weft.read("A.npy"))
            require_equal((extents, found, run.json["results"]["A"]["format"]), ((12, 5), descr, told), "result")
            require_close({at: value for at, value in entries.items() if value}, WANTED, 1e-12 if descr == "<f8" else 1e-6)
        yield layout, one


def cases_tree(_):
    for tree in TREES:
        def one(weft, tree=tree):
            run = weft("run", EXPRESSION, *OPERANDS, "--tree", tree, "--json", "--out", "A=A.tns")
            require_equal(run.json["tree"].replace(" ", ""), tree.replace(" ", ""), "tree")
            require_close(result_of(weft, EXPRESSION, *OPERANDS, "--tree", tree), WANTED)
        yield tree, one


def case_tree_with_an_operand_used_twice(weft):
    k = sparse((8, 8), 20, 5)
    operand = sparse_operand(weft, "K", k)
    wanted = evaluate("ub,vb,uw->bvw", k, k, k)
    for tree in ("((K * K) * K)", "(K * (K * K))", "(K * K * K)"):
        run = weft("plan", "A(b,v,w) = K(u,b) * K(v,b) * K(u,w)", operand, "--tree", tree, "--json")
        require_equal(run.json["tree"], tree, "tree")
        require_close(result_of(weft, "A(b,v,w) = K(u,b) * K(v,b) * K(u,w)", operand, "--tree", tree), wanted)


def case_tree_and_parentheses_agree(weft):
    first = weft("run", "A(i,r) = (T(i,j,k) * C(k,r)) * B(j,r)", *OPERANDS, "--json").json
    second = weft("run", EXPRESSION, *OPERANDS, "--tree", "((T * C) * B)", "--json").json
    require_equal(first["plan"]["cost_ns"], second["plan"]["cost_ns"], "cost")


def cases_schedule(_):
    for tree in (None, *TREES[:4]):
        def one(weft, tree=tree):
            given = ["--tree", tree] if tree else []
            weft("plan", EXPRESSION, *OPERANDS, *given, "--emit", "schedule=s.txt")
            report = weft("run", EXPRESSION, *OPERANDS, *given, "--json").json
            require_equal(weft.text("s.txt"), report["plan"]["schedule"], "the emitted schedule and the reported one")
            again = weft("run", EXPRESSION, *OPERANDS, "--schedule", "s.txt", "--json", "--out", "A=A.tns").json
            require_equal(again["plan"]["producer"], "user", "producer")
            for field in ("cost_ns", "schedule", "loops", "flops", "peak_bytes"):
                require_equal(again["plan"][field], report["plan"][field], field)
            require_equal(again["tree"], report["tree"], "tree")
            require_close(result_of(weft, EXPRESSION, *OPERANDS, "--schedule", "s.txt"), WANTED)
        yield tree or "planned", one


def case_schedule_with_several_calls(weft):
    weft("plan", EXPRESSION, *OPERANDS, "--calls", 1000, "--emit", "schedule=s.txt")
    first = weft("plan", EXPRESSION, *OPERANDS, "--calls", 1000, "--json").json["plan"]
    again = weft("plan", EXPRESSION, *OPERANDS, "--calls", 1000, "--schedule", "s.txt", "--json").json["plan"]
    require_equal(again["cost_ns"], first["cost_ns"], "cost")


def case_dense_operand_that_is_transposed(weft):
    """Where B has entries the rows of C lie across the loops: called often it is converted, unless its format is given."""
    left = Tensor((40, 60), {(i, (i * 7 + n * n) % 60): float(n % 5 - 2) for i in range(40) for n in range(12)})
    right = dense((48, 60), [float(n % 7 - 3) for n in range(48 * 60)])
    operands = [sparse_operand(weft, "B", left), dense_operand(weft, "C", right)]
    wanted = evaluate("ij,kj->ik", left, right)
    for given, layout in (([], "layout C dd:1,0 f64 converted"), (["--format", "C:dd:0,1"], "layout C dd:0,1 f64\n")):
        arguments = ["A(i,k) = B(i,j) * C(k,j)", *operands, "--calls", 100000, *given]
        require_in(layout, weft("plan", *arguments, "--json").json["plan"]["schedule"], "the schedule")
        require_result(result_of(weft, *arguments), wanted)


def cases_schedule_of_a_sparse_product_fed_back(_):
    """What a sparse result or intermediate is expected to hold depends on joins that a schedule is judged with as well."""
    for expression, operands in (
            ("R(l,k) = X(k,l,m) * Y(l,i) * X(k,l,i) * Z(m,j)",
             ["X=sparse(20x300x300,nnz=1800,seed=0)", "Y=uniform(300x300,seed=1)", "Z=sparse(300x300,nnz=900,seed=2)"]),
            ("R(i) = X(m) * Y(i,l,m) * Z(l,j) * V(j,m,l)",
             ["X=sparse(60,nnz=1,seed=0)", "Y=sparse(100x60x60,nnz=20000,seed=1)", "Z=sparse(60x300,nnz=18,seed=2)",
              "V=sparse(300x60x60,nnz=1080,seed=3)"])):
        def one(weft, expression=expression, operands=operands):
            chosen = weft("plan", expression, *operands, "--emit", "schedule=s.txt", "--json").json["plan"]
            given = weft("plan", expression, *operands, "--schedule", "s.txt", "--json").json["plan"]
            require_equal((given["producer"], given["cost_ns"]), ("user", chosen["cost_ns"]), "producer and cost")
        yield expression[:6], one


def cases_wrong_schedule(_):
    for what, text in (("empty", ""), ("words", "not a schedule\n"), ("binary", b"\x00\xff\xfe" * 50)):
        def one(weft, text=text):
            weft.write("s.txt", text)
            weft.error("run", EXPRESSION, *OPERANDS, "--schedule", "s.txt", says="s.txt")
        yield what, one


def case_schedule_of_another_expression(weft):
    weft("plan", "A(i) = M(i,j) * v(j)", "M=sparse(5x6,nnz=8)", "v=ones(6)", "--emit", "schedule=s.txt")
    weft.error("run", EXPRESSION, *OPERANDS, "--schedule", "s.txt")


def case_damaged_schedules_never_crash(weft):
    weft("plan", EXPRESSION, *OPERANDS, "--emit", "schedule=s.txt")
    lines = weft.text("s.txt").splitlines(keepends=True)
    for number in range(len(lines)):
        weft.write("d.txt", "".join(lines[:number] + lines[number + 1:]))
        process = weft.start("plan", EXPRESSION, *OPERANDS, "--schedule", "d.txt")
        _, err = process.communicate(timeout=60 * PATIENCE)
        require(process.returncode in (0, 2), f"exit status {process.returncode} without line {number + 1}: {err[:300]!r}")


def cases_emit(_):
    for command in ("run", "plan"):
        for stage in STAGES:
            def one(weft, command=command, stage=stage):
                run = weft(command, EXPRESSION, *OPERANDS, "--emit", stage)
                require(len(run.out_bytes) > 0, "standard output has the stage")
                require_equal(run.err, "", "standard error")
                written = weft(command, EXPRESSION, *OPERANDS, "--emit", f"{stage}=stage.txt")
                require_equal(weft.read("stage.txt"), run.out_bytes, "the stage in the file and on standard output")
                require(written.out != "", "with PATH the summary stays")
                sign = {"network": b"T(i,j,k)", "tree": b"*", "loops": b"for ", "llvm": b"define ", "object": b"\x7fELF", "asm": b"ret"}.get(stage, b"")
                require(sign in run.out_bytes, f"{sign!r} is in {run.out_bytes[:300]!r}")
            yield f"{command} {stage}", one


def case_emit_tree_and_loops_are_those_of_the_report(weft):
    report = weft("run", EXPRESSION, *OPERANDS, "--json").json
    require_equal(weft("run", EXPRESSION, *OPERANDS, "--emit", "tree").out.strip(), report["tree"], "tree")
    require_equal(weft("run", EXPRESSION, *OPERANDS, "--emit", "loops").out, report["plan"]["loops"], "loops")


def case_several_stages(weft):
    run = weft("run", EXPRESSION, *OPERANDS, "--emit", "tree", "--emit", "loops=l.txt", "--emit", "network=n.txt")
    require_in("*", run.out, "tree")
    require("for " not in run.out, "only the stage without PATH is on standard output")
    require_in("for ", weft.text("l.txt"), "loops")
    require_equal(weft.text("n.txt"), "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)\n", "network")
    llvm = weft("plan", EXPRESSION, *OPERANDS, "--emit", "llvm").out
    require_in("\n  ; for k: drive T, locate C", llvm, "the loop of a block of IR")
    assembly = weft("plan", EXPRESSION, *OPERANDS, "--emit", "asm").out
    require(re.search(r"^\.LBB\d+_\d+:.*# .*for k: drive T, locate C", assembly, re.MULTILINE), f"the loop of a label in {assembly[:3000]!r}")
    named = weft("plan", EXPRESSION, *OPERANDS, "--emit", "signature").out
    for word in ("pos T.0", "values B", "values A"):
        require_in(word, named, "signature")
    weft("plan", EXPRESSION, *OPERANDS, "--emit", "schedule=s.txt")
    given = weft("plan", EXPRESSION, *OPERANDS, "--schedule", "s.txt")
    require_in("\ngiven by the user\n", given.out, "who chose a schedule")
    require("optimal" not in given.out, "nothing is said of how good what was given is")
    run = weft("run", EXPRESSION, *OPERANDS, "--emit", "tree=t.txt", "--json")
    require_equal(run.json["tree"], weft.text("t.txt").strip(), "tree")
    weft("run", EXPRESSION, *OPERANDS, "--emit", "tree", "--json=r.json")
    run = weft.error("run", EXPRESSION, *OPERANDS, "--emit", "tree=", says="--emit")


def cases_option_between_operands(_):
    """An option with a value takes one word; what follows is an operand again."""
    for words in (["--format", "B:dd"], ["--out", "A=A.tns"], ["--emit", "tree=t.txt"], ["--threads", "1"], ["--calls", "2"],
                  ["--tree", TREES[0]], ["--html", "page.html"], ["--json"]):
        def one(weft, words=words):
            weft("run", EXPRESSION, OPERANDS[0], *words, *OPERANDS[1:])
            weft("run", *words, EXPRESSION, *OPERANDS)
        yield words[0], one


def case_emitted_kernels_are_repeatable(weft):
    first, second = [weft("run", EXPRESSION, *OPERANDS, "--no-cache", "--emit", "object").out_bytes for _ in range(2)]
    require(first == second, "the same object code twice")


def cases_objective(_):
    for tree in (None, "((T * C) * B)", "((T * B) * C)"):
        def one(weft, tree=tree):
            given = ["--tree", tree] if tree else []
            run = weft("run", EXPRESSION, *OPERANDS, *given, "--objective", "workspace-order", "--json")
            require_equal((run.json["plan"]["producer"], run.json["plan"]["optimal"]), ("z3", "tree"), "producer and proof")
            require_close(result_of(weft, EXPRESSION, *OPERANDS, *given, "--objective", "workspace-order"), WANTED)
            told = weft("plan", EXPRESSION, *OPERANDS, *given, "--objective", "workspace-order").out
            require_in("l = 1 is the least with a solution for this tree", told, "explanation")
            time = weft("plan", EXPRESSION, *OPERANDS, *given, "--objective", "time", "--json").json["plan"]
            usual = weft("plan", EXPRESSION, *OPERANDS, *given, "--json").json["plan"]
            require_equal(time["schedule"], usual["schedule"], "schedule of the default objective")
        yield tree or "planned", one


def cases_objective_of_several_sparse_operands(_):
    for expression, einsum in (("A(i,j,k) = ((E(i,p,q) * F(j,p,r)) * G(k,q,r)) * H(j,k,r)", "ipq,jpr,kqr,jkr->ijk"),
                               ("A(i,u,j,v) = (E(k,i,u) * M(k,l)) * E(l,j,v)", "kiu,kl,ljv->iujv")):
        def one(weft, expression=expression, einsum=einsum):
            tensors = {name: sparse((6, 6, 6), 40, seed) for seed, name in enumerate("EFGH")}
            tensors["M"] = sparse((6, 6), 12, 9)
            used = [name for name in "EFGHM" if f"{name}(" in expression]
            operands = [sparse_operand(weft, name, tensors[name]) for name in used]
            factors = [name for name in expression.partition("=")[2].replace("(", " ").split() if name in tensors]
            wanted = evaluate(einsum, *(tensors[name] for name in factors))
            require_close(result_of(weft, expression, *operands, "--objective", "workspace-order"), wanted)
        yield einsum, one


def case_proof(weft):
    K = sparse((40, 40, 9), 4000, 3)
    operand = sparse_operand(weft, "K", K)
    f, g = (dense((40,), [float(n % period) for n in range(40)]) for period in (5, 3))
    vectors = dense_operand(weft, "f", f), dense_operand(weft, "g", g)
    wanted = evaluate("uvb,vwb,u,w->b", K, K, f, g)
    product = "A(b) = (K(u,v,b) * K(v,w,b) * f(u) * g(w))"
    # Both accesses want other orders than the stored one: one converted copy for both is Z3's to find, where that is asked or pays.
    for more, optimal in ((), "false"), (("--prove",), "all"):
        require_close(result_of(weft, product, operand, *vectors, "--calls", "50", *more), wanted)
        run = weft("plan", product, operand, *vectors, "--calls", "50", "--no-cache", "--json", *more)
        require_equal(run.json["plan"]["optimal"], optimal, f"proof with {more}")
    often = weft("plan", product, "K=sparse(400x400x90,nnz=400000)", "f=ones(400)", "g=ones(400)", "--calls", "50", "--no-cache", "--json")
    require_equal(often.json["plan"]["optimal"], "all", "where it pays")
    run = weft("plan", EXPRESSION, *OPERANDS, "--prove", "--no-cache")
    require("Z3 asked about 1 alternative," in run.out, f"explanation of a proof: {run.out}")


def case_unfused_gathers_long_modes_in_hash_tables(weft):
    for words in (("R(j,k) = T0(k) * T1(i,j,k)", "T0=sparse(2147483648,nnz=4)", "T1=sparse(65536x5x2147483648,nnz=6)"),
                  ("R(i,j,l) = T0(l,k,i) * T1(j)", "T0=sparse(5x5x1000000000,nnz=2)", "T1=sparse(1000000000,nnz=6)", "--format", "R:sss")):
        require(weft("plan", *words, "--unfused", "--json").json["predicted_ms"] < 1, "six entries take a microsecond")
        weft("run", *words, "--unfused", "--quiet")


def case_unfused_keeps_sparse_intermediates_sparse(weft):
    """Dense they would have 10^11 elements."""
    operands = ["A=sparse(50x60,nnz=200,seed=1)", "B=sparse(60x2000000000,nnz=500,seed=2)", "C=sparse(50x2000000000,nnz=500,seed=3)"]
    for text, used in (("s = (A(i,k) * B(k,L)) * (A(i,m) * B(m,L))", 2), ("F(i,L) = A(i,k) * B(k,L); s = F(i,L) * F(i,L)", 2),
                       ("y(i) = (A(i,k) * B(k,L)) * C(i,L)", 3)):
        fused = weft("run", text, *operands[:used], "--json").json["results"]
        run = weft("run", text, *operands[:used], "--unfused", "--json").json
        require_in("intermediate", run["plan"]["schedule"] + weft("plan", text, *operands[:used], "--unfused").out, f"the plan of {text}")
        for name, result in run["results"].items():
            require(abs(result["sum"] - fused[name]["sum"]) <= 1e-9 * abs(fused[name]["sum"]), f"{name} of {text}: {result}")


def case_unfused_with_a_pattern_from_an_inner_product(weft):
    """Fused, the product beside it is a number; unfused nothing that writes R reads T."""
    words = ["run", "R(k) = A(j) * (A(j) * T(k)) * B(i)", "A=ones(5)", "T=sparse(20,nnz=4)", "B=ones(3)", "--format", "T:s", "--format",
             "R:like(T)"]
    weft(*words)
    weft.error(*words, "--unfused", status=3, says="inner product")


def case_wrong_objective(weft):
    weft.error("plan", EXPRESSION, *OPERANDS, "--objective", "space", says="time and workspace-order")
    weft.error("run", EXPRESSION, *OPERANDS, "--objective", "", says="--objective")
    weft.error("plan", EXPRESSION, *OPERANDS, "--objective", "workspace-order", "--unfused", says="--unfused")


def case_nothing_is_chosen_beside_a_schedule(weft):
    weft("plan", EXPRESSION, *OPERANDS, "--emit", "schedule=chosen")
    weft("plan", EXPRESSION, *OPERANDS, "--schedule", "chosen")
    for option in ("--prove", "--unfused", "--objective=workspace-order"):
        weft.error("plan", EXPRESSION, *OPERANDS, "--schedule", "chosen", option, says="contradict")


def case_contradictory_layouts_under_an_objective(weft):
    operands = ["A=sparse(9x9,nnz=30)", "B=sparse(9x9,nnz=30,seed=1)"]
    layouts = ["--format", "A:ss:0,1", "--format", "B:ss:1,0"]
    weft("run", "a = A(i,j) * B(i,j)", *operands, *layouts)
    for says in ("the pinned layout ss:0,1 of A", "the pinned layout ss:1,0 of B"):
        weft.error("plan", "a = A(i,j) * B(i,j)", *operands, *layouts, "--objective", "workspace-order", status=3, says=says)


def case_no_legal_nest_under_an_objective(weft):
    """The input is right: other loops carry it out."""
    given = ["A(k,j) = T(j) * U(j) * V(k,i) * W(j,i)", "T=sparse(5,nnz=4,seed=0)", "U=uniform(5)", "V=sparse(5x5,nnz=4,seed=2)",
             "W=sparse(5x5,nnz=4,seed=3)", "--format", "A:sd"]
    weft("run", *given)
    weft.error("plan", *given, "--objective", "workspace-order", status=3, says=["no nest that the objective workspace-order finds is legal", "(--objective)"])


def case_a_proof_without_z3(weft):
    """Without the library there is a plan, and the reason why nothing is proven; only what Z3 alone can do is refused."""
    weft.write("libz3.so.4", b"no library")
    env = {"LD_LIBRARY_PATH": weft.path(".")}
    if subprocess.run([weft.command, "--version"], env={**os.environ, **env}, capture_output=True).returncode == 127:
        raise Skip("this build is linked to libz3, as under the leak sanitizer")
    told = weft("plan", EXPRESSION, *OPERANDS, "--prove", "--no-cache", env=env)
    require_in("is open: Z3 could not be asked", told.out, "why nothing is proven")
    require_in("install libz3-4", told.out, "what to do")
    require_equal(weft("plan", EXPRESSION, *OPERANDS, "--prove", "--no-cache", "--json", env=env).json["plan"]["optimal"], "false", "optimal")
    weft.error("plan", EXPRESSION, *OPERANDS, "--objective", "workspace-order", "--no-cache", status=3, says=["libz3-4"], env=env)


def cases_deterministic(_):
    for what, expression, operands in (
            ("owner", EXPRESSION, ["T=sparse(300x200x100,nnz=40000,seed=1)", "B=uniform(200x8,seed=2)", "C=uniform(100x8,seed=3)"]),
            ("private", "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)", ["T=sparse(300x200x100,nnz=40000,seed=1)", "B=uniform(300x8,seed=2)", "C=uniform(100x8,seed=3)"]),
            ("scalar", "A() = T(i,j,k) * B(i) * C(k)", ["T=sparse(300x200x100,nnz=80000,seed=1)", "B=uniform(300,seed=2)", "C=uniform(100,seed=3)"])):
        def one(weft, expression=expression, operands=operands):
            found = set()
            for threads in (1, 2, 3, 2, 8):
                weft("run", expression, *operands, "--threads", threads, "--deterministic", "--out", "A=A.npy", "--quiet")
                found.add(weft.read("A.npy"))
            require_equal(len(found), 1, "different results")
        yield what, one


def case_threads_agree(weft):
    operands = ["T=sparse(300x200x100,nnz=40000,seed=1)", "B=uniform(300x8,seed=2)", "C=uniform(100x8,seed=3)"]
    sums = [weft("run", "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)", *operands, "--threads", n, "--json").json["results"]["A"]["norm"] for n in (1, 2, 5)]
    require(max(sums) - min(sums) < 1e-12 * sums[0], f"norms {sums}")


def case_strict_fp_and_threads(weft):
    operands = ["T=sparse(300x200x100,nnz=40000,seed=1)", "B=uniform(300x8,seed=2)", "C=uniform(100x8,seed=3)"]
    found = set()
    for threads in (1, 2, 3):
        weft("run", "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)", *operands, "--threads", threads, "--strict-fp", "--out", "A=A.npy", "--quiet")
        found.add(weft.read("A.npy"))
    require_equal(len(found), 1, "different results: strict-fp keeps every sum in loop order")


def cases_memory_limit(_):
    for what, arguments, says in (("dense operand", ["A(i) = B(i,j)", "B=uniform(2000x1000)"], "B"),
                                  ("sparse operand", ["A(i) = B(i,j)", "B=sparse(20000x10000,nnz=500000)"], "B"),
                                  ("result", ["A(i,j) = u(i) * v(j)", "u=ones(3000)", "v=ones(3000)"], "A")):
        def one(weft, arguments=arguments, says=says):
            weft.error("run", *arguments, "--memory-limit", "4M", status=5, says=says)
            weft("run", *arguments, "--memory-limit", "1G", "--quiet")
        yield what, one


def peak_of(weft, *arguments):
    """Exit status, standard error and peak resident bytes: wait4 has the figures of one child."""
    with weft.start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said, usage.ru_maxrss * 1024


def cases_bitmaps_that_memory_does_not_hold(_):
    product = ["F(u,L) = V(u,k) * B(k,L)", "V=ones(2x2)"]
    for layout in ("bd:1,0", "bs:1,0", "db:1,0", "db", "sb"):
        for what, arguments in (("B", ["s = B(k,L)", "--format", f"B:{layout}"]), ("F", [*product, "--format", f"F:{layout}"])):
            def one(weft, what=what, arguments=arguments):
                weft.write("B.tns", "1 2 1\n1 134217728 10\n2 3 5\n")
                status, said, peak = peak_of(weft, "run", *arguments, "B=B.tns:2x134217728", "--memory-limit", "1300M", "--no-cache")
                require_equal(status, 5, f"the exit status ({said!r})")
                require(re.search(f"memory limit: {what} needs [0-9]+ bytes".encode(), said), f"the bytes are told: {said!r}")
                require(peak < 300e6, f"{peak / 1e6:.0f} MB were resident before the run was refused")
            yield f"{what} in {layout}", one


def case_memory_limit_of_a_file(weft):
    weft.write("x.npy", npy((200000,), [1.0] * 200000))
    weft.error("run", "a = X(i)", "X=x.npy", "--memory-limit", "1M", status=5, says="X")
    for size in ("8M", "8MiB", "8388608", "8m", "8MB"):
        weft("run", "a = X(i)", "X=x.npy", "--memory-limit", size, "--quiet")


def case_memory_limit_refuses_a_plan(weft):
    """weft plan says what a run would meet."""
    weft.error("plan", "A(i,j) = u(i) * v(j)", "u=ones(3000)", "v=ones(3000)", "--memory-limit", "4M", status=5, says="A")


def case_announced_peak_is_enough(weft):
    plan = weft("plan", EXPRESSION, *OPERANDS, "--json").json["plan"]
    if not plan["peak_is_estimate"]:
        weft("run", EXPRESSION, *OPERANDS, "--memory-limit", plan["peak_bytes"] + (1 << 20), "--threads", 1, "--quiet")


def case_calls(weft):
    weft("run", EXPRESSION, *OPERANDS, "--calls", 100, "--quiet")
    weft("run", EXPRESSION, *OPERANDS, "--calls", "1e6", "--quiet")
    one = weft("plan", EXPRESSION, *OPERANDS, "--json").json["plan"]["cost_ns"]
    many = weft("plan", EXPRESSION, *OPERANDS, "--calls", 1000, "--json").json["plan"]["cost_ns"]
    require(many <= one, f"a plan for many calls is no dearer per call: {many} and {one}")


def case_repeat_is_the_default_of_calls(weft):
    repeated = weft("run", EXPRESSION, *OPERANDS, "--repeat", 3, "--json").json["plan"]
    called = weft("plan", EXPRESSION, *OPERANDS, "--calls", 3, "--json").json["plan"]
    require_equal(repeated, called, "plan")


def case_options_before_the_expression(weft):
    run = weft("run", "--threads", 1, "--format", "T:sss:1,0,2", "--repeat", 2, EXPRESSION, *OPERANDS, "--json")
    require_equal((run.json["threads"], len(run.json["run_ms"]), run.json["operands"]["T"]["format"]), (1, 2, "sss:1,0,2"), "options")


def case_a_tiny_network_is_fast(weft):
    operands = ["M=sparse(50x60,nnz=200)", "v=ones(60)"]
    weft("run", "A(i) = M(i,j) * v(j)", *operands, "--quiet")
    best = 9.0
    for _ in range(5):
        start = time.monotonic()
        weft("run", "A(i) = M(i,j) * v(j)", *operands, "--quiet")
        best = min(best, time.monotonic() - start)
    require(best < 2.0, f"{best:.3f} s from the cache")


def case_mixed_operands_of_every_kind(weft):
    s = Tensor((4, 5), {(0, 1): 2.0, (3, 4): 3.0, (1, 1): 5.0})
    found = result_of(weft, "A(i,r) = 2 * s * S(i,j) * D(j,r) * u(r)", "s=3", sparse_operand(weft, "S", s),
                      dense_operand(weft, "D", dense((5, 2), range(10))), "u=ones(2)")
    require_result(found, evaluate("ij,jr->ir", s, dense((5, 2), range(10)), coefficient=6.0))
