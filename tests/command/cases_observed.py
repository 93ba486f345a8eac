"""What --verbose, --dump, perf and gdb show."""

import os
import shlex
import shutil
import subprocess

from harness import PATIENCE, Skip, require, require_equal, require_in

PRODUCT = ["A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "T=sparse(20x10x5,nnz=300)", "B=uniform(10x7)", "C=uniform(5x7,seed=2)"]


def case_lines_of_verbose_paste_back(weft):
    env = {"WEFT_CACHE_DIR": weft.path("its own")}
    first = weft("run", *PRODUCT, "--verbose", "--format", "A:dd", "--out", "A=first.npy", env=env)
    second = weft("plan", *PRODUCT, "--verbose", "--json", env=env)
    words = set()
    for line in first.err.splitlines() + second.err.splitlines():
        if not line.startswith("weft run "):
            continue
        command, told = line.split(" # ")
        words.add(told.split()[0])
        arguments = shlex.split(command)[1:]
        report = weft(*(word.replace("first.npy", "again.npy") for word in arguments), env=env)
        require_equal(report.status, 0, "exit status")
    require_equal(words, {"plan", "compile", "load", "run"}, "what the lines tell")
    require(weft.read("first.npy") == weft.read("again.npy"), "the same result")
    require_in(" # load weft_A_ir_T_ijk_B_jr_C_kr_", weft("run", *PRODUCT, "--verbose", env=env).err, "a line of the second process")


def cases_dump(_):
    for what, arguments, env in (("option", ["--dump", "texts"], {}), ("WEFT_DUMP", [], {"WEFT_DUMP": "texts"})):
        def one(weft, arguments=arguments, env=env):
            for caching in ([], [], ["--no-cache"]):
                weft("run", *PRODUCT, *arguments, *caching, env={"WEFT_CACHE_DIR": weft.path("own"), **env})
                names = sorted(os.listdir(weft.path("texts")))
                require_equal([name.rsplit(".", 1)[1] for name in names], ["ll", "loops", "s"], "kinds of texts")
                require(all(name.startswith("weft_A_ir_T_ijk_B_jr_C_kr_") for name in names), f"names {names}")
                require_in("define", weft.text("texts/" + names[0]), "LLVM IR")
                require_in("program A", weft.text("texts/" + names[1]), "the loops")
                require_in("weft_kernel:", weft.text("texts/" + names[2]), "assembly")
                for name in names:
                    os.remove(weft.path("texts/" + name))
        yield what, one


def case_texts_that_cannot_be_written_are_an_error(weft):
    weft("run", *PRODUCT, "--dump", "texts", "--no-cache")
    name = next(name for name in os.listdir(weft.path("texts")) if name.endswith(".ll"))
    os.remove(weft.path("texts/" + name))
    os.mkdir(weft.path("texts/" + name))
    weft.error("run", *PRODUCT, "--dump", "texts", "--no-cache", says=name)


def case_dump_into_a_file(weft):
    weft.write("file", "")
    weft.error("run", *PRODUCT, "--dump", "file/texts", says="file/texts")
    for place in ("file", "/dev/null"):
        weft.error("run", *PRODUCT, "--dump", place, says=f"cannot dump kernels into {place}: Not a directory")


def case_perf_finds_names(weft):
    process = weft.start("run", *PRODUCT, env={"WEFT_PERF": "1"})
    process.communicate()
    path = f"/tmp/perf-{process.pid}.map"
    with open(path) as file:
        lines = file.read().splitlines()
    os.remove(path)
    require(lines, "lines in the map")
    for line in lines:
        address, size, name = line.split(" ", 2)
        require(int(address, 16) > 4096 and int(size, 16) > 0, f"place in {line!r}")
        require(name.startswith("weft_A_ir_T_ijk_B_jr_C_kr_"), f"name in {line!r}")
    process = weft.start("run", *PRODUCT)
    process.communicate()
    require(not os.path.exists(f"/tmp/perf-{process.pid}.map"), "no map without being asked")


def case_gdb_stops_in_a_kernel(weft):
    if not shutil.which("gdb"):
        raise Skip("no gdb")
    told = [line for line in weft("run", *PRODUCT, "--verbose", "--no-cache").err.splitlines() if " # compile " in line][0]
    name = told.split(" # compile ")[1].split()[0]
    script = ["set breakpoint pending on", "set debuginfod enabled off", "break " + name, "run", "info symbol $pc"]
    environment, _ = weft.environment({})
    done = subprocess.run(["gdb", "-batch", "-nx", *(word for line in script for word in ("-ex", line)), "--args", weft.command, "run", *PRODUCT,
                           "--threads", "1"], cwd=weft.directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * PATIENCE)
    if "ptrace" in done.stderr or "Could not trace" in done.stderr:
        raise Skip("tracing is not allowed here")
    require_in("Breakpoint 1, 0x", done.stdout, "what gdb says")
    require_in(name, done.stdout.splitlines()[-1], "the symbol at the program counter")


def cases_specialize(_):
    for grade, fact in (("generic", None), ("profiled", "extent(r) = 7"), ("baked", "pattern(T) = "), ("auto", None)):
        def one(weft, grade=grade, fact=fact):
            report = weft("run", *PRODUCT, "--specialize", grade, "--out", "A=special.npy", "--json").json
            weft("run", *PRODUCT, "--out", "A=usual.npy")
            require_equal(len(weft.read("special.npy")), len(weft.read("usual.npy")), "bytes of the result")
            require_equal(report["specialization"], "generic" if grade == "auto" else grade, "what was chosen")
            if fact:
                require_in(fact, report["plan"]["loops"], "the loops")
            else:
                require("extent(" not in report["plan"]["loops"], f"facts in {report['plan']['loops']}")
        yield grade, one


# What patterns would become too much code of: 36,000 lookups, 4000 searches in an operand that is not baked in, rows of 128 for each
# entry, insertions for each product, with dense loops around and rows within; and some that are not.
BAKED = {
    "a product fused with what gathers its rows": ("R(i,k) = A(i,j) * B(k,j)", "sparse(60x60,nnz=600)", "uniform(60x60)", None, "ds", 1000, False),
    "searches": ("R(i) = A(i,j) * B(i,j)", "sparse(4000x4000,nnz=4000)", "sparse(4000x4000,nnz=100000)", None, "ds", 1, False),
    "stored searches": ("R(i,j) = A(i,j) * B(i,j)", "sparse(4000x4000,nnz=4000)", "sparse(4000x4000,nnz=100000)", "ss", "ds", 1, False),
    "rows": ("R(i,r) = A(i,j) * B(j,r)", "sparse(400x400,nnz=4000)", "uniform(400x128)", None, "dd", 1, False),
    "rows around": ("R(r,i) = A(i,j) * B(r,j)", "sparse(300x300,nnz=3000)", "sparse(64x300,nnz=4000)", None, "ds", 1000, False),
    "pairs": ("R(i,j,k) = A(i,j) * B(i,k)", "sparse(60x60,nnz=240)", "sparse(60x60,nnz=240,seed=2)", "sss", "ds", 1, False),
    "short rows": ("R(i) = A(i,j) * B(j)", "sparse(400x400,nnz=4000)", "uniform(400)", None, "d", 1, True),
    "few pairs": ("R(i,k) = A(i,j) * B(k,j)", "sparse(16x16,nnz=40)", "uniform(16x16)", None, "ds", 1000, True),
}


def cases_baked_code_is_bounded(_):
    for name, (expression, a, b, result, format_b, calls, baked) in BAKED.items():
        def one(weft, expression=expression, a=a, b=b, result=result, format_b=format_b, calls=calls, baked=baked):
            formats = ["A:ds", f"B:{format_b}"] + ([f"R:{result}"] if result else [])
            options = [word for each in formats for word in ("--format", each)] + ["--calls", str(calls), "--no-cache", "--json"]
            reports = {grade: weft("run", expression, f"A={a}", f"B={b}", *options, "--specialize", grade).json for grade in ("baked", "profiled")}
            require_equal(reports["baked"]["specialization"], "baked" if baked else "profiled", "the grade")
            phases = reports["baked"]["phases"]
            require(phases["generate"] + phases["emit"] < 10_000 * PATIENCE, f"compiled in {phases} ms")
            sums = [reports[grade]["results"]["R"]["sum"] for grade in ("baked", "profiled")]
            require(abs(sums[0] - sums[1]) <= 1e-9 * abs(sums[1]), f"sums {sums}")
        yield name, one


def case_specialize_knows_its_grades(weft):
    # Where many entries of several operands meet, loops stay: 1100 entries each took 2.5 s to compile.
    for entries, loops in ((200, False), (1100, True)):
        operands = [f"{name}=sparse(100x100,nnz={entries},seed={seed})" for name, seed in (("A", 1), ("B", 2))]
        run = weft("run", "C(i,j) = A(i,k) * B(k,j)", *operands, "--format", "C:ss", "--specialize", "baked", "--no-cache", "--json")
        require_equal(run.json["specialization"], "profiled" if loops else "baked", "the grade")
        require_equal(run.json["object_bytes"] < 20_000, loops, f"{entries} entries: {run.json['object_bytes']} bytes of code")
    weft.error("run", *PRODUCT, "--specialize", "best", says=["generic", "profiled", "baked", "auto", "best"])
