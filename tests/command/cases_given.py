"""Schedules fed back: what --emit schedule prints costs the same when it is given."""

import random

from harness import PATIENCE, require, require_equal

# Several assignments with sparse stored results, of which later ones read operands opened in place.
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


def drawn(seed):
    """One to four assignments over small tensors, whose results later ones read; the first may be asked for, sparse."""
    dice = random.Random(seed)
    extents = {index: dice.randint(5, 60) for index in "ijklm"}
    operands, assignments, known = [], [], {}
    for number in range(dice.randint(1, 4)):
        factors, used = [], []
        for _ in range(dice.randint(1, 4)):
            if known and dice.random() < 0.5:
                name = dice.choice(sorted(known))
                indices = known[name]
            else:
                name, indices = f"T{len(operands)}", dice.sample("ijklm", dice.randint(1, 3))
                shape, room = "x".join(str(extents[index]) for index in indices), 1
                for index in indices:
                    room *= extents[index]
                sparse = f"sparse({shape},nnz={min(room, dice.randint(10, 300))},seed={len(operands)})"
                operands.append(f"{name}={sparse if dice.random() < 0.7 else f'uniform({shape})'}")
            factors.append(f"{name}({','.join(indices)})")
            used += indices
        result = sorted(dice.sample(sorted(set(used)), dice.randint(0, min(2, len(set(used))))))
        known[f"R{number}"] = result
        assignments.append(f"R{number}({','.join(result)}) = {' * '.join(factors)}")
    first = known["R0"]
    wanted = ["--format", f"R0:{'s' * len(first)}:{','.join(map(str, range(len(first))))}"] if first and dice.random() < 0.6 else []
    return "; ".join(assignments), [*operands, *wanted]


def same_when_given(weft, expression, arguments):
    planned = weft("plan", expression, *arguments, "--emit", "schedule=given", "--json").json
    again = weft("plan", expression, *arguments, "--schedule", "given", "--json").json
    require_equal(again["plan"]["producer"], "user", "producer")
    for figure in ("cost_ns", "flops", "schedule"):
        require_equal(again["plan"][figure], planned["plan"][figure], f"{figure} of {expression!r} {arguments}")


def cases_of_operands_opened_in_place(_):
    for what, text, arguments in NETWORKS:
        def one(weft, text=text, arguments=arguments):
            same_when_given(weft, text, arguments)
        yield what, one


def cases_proofs_end(_):
    """One budget for all nests of all choices, counted in loops and Z3's steps: without it the last took a minute."""
    for what, text, arguments in NETWORKS:
        def one(weft, text=text, arguments=arguments):
            report = weft("plan", text, *arguments, "--no-cache", "--prove", "--json").json
            require(report["phases"]["plan"] < 20000 * PATIENCE, f"{report['phases']['plan']} ms")  # 2000, but for other work
        yield what, one


def cases_random(_):
    for seed in range(30):
        def one(weft, seed=seed):
            same_when_given(weft, *drawn(seed))
        yield f"seed {seed}", one
