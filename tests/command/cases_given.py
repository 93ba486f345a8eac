"""Schedules fed back: what --emit schedule prints costs the same when it is given."""

import random

from harness import require_equal

# Several assignments with a sparse stored result, of which a later one reads an operand opened in place.
KNOWN = ("P(m) = A(m,j); T(l,j) = P(m) * A(m,j) * D(j,m) * E(l,j)",
         ["A=sparse(50x60,nnz=81,seed=1)", "D=sparse(60x50,nnz=100,seed=1)", "E=sparse(10x60,nnz=20,seed=1)", "--format", "P:s:0"])


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


def case_of_an_operand_opened_in_place(weft):
    same_when_given(weft, *KNOWN)


def cases_random(_):
    for seed in range(30):
        def one(weft, seed=seed):
            same_when_given(weft, *drawn(seed))
        yield f"seed {seed}", one
