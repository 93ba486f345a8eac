"""Several assignments in one expression: what they mean, which results are kept, trees and schedules of them."""

import json
import re

from evaluation import dense_operand, require_result, sparse_operand
from harness import require, require_equal, require_in
from tensors import Tensor, coordinates, dense, evaluate, read_npy, read_tns

NAN = float("nan")
INF = float("inf")

SAMPLED = "S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)"
M = Tensor((3, 4), {(0, 1): 1.0, (1, 0): 2.0, (1, 3): -1.0})
A = dense((3, 2), range(1, 7))
B = dense((4, 2), range(1, 9))
D = dense((4, 2), [1.0, -1.0, 2.0, 0.0, 3.0, 1.0, -2.0, 5.0])
S = evaluate("ij,ik,jk->ij", M, A, B)
O = evaluate("ij,jh->ih", S, D)


def operands(weft):
    return [sparse_operand(weft, "M", M), dense_operand(weft, "A", A), dense_operand(weft, "B", B), dense_operand(weft, "D", D)]


def results(weft, expression, *arguments, names=("O",)):
    """Runs, and gives the entries of each result by name."""
    weft("run", expression, *arguments, *[word for name in names for word in ("--out", f"{name}={name}.tns")], "--quiet")
    return [read_tns(weft.text(f"{name}.tns")) for name in names]


def full(tensor):
    """The tensor as a dense result stores it."""
    return Tensor(tensor.extents, {at: tensor.entries.get(at, 0.0) for at in coordinates(tensor.extents)})


def cases_last_alone_is_a_result(_):
    for what, text in (("semicolon", SAMPLED), ("lines", SAMPLED.replace("; ", "\n")), ("empty statements", ";" + SAMPLED + ";\n")):
        def one(weft, text=text):
            found, = results(weft, text, *operands(weft))
            require_result(found, O)
            report = weft("run", text, *operands(weft), "--json").json
            require_equal(list(report["results"]), ["O"], "results")
            require_equal(sorted(report["operands"]), ["A", "B", "D", "M"], "operands")
            require_equal(report["results"]["O"]["sum"], sum(O.entries.values()), "sum")
        yield what, one


def case_fused_away_needs_no_memory(weft):
    """S alone would take 800 MB; what reads it needs one entry of it at a time."""
    report = weft("run", "S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)", "M=sparse(10000x10000,nnz=5000)",
                  "A=uniform(10000x4)", "B=uniform(10000x4,seed=1)", "D=uniform(10000x4,seed=2)", "--memory-limit", "8M", "--json").json
    require(report["plan"]["peak_bytes"] < 8_000_000, f"peak bytes {report['plan']['peak_bytes']}")


def case_both_are_results(weft):
    found = results(weft, SAMPLED, *operands(weft), names=("S", "O"))
    require_result(found[0], S)
    require_result(found[1], O)
    report = weft("run", SAMPLED, *operands(weft), "--out", "S=S.npy", "--json").json
    require_equal(sorted(report["results"]), ["O", "S"], "results")
    require_equal(report["results"]["S"]["nnz"], 12, "stored entries of the dense S")
    require_equal(report["results"]["S"]["sum"], sum(S.entries.values()), "sum of S")
    require_equal(report["results"]["O"]["sum"], sum(O.entries.values()), "sum of O")
    extents, _, values = read_npy(weft.read("S.npy"))
    require_equal(tuple(extents), (3, 4), "extents of S")
    require_equal(values, full(S).entries, "values of S")
    text = weft("run", SAMPLED, *operands(weft), "--out", "S=S.npy").out
    require_in("S: 3x4", text, "the summary")
    require_in("O: 3x2", text, "the summary")


def case_format_makes_a_result(weft):
    report = weft("run", SAMPLED, *operands(weft), "--format", "S:dd:1,0", "--json").json
    require_equal(sorted(report["results"]), ["O", "S"], "results")
    require_in("1,0", report["results"]["S"]["format"], "the format of S")
    weft.error("run", SAMPLED, *operands(weft), "--format", "S:ddd", says="S")
    report = weft("run", SAMPLED, *operands(weft), "--format", "S:ds", "--json").json
    require_equal((report["results"]["S"]["format"][:2], report["results"]["S"]["nnz"]), ("ds", 3), "a sparse S")
    weft.error("run", SAMPLED, *operands(weft), "--out", "X=X.npy", says="X")


