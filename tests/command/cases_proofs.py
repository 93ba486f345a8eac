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
