"""Results written to files, weft convert and weft info."""

import gzip
import json
import os
import shlex
import stat
import subprocess

from evaluation import dense_operand, sparse_operand
from harness import PATIENCE, Skip, require, require_equal, require_in
from tensors import Tensor, coordinates, dense, npy, read_mtx, read_npy, read_tns, sparse, tns, uniform, zstandard

M = Tensor((3, 4), {(0, 0): 1.0, (0, 3): 2.0, (1, 1): -3.0, (2, 0): 0.1})
IDENTITY = "A(i,j) = M(i,j)"


def filled(tensor):
    return {at: tensor.entries.get(at, 0.0) for at in coordinates(tensor.extents)}


def case_tns(weft):
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", "A=a.tns")
    require_equal([line.split() for line in weft.text("a.tns").splitlines() if not line.startswith("#")],
                  [["1", "1", "1"], ["1", "4", "2"], ["2", "2", "-3"], ["3", "1", "0.10000000000000001"]], "lines, sorted, 17 digits")


def case_tns_of_a_transposed_layout_is_in_mode_order(weft):
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--format", "A:dd:1,0", "--out", "A=a.tns", "--out", "A=a.mtx", "--out", "A=a.npy")
    require_equal(list(read_tns(weft.text("a.tns"))), sorted(M.entries), "coordinates in the file")
    require_equal(list(read_mtx(weft.text("a.mtx"))), sorted(M.entries), "coordinates in the file")
    require_equal(read_npy(weft.read("a.npy"))[2], filled(M), "entries of .npy")


def case_mtx(weft):
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", "A=a.mtx")
    text = weft.text("a.mtx")
    require_equal(text.split()[:2], ["%%MatrixMarket", "matrix"], "header")
    found = read_mtx(text)
    require_equal({at: value for at, value in found.items() if value}, M.entries, "entries")
    require_in("0.10000000000000001", text, "17 digits")


def case_mtx_needs_a_matrix(weft):
    weft.error("run", "A(i,j,k) = T(i,j,k)", "T=ones(2x2x2)", "--out", "A=a.mtx", says="a.mtx")
    require(not weft.exists("a.mtx"), "nothing is written")


def case_npy(weft):
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", "A=a.npy")
    require_equal(read_npy(weft.read("a.npy")), ((3, 4), "<f8", filled(M)), "npy")
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--format", "A:dd:f32", "--out", "A=b.npy")
    require_equal(read_npy(weft.read("b.npy"))[1], "<f4", "scalar type")


def case_f32_text_has_9_digits(weft):
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--format", "A:dd:f32", "--out", "A=a.tns")
    require_in("0.100000001", weft.text("a.tns").split(), "value of f32")


def case_order_0(weft):
    weft("run", "a = B(i) * B(i)", "B=uniform(1,seed=1)", "--out", "a=a.tns", "--out", "a=a.npy")
    value = uniform((1,), 1).entries[(0,)] ** 2
    require_equal(len(weft.text("a.tns").splitlines()), 1, "lines")
    require_equal(float(weft.text("a.tns")), value, "value")
    require_equal(read_npy(weft.read("a.npy")), ((), "<f8", {(): value}), "npy")
    weft("run", "a = B(i) * B(i)", "B=uniform(0)", "--out", "a=zero.tns")
    require_equal([float(line) for line in weft.text("zero.tns").splitlines()], [0.0], "a zero of order 0 is one line too")


def cases_compressed(_):
    for name in ("a.tns.gz", "a.tns.zst", "a.mtx.gz", "a.mtx.zst"):
        def one(weft, name=name):
            weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", f"A={name}")
            if name.endswith(".gz"):
                text = gzip.decompress(weft.read(name)).decode()
                require_equal((read_tns if ".tns" in name else read_mtx)(text), M.entries, "entries")
            weft("run", IDENTITY, f"M={name}", "--out", "A=back.npy")
            extents, _, entries = read_npy(weft.read("back.npy"))
            require_equal((extents, entries), ((3, 4), filled(M)), "read back")
        yield name, one


def case_existing_file_is_replaced(weft):
    weft.write("a.tns", "1 1 99\n" * 100)
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", "A=a.tns")
    require_equal(read_tns(weft.text("a.tns")), M.entries, "entries")