def cases_read_often(_):
    """Transposed, on its diagonal, twice in one product and by several assignments."""
    k = Tensor((3, 3), {(0, 0): 2.0, (0, 1): 3.0, (1, 2): -1.0, (2, 0): 4.0})
    v = dense((3,), [1.0, 2.0, -3.0])
    s = evaluate("ia,ja->ij", k, k)
    for what, text, names, wanted in (
            ("transposed", "S(i,j) = K(i,a) * K(j,a); R(i,j) = S(i,j) * S(j,i) * v(i)", ("R",), (evaluate("ij,ji,i->ij", s, s, v),)),
            ("diagonal", "S(i,j) = K(i,a) * K(j,a); R(i) = S(i,i) * v(i)", ("R",), (evaluate("ii,i->i", s, v),)),
            ("chain", "S(i,j) = K(i,a) * K(j,a); Q(i,l) = S(i,j) * S(j,l); R(i) = Q(i,j) * S(j,i) * v(i)", ("R",),
             (evaluate("ij,ji,i->i", evaluate("ij,jl->il", s, s), s, v),)),
            ("two readers", "S(i,j) = K(i,a) * K(j,a); P(i) = S(i,j) * v(j); R(j) = S(i,j) * P(i)", ("P", "R"),
             (evaluate("ij,j->i", s, v), evaluate("ij,i->j", s, evaluate("ij,j->i", s, v)))),
            ("all kept", "S(i,j) = K(i,a) * K(j,a); P(i) = S(i,j) * v(j); R() = P(i) * P(i)", ("S", "P", "R"),
             (s, evaluate("ij,j->i", s, v), evaluate("i,i->", evaluate("ij,j->i", s, v), evaluate("ij,j->i", s, v))))):
        def one(weft, text=text, names=names, wanted=wanted):
            given = [sparse_operand(weft, "K", k)] + ([dense_operand(weft, "v", v)] if "v(" in text else [])
            for found, right in zip(results(weft, text, *given, names=names), wanted, strict=True):
                require_result(found, right)
        yield what, one


def case_indices_belong_to_their_assignment(weft):
    """k is 2 in the first and 4 in the second; a is summed in both occurrences of S apart."""
    found, = results(weft, "S(i) = A(i,k) * A(i,k); O(i) = S(i) * S(i) * M(i,k)", sparse_operand(weft, "M", M), dense_operand(weft, "A", A))
    s = evaluate("ik,ik->i", A, A)
    require_result(found, evaluate("i,i,ij->i", s, s, M))


def case_scalars_and_numbers(weft):
    x = dense((3,), [1.0, 2.0, 3.0])
    given = dense_operand(weft, "x", x)
    found = results(weft, "s = x(i) * x(i); y(i) = s * x(i)", given, names=("y",))
    require_result(found[0], dense((3,), [14.0, 28.0, 42.0]))
    found = results(weft, "half = 0.5; s() = -x(i) * x(i); y(i) = 2 * half * s() * x(i) * half", given, names=("s", "y"))
    require_equal(found[0], {(): -14.0}, "s")
    require_result(found[1], dense((3,), [-7.0, -14.0, -21.0]))
    require_in("s = 14.0\n", weft("run", "y(i) = x(i); s = y(i) * y(i)", given).out, "the summary")


