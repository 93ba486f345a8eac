"""Files, pipes and standard streams: formats by content, NumPy archives, what is not read, what grows."""

import gzip
import io
import os
import shutil
import struct
import subprocess
import zipfile

from harness import PATIENCE, Failure, Skip, require, require_equal, require_in
from tensors import npy, read_mtx, read_npy, read_tns, zstandard

TEXT = "1 2 3.5\n3 1 2\n"
BANNER = "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 2 3.5\n3 1 2\n"
ENTRIES = {(0, 1): 3.5, (2, 0): 2.0}


def archive(members, method=zipfile.ZIP_DEFLATED):
    """A .npz of arrays in numpy's format, by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, content in members.items():
            with packed.open(name + ".npy", "w", force_zip64=True) as member:
                member.write(content)
    return file.getvalue()


def texts(descr, text):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + text


def csr(**changed):
    members = {"indices": npy((2,), [1, 0], "<i4"), "indptr": npy((4,), [0, 1, 1, 2], "<i4"), "format": texts("|S3", b"csr"),
               "shape": npy((2,), [3, 2], "<i8"), "data": npy((2,), [3.5, 2.0])}
    members.update(changed)
    return {name: content for name, content in members.items() if content is not None}


def cases_any_content(_):
    """The same matrix under a name that says nothing, from a file, a pipe and standard input."""
    forms = {"tns": TEXT.encode(), "mtx": BANNER.encode(), "tns.gz": gzip.compress(TEXT.encode()), "mtx.zst": zstandard(BANNER),
             "npz stored": archive(csr(), zipfile.ZIP_STORED), "npz deflated": archive(csr()), "npz.gz": gzip.compress(archive(csr())),
             "npy": npy((3, 2), [0, 3.5, 0, 0, 2, 0])}
    for what, content in forms.items():
        def one(weft, content=content):
            weft.write("data", content)
            os.mkfifo(weft.path("pipe"))
            for place in ("data", "-", "pipe"):
                if place == "pipe":
                    feeding = subprocess.Popen("cat data > pipe", shell=True, cwd=weft.directory)
                run = weft("convert", place, "tns:-", given=content if place == "-" else None)
                if place == "pipe":
                    feeding.wait()
                require_equal(read_tns(run.out), ENTRIES, place)
        yield what, one


def case_pipes_of_a_shell(weft):
    """Process substitution, standard input that is a file, and what another program has read from it."""
    weft.write("x.tns", TEXT)
    weft.write("more", "a line\n" + TEXT)
    for line in ("WEFT info <(cat x.tns)", "cat x.tns | WEFT info -", "WEFT info - < x.tns", "{ read line; WEFT info -; } < more",
                 "WEFT info -:3x2 < x.tns", "WEFT info tns:- < x.tns"):
        shell = subprocess.run(["bash", "-c", line.replace("WEFT", weft.command)], cwd=weft.directory, capture_output=True, text=True,
                               env={"PATH": os.environ["PATH"], "HOME": weft.directory})
        require_equal(shell.returncode, 0, f"exit status of {line}: {shell.stderr}")
        require_in("3x2", shell.stdout, line)
        require_in("/dev/fd/" if "<(" in line else "standard input", shell.stdout, line)


def case_standard_input_once(weft):
    weft.error("run", "ij,jk->ik", "-", "mtx:-", says=["T0 and T1", "standard input", "once"], given=b"")
    weft.error("info", "-", says="such as -:100x200", given=b"")
    weft.error("info", "-", says="standard input:2: 2 fields", given=b"1 1 1\n2 2\n")


def case_terminal_is_no_tensor(weft):
    import terminal
    with terminal.Terminal(weft, "info", "-") as session:
        shown, status = session.end()
        require_in("standard input is a terminal", shown, "the message")
        require_equal(status, 2, "exit status")
    weft.write("x.npy", npy((1,), [1.0]))
    with terminal.Terminal(weft, "convert", "x.npy", "npy:-") as session:
        shown, status = session.end()
        require_in("standard output is a terminal", shown, "the message")
        require_equal(status, 2, "exit status")


def case_results_on_standard_output(weft):
    weft.write("x.tns", TEXT)
    run = weft("run", "ij->ij", "x.tns", "--out", "-")
    require_equal(read_tns(run.out), ENTRIES, "out as .tns")
    require_in("on ", run.err, "the summary on standard error")
    require_equal(read_mtx(weft("run", "ij->ij", "x.tns", "--out", "out=mtx:-", "--quiet").out), ENTRIES, "out as .mtx")
    require_equal(read_npy(weft("run", "ij->j", "x.tns", "--out", "npy:-").out_bytes)[0], (2,), "out as .npy")
    content = weft("run", "ij->ij", "x.tns", "--format", "out:ds", "--out", "npz:-", "--quiet").out_bytes
    require("indptr.npy" in zipfile.ZipFile(io.BytesIO(content)).namelist(), "out as .npz")
    run = weft("convert", "x.tns", "-")
    require_equal(read_tns(run.out), ENTRIES, "converted")
    require_in("standard output: 3x2", run.err, "what convert says")
    weft.error("convert", "x.tns", "-", "--json", says="both want standard output")


def case_reader_that_stops_early(weft):
    line = f"{weft.command} convert 'sparse(3000x3000,nnz=300000)' - | head -n 1; echo ${{PIPESTATUS[0]}}"
    shell = subprocess.run(["bash", "-c", line], cwd=weft.directory, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": weft.directory})
    require_equal(len(shell.stdout.splitlines()), 2, "lines")
    require_equal(shell.stdout.splitlines()[1], "141", "the signal of a closed pipe")
    require_equal(shell.stderr, "", "standard error")


def case_archives(weft):
    weft.write("two.npz", archive({"a": npy((2, 2), [1, 2, 3, 4]), "b": npy((3,), [1, 2, 3], "<i2")}))
    require_equal(weft("run", "ij->", "two.npz:a", "--quiet").out.strip(), "10.0", "the sum of a")
    require_equal(weft("run", "i->", "two.npz:b", "--quiet").out.strip(), "6.0", "the sum of b")
    weft.error("info", "two.npz", says=["two.npz:a", "it holds a, b"])
    weft.error("info", "two.npz:c", says=["no member 'c'", "a, b"])
    weft.write("one.npz", archive(csr()))
    for options in ([], ["--format", "out:ss:1,0"], ["--format", "out:ds:0,1:f32"]):
        weft("run", "ij->ij", "one.npz", *options, "--out", "again.npz")
        require_equal(read_tns(weft("convert", "again.npz", "-").out), ENTRIES, "again")
    require_in("csr", weft.read("again.npz").decode("latin-1"), "the format")
    weft("run", "ij->ji", "two.npz:a", "--out", "dense.npz")
    with zipfile.ZipFile(weft.path("dense.npz")) as packed:
        require_equal(packed.testzip(), None, "damaged members")
        require_equal(packed.namelist(), ["out.npy"], "members")
        require_equal(read_npy(packed.read("out.npy"))[2], {(0, 0): 1, (0, 1): 3, (1, 0): 2, (1, 1): 4}, "out")


def case_archives_of_scipy(weft):
    """Both directions, where scipy is."""
    python = shutil.which("python3", path="/usr/bin") or "python3"
    there = subprocess.run([python, "-c", "import scipy.sparse"], capture_output=True)
    if there.returncode != 0:
        raise Skip("no scipy")
    script = """