def case_result_over_its_own_operand(weft):
    weft.write("m.tns", tns(M))
    weft("run", "A(j,i) = M(i,j)", "M=m.tns", "--out", "A=m.tns")
    require_equal(read_tns(weft.text("m.tns")), {(j, i): value for (i, j), value in M.entries.items()}, "entries")


def case_links_pipes_and_devices_stay_what_they_are(weft):
    weft.write("real.tns", "old")
    os.symlink("real.tns", weft.path("link.tns"))
    readers = {}
    for name in ("pipe.tns", "tree", "report"):
        os.mkfifo(weft.path(name))
        readers[name] = os.open(weft.path(name), os.O_RDONLY | os.O_NONBLOCK)
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", "A=link.tns", "--out", "A=pipe.tns", "--json=report", "--emit", "tree=tree")
    found = {name: os.read(reader, 65536).decode() for name, reader in readers.items()}
    require_equal(read_tns(found["pipe.tns"]), M.entries, "entries through the pipe")
    require_equal(json.loads(found["report"])["tree"], found["tree"].strip(), "report and stage through pipes")
    for name, reader in readers.items():
        os.close(reader)
        require(stat.S_ISFIFO(os.lstat(weft.path(name)).st_mode), f"{name} stays a pipe")
    require(os.path.islink(weft.path("link.tns")), "a link stays a link")
    require_equal(read_tns(weft.text("real.tns")), M.entries, "entries behind the link")


def case_a_link_to_no_file_yet(weft):
    os.mkdir(weft.path("there"))
    os.symlink("there/next.tns", weft.path("link.tns"))
    os.symlink("b.tns", weft.path("there/next.tns"))
    weft("run", IDENTITY, sparse_operand(weft, "M", M), "--out", "A=link.tns")
    require(os.path.islink(weft.path("link.tns")) and os.path.islink(weft.path("there/next.tns")), "links stay links")
    require_equal(read_tns(weft.text("there/b.tns")), M.entries, "entries behind the links")
    os.symlink("absent/b.tns", weft.path("nowhere.tns"))
    weft.error("run", IDENTITY, "M=ones(2x2)", "--out", "A=nowhere.tns", says="cannot write nowhere.tns: No such file or directory")
    os.symlink("round.tns", weft.path("round.tns"))
    weft.error("run", IDENTITY, "M=ones(2x2)", "--out", "A=round.tns", says="cannot write round.tns: Too many levels of symbolic links")


def case_a_replaced_file_leaves_its_mode(weft):
    for mode in (0o600, 0o640, 0o444, 0o666):
        for name in ("a.tns", "report"):
            weft.write(name, "")
            os.chmod(weft.path(name), mode)
        weft("run", IDENTITY, "M=ones(2x2)", "--out", "A=a.tns", "--json=report")
        for name in ("a.tns", "report"):
            require_equal(oct(stat.S_IMODE(os.stat(weft.path(name)).st_mode)), oct(mode), f"mode of {name}")
            os.remove(weft.path(name))
    weft("run", IDENTITY, "M=ones(2x2)", "--out", "A=a.tns")
    mask = os.umask(0)
    os.umask(mask)
    require_equal(oct(stat.S_IMODE(os.stat(weft.path("a.tns")).st_mode)), oct(0o666 & ~mask), "mode of a new file")


def cases_two_outputs_to_one_file(_):
    """The later would replace the earlier, and nothing would tell."""
    sums = ["A(i) = T(i,j); B(j) = T(i,j)", "T=ones(2x3)"]
    lines = {
        "results": ([*sums, "-o", "A=a.tns", "-o", "B=a.tns"], ["result A and result B", "to a.tns"]),
        "another spelling": ([*sums, "-o", "A=a.tns", "-o", "B=d/../a.tns"], ["result A and result B", "to d/../a.tns"]),
        "a format in front": ([*sums, "-o", "A=a.tns", "-o", "B=npy:./a.tns"], ["result A and result B", "to ./a.tns"]),
        "a link": ([*sums, "-o", "A=a.tns", "-o", "B=link.tns"], ["result A and result B", "to link.tns"]),
        "a report": ([*sums, "-o", "B=a.tns", "--json=./a.tns"], ["result B and --json", "to ./a.tns"]),
        "a stage and a page": ([*sums, "--emit", "loops=a.tns", "--html", "a.tns"], ["--emit loops and --html", "to a.tns"]),
        "a conversion": (["convert", "ones(3)", "a.tns", "--json=a.tns"], ["the tensor and --json", "to a.tns"]),
    }
    for what, (words, says) in lines.items():
        def one(weft, words=words, says=says):
            os.mkdir(weft.path("d"))
            os.symlink("a.tns", weft.path("link.tns"))
            weft.error(*words, says=says)
            if weft.exists("a.tns"):
                require_in("would both be written", json.loads(weft.text("a.tns"))["error"]["message"], "nothing but the report")
        yield what, one

    def devices(weft):
        weft("run", *sums, "-o", "A=tns:/dev/null", "-o", "B=tns:/dev/null", "--json=/dev/null")
    yield "devices", devices