def cases_absence(_):
    """What is not stored annihilates, in a workspace too; a dense result that is asked for stores every entry."""
    m = Tensor((2, 2), {(0, 0): 2.0})
    d = dense((2,), [1.0, NAN])
    for what, text, asked, wanted in (
            ("intermediate", "S(i,j) = M(i,j) * M(i,j); O(i) = S(i,j) * D(j)", (), {(0,): 4.0, (1,): 0.0}),
            ("summed intermediate", "S(j) = M(i,j); O(j) = S(j) * D(j)", (), {(0,): 2.0, (1,): 0.0}),
            ("read twice", "S(i,j) = M(i,j); O(i) = S(i,j) * S(i,j) * D(j)", (), {(0,): 4.0, (1,): 0.0}),
            ("read by two", "S(j) = M(i,j); P(j) = S(j) * D(j); O(j) = S(j) * P(j)", (), {(0,): 4.0, (1,): 0.0}),
            ("result", "S(j) = M(i,j); O(j) = S(j) * D(j)", ("--out", "S=S.tns"), {(0,): 2.0, (1,): NAN}),
            ("by format", "S(j) = M(i,j); O(j) = S(j) * D(j)", ("--format", "S:d"), {(0,): 2.0, (1,): NAN})):
        def one(weft, text=text, asked=asked, wanted=wanted):
            for more in ((), ("--unfused",), ("--strict-fp",)):
                found, = results(weft, text, sparse_operand(weft, "M", m), dense_operand(weft, "D", d), *asked, *more)
                require_result(found, Tensor((2,), wanted))
        yield what, one


def cases_extents_zero_and_one(_):
    for n, k in ((0, 2), (2, 0), (1, 1), (0, 0), (1, 0)):
        def one(weft, n=n, k=k):
            found = results(weft, "S(i,j) = X(i,a) * X(j,a); O(i) = S(i,j) * y(j); t = O(i)", f"X=ones({n}x{k})", f"y=ones({n})", names=("S", "O", "t"))
            require_result(found[0], Tensor((n, n), {at: float(k) for at in coordinates((n, n))}))
            require_result(found[1], Tensor((n,), {(i,): float(k * n) for i in range(n)}))
            require_equal(found[2].get((), 0.0), float(k * n * n), "t")
        yield f"{n}x{k}", one


def case_assigned_but_never_used(weft):
    """Neither asked for nor read: not computed, and said so."""
    run = weft("run", "S(i) = x(i) * w(i); y(i) = x(i)", "x=ones(3)", "w=ones(3)", "--json")
    require_equal(list(run.json["results"]), ["y"], "results")
    require_in("S", run.err, "the note")
    require_equal(weft("run", "S(i) = x(i) * w(i); y(i) = x(i)", "x=ones(3)", "w=ones(3)", "--quiet").err, "", "standard error when quiet")
    found = results(weft, "S(i) = x(i) * w(i); y(i) = x(i)", "x=ones(3)", "w=ones(3)", names=("S", "y"))
    require_result(found[0], dense((3,), [1.0] * 3))


def case_errors(weft):
    weft.error("run", "S(i) = x(i); y(i) = S(i) * z(i)", "x=ones(3)", says="z")
    weft.error("run", "S(i) = x(i); y(i) = S(i,j)", "x=ones(3)", says="S")
    weft.error("run", "S(i) = x(i); y(i,j) = S(i)", "x=ones(3)", says="index j")
    weft.error("run", "S(i) = x(i); y(i) = S(i) * w(i)", "x=ones(3)", "w=ones(4)", says=["index i is 3", "4 in w"])
    weft.error("run", "S(i) = x(i) + x(i); y(i) = S(i)", "x=ones(3)", status=3, says="sum")
    weft.error("run", "S(i) = x(i); y(i) = S(i)", "x=ones(3)", "unused=ones(3)", says="unused")


def cases_trees(_):
    for what, tree, asked in (("one each", "(M * A * B); (S * D)", ()), ("lines", "(M * A * B)\n(S * D)", ()),
                              ("factored", "((M * A) * B); (S * D)", ()), ("named", "S = (M * (A * B)); O = (S * D)", ()),
                              ("last alone", "((M * A * B) * D)", ()), ("another order", "(M * (A * (B * D)))", ()),
                              ("both kept", "((M * A) * B); (S * D)", ("--out", "S=S.tns"))):
        def one(weft, tree=tree, asked=asked):
            found, = results(weft, SAMPLED, *operands(weft), "--tree", tree, *asked)
            require_result(found, O)
            chosen = weft("plan", SAMPLED, *operands(weft), "--tree", tree, *asked, "--json").json["tree"]
            again = weft("plan", SAMPLED, *operands(weft), "--tree", chosen, *asked, "--json").json["tree"]
            require_equal(again, chosen, "the tree fed back")
            require_equal(weft("plan", SAMPLED, *operands(weft), "--tree", tree, *asked, "--emit", "tree").out, chosen + "\n", "--emit tree")
        yield what, one


