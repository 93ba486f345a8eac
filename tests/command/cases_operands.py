"""Every form of an operand."""

import gzip
import os
import random

from evaluation import require_close, require_result, result_of, sparse_operand
from harness import require, require_equal, require_in
from tensors import (Tensor, dense, evaluate, nonzero, npy, read_npy, read_tns, sparse, tns, uniform, zstandard)

MATRIX = Tensor((3, 4), {(0, 0): 1.0, (0, 3): 2.0, (1, 1): -3.0, (2, 0): 4.0, (2, 2): 5.0})
VECTOR = dense((4,), [1.0, 10.0, 100.0, 1000.0])
EXPRESSION = "A(i) = M(i,j) * v(j)"
VECTOR_FILE = npy((4,), VECTOR.entries.values())
MTX = "%%MatrixMarket matrix coordinate real general\n% a comment\n3 4 5\n1 1 1\n1 4 2\n2 2 -3\n3 1 4\n3 3 5\n"


def cases_file(_):
    text = tns(MATRIX)
    forms = {
        "tns": ("m.tns", text), "tns.gz": ("m.tns.gz", gzip.compress(text.encode())),
        "tns.gz of two members": ("m.tns.gz", gzip.compress(text[:20].encode()) + gzip.compress(text[20:].encode())),
        "tns.zst": ("m.tns.zst", zstandard(text)),
        "tns.zst of two frames": ("m.tns.zst", zstandard(text[:20]) + zstandard(text[20:])),
        "mtx": ("m.mtx", MTX), "mtx.gz": ("m.mtx.gz", gzip.compress(MTX.encode())), "mtx.zst": ("m.mtx.zst", zstandard(MTX)),
        "npy": ("m.npy", npy((3, 4), [MATRIX.entries.get((n // 4, n % 4), 0.0) for n in range(12)])),
        "carriage returns": ("m.tns", text.replace("\n", "\r\n")), "no newline at the end": ("m.tns", text.rstrip("\n")),
        "comments and blank lines": ("m.tns", "# FROSTT\n\n" + text.replace("\n", "\n# more\n", 1) + "\n"),
        "tabs and spaces": ("m.tns", text.replace(" ", " \t ")),
        "unsorted": ("m.tns", "".join(reversed(text.splitlines(keepends=True)))),
        "upper case extension": ("M.TNS", text),
    }
    for what, (name, content) in forms.items():
        def one(weft, name=name, content=content):
            weft.write(name, content)
            weft.write("v.npy", VECTOR_FILE)
            found = result_of(weft, EXPRESSION, f"M={name}", "v=v.npy")
            require_result(found, evaluate("ij,j->i", MATRIX, VECTOR))
        yield what, one


def case_explicit_shape_adds_empty_slices(weft):
    weft.write("x.tns", tns(MATRIX))
    run = weft("run", "A(i,j) = X(i,j)", "X=x.tns:100x200", "--json")
    require_equal(run.json["operands"]["X"]["extents"], [100, 200], "extents of X")
    require_equal(run.json["results"]["A"]["extents"], [100, 200], "extents of A")
    run = weft("run", "A(i,j) = X(i,j)", "X=x.tns", "--json")
    require_equal(run.json["operands"]["X"]["extents"], [3, 4], "extents of X")


def case_shape_too_small(weft):
    weft.write("x.tns", tns(MATRIX))
    weft.error("run", "A(i,j) = X(i,j)", "X=x.tns:3x3", says=["x.tns", "X"])
    weft.error("run", "A(i,j) = X(i,j)", "X=x.tns:3x4x5", says=["x.tns", "X"])


def case_path_with_colon_and_equals(weft):
    weft.write("a:b=c.tns", tns(MATRIX))
    run = weft("run", "A(i,j) = X(i,j)", "X=a:b=c.tns", "--json")
    require_equal(run.json["operands"]["X"]["nnz"], 5, "nnz")


def case_scalar_operands(weft):
    weft.write("v.npy", VECTOR_FILE)
    for text, value in (("2.5", 2.5), ("-2", -2.0), ("1e3", 1000.0), ("+4", 4.0), (".5", 0.5)):
        found = result_of(weft, "A(i) = s * v(i)", f"s={text}", "v=v.npy")
        require_result(found, evaluate(",i->i", dense((), [value]), VECTOR))
    require_result(result_of(weft, "A(i) = s() * v(i)", "s=2", "v=v.npy"), evaluate(",i->i", dense((), [2.0]), VECTOR))
    require_result(result_of(weft, ",i->i", "3", "v=v.npy", name="out"), evaluate(",i->i", dense((), [3.0]), VECTOR))


def case_scalar_from_files(weft):
    weft.write("s.tns", "2.5\n")
    weft.write("s.npy", npy((), [2.5]))
    for operand in ("s=s.tns", "s=s.npy"):
        require_equal(result_of(weft, "a = s * s", operand, name="a"), {(): 6.25}, operand)


def cases_generated(_):
    shapes = [(7,), (5, 4), (2, 3, 4)]
    for extents in shapes:
        text = "x".join(str(extent) for extent in extents)
        for seed in (None, 0, 1, 2**63):
            def one(weft, extents=extents, text=text, seed=seed):
                given = f"uniform({text})" if seed is None else f"uniform({text},seed={seed})"
                letters = "ijk"[:len(extents)]
                weft("run", f"{letters}->{letters}", given, "--out", "out=out.npy")
                found = read_npy(weft.read("out.npy"))
                require_equal(found, (extents, "<f8", uniform(extents, seed or 0).entries), "uniform")
            yield f"uniform {text} seed {seed}", one


def case_generated_f32(weft):
    weft("run", "A(i,j) = B(i,j)", "B=uniform(5x4,seed=3)", "--format", "B:dd:f32", "--out", "A=A.npy")
    require_equal(read_npy(weft.read("A.npy")), ((5, 4), "<f4", uniform((5, 4), 3, "f32").entries), "uniform of f32")


def case_ones(weft):
    weft("run", "A(i,j) = B(i,j)", "B=ones(3x2)", "--out", "A=A.npy")
    require_equal(read_npy(weft.read("A.npy"))[2], dense((3, 2), [1.0] * 6).entries, "ones")


def cases_sparse_generated(_):
    for extents, nnz, seed in (((20, 30, 5), 100, 1), ((9,), 4, 0), ((6, 5), 30, 7), ((6, 5), 0, 0), ((1000000, 3000000), 50, 12345), ((40, 40), 900, 2)):
        def one(weft, extents=extents, nnz=nnz, seed=seed):
            text = "x".join(str(extent) for extent in extents)
            weft("convert", f"sparse({text},nnz={nnz},seed={seed})", "out.tns")
            require_equal(read_tns(weft.text("out.tns")), sparse(extents, nnz, seed).entries, "sparse")
        yield f"{extents} nnz {nnz} seed {seed}", one


def case_sparse_generated_as_operand(weft):
    run = weft("run", "a = S(i,j,k)", "S=sparse(20x30x5,nnz=100,seed=4)", "--out", "a=a.tns", "--json")
    require_equal(run.json["operands"]["S"]["nnz"], 100, "nnz")
    require_close({(): float(weft.text("a.tns"))}, evaluate("ijk->", sparse((20, 30, 5), 100, 4)))


def case_generated_in_other_layouts(weft):
    wanted = evaluate("ijk->ki", sparse((8, 9, 7), 60, 5))
    for layout in ("sss", "sss:2,0,1", "dss", "uqq", "ddd", "sds:1,2,0", "dds"):
        found = result_of(weft, "A(k,i) = S(i,j,k)", "S=sparse(8x9x7,nnz=60,seed=5)", "--format", f"S:{layout}")
        require_close(found, wanted)


GAPS_2 = ["dh", "db", "hh", "hs", "sh", "bb", "bs", "sb", "hb", "bh", "hd", "bd", "dh:1,0", "db:1,0", "hh:1,0", "hd:1,0", "bd:1,0", "bh:1,0"]
GAPS_3 = ["dhb", "hhh", "bbb", "hss", "shs", "ssh", "dsb", "hdb:2,0,1", "huq", "buq", "bds:1,2,0"]


def cases_hashed_and_bitmap(_):
    """Pinned layouts that are probed, tested, driven, and driven in order: beside other sparse operands, on several threads."""
    def require_product(weft, wanted, *arguments):
        weft("run", *arguments, "--out", "R=R.tns", "--quiet")
        # Below dense levels, and at other places of a dense result, zeros are entries too.
        found = {at: value for at, value in read_tns(weft.text("R.tns")).items() if value != 0}
        require_equal(set(found), set(nonzero(wanted)), "entries")
        for at, value in found.items():
            require(abs(value - wanted.entries[at]) < 1e-6, f"R{at} is {value}, wanted {wanted.entries[at]}")

    left, right, other = sparse((20, 30), 90, 1), sparse((30, 25), 120, 2), sparse((30, 9), 80, 4)
    cube = sparse((9, 30, 8), 150, 3)
    for number, layout in enumerate(GAPS_2):
        def one(weft, layout=layout, scalar=("f64", "f32")[number % 2]):
            pinned = ["B=sparse(30x25,nnz=120,seed=2)", "--format", f"B:{layout}:{scalar}"]
            for kinds, threads in (("ds", 1), ("ss:1,0", 2), ("dd", 4), ("uq", 2), ("hb", 4)):
                require_product(weft, evaluate("ij,jk->ik", left, right), "R(i,k) = A(i,j) * B(j,k)", "A=sparse(20x30,nnz=90,seed=1)",
                                *pinned, "--format", f"R:{kinds}", "--threads", str(threads))
            run = weft("run", "R(j) = B(j,k)", *pinned, "--json")
            require_equal(run.json["operands"]["B"]["format"].split(":")[0], layout.split(":")[0], "the pinned layout")
            require("converted" not in run.json["plan"]["schedule"], "it is kept")
        yield layout, one
    for layout in GAPS_3:
        def one(weft, layout=layout):
            pinned = ["T=sparse(9x30x8,nnz=150,seed=3)", "--format", f"T:{layout}", "--threads", "2"]
            matrix = "B=sparse(30x9,nnz=80,seed=4)"
            require_product(weft, evaluate("ijk,ji->ik", cube, other), "R(i,k) = T(i,j,k) * B(j,i)", *pinned, matrix, "--format", "R:ss")
            require_product(weft, evaluate("ijk,jl->kj", cube, other), "R(k,j) = T(i,j,k) * B(j,l)", *pinned, matrix, "--format", "R:sd")
            require_product(weft, evaluate("ijk,ijk->j", cube, cube), "R(j) = T(i,j,k) * T(i,j,k)", *pinned)
        yield layout, one


def case_hashed_operand_in_order(weft):
    operands = ["A=sparse(40x50,nnz=300,seed=1)", "B=sparse(50x60,nnz=400,seed=2)", "--format", "B:dh"]
    plan = weft("plan", "C(j,k) = B(j,k)", "B=sparse(50x60,nnz=400,seed=2)", "--format", "B:dh", "--format", "C:ds")
    require_in("drive B(sort)", plan.out, "slots that are appended come in order")
    plan = weft("plan", "c(k) = B(j,k)", "B=sparse(50x60,nnz=400,seed=2)", "--format", "B:dh", "--format", "c:d")
    require("sort" not in plan.out, "a dense result takes them as they come")
    given = weft("plan", "C(i,k) = A(i,j) * B(j,k)", *operands, "--json").json["plan"]
    weft.write("s.txt", given["schedule"])
    again = weft("plan", "C(i,k) = A(i,j) * B(j,k)", *operands, "--schedule", "s.txt", "--json").json["plan"]
    require_equal(again["cost_ns"], given["cost_ns"], "the cost of the same schedule")


def cases_wrong_generated(_):
    for spec in ("uniform(3x)", "uniform(3x4,sed=1)", "uniform(3x4,seed=-1)", "uniform(3x4,seed=x)", "sparse(3x4)", "sparse(3x4,nnz=13)",
                 "sparse(0x4,nnz=1)", "ones(3x4,seed=1)", "uniform(3x4,nnz=2)", "uniform(-3x4)", "sparse(3x4,nnz=1,nnz=2)"):
        def one(weft, spec=spec):
            weft.error("run", "A(i,j) = B(i,j)", f"B={spec}", says="B")
        yield spec, one


def case_sparse_of_everything(weft):
    require_equal(len(read_tns(weft("convert", "sparse(3x4,nnz=12)", "x.tns") and weft.text("x.tns"))), 12, "entries")


def cases_wrong_operand(_):
    for what, spec, says in (("no file", "no.tns", "no.tns"), ("unknown extension", "x.csv", "x.csv"), ("empty", "", "X"), ("directory", "d.tns", "d.tns"),
                             ("neither file nor number", "12abc", "12abc"), ("a compressed vector", "x.npy.gz", "X")):
        def one(weft, spec=spec, says=says):
            weft.write("x.csv", "1,2\n")
            weft.write("x.npy.gz", gzip.compress(npy((1,), [1.0])))
            os.mkdir(weft.path("d.tns"))
            weft.error("run", "A(i,j) = X(i,j)", f"X={spec}", says=[says, "X"])
        yield what, one


def cases_malformed(_):
    """File, line and reason."""
    files = {
        "tns with too few columns": ("x.tns", "1 1 1.0\n2 1\n", "2"),
        "tns with too many columns": ("x.tns", "1 1 1.0\n1 2 3 1.0\n", "2"),
        "tns with coordinate 0": ("x.tns", "1 1 1.0\n# c\n0 1 1.0\n", "3"),
        "tns with negative coordinate": ("x.tns", "1 -1 1.0\n", "1"),
        "tns with a word": ("x.tns", "1 1 1.0\n1 2 one\n", "2"),
        "tns with a real coordinate": ("x.tns", "1 1.5 1.0\n", "1"),
        "tns with an overflow": ("x.tns", "1 1 1.0\n1 2 1e999\n", "2"),
        "tns with a huge coordinate": ("x.tns", "1 99999999999999999999999 1.0\n", "1"),
        "tns with trailing letters": ("x.tns", "1 1 1.0x\n", "1"),
        "mtx without header": ("x.mtx", "2 2 1\n1 1 1\n", "1"),
        "mtx with a wrong header": ("x.mtx", "%%MatrixMarket matrix coordinate quaternion general\n2 2 1\n1 1 1\n", "1"),
        "mtx out of range": ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n", "4"),
        "mtx with too few entries": ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", ""),
        "mtx with too many entries": ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 1 1\n", ""),
        "mtx of skew with a diagonal": ("x.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", "3"),
        "npy with a wrong magic": ("x.npy", b"\x93NUMPX" + npy((1,), [1.0])[6:], ""),
        "npy cut off": ("x.npy", npy((2, 2), [1.0] * 4)[:-1], ""),
        "gz cut off": ("x.tns.gz", gzip.compress(tns(MATRIX).encode())[:-9], ""),
        "gz that is none": ("x.tns.gz", tns(MATRIX), ""),
        "zst that is none": ("x.tns.zst", tns(MATRIX), ""),
        "zst cut off": ("x.tns.zst", zstandard(tns(MATRIX))[:-5], ""),
        "tns without entries or shape": ("x.tns", "# nothing\n", "shape"),
    }
    for what, (name, content, line) in files.items():
        def one(weft, name=name, content=content, line=line):
            weft.write(name, content)
            run = weft.error("run", "A(i,j) = X(i,j)", f"X={name}", says=[name, "X"])
            require(line in run.err.replace(name, ""), f"line {line} is named in {run.err!r}")
        yield what, one


def case_overflow_of_f32(weft):
    weft.write("x.tns", "1 1 1.0\n1 2 1e39\n")
    weft("run", "A(i,j) = X(i,j)", "X=x.tns")
    run = weft.error("run", "A(i,j) = X(i,j)", "X=x.tns", "--format", "X:ss:f32", says=["x.tns", "X"])
    require("2" in run.err, f"the line is named in {run.err!r}")
    weft.write("y.tns", "1 1 3.4028235e38\n1 2 inf\n1 3 -inf\n1 4 nan\n")
    weft("run", "A(i,j) = X(i,j)", "X=y.tns", "--format", "X:ss:f32", "--format", "A:dd:f32", "--out", "A=A.tns")
    require_equal(weft.text("A.tns").split()[2::3], ["3.40282347e+38", "inf", "-inf", "nan"], "values")


def cases_mtx_header(_):
    values = {"real": "2.5", "integer": "3", "pattern": ""}
    for field, value in values.items():
        for symmetry in ("general", "symmetric", "skew-symmetric"):
            if (field, symmetry) == ("pattern", "skew-symmetric"):
                continue
            def one(weft, field=field, symmetry=symmetry, value=value):
                weft.write("x.mtx", f"%%MatrixMarket matrix coordinate {field} {symmetry}\n3 3 2\n2 1 {value}\n3 2 {value}\n")
                number = float(value or 1)
                entries = {(1, 0): number, (2, 1): number}
                if symmetry != "general":
                    entries.update({(c, r): -v if symmetry[1] == "k" else v for (r, c), v in entries.items()})
                require_result(result_of(weft, "A(i,j) = X(i,j)", "X=x.mtx"), Tensor((3, 3), entries))
            yield f"{field} {symmetry}", one


def cases_mtx_array(_):
    for symmetry, numbers in (("general", [1, 2, 3, 4]), ("symmetric", [1, 2, 4]), ("skew-symmetric", [2])):
        def one(weft, symmetry=symmetry, numbers=numbers):
            weft.write("x.mtx", f"%%MatrixMarket matrix array real {symmetry}\n2 2\n" + "".join(f"{n}\n" for n in numbers))
            wanted = {"general": [1, 3, 2, 4], "symmetric": [1, 2, 2, 4], "skew-symmetric": [0, -2, 2, 0]}[symmetry]
            run = weft("run", "A(i,j) = X(i,j)", "X=x.mtx", "--out", "A=A.npy", "--json")
            require_equal(list(read_npy(weft.read("A.npy"))[2].values()), [float(n) for n in wanted], "values")
            require_equal(run.json["operands"]["X"]["format"], "dd:1,0", "format of an array, which is column-major")
        yield symmetry, one


def cases_unsupported_elements(_):
    for header in ("coordinate complex general", "coordinate complex hermitian", "array complex general"):
        def one(weft, header=header):
            body = "1 1 1\n1 1 1 2\n" if "coordinate" in header else "1 1\n1 2\n"
            weft.write("x.mtx", f"%%MatrixMarket matrix {header}\n{body}")
            weft.error("run", "A(i,j) = X(i,j)", "X=x.mtx", status=3, says=["complex" if "hermitian" not in header else "x.mtx", "x.mtx"])
        yield header, one

    for descr in (b"<c8", b"<U2", b"|O8"):
        def of_numpy(weft, descr=descr):
            weft.write("x.npy", npy((1,), [1.0]).replace(b"<f8", descr))
            weft.error("run", "A(i,j) = X(i,j)", "X=x.npy", status=3, says=["x.npy", "X", descr.decode()])
        yield f"npy of {descr.decode()}", of_numpy


def cases_npy(_):
    values = [0, 1, 2, 3, 4, 5]
    for kind in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"):
        for order in "<>" if kind[1] != "1" else "|":
            for fortran in (False, True):
                def one(weft, descr=order + kind, fortran=fortran):
                    given = [bool(value) for value in values] if descr == "|b1" else values
                    weft.write("x.npy", npy((2, 3), given, descr, fortran))
                    weft("run", "A(i,j) = X(i,j)", "X=x.npy", "--out", "A=A.npy")
                    require_equal(read_npy(weft.read("A.npy")), ((2, 3), "<f8", dense((2, 3), map(float, given)).entries), "values")
                yield f"{order}{kind} {'fortran' if fortran else 'c'}", one


def case_npy_version_2(weft):
    weft.write("x.npy", npy((2, 2), [1, 2, 3, 4], version=2))
    require_equal(len(result_of(weft, "A(i,j) = X(i,j)", "X=x.npy")), 4, "entries")


def case_npy_into_compressed_stores_nonzeros(weft):
    weft.write("x.npy", npy((2, 3), [0, 1, 0, 2, 0, 3]))
    for layout, nnz in (("ss", 3), ("ds", 3), ("dd", 6), ("uq", 3)):
        run = weft("run", "A(i,j) = X(i,j)", "X=x.npy", "--format", f"X:{layout}", "--json", "--out", "A=A.tns")
        require_equal(run.json["operands"]["X"]["nnz"], nnz, f"nnz as {layout}")
        require_equal(read_tns(weft.text("A.tns")), {(0, 1): 1, (1, 0): 2, (1, 2): 3}, "entries")


def case_empty_tensor_with_shape(weft):
    weft.write("x.tns", "# nothing\n")
    weft.write("y.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 0\n")
    for operand in ("X=x.tns:3x4", "X=y.mtx"):
        run = weft("run", "A(i,j) = X(i,j)", operand, "--out", "A=A.npy", "--json")
        require_equal(run.json["operands"]["X"]["nnz"], 0, "nnz")
        require_equal(read_npy(weft.read("A.npy"))[2], dense((3, 4), [0.0] * 12).entries, "result")


def case_operand_used_twice(weft):
    operand = sparse_operand(weft, "K", sparse((6, 6), 12, 3))
    found = result_of(weft, "A(u,v) = K(u,b) * K(v,b)", operand)
    require_close(found, evaluate("ub,vb->uv", *[sparse((6, 6), 12, 3)] * 2))


def case_two_operands_of_one_file(weft):
    weft.write("k.tns", tns(MATRIX))
    found = result_of(weft, "A(u,v) = K(u,b) * L(v,b)", "K=k.tns", "L=k.tns")
    require_result(found, evaluate("ub,vb->uv", MATRIX, MATRIX))


def case_larger_file_read_in_parallel(weft):
    random_numbers = random.Random(7)
    entries = {(random_numbers.randrange(300), random_numbers.randrange(400), random_numbers.randrange(50)): float(random_numbers.randrange(1, 99))
               for _ in range(60000)}
    shuffled = list(entries.items())
    random_numbers.shuffle(shuffled)
    tensor = Tensor((300, 400, 50), shuffled)
    weft.write("t.tns.gz", gzip.compress(tns(tensor).encode(), 1))
    found = result_of(weft, "A(k,i) = T(i,j,k)", "T=t.tns.gz:300x400x50")
    require_result(found, evaluate("ijk->ki", tensor))