import numpy, scipy.sparse as s, subprocess, sys
numpy.random.seed(1)
A = s.random(40, 60, 0.2, format='csr')
for form in ('csr', 'csc', 'coo', 'bsr'):
    for packed in (False, True):
        s.save_npz('a.npz', A.tobsr((4, 6)) if form == 'bsr' else A.asformat(form), compressed=packed)
        for order in ('0,1', '1,0'):
            subprocess.run([sys.argv[1], 'run', 'ij->ij', 'a.npz', '--format', 'out:ss:' + order, '--out', 'b.npz', '-q'], check=True)
            B = s.load_npz('b.npz')
            assert B.shape == A.shape and abs(A - B).max() == 0, (form, packed, order)
            assert B.format == ('csr' if order == '0,1' else 'csc')
"""
    environment, _ = weft.environment(None)
    ran = subprocess.run([python, "-c", script, weft.command], cwd=weft.directory, capture_output=True, text=True, env=environment)
    require_equal(ran.returncode, 0, f"what scipy says: {ran.stderr[-500:]}")


def cases_bad_archives(_):
    whole = archive(csr(), zipfile.ZIP_STORED)
    swapped = bytearray(whole)
    swapped[whole.index(struct.pack("<d", 3.5))] ^= 1
    bad = {
        "objects": (archive({"o": npy((1,), [1.0]).replace(b"'<f8'", b"'|O' ")}), 3, "x.npz:o: the element type '|O'"),
        "dia": (archive(csr(format=texts("|S3", b"dia"))), 3, "dia"),
        "no indptr": (archive(csr(indptr=None)), 2, "indptr"),
        "falling indptr": (archive(csr(indptr=npy((4,), [0, 1, 0, 2], "<i4"))), 2, "x.npz:indptr: element 2"),
        "an index out of range": (archive(csr(indices=npy((2,), [2, 0], "<i4"))), 2, "x.npz:indices: element 0 is 2"),
        "too many values": (archive(csr(data=npy((3,), [1, 2, 3]))), 2, "2 indices for 3 values"),
        "truncated": (whole[:-40], 2, "x.npz"), "cut early": (whole[:100], 2, "truncated"), "empty": (b"", 2, "no zip archive"),
        "a wrong checksum": (bytes(swapped), 2, "checksum"), "text": (TEXT.encode(), 2, "no zip archive"),
        "integers that f64 lacks": (archive(csr(data=npy((2,), [1, 2**53 + 1], "<i8"))), 2, "element 1 (from 0, as stored) is 9007199254740993"),
    }
    for what, (content, status, says) in bad.items():
        def one(weft, content=content, status=status, says=says):
            weft.write("x.npz", content)
            weft.error("info", "x.npz", status=status, says=says)
            run = weft("info", "npz:-", status=status, given=content)
            require_equal(run.out, "", "standard output")
        yield what, one


def cases_contradictions(_):
    for what, name, content, says in (("npy named mtx", "x.mtx", npy((1,), [1]), "npy:x.mtx"), ("npz named tns", "x.tns", archive(csr()), "npz:x.tns"),
                                      ("mtx named tns", "x.tns", BANNER.encode(), "mtx:x.tns"), ("npy forced to mtx", "mtx:x", npy((1,), [1]), "begins like a NumPy array"),
                                      ("gzip named mtx", "x.mtx", gzip.compress(BANNER.encode()), "should end in .gz")):
        def one(weft, name=name, content=content, says=says):
            weft.write(name.removeprefix("mtx:"), content)
            weft.error("info", name, says=says)
        yield what, one


def cases_other_formats(_):
    """The message names a line; those of tools that are here are run."""
    for name, word in (("x.mat", "loadmat"), ("x.h5", "h5py"), ("x.hdf5", "h5py"), ("x.csv", "tr , ' '"), ("x.parquet", "read_parquet"),
                       ("x.arrow", "read_feather"), ("x.feather", "read_feather"), ("x.tns.bz2", "bzip2 -dc x.tns.bz2 | "), ("x.tns.xz", "xz -dc x.tns.xz | ")):
        def one(weft, name=name, word=word):
            weft.write(name, "1 1 1\n")
            weft.error("info", name, says=[name, word])
            weft.error("run", "ij->", name, says=[name, word])
        yield name, one


def case_lines_that_convert(weft):
    tools = [tool for tool in ("bzip2", "xz") if shutil.which(tool)]
    weft.write("x.csv", TEXT.replace(" ", ","))
    for tool in tools:
        weft.write("x.tns", TEXT)
        subprocess.run([tool, "x.tns"], cwd=weft.directory, check=True)
    for name in ["x.csv"] + [{"bzip2": "x.tns.bz2", "xz": "x.tns.xz"}[tool] for tool in tools]:
        message = weft.error("info", name).err
        line = message.rstrip("\n").split(": ")[-1].split("   (")[0]
        if name == "x.csv":
            line += " && weft info x.tns"
        shell = subprocess.run(["bash", "-c", line.replace("weft", weft.command)], cwd=weft.directory, capture_output=True, text=True,
                               env={"PATH": os.environ["PATH"], "HOME": weft.directory})
        require_in("3x2 ss:0,1", shell.stdout, f"what '{line}' prints")


def cases_growing_extents(_):
    text = "1 1 2\n3 4 5\n"
    for what, expression, operands, note in (
            ("einsum", "ij,jk->ik", ["x.tns", "ones(6x2)"], "T0: mode 1 read with extent 4, taken as 6 as in T1"),
            ("index notation", "A(i) = X(i,j) * B(j)", ["X=x.tns", "B=ones(6)"], "X: mode 1 read with extent 4, taken as 6 as in B"),
            ("a diagonal", "a = X(i,i)", ["X=x.tns"], "X: mode 0 read with extent 3, taken as 4 as in X")):
        def one(weft, expression=expression, operands=operands, note=note):
            weft.write("x.tns", text)
            run = weft("run", expression, *operands)
            require_in(f"note: {note}\n", run.err, "standard error")
            require_equal(weft("run", expression, *operands, "--quiet").err, "", "standard error of --quiet")
            require_equal(weft("plan", expression, *operands).err, f"note: {note}\n", "standard error of plan")
        yield what, one
    for what, content, operand in (("an explicit shape", text, "X=x.tns:3x4"), ("a noted shape", "# shape: 3 4\n" + text, "X=x.tns"),
                                   ("a matrix with a size", "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 1\n", "X=mtx:x.tns")):
        def fixed(weft, content=content, operand=operand):
            weft.write("x.tns", content)
            weft.error("run", "A(i) = X(i,j) * B(j)", operand, "B=ones(6)", says="index j is 4 in X (mode 1) but 6 in B (mode 0)")
        yield what, fixed
    def longer(weft):
        weft.write("x.tns", text)
        weft.error("run", "A(i) = X(i,j) * B(j)", "X=x.tns", "B=ones(3)", says="index j is 4 in X (mode 1) but 3 in B (mode 0)")
    yield "longer than the other", longer


def case_growing_extents_in_a_script(weft):
    weft.write("x.tns", "1 1 2\n3 4 5\n")
    weft.write("s.weft", 'X = x.tns\nB = ones(6)\nA(i) = X(i,j) * B(j)\nij,jk->ik X X\nX\n')
    run = weft("repl", "s.weft")
    require_in("note: X: mode 1 read with extent 4, taken as 6 as in B\n", run.err, "the note")
    require_in("note: X: mode 0 read with extent 3, taken as 6 as in X\n", run.err, "of a diagonal")
    require_in("X: 6x6 ss:0,1", run.out, "the tensor")
    weft.write("s.weft", 'T = "-"\nT\n')
    require_in("T: 3x4", weft("repl", "s.weft", given=b"1 1 2\n3 4 5\n").out, "a tensor of standard input")
    process = weft.start("repl", stdin=subprocess.PIPE)
    _, err = process.communicate(b'T = "-"\n', timeout=60 * PATIENCE)
    require_equal(process.returncode, 2, "exit status")
    require_in("the statements come from standard input", err.decode(), "the message")


def case_exact_integers(weft):
    weft.write("x.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n")
    weft.error("info", "x.mtx", says="x.mtx:3: '9007199254740993' is an integer that f64 cannot hold exactly")
    weft.write("y.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 16777217\n")
    require_equal(weft("run", "ij->", "y.mtx", "-q").out, "16777217.0\n", "an integer that f64 holds")
    weft.error("run", "A() = X(i,j)", "X=y.mtx", "--format", "X:ss:f32", says="y.mtx:3: '16777217' is an integer that f32 cannot hold")
    weft.write("x.npy", npy((2,), [1, 2**60 + 1], "<i8"))
    weft.error("info", "x.npy", says="element 1 (from 0, as stored)")
    weft.write("x.tns", "1 9007199254740993\n")
    weft("info", "x.tns")


def case_symmetric_files_say_so(weft):
    weft.write("x.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 5\n")
    require_in("was symmetric: written in full, 3 entries", weft("convert", "x.mtx", "y.mtx").out, "convert")
    require_in("the file is symmetric", weft("info", "x.mtx").out, "info")
    require("symmetric" not in weft("info", "y.mtx").out, "y.mtx is general")


def case_info_in_words(weft):
    weft.write("x.mtx", "%%MatrixMarket matrix coordinate real general\n4 3 4\n1 1 308\n1 2 1\n1 3 2\n4 3 9\n")
    out = weft("info", "x.mtx").out
    require_in("rows: 2 of 4 used, 2 entries each on average, longest 3\n", out, "rows")
    require_in("columns: all 3 used, 1.33 entries each on average, longest 2\n", out, "columns")
    require_in("values from 1 to 308\n", out, "values")
    weft.write("x.tns", "1 1 1 -0.5\n9000000000 2 1 0.25\n")
    out = weft("info", "x.tns").out
    require_in("mode 0: 2 of 9000000000 used, 1 entry each on average, longest 1\n", out, "mode 0")
    require_in("values from -0.5 to 0.25\n", out, "values")
    require_in("x.tns:9000000000x2x1 gives one", out, "the shape")