def case_pinned_tree_stays(weft):
    tree = weft("plan", SAMPLED, *operands(weft), "--tree", "((M * A) * B); (S * D)", "--json").json["tree"]
    require(tree in ("(((M * A) * B) * D)", "S = ((M * A) * B); O = (S * D)"), f"the tree {tree}")
    tree = weft("plan", SAMPLED, *operands(weft), "--tree", "((M * A) * B); (S * D)", "--format", "S:dd", "--json").json["tree"]
    require_equal(tree, "S = ((M * A) * B); O = (S * D)", "the tree")


def case_wrong_trees(weft):
    for tree, asked, says in (("(M * A * B)", (), ["O", "D"]), ("(M * A * B); (S * D); (S * D)", (), "3 trees"),
                              ("(M * A); (S * D)", (), "B"), ("X = (M * A * B); O = (S * D)", (), "X"),
                              ("((M * A * B) * D)", ("--out", "S=S.tns"), "S"), ("S = (M * A * B); S = (M * A * B); O = (S * D)", (), "S"),
                              ("S = (M * A * B)", (), "O")):
        weft.error("run", SAMPLED, *operands(weft), "--tree", tree, *asked, says=says)


def cases_schedules(_):
    """A schedule printed and fed back is the same plan."""
    for what, text, asked in (("fused", SAMPLED, ()), ("kept", SAMPLED, ("--out", "S=S.tns")),
                              ("read twice", "S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * S(i,l) * D(j,h)", ()),
                              ("three", "S(i,j) = M(i,j) * A(i,k) * B(j,k); P(j) = S(i,j); O(i,h) = S(i,j) * D(j,h) * P(j)", ("--format", "P:d"))):
        def one(weft, text=text, asked=asked):
            given = [text, *operands(weft), *asked]
            first = weft("run", *given, "--json").json
            weft("plan", *given, "--emit", "schedule=plan.txt")
            require_equal(weft.text("plan.txt"), first["plan"]["schedule"], "--emit schedule")
            again = weft("run", *given, "--schedule", "plan.txt", "--json").json
            require_equal(again["plan"]["producer"], "user", "producer")
            for field in ("schedule", "cost_ns", "loops", "peak_bytes"):
                require_equal(again["plan"][field], first["plan"][field], field)
            require_equal(again["results"], first["results"], "results")
            require_equal(again["tree"], first["tree"], "tree")
        yield what, one


def case_wrong_schedules(weft):
    given = [SAMPLED, *operands(weft)]
    weft("plan", *given, "--format", "S:dd", "--emit", "schedule=kept.txt")
    kept = weft.text("kept.txt")
    require_in("  tree S = ", kept, "the schedule")
    asked = ("--format", "S:dd")
    for change, options, says in ((("", ""), (), ["S", "nobody asked"]), (("result S", "intermediate S[i,j]"), asked, "S"),
                                  ((r"  tree S = .*\n", ""), asked, "kept.txt"), (("tree S", "tree Q"), asked, "'Q'"),
                                  ((r"(?s)(O\[i,h\] \+=[^\n]*loops [a-z,]*)(.*)  parallel [^\n]*\n$", r"\1   fused 1\2"), asked,
                                   "nests of its own"),
                                  ((r"  result S .*\n", ""), asked, "S"), ((r"  parallel .*\n$", ""), asked, "parallel"),
                                  ((r"(  parallel .*\n)$", r"\1\1"), asked, "parallel")):
        changed = re.sub(*change, kept) if change[0] else kept
        require(changed != kept or not change[0], f"{change} changes {kept!r}")
        weft.write("kept.txt", changed)
        weft.error("run", *given, *options, "--schedule", "kept.txt", says=says)
    weft.write("kept.txt", kept.replace("result S", "intermediate S[i,j]"))
    found, = results(weft, *given, "--schedule", "kept.txt")
    require_result(found, O)


