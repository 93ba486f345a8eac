"""Several assignments: proofs within one budget, schedules fed back at the price they were chosen for, and what is said of them."""

import time

from harness import require, require_equal, require_in

NETWORKS = (
    ("one format", "P(m) = A(m,j); T(l,j) = P(m) * A(m,j) * D(j,m) * E(l,j)",
     ["A=sparse(50x60,nnz=81,seed=1)", "D=sparse(60x50,nnz=100,seed=1)", "E=sparse(10x60,nnz=20,seed=1)", "--format", "P:s:0"]),
    ("two formats", "P(m,j) = A(k,m) * B(j,m) * C(i,m); Q(m) = C(i,m) * B(j,m) * C(i,m) * P(m,j)",
     ["A=sparse(20x5,nnz=20,seed=27)", "B=sparse(20x5,nnz=35,seed=27)", "C=sparse(50x5,nnz=45,seed=27)", "--format", "P:ss:0,1",
      "--format", "Q:s:0"]),
    ("a number", "P() = A(j); Q(l,i) = B(l,m) * C(i,l) * P() * D(l,i)",
     ["A=sparse(20,nnz=6,seed=8)", "B=sparse(30x30,nnz=60,seed=8)", "C=sparse(10x30,nnz=70,seed=8)", "D=sparse(30x10,nnz=50,seed=8)"]),
    ("three", "P(l,m) = A(l) * B(l,m) * C(i) * D(k,l); Q(m) = E(i,m) * P(l,m); T() = P(l,m) * Q(m) * F(i)",
     ["A=sparse(60,nnz=6,seed=37)", "B=sparse(60x5,nnz=30,seed=37)", "C=sparse(60,nnz=6,seed=37)", "D=sparse(60x60,nnz=180,seed=37)",
      "E=sparse(60x5,nnz=15,seed=37)", "F=sparse(60,nnz=1,seed=37)", "--format", "P:ss:0,1", "--format", "Q:s:0"]),
)


def cases_fed_back_at_the_same_price(_):
    """Joins with a result of the same run cannot be counted: their price is that of the operands in them, whatever else was counted."""
    for what, text, given in NETWORKS:
        def one(weft, text=text, given=given):
            chosen = weft("plan", text, *given, "--no-cache", "--json", "--emit", "schedule=s.txt").json["plan"]
            again = weft("plan", text, *given, "--no-cache", "--json", "--schedule", "s.txt").json["plan"]
            for field in ("cost_ns", "flops", "schedule"):
                require_equal(again[field], chosen[field], field)
        yield what, one


def cases_proofs_end(_):
    """One budget for all nests of all choices, counted in loops and Z3's steps: without it the third takes a minute."""
    for what, text, given in NETWORKS:
        def one(weft, text=text, given=given):
            before = time.monotonic()
            report = weft("plan", text, *given, "--no-cache", "--prove", "--json").json
            require(time.monotonic() - before < 10, f"{time.monotonic() - before} s")
            said = " ".join(report["explanation"]["search"])
            if report["plan"]["optimal"] == "all":
                require("was spent" not in said, said)
        yield what, one
