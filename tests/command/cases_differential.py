"""Random expressions against the brute-force einsum: values are small integers, so every order of summing agrees."""

from evaluation import dense_operand, require_result, result_of, sparse_operand
from harness import require
from tensors import Tensor, coordinates, dense, evaluate

CASES = 60
KINDS = {1: ("d", "s", "u"), 2: ("dd", "ds", "ss", "sd", "uq"), 3: ("sss", "dss", "uqq", "dds", "sds", "duq", "ddd"), 4: ("ssss", "dsss", "uqqq", "sdds")}

LONG = tuple(2**power + beside for power in (31, 32) for beside in (-1, 0, 1)) + (2**40, 2**62)


def random_tensor(random, extents):
    values = [float(random.choice([-3, -2, -1, 1, 2, 3, 0])) for _ in coordinates(extents)]
    everything = dense(extents, values)
    if not extents or random.random() < 0.35:
        return everything, True
    share = random.choice([0.0, 0.1, 0.3, 0.6, 1.0])
    return Tensor(extents, {at: value for at, value in everything.entries.items() if random.random() < share}), False


def stretched(random, extent, factors, tensors):
    """One case in five: some extents become long, half of the coordinates stay at the beginning and the others go to the end."""
    longer = {letter: random.choice(LONG) for letter, short in extent.items() if short > 1 and random.random() < 0.5}
    if random.random() < 0.8 or not longer:
        return tensors

    def spread(tensor, letters):
        lengths = [longer.get(letter, short) for letter, short in zip(letters, tensor.extents)]
        return Tensor(lengths, {tuple(place if place < short // 2 else length - (short - place)
                                      for place, short, length in zip(at, tensor.extents, lengths)): value
                                for at, value in tensor.entries.items()})

    return [(spread(tensor, letters), is_dense and longer.keys().isdisjoint(letters))
            for letters, (tensor, is_dense) in zip(factors, tensors)]


def random_case(random):
    letters = "ijklm"[:random.randint(1, 5)]
    extent = {letter: random.choice([0, 1, 2, 3, 4, 5, 6] if random.random() < 0.15 else [1, 2, 3, 4, 5, 6]) for letter in letters}
    factors = []
    for _ in range(random.randint(1, 4)):
        order = random.choice([0, 1, 2, 2, 3, 3, 4])
        factors.append("".join(random.choice(letters) for _ in range(order)) if random.random() < 0.15 else "".join(random.sample(letters, min(order, len(letters)))))
    used = sorted(set("".join(factors)))
    result = "".join(random.sample(used, random.randint(0, min(3, len(used)))))
    tensors = [random_tensor(random, [extent[letter] for letter in factor]) for factor in factors]
    return ",".join(factors) + "->" + result, stretched(random, extent, factors, tensors)


def grouped(random, texts):
    """The factors in their order, with random parentheses."""
    if len(texts) < 3 or random.random() < 0.3:
        return " * ".join(texts)
    cut = random.randint(1, len(texts) - 1)
    parts = [grouped(random, part) for part in (texts[:cut], texts[cut:])]
    return " * ".join(f"({part})" if random.random() < 0.7 else part for part in parts)


def layouts(random, names, tensors):
    arguments = []
    for name, (tensor, _) in zip(names, tensors):
        order = len(tensor.extents)
        if order == 0 or random.random() < 0.5:
            continue
        modes = list(range(order))
        random.shuffle(modes)
        kinds = zip(random.choice(KINDS[order]), modes)
        levels = "".join("s" if kind == "d" and tensor.extents[mode] in LONG else kind for kind, mode in kinds)
        arguments += ["--format", f"{name}:{levels}:{','.join(map(str, modes))}"]
    return arguments


def cases_expression(random):
    for number in range(CASES):
        spec, tensors = random_case(random)
        names = [f"X{n}" for n in range(len(tensors))]
        options = layouts(random, names, tensors)
        if random.random() < 0.3:
            options += ["--threads", str(random.randint(1, 4))]
        if random.random() < 0.2:
            options += ["--checked"] if random.random() < 0.5 else ["--strict-fp"]
        coefficient = random.choice([1.0, 1.0, -1.0, 2.0, -0.5])
        in_notation = random.random() < 0.6
        result = spec.partition("->")[2]
        if in_notation:
            factors = [f"{name}({','.join(letters)})" for name, letters in zip(names, spec.partition("->")[0].split(","))]
            text = f"A({','.join(result)}) = {coefficient} * {grouped(random, factors)}"
        else:
            text, coefficient = spec, 1.0

        def one(weft, text=text, spec=spec, tensors=tensors, names=names, options=options, coefficient=coefficient, in_notation=in_notation):
            operands = [(dense_operand if is_dense else sparse_operand)(weft, name, tensor) for name, (tensor, is_dense) in zip(names, tensors)]
            found = result_of(weft, text, *operands, *options, name="A" if in_notation else "out")
            wanted = evaluate(spec, *[tensor for tensor, _ in tensors], coefficient=coefficient)
            if spec.endswith("->"):
                require(len(found) == 1, "a scalar is one line")
            require_result(found, wanted)
        yield f"{number} {spec}", one