def case_stages(weft):
    given = [SAMPLED, *operands(weft), "--format", "S:dd"]
    for stage, says in (("network", "O(i,h) = S(i,j) * D(j,h)"), ("tree", "; O = (S * D)"), ("schedule", "result S"), ("loops", "output S"),
                        ("loops", "output O"), ("signature", "values"), ("llvm", "define"), ("asm", "ret")):
        require_in(says, weft("plan", *given, "--emit", stage).out, stage)
    weft("plan", *given, "--emit", "object=kernel.o")
    require(weft.exists("kernel.o"), "object bytes are written")
    text = weft("plan", *given).out
    require_in("S = ", text, "the explanation")
    for option in ("--unfused", "--verbose"):
        weft("run", *given, option)


def case_mixed_scalars(weft):
    """f32 only where every factor is; a requested scalar is that of what reads it."""
    given = ["S(i) = x(i) * x(i); y(i) = S(i) * z(i); w(i) = S(i)", "x=ones(3)", "z=ones(3)", "--format", "x:d:f32", "--json", "--out", "S=S.npy", "--out", "y=y.npy"]
    report = weft("run", *given, "--out", "w=w.npy").json
    require_equal({name: report["results"][name]["bytes"] for name in "Syw"}, {"S": 12, "y": 24, "w": 12}, "bytes")
    report = weft("run", *given, "--format", "S:d:f64").json
    require_equal({name: report["results"][name]["bytes"] for name in "Syw"}, {"S": 24, "y": 24, "w": 24}, "bytes")


def case_threads_repeat_and_deterministic(weft):
    given = ["S(i,j) = M(i,j) * A(i,k) * B(j,k); P(j) = S(i,j); O(i,h) = S(i,j) * D(j,h) * P(j)", "M=sparse(500x400,nnz=20000)", "A=uniform(500x8)",
             "B=uniform(400x8)", "D=uniform(400x4)", "--out", "P=P.npy", "--out", "O=O.npy", "--quiet", "--deterministic", "--repeat", "3"]
    written = set()
    for threads in (1, 2, 3):
        weft("run", *given, "--threads", threads)
        written.add((weft.read("P.npy"), weft.read("O.npy")))
    require_equal(len(written), 1, "results that differ between numbers of threads")
    report = weft("run", *[word for word in given if word != "--quiet"], "--json").json
    require_equal(len(report["run_ms"]), 3, "times")


def case_memory_limit_holds_for_all(weft):
    given = ["S(i,j) = x(i) * x(j); O(i) = S(i,j) * x(j)", "x=ones(1000)"]
    run = weft.error("run", *given, "--out", "S=S.npy", "--memory-limit", "4M", status=5)
    require("S" in run.err, "the message names what is large")
    weft("run", *given, "--memory-limit", "4M")
    weft("run", *given, "--out", "S=S.npy", "--memory-limit", "16M", "--quiet")