def case_nan_has_no_sign(weft):
    weft("run", "a(i) = s * T(i)", "T=ones(2)", "s=-nan", "-o", "a=a.tns", "-o", "a=a.mtx")
    require_equal([line.split()[-1] for line in weft.text("a.tns").splitlines() if line[0] != "#"], ["nan", "nan"], "values")
    weft("run", "a = s * t", "s=0", "t=inf", "-o", "a.tns")
    require_equal(weft.text("a.tns"), "nan\n", "what this machine makes of 0 * inf")
    require_in("all values NaN", weft("info", "a.mtx").out, "what is read")


def case_unwritable_directory(weft):
    weft.error("run", IDENTITY, "M=ones(2x2)", "--out", "A=absent/a.tns", says="absent/a.tns")
    os.mkdir(weft.path("d.tns"))
    weft.error("run", IDENTITY, "M=ones(2x2)", "--out", "A=d.tns", says="d.tns")


def case_failing_run_writes_nothing(weft):
    weft.error("run", "A(i,k) = M(i,j) * N(j,k)", "M=ones(2x2)", "N=ones(3x2)", "--out", "A=a.tns")
    require(not weft.exists("a.tns"), "nothing is written")


def case_full_disk(weft):
    if not os.access("/dev/full", os.W_OK):
        raise Skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        environment, _ = weft.environment(None)
        done = subprocess.run([weft.command, "run", "A(i) = B(i)", "B=ones(3)"], cwd=weft.directory, env=environment, stdout=full,
                              stderr=subprocess.PIPE, check=False)
    require_equal(done.returncode, 2, "exit status when standard output cannot be written")
    require_equal(done.stderr, b"error: cannot write standard output: No space left on device\n", "the message")


def redirected(weft, arguments, redirection, status, err=None):
    """Through a shell, which can close a stream; what the case returns is standard error."""
    environment, _ = weft.environment(None)
    words = " ".join(shlex.quote(word) for word in (weft.command, *arguments))
    weft.history.append(f"{words} {redirection}")
    done = subprocess.run(["/bin/sh", "-c", f"{words} {redirection}"], cwd=weft.directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * PATIENCE, check=False)
    require_equal(done.returncode, status, f"exit status of {weft.history[-1]} ({done.stderr[-300:]!r})")
    if err is not None:
        require_equal(done.stderr.decode(), err, f"standard error of {weft.history[-1]}")
    return done


def case_what_the_shell_has_opened_is_written_where_it_stands(weft):
    weft.write("log", "old\n")
    redirected(weft, ["run", "A(i) = B(i)", "B=ones(2)", "--out", "tns:/dev/stdout", "-q"], ">>log", 0, "")
    redirected(weft, ["run", "A(i) = B(i)", "B=ones(2)", "--json=/dev/fd/3", "-q"], "3>>log", 0, "")
    with open(weft.path("log"), encoding="utf-8") as log:
        lines = log.read().splitlines()
    require_equal(lines[0], "old", "what stood there")
    require(any(line == "2 1" for line in lines) and lines[-1].startswith("{"), f"both were added: {lines}")


