"""What loops rest on: --emit proofs, the report's proofs, verdicts that are kept."""

import json
import re

from harness import require, require_equal, require_in

EXPRESSION = "y(i) = A(i,j) * x(j)"
OPERANDS = ("A=sparse(50x40,nnz=300,seed=1)", "x=sparse(40,nnz=9,seed=2)", "--format", "A:ss", "--format", "x:s")
SCHEDULE = """schedule
  tree (A * x)
  layout A ss:0,1 f64
  layout x s:0 f64
  result y d:0 f64
  y[i] += A[i,j] * x[j]   loops i,j
    meet j: drive A@1.1, gallop x@1.2
  parallel i owner
"""
KINDS = ["owner", "cursor", "passed", "candidate", "probe", "within"]
FIELDS = {"kind", "claim", "verdict", "counterexample", "used", "skeleton", "cached", "ms"}


def own(weft):
    return {"WEFT_CACHE_DIR": weft.path("own")}


def given(weft):
    weft.write("s.txt", SCHEDULE)
    return (EXPRESSION, *OPERANDS, "--schedule", "s.txt")


def case_the_script_has_each_claim_with_its_query(weft):
    for command in ("run", "plan"):
        text = weft(command, *given(weft), "--emit", "proofs").out
        require_equal(re.findall(r"^; (\w+): ", text, re.MULTILINE), KINDS, "kinds")
        require_in("; program y: 6 claims\n", text, "the head")
        require_in("; cursor: x at j never moves back, loops i j, state i\n; proven, taken: cursor j\n(push 1)\n(declare-", text, "a claim")
        require_equal(text.count("(check-sat) ; unsat if it holds\n(pop 1)\n"), len(KINDS), "questions")
        require(all(line[0] in ";(" for line in text.splitlines() if line), "commands and comments alone")
    require_equal(weft("run", *given(weft), "--emit", "proofs").out, weft("plan", *given(weft), "--emit", "proofs").out, "both")


DIGITS = """schedule
  stored A (i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d) f64
  stored x s f64 located
  tree (A * x)
  layout A dsdd:0,1,2,3 f64
  layout x ds:0,1 f64
  result y dd:0,1 f64
  y[i_0,i_1] += A[i_0,j_0,i_1,j_1] * x[j_0,j_1]   loops i_0,LOOPS
  parallel i_0 owner
"""


def case_a_cursor_is_kept_over_the_blocks_of_a_row(weft):
    weft.write("A.tns", "".join(f"{1 + n * 37 % 50} {1 + n * 11 % 40} {1 + n % 7}\n" for n in range(180)))
    weft.write("x.tns", "".join(f"{1 + n} {1 + n % 5}\n" for n in range(40) if n % 4))
    operands = ("A=A.tns:50x40", "x=x.tns:40", "--format", "A:bcsr(4,4)", "--format", "x:s")
    weft("run", EXPRESSION, *operands, "--out", "y=y.tns", "--quiet")
    results = {weft.text("y.tns")}
    cursors = {"j_0,j_1,i_1": ["j_0"], "j_0,i_1,j_1": []}
    for loops, homes in cursors.items():
        weft.write("d.txt", DIGITS.replace("LOOPS", loops))
        there = (EXPRESSION, *operands, "--schedule", "d.txt")
        weft("run", *there, "--out", "y=y.tns", "--quiet")
        results.add(weft.text("y.tns"))
        text = weft("run", *there, "--emit", "proofs").out
        require_equal(re.findall(r"taken: cursor from (\w+)\n\(push 1\)", text)[:1], homes, loops)
        require_equal("state i_0\n; proven, taken: cursor from j_0" in text, bool(homes), loops)
        require_in("looked up at sums of digits", weft("plan", *there, "--explain").out, "the reason")
        printed = weft("run", *there, "--emit", "schedule").out
        require_in("  stored x s:0 f64 located\n", printed, "how x is read")
        weft.write("again.txt", printed)
        require_equal(weft("run", EXPRESSION, *operands, "--schedule", "again.txt", "--emit", "schedule").out, printed, "given back")
    require_equal(len(results), 1, "results")


def case_the_report_has_proofs_where_they_are_asked_for(weft):
    env = own(weft)
    for number, asked in enumerate((["--emit", "proofs=p.smt2"], ["--explain"])):
        report = weft("run", *given(weft), "--json", *asked, env=env).json
        require_equal([proof["kind"] for proof in report["proofs"]], KINDS, "kinds")
        for proof in report["proofs"]:
            require_equal(set(proof), FIELDS, "fields")
            require_equal((proof["verdict"], proof["counterexample"], proof["used"]), ("proven", "", True), proof["claim"])
            require(proof["ms"] >= 0, "milliseconds")
    require("proofs" not in weft("run", *given(weft), "--json", env=env).json, "nothing is proven unasked")


def case_verdicts_are_kept(weft):
    env = own(weft)
    planned = (EXPRESSION, *OPERANDS, "--json", "--emit", "proofs=p.smt2")
    first = weft("run", *planned, env=env).json["proofs"]
    require(first and not any(proof["cached"] for proof in first), "asked")
    status = weft("cache", "status", "--json", env=env).json
    require(0 < status["proofs"] <= len(first), f"{status['proofs']} verdicts are kept")
    require_in(f"{status['proofs']} proofs", weft("cache", "status", env=env).out, "the status")
    again = weft("run", *planned, env=env).json["proofs"]
    require(all(proof["cached"] for proof in again), "found")
    for one in (first, again):
        for proof in one:
            proof.pop("cached"), proof.pop("ms")
    require_equal(again, first, "the same")
    anew = weft("run", *planned, "--no-cache", env=env).json["proofs"]
    require(not any(proof["cached"] for proof in anew), "asked again")


def case_verdicts_on_layouts_are_kept(weft):
    env = own(weft)
    for cached, more in ((False, []), (True, []), (False, ["--no-cache"])):
        report = json.loads(weft("layout", "bcsr(2,3)", "--shape", "9x7", "--json", *more, env=env).out)
        require_equal({proof["cached"] for proof in report["proofs"]}, {cached}, "cached")
    weft("layout", "bcsr(2,3)", "--shape", "9x7", "--cache-dir", "there", env=env)
    status = weft("cache", "status", "--json", "--cache-dir", "there", env=env).json
    require_equal((status["entries"], status["plans"]), (status["proofs"], 0), "proofs alone")