def cases_random(random):
    """Chains of random assignments against the brute force, one assignment after the other."""
    for number in range(25):
        known = {}
        texts = []
        tensors = {}
        for step in range(random.randint(2, 4)):
            extent = {}
            factors = []
            for _ in range(random.randint(1, 3)):
                names = [name for name in known if random.random() < 0.6]
                if names:
                    name = random.choice(names)
                    sizes = known[name].extents
                else:
                    name = f"T{len(tensors)}"
                    sizes = [random.choice([1, 2, 3]) for _ in range(random.randint(1, 3))]
                    stored = dense(sizes, [float(random.choice([-2, -1, 1, 2])) for _ in coordinates(sizes)])
                    if random.random() < 0.6:
                        stored = Tensor(sizes, {at: value for at, value in stored.entries.items() if random.random() < 0.5})
                    tensors[name] = known[name] = stored
                letters = ""
                for size in sizes:
                    fitting = [letter for letter in extent if extent[letter] == size]
                    fresh = [letter for letter in "ijklmnpq" if letter not in extent]
                    letter = random.choice(fitting) if fitting and (random.random() < 0.6 or not fresh) else random.choice(fresh)
                    extent[letter] = size
                    letters += letter
                factors.append((name, letters))
            used = sorted(extent)
            result = "".join(random.sample(used, random.randint(0, min(2, len(used)))))
            target = f"S{step}"
            texts.append(f"{target}({','.join(result)}) = " + " * ".join(f"{name}({','.join(letters)})" for name, letters in factors))
            known[target] = evaluate(",".join(letters for _, letters in factors) + "->" + result, *[known[name] for name, _ in factors])
        text = "; ".join(texts)
        last = texts[-1].split("(")[0]
        wanted = [name for name in known if name.startswith("S") and (name == last or random.random() < 0.4)]
        more = random.choice([(), ("--unfused",), ("--threads", "2"), ("--checked",), ("--strict-fp",)])

        def one(weft, text=text, wanted=wanted, known=known, tensors=tensors, more=more):
            given = [sparse_operand(weft, name, tensor) if len(tensor.entries) < len(list(coordinates(tensor.extents))) else dense_operand(weft, name, tensor)
                     for name, tensor in tensors.items()]
            for name, found in zip(wanted, results(weft, text, *given, *more, names=wanted), strict=True):
                require_result(found, known[name])
        yield text, one


def case_a_runner_up_that_inlines_other_assignments_is_told(weft):
    """Its indices are those of its own network, of which the chosen plan's has fewer."""
    expression = "R() = d(k,j) * V(j,l,i); S(j) = U(j,l,m) * O(l,j) * R() * V(j,l,i)"
    operands = ("d=ones(2x10)", "V=sparse(10x2x2,nnz=24,seed=3)", "U=sparse(10x2x2,nnz=24,seed=6)", "O=sparse(2x10,nnz=10,seed=4)")
    page = weft("plan", expression, *operands, "--format", "U:uqq", "--format", "O:sb", "--threads", "1").out
    require_in("runner-up ((U * O * (d * V)) * V) with loops k,j_2,l_2,i_2 | l,j,m | l,j | l,j,i", page, "the runner-up")
    weft("plan", expression, *operands, "--format", "U:uqq", "--format", "O:sb", "--threads", "1", "--json")


def case_a_schedule_that_is_given_back_costs_the_same(weft):
    """Of a sparse result or intermediate the join of what it keeps is asked for too, and counted where its schedule is given."""
    assignments = ("R(k) = A(k,j) * B(j); S(k,i) = R(k) * C(k,i) * D(k,i)", "A=sparse(2x2,nnz=2,seed=8)", "B=sparse(2,nnz=1,seed=8)",
                   "C=sparse(2x2,nnz=3,seed=5)", "D=sparse(2x2,nnz=1,seed=2)", "--format", "S:ss")
    hashed = ("R(l,j,n) = S(j,n,k) * S(m,n,k) * T(j,l,k) * T(m,l,k)", "S=sparse(3x9x4,nnz=11,seed=1)", "T=sparse(3x5000x4,nnz=98,seed=1)",
              "--format", "R:hhh:2,0,1", "--calls", "1000")
    product = ("R(j,k) = T0(l,k) * T1(j,l,i) * T2(j,i)", "T0=sparse(100x30,nnz=1000,seed=5)", "T1=sparse(5000x100x3,nnz=10,seed=5)",
               "T2=sparse(5000x3,nnz=100,seed=5)", "--format", "R:ss", "--calls", "1000")
    for request in (assignments, hashed, product):
        weft("plan", *request, "--emit", "schedule=given", "--quiet")
        planned, given = (json.loads(weft("plan", *request, "--json", *more).out)["plan"] for more in ([], ["--schedule", "given"]))
        require_equal(given["producer"], "user", "the producer")
        require_equal((given["cost_ns"], given["peak_bytes"]), (planned["cost_ns"], planned["peak_bytes"]), "cost and memory")
