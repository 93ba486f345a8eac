"""What new users type: habits of other tools, slips, odd names. Each gets a sentence about what to write, or works."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

from harness import Skip, require, require_equal, require_in
from tensors import npy
from terminal import Terminal

TEXT = "1 1 2\n3 4 5\n"


def cases_lines(_):
    """One mistake each: the words, and what the message must contain."""
    wrong = {
        "an einsum of letters alone": (["ij", "ones(2x2)"], ["no command ij", "weft run ij 'ones(2x2)'"]),
        "a file for an expression": (["x.tns"], ["x.tns is an operand", "weft info x.tns"]),
        "a tensor for an expression": (["A=ones(2x2)"], ["is an operand", "weft info 'ones(2x2)'"]),
        "an operand first": (["A=ones(2x2)", "s = A(i,j)"], ["A=ones(2x2) is an operand", "'s = A(i,j)' stands before it"]),
        "an operand of einsum first": (["x.tns", "ij->i"], ["x.tns is an operand", "'ij->i' stands before it"]),
        "a long option with one dash": (["ij->i", "ones(2x2)", "-out", "y.npy"], "-out is no option of weft run; did you mean --out?"),
        "another one, of a letter that is there": (["ij->i", "ones(2x2)", "-threads", "2"], "did you mean --threads?"),
        "an option's longer name": (["ij->i", "ones(2x2)", "--output=y.npy"], "--output is no option of weft run; did you mean --out?"),
        "an option without its value": (["ij->i", "ones(2x2)", "--threads"], "--threads wants a value: --threads N"),
        "an option given twice": (["i->", "ones(3)", "--threads", "1", "-t", "2"], "--threads is given twice"),
        "an option given three times": (["i->", "ones(3)", *["--memory-limit=1G"] * 3], "--memory-limit is given 3 times"),
        "a report given twice": (["i->", "ones(3)", "--json", "--json"], "--json is given twice"),
        "an option given twice, without a value at last": (["i->", "ones(3)", "--repeat", "1", "--repeat"], "--repeat wants a value"),
        "a word for a number": (["ij->i", "ones(2x2)", "-t", "two"], "'two' is not a whole number from 1 to 4096"),
        "a negative number": (["ij->i", "ones(2x2)", "--repeat", "-1"], "'-1' is not a whole number from 1"),
        "a stage": (["ij->i", "ones(2x2)", "--emit", "lops"], "did you mean loops?"),
        "what the cache does": (["cache", "clera"], "did you mean clear?"),
        "two scripts": (["repl", "a", "b"], "weft repl wants one script at most: weft repl [SCRIPT]; 2 words are given"),
        "a name in capitals": (["y(i) = a(i)", "A=ones(2)"], "no operand is given for a; is A meant? (add a=SPEC)"),
        "no name of a file": (["info", ""], "the name of the file is empty"),
        "an operand without its name": (["y(i) = T(i,j) * x(j)", "x=ones(4)", "x.tns"], "x.tns has no name: with index notation every operand is NAME=SPEC, here T=x.tns"),
        "an operand of three words": (["y(i) = T(i,j)", "T", "=", "x.tns"], "an operand is one word, NAME=SPEC"),
        "an operand of two words": (["y(i) = T(i,j)", "T=", "x.tns"], "an operand is one word, NAME=SPEC"),
        "an expression of several words": (["y", "=", "T(i,j)", "T=x.tns"], "quotes make one word of an expression: weft 'y = T(i,j)'"),
        "no value, and another operand": (["y(i) = x(i) * z(i)", "x=", "z=ones(2)"], "the value of operand x is empty"),
        "no value": (["y(i) = x(i)", "x="], "the value of operand x is empty"),
        "a name with a dash": (["info", "-x.tns"], "a file of that name is ./-x.tns"),
        "an address": (["info", "https://host/a b.tns"], "curl -L 'https://host/a b.tns' | weft info -"),
        "a shape with commas": (["info", "x.tns:3,4"], "a shape is written x.tns:3x4"),
        "another generator": (["y(i) = x(i)", "x=zeros(3)"], ["'zeros(3)' is none of the generators", "ones(2000x32)", "(operand x)"]),
        "a generator that is open": (["info", "uniform(3x4"], "'uniform(3x4' lacks the ')' at its end"),
        "extents with a comma": (["info", "uniform(3,4)"], "extents are joined by 'x'"),
        "a format's usual name": (["ij->ij", "ones(2x2)", "--format", "out:CSR"], "CSR is ds"),
        "one extent too few": (["info", "x.tns:3"], "the shape has 1 extent\n"),
        "a directory": (["info", "."], "cannot read .: Is a directory"),
        "a directory for a result": (["ij->i", "ones(2x2)", "-o", "tns:."], "it is a directory"),
        "nothing": ([""], "the expression is empty"),
        "blanks": (["  "], "the expression is empty"),
    }
    for what, (words, says) in wrong.items():
        def one(weft, words=words, says=says):
            weft.write("x.tns", TEXT)
            weft.error(*words, says=says)
        yield what, one


def cases_contents(_):
    zipped = __import__("gzip").compress
    wrong = {
        "commas in a text": ("x.txt", b"1,1,2\n", "'1,1,2' has a comma: fields are separated by blanks"),
        "coordinates from 0": ("x.tns", b"0 1 2\n", ["x.tns:1: coordinate 0 in mode 0", "awk"]),
        "compressed commas": ("x.csv.gz", zipped(b"1,1,2\n"), "zcat x.csv.gz | tr , ' ' > x.tns"),
        "MATLAB 7.3": ("x.mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(600, b"\0"), ["HDF5 is not read", "h5py"]),
        "an unknown MATLAB file": ("x.mat", b"\0\1\2\3", "MATLAB files are not read"),
        "a line of names": ("x.tns", b"row column value\n1 1 2\n", "x.tns:1: 'row' in mode 0 is not a coordinate"),
        "UTF-16": ("x.tns", "1 1 2\n".encode("utf-16"), "x.tns"),
    }
    for what, (name, content, says) in wrong.items():
        def one(weft, name=name, content=content, says=says):
            weft.write(name, content)
            weft.error("info", name, says=says)
        yield what, one


def case_line_that_counts_from_one(weft):
    """The one that the message about coordinates from 0 names."""
    weft.write("x.tns", "0 0 2.5\n1 3 5\n")
    line = re.search(r"awk '.*'", weft.error("info", "x.tns").err).group(0)
    shell = subprocess.run(["bash", "-c", f"{line} x.tns"], cwd=weft.directory, capture_output=True, text=True, check=False)
    require_equal(shell.stdout, "1 1 2.5\n2 4 5\n", line)


def case_odd_names_of_files(weft):
    for name in ("a b.tns", "-5.tns", "eq=x.tns", "col:2x3.tns", "quote'.tns", "uniform(3).tns", "α.tns", "new\nline.tns"):
        spec = "./" + name
        weft("convert", "sparse(3x4,nnz=5,seed=1)", spec)
        require(weft.exists(name), f"{name!r} is written")
        require_in("3x4", weft("info", spec + ":3x4").out, name)
        require_equal(weft("ij->", spec, "-q").out, weft("ij->", "sparse(3x4,nnz=5,seed=1)", "-q").out, name)
    weft("ij->i", "ones(2x2)", "-o", "-7.tns")
    require(weft.exists("-7.tns"), "a result whose name begins like an option")
    weft("y(i) = T(i,j)", "T = ones(2x2)", "-t=1", "-o=t.tns")
    require_equal(weft.text("t.tns"), "1 2\n2 2\n", "blanks around '='")
    require(weft.exists("t.tns"), "options with '='")


def case_names_that_are_no_utf8(weft):
    name = os.fsdecode(b"n\xff.tns")
    weft.write(name, TEXT)
    require_equal(weft("info", name, "--json").json["extents"], [3, 4], "a report in JSON")
    require_equal(weft("ij->", name, "--json", "--html", name + ".html").json["results"]["out"]["sum"], 7, "a report and a page")
    weft.read(name + ".html").decode()
    require_in("cannot read", weft("info", name + "x", "--json", status=2).json["error"]["message"], "an error in JSON")


def case_the_home_directory(weft):
    """Not every shell puts it there behind "T="."""
    weft.write("x.tns", TEXT)
    require_equal(weft("y = T(i,j)", "T=~/x.tns", "-q").out, "7.0\n", "an operand")
    weft("y = T(i,j)", "T=~/x.tns", "-o", "~/y.tns", "-q")
    require_equal(weft.text("y.tns"), "7\n", "a result")
    weft.write("s.weft", "T = ~/x.tns\n")
    require_in("T: 3x4", weft("repl", "s.weft").out, "at the prompt")
    require_equal(weft("y = T(i,j)", "T=tns:~/x.tns", "-q").out, "7.0\n", "behind a format")


def case_the_home_directory_of_every_option(weft):
    os.mkdir(weft.path("d"))
    weft("plan", "ij,j->i", "ones(3x4)", "ones(4)", "--emit=schedule=~/d/a.schedule", "--json=~/d/p.json", "--html=~/d/p.html", "--quiet",
         "--dump=~/d/dump", "--cache-dir=~/d/cache")
    for name in ("a.schedule", "p.json", "p.html", "dump", "cache"):
        require(weft.exists("d/" + name), name)
    weft("ij,j->i", "ones(3x4)", "ones(4)", "--schedule=~/d/a.schedule", "--quiet")
    weft("compare", "~/d/a.schedule", "~/d/a.schedule", "ij,j->i", "ones(3x4)", "ones(4)", "--quiet", "--repeat", "1")
    weft("convert", "ones(2)", "tns:~/d/o")
    require_equal(weft.text("d/o"), "1 1\n2 1\n", "what is converted")
    require_equal(weft("cache", "path", "--cache-dir=~/d/cache").out, weft.path("d/cache") + "\n", "a directory")
    require_in(weft.path("d/none.tns"), weft("ij->", "~/d/none.tns", "--json=~/d/e.json", status=2).err, "an error")
    require_in("none.tns", weft.text("d/e.json"), "an error in JSON")
    require(not weft.exists("~"), "nothing is named ~")


def case_the_home_directory_of_every_command(weft):
    os.mkdir(weft.path("d e"))
    weft.write("d e/s.weft", "x = 3\n")
    said = ("T = ones(2x3)", ":write T=~/d e/o.tns", ':write T="~/d e/q.tns"', ':save "~/d e/s"', ':source "~/d e/s.weft"', ':html "~/d e/p.html" i->i x',
            ':spy T "~/d e/p.png"', ':spy T 1 0 "~/d e/q.svg"', ":set dump ~/d e/dump", ':set cache-dir "~/d e/cache"',
            ":set cache-dir", ':output "~/d e/o"', "T", ":output")
    weft.write("t.weft", "\n".join(said).replace("i->i x", "ij->i T"))
    require_in(f"cache-dir {weft.path('d e/cache')}\n", weft("repl", "~/t.weft").out, "what :set tells")
    for name in ("o.tns", "q.tns", "s", "p.html", "p.png", "q.svg", "o"):
        require(weft.exists("d e/" + name), name)
    require(not weft.exists("~"), "nothing is named ~")


def case_several_names_of_help(weft):
    plain = weft("--help").out
    for words in (["-help"], ["-?"], ["help", "help"], ["help", "version"], ["help", "--json"]):
        require_equal(weft(*words).out, plain, str(words))
    for command in ("info", "convert", "cache"):
        require("--verbose" not in weft(command, "--help").out, f"what does not bear on weft {command}")
    weft("info", "ones(3)", "--verbose")


def case_readers_that_stop_early(weft):
    weft.write("x.npy", npy((400, 200), [1] * 80000))
    for line in ("WEFT 'ij->ij' x.npy --out - | head -n 1", "WEFT 'ij->ij' x.npy | head -n 1", "WEFT plan 'ij->i' x.npy | head -n 1",
                 "WEFT --help | head -n 1", "WEFT info x.npy | true", "WEFT convert x.npy - | head -n 1"):
        shell = subprocess.run(["bash", "-c", line.replace("WEFT", weft.command)], cwd=weft.directory, capture_output=True, text=True,
                               env=weft.environment(None)[0], check=False)
        require_equal((shell.returncode, shell.stderr), (0, ""), line)
        require(len(shell.stdout.splitlines()) <= 1, f"one line of {line}")


def case_progress_fits_the_terminal(weft):
    """A line that is wrapped could not be taken away."""
    for terminal, is_shown in (("xterm", True), ("dumb", False)):
        name = f"a_name_of_a_file_that_is_longer_than_the_{terminal}_terminal.tns"
        shown, lines = read_slowly(weft, name, "info", name, columns=40, term=terminal)
        require_equal(any("%" in line for line in lines), is_shown, f"progress on TERM={terminal}: {shown[:300]!r}")
        require(all(len(line) < 40 for line in lines), f"lines of progress in 40 columns: {lines!r}")


def read_slowly(weft, name, *arguments, columns=100, term="xterm"):
    """What a terminal shows of a command that reads the name, that of a pipe, which is written to for two seconds (mostly
    comments); and its lines of progress."""
    os.mkfifo(weft.path(name))
    with Terminal(weft, *arguments, env={"TERM": term}, columns=columns) as terminal:
        with open(weft.path(name), "w", encoding="utf-8") as pipe:
            for row in range(1, 20):
                pipe.write(f"{row} 1 1\n" + ("#" * 99 + "\n") * 1500)
                pipe.flush()
                time.sleep(0.1)
        shown, status = terminal.end()
        require_equal(status, 0, f"status of {shown!r}")
        return shown, [part.split(b"\r")[0].decode() for part in terminal.shown.split(b"\r\x1b[K")[1:-1]]


def case_progress_is_gone_before_a_tensor_comes(weft):
    shown, lines = read_slowly(weft, "x.tns", "convert", "x.tns", "-")
    require(any("reading x.tns" in line for line in lines), f"lines of progress: {lines[:3]!r}")
    require(shown.startswith("1 1 1\n2 1 1\n") and "%" not in shown, f"what stands there: {shown[:200]!r}")


def case_progress_is_cut_between_characters(weft):
    name = "größe_" * 12 + ".tns"
    _, lines = read_slowly(weft, name, "info", name, columns=40)
    require(any(line.startswith("...") and "größe_.tns " in line for line in lines), f"lines of progress: {lines!r}")
    require_equal({len(line) for line in lines}, {39}, f"characters of {lines!r}")


def case_a_prediction_of_nothing(weft):
    """The model prices loops: below its resolution it says so, instead of a ratio to the call around them."""
    require_in("predicted below 1 us", weft("s = v", "v=2.5").out, "the line of times")


def case_help_fits_the_terminal(weft):
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise Skip(f"no pseudo-terminal: {error}") from error
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    process = weft.start("help", "run", stdout=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    process.communicate()
    os.close(ours)
    lines = shown.decode().replace("\r\n", "\n").split("\n\n")[1].splitlines()
    require(len(lines) > 40, f"options in lines of 70 columns: {len(lines)}")
    require(all(len(line) <= 70 for line in lines), f"none is wider: {max(lines, key=len)!r}")
    words = " ".join(" ".join(lines).split())
    require_equal(words, " ".join(weft("help", "run").out.split("\n\n")[1].split()), "the same words as in a pipe")