PRINTS = [["--help"], ["--version"], ["run", "--help"], ["repl", "--help"], ["run", "A(i) = B(i)", "B=ones(3)"], ["run", "A(i) = B(i)", "B=ones(3)", "--json"],
          ["run", "A(i) = B(i)", "B=ones(3)", "--emit", "llvm"], ["run", "A(i) = B(i)", "B=ones(3)", "--out", "-"],
          ["run", "A(i) = B(i)", "B=ones(3)", "--out", "A=npy:-"], ["convert", "ones(3)", "-"], ["convert", "ones(3x2)", "mtx:-"], ["plan", "A(i) = B(i)", "B=ones(3)"], ["info", "ones(3)"],
          ["info", "ones(3)", "--json"], ["convert", "ones(3)", "b.tns"], ["cache", "path"], ["cache", "status"],
          ["cache", "status", "--json"]]


def cases_unwritable_output(_):
    for arguments in PRINTS:
        def one(weft, arguments=arguments):
            if os.access("/dev/full", os.W_OK):
                redirected(weft, arguments, ">/dev/full", 2, "error: cannot write standard output: No space left on device\n")
            redirected(weft, arguments, ">&-", 2, "error: cannot write standard output: Bad file descriptor\n")
        yield " ".join(arguments), one


def case_standard_output_by_a_name_of_the_system(weft):
    if not os.access("/dev/full", os.W_OK):
        raise Skip("there is no /dev/full")
    for name, redirection, status in (("/dev/stdout", ">/dev/full", 2), ("/dev/fd/1", ">/dev/full", 2), ("/dev/fd/3", "3>/dev/full", 5),
                                      ("/dev/full", "", 5)):
        redirected(weft, ["run", "A(i) = B(i)", "B=ones(3)", "--out", f"tns:{name}", "-q"], redirection, status,
                   f"error: cannot write {name}: No space left on device\n")


def case_repl_into_a_full_disk(weft):
    if not os.access("/dev/full", os.W_OK):
        raise Skip("there is no /dev/full")
    weft.write("s.weft", "B = ones(3)\n")
    redirected(weft, ["repl", "s.weft"], ">/dev/full", 2, "s.weft:1: error: cannot write standard output: No space left on device\n")


def case_unwritable_standard_error(weft):
    """What cannot be said is not said; the exit status tells all the same."""
    for redirection in ("2>/dev/full", "2>&-", "2>&- <&-"):
        redirected(weft, ["run", "A(i) = B(j)", "B=ones(3)"], redirection, 2)
        redirected(weft, ["run", "A(i) = B(i)", "B=ones(3)", "--verbose", "--threads", "0"], redirection, 2)
        redirected(weft, ["run", "A(i) = B(i)", "B=ones(3)", "--verbose"], redirection, 0)
        redirected(weft, [], redirection, 2)


def case_closed_streams_get_no_file(weft):
    """Numbers of closed streams must not become those of files that the command opens: its messages would go there."""
    weft.write("t.tns", "1 2\n2 3\n")
    for redirection, status in ((">&-", 2), ("2>&-", 0), (">&- 2>&-", 2), ("<&- >&- 2>&-", 2)):
        redirected(weft, ["run", "A(i) = B(i); C(i) = B(i)", "B=t.tns", "--out", "C=c.tns", "--verbose"], redirection, status)
        require_equal(weft.text("t.tns"), "1 2\n2 3\n", "the operand")
        require_equal(weft.text("c.tns"), "1 2\n2 3\n", "the result")
        os.remove(weft.path("c.tns"))


def case_no_command(weft):
    done = redirected(weft, [], "", 2)
    require_equal(done.stdout, b"", "standard output")
    require_in(b"Usage", done.stderr, "the help")


CUBE = Tensor((4, 3, 5), {(0, 0, 0): 1.0, (0, 2, 4): 2.5, (3, 1, 1): -3.0, (2, 2, 2): 0.0})


def case_convert_tns_to_npy_and_back(weft):
    weft.write("t.tns", tns(CUBE))
    weft("convert", "t.tns:4x3x5", "t.npy")
    require_equal(read_npy(weft.read("t.npy")), ((4, 3, 5), "<f8", filled(CUBE)), "npy")
    weft("convert", "t.npy", "back.tns")
    require_equal(read_tns(weft.text("back.tns")), {at: value for at, value in CUBE.entries.items() if value}, "entries")


def case_convert_keeps_explicit_zeros_of_sparse_files(weft):
    weft.write("t.tns", tns(CUBE))
    weft("convert", "t.tns", "copy.tns")
    require_equal(read_tns(weft.text("copy.tns")), CUBE.entries, "entries")
    require_equal(list(read_tns(weft.text("copy.tns"))), sorted(CUBE.entries), "order")


def cases_convert_round_trip(_):
    tensor = sparse((30, 40), 200, 3)
    for first in ("x.tns", "x.tns.gz", "x.tns.zst", "x.mtx", "x.mtx.gz", "x.mtx.zst"):
        for second in ("y.tns", "y.mtx"):
            def one(weft, first=first, second=second):
                weft("convert", "sparse(30x40,nnz=200,seed=3)", first)
                weft("convert", first + (":30x40" if ".tns" in first else ""), second)
                found = (read_tns if ".tns" in second else read_mtx)(weft.text(second))
                require_equal(found, tensor.entries, "entries")
            yield f"{first} to {second}", one


def case_convert_json_and_quiet(weft):
    weft.write("t.tns", tns(CUBE))
    require_equal(weft("convert", "t.tns", "u.tns", "--quiet").out, "", "standard output")
    report = weft("convert", "t.tns", "u.tns", "--json").json
    require_equal((report["extents"], report["nnz"]), ([4, 3, 5], 4), "report")


def case_convert_errors(weft):
    weft.write("t.tns", tns(CUBE))
    weft.error("convert", "t.tns", "t.xyz", says="t.xyz")
    weft.error("convert", "absent.tns", "t.npy", says="absent.tns")
    weft.error("convert", "t.tns", "t.mtx", says="t.mtx")
    weft.error("convert", "t.tns:4x4x400000x400000", "t.npy", says="t.tns")
    weft.error("convert", "t.tns:4000000x3000000x5000000", "t.npy", status=5)
    require(not weft.exists("t.npy") and not weft.exists("t.mtx"), "nothing is written")


def case_info(weft):
    weft.write("t.tns", tns(CUBE))
    out = weft("info", "t.tns").out
    require_in("4", out, "nonzeros")
    require_in("4x3x5", out.replace(" ", "").replace("[", "").replace(",", "x"), "shape")
    report = weft("info", "t.tns", "--json").json
    require_equal((report["extents"], report["nnz"]), ([4, 3, 5], 4), "report")
    require(abs(report["density"] - 4 / 60) < 1e-15, f"density {report['density']}")
    require_equal(weft("info", "t.tns:40x30x50", "--json").json["extents"], [40, 30, 50], "extents")
    weft("info", "t.tns", "--json=i.json")
    require_equal(json.loads(weft.text("i.json"))["nnz"], 4, "report in a file")


def cases_info_of(_):
    files = {"mtx": ("x.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 5\n3 3 1\n", [3, 3], 3),
             "npy": ("x.npy", npy((2, 3), range(6)), [2, 3], 6), "order 0": ("x.tns", "3.5\n", [], 1), "zst": ("x.tns.zst", zstandard("5 6 1\n"), [5, 6], 1)}
    for what, (name, content, extents, nnz) in files.items():
        def one(weft, name=name, content=content, extents=extents, nnz=nnz):
            weft.write(name, content)
            report = weft("info", name, "--json").json
            require_equal((report["extents"], report["nnz"]), (extents, nnz), "report")
            require(weft("info", name).out.count("\n") >= 2, "text")
        yield what, one

    def empty(weft):
        weft.write("x.tns", "")
        for shape in ("3x4", "0x4"):
            report = weft("info", f"x.tns:{shape}", "--json").json
            require_equal((report["nnz"], report["density"]), (0, 0), "nnz and density")
            require("nan" not in weft("info", f"x.tns:{shape}").out, "figures of an empty tensor are numbers")
    yield "empty", empty


def case_info_errors(weft):
    weft.error("info", "absent.tns", says="absent.tns")
    run = weft("info", "absent.tns", "--json", status=2)
    require_equal(run.json["error"]["kind"], "input", "kind")


def case_dense_result_of_dense_operands(weft):
    weft("run", "A(i,j) = B(j,i)", dense_operand(weft, "B", dense((2, 3), range(6))), "--out", "A=a.npy")
    require_equal(read_npy(weft.read("a.npy"))[2], dense((3, 2), [0, 3, 1, 4, 2, 5]).entries, "transposed")
