"""The prompt: scripts, pipes, and a person at a terminal."""

import os
import pathlib
import re
import stat
import struct
import subprocess
import time
import zlib

from harness import SECONDS, Run, require, require_equal, require_in
from terminal import Terminal

ROOT = pathlib.Path(__file__).parents[2]


def piped(weft, text, *arguments, status=0, env=None):
    """The command with its standard input from a pipe."""
    environment, _ = weft.environment(env)
    weft.history.append(f"printf %s {text!r} | {weft.command} repl {' '.join(arguments)}")
    done = subprocess.run([weft.command, "repl", *arguments], input=text.encode(), cwd=weft.directory, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    run = Run(done.returncode, done.stdout, done.stderr)
    require_equal(run.status, status, f"exit status (standard error {run.err[-300:]!r})")
    require("\x1b" not in run.out + run.err, "no colour or cursor movement in a pipe")
    return run


def case_pipe(weft):
    run = piped(weft, "B = ones(2x3)\n# nothing\n\nA(i,k) = B(i,j) * B(k,j)\nA[0]\n")
    require_equal(run.out, "B: 2x3 dd:0,1 f64, 6 stored, 48 B\n[[3. 3.]\n [3. 3.]]\n[3. 3.]\n", "standard output")
    require_equal(run.err, "", "standard error")


def case_nothing(weft):
    for text in ("", "\n\n", "# only this", ";;"):
        run = piped(weft, text)
        require_equal((run.out, run.err), ("", ""), f"what {text!r} prints")


def case_script(weft):
    weft.write("s.weft", "B = uniform(3x2)\nB[1,1]; B[-1]\nb = B(i,j);\nb\n:quit\nnever said")
    run = weft("repl", "s.weft")
    require_equal(run.out.splitlines()[1:3], ["0.7173529370814654", "[0.71385772 0.8182225 ]"], "an element and a row")
    require_equal(len(run.out.splitlines()), 4, "lines")


def case_first_error_ends_a_script(weft):
    kinds = {"A[": 2, "A(i) = nosuch(i)": 2, "A(i) = B(i) + B(i)": 3, ":nosuch": 2, "X = nosuch.tns": 2, "B[7]": 2,
             ":set memory-limit 1": 5, ":set specialize most": 2, ":info": 2, "x y z->": 2, ":write B=/nowhere/b.npy": 2, "...i->i B": 3}
    for text, status in kinds.items():
        weft.write("s.weft", f"B = ones(3)\n# comment\n{text}\nB\n")
        environment, _ = weft.environment(None)
        done = subprocess.run([weft.command, "repl", "s.weft"], cwd=weft.directory, env=environment, capture_output=True, check=False)
        require_equal(done.returncode, status, f"exit status of {text!r} ({done.stderr!r})")
        require(done.stderr.startswith(b"s.weft:3: error: "), f"where the error of {text!r} is: {done.stderr!r}")
        require_equal(done.stdout.count(b"\n"), 1, f"lines printed before {text!r}")
        run = piped(weft, f"B = ones(3)\n\n{text}\nB\n", status=status)
        require(run.err.startswith("<stdin>:3: error: "), f"where the error is in a pipe: {run.err!r}")


def case_error_of_a_statement_over_lines(weft):
    run = piped(weft, "B = ones(2x3)\nA(i) =\n  B(i,j) *\n  c(j)\n", status=2)
    require_equal(run.err.splitlines()[0], "<stdin>:2: error: no tensor is named c; load one with c = FILE, or see :list and :help", "message")
    require_equal(run.err.splitlines()[1:], ["    c(j)", "    ^"], "picture")


def case_script_that_is_not_there(weft):
    weft.error("repl", "nosuch.weft", says="cannot read nosuch.weft: No such file or directory")
    weft.error("repl", ".", says="cannot read .: Is a directory")
    weft.error("repl", "--threads", "0", says="threads")
    weft.error("repl", "--memory-limit", "lots", says="lots")
    weft.error("repl", "--specialize", "most", says="generic, profiled, baked and auto")


def case_options_of_the_command(weft):
    run = piped(weft, ":threads\n:set calls\n:set deterministic on\n:cache path\nx = 1\nx\n", "--threads", "1", "--calls", "7",
                "--cache-dir", "own", "--quiet")
    require_equal(run.out, "1\ncalls 7\nown\n1.0\n", "standard output")
    piped(weft, "A = uniform(100x100)\nB(i,k) = A(i,j)*A(j,k);\n", "--no-cache", "--cache-dir", "unused")
    require(not weft.exists("unused"), "nothing is stored")
    run = piped(weft, "A = sparse(3x4,nnz=2)\n:format\n", "--format", "A:ss:1,0:f32", "--format", "B:like(A)")
    require_in("A: 3x4 ss:1,0 f32", run.out, "a tensor in its format")
    require_in("A ss:1,0 f32\nB like(A)\n", run.out, "formats")
    weft.error("repl", "--format", "A", says="--format")
    run = piped(weft, "A = ones(3)\nB(i) = A(i);\n", "--verbose")
    require_in("weft run", run.err, "lines of --verbose")
    run = piped(weft, "M = sparse(30x30,nnz=40)\nx = ones(30)\n:set specialize generic\ny(i) = M(i,j) * x(j);\n"
                      ":set specialize baked\nz(i) = M(i,j) * x(j);\nz\n", "--dump", "kernels", "--quiet")
    dumped = [name for name in os.listdir(weft.path("kernels")) if name.endswith(".ll")]
    require_equal(len(dumped), 2, f"kernels dumped: {dumped}")


def case_load_evaluate_write(weft):
    weft.write("m.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 2.5\n2 1 -1\n3 3 4\n")
    weft.write("x y.tns", "1 1 1\n2 3 5\n")
    run = piped(weft, "M = m.mtx\n:format R:ss\nR(i,k) = M(i,j) * M(j,k)\n:write R=r.mtx\n:write R = r.npy\n"
                      "X = \"x y.tns\":4x4\nX[1]\nT = R; T[1,1]\n")
    require_equal(weft.text("r.mtx").splitlines()[1:], ["3 3 3", "1 1 -2.5", "2 2 -2.5", "3 3 16"], "the file")
    require(weft.exists("r.npy"), "the other file")
    require_in("R: 3x3 ss:0,1 f64, 3 stored", run.out, "the sparse result")
    require_in("  (0, 0)  -2.5\n  (1, 1)  -2.5\n  (2, 2)  16.0\n", run.out, "its entries")
    require_in("X[1]: 4 s:0 f64, 1 stored, 20 B\n  (2)  5.0\n", run.out, "a row")
    require(run.out.endswith("stored, 72 B\n-2.5\n"), "an element of another name")


def case_output_is_never_long(weft):
    run = piped(weft, "A = uniform(3000x3000)\nA\nT = sparse(300x300x300,nnz=100000)\nT\nT[5]\nB = ones(2x2x2x2x2x2x2x2x2x2x2x2x2x2)\nB\n")
    require(len(run.out) < 10000, f"{len(run.out)} characters")
    require_in("...", run.out, "what is left out")


def case_every_command_without_an_error(weft):
    script = ["B = uniform(4x5,seed=1)", "T = sparse(5x6,nnz=9)", "A(i,k) = B(i,j) * T(j,k)"]
    script += [f":{name}" for name in ("plan", "tree", "schedule", "loops", "llvm", "asm", "time", "profile", "list", "format",
                                       "threads", "set", "cache", "cache status", "cache path", "help", "info T", "spy T",
                                       "spy T t.png", "spy T 1 0 t.svg", "format T", "format T:sd", "cache clear")]
    run = piped(weft, "\n".join(script), env={"WEFT_CACHE_DIR": weft.path("own")})
    for word in ("predicted", "program A", "define", "ret", "median", "ratio", " used", "entries removed", "⠀"):
        require_in(word, run.out, "standard output")
    picture = weft.read("t.png")
    require(picture.startswith(b"\x89PNG\r\n\x1a\n"), "a PNG file")
    width, height = struct.unpack(">II", picture[16:24])
    length = struct.unpack(">I", picture[33:37])[0]
    require_equal(len(zlib.decompress(picture[41:41 + length])), (width + 1) * height, "pixels and one byte a line")
    require_in("</svg>", weft.text("t.svg"), "an SVG file")


def case_answers_come_at_once(weft):
    """Another program may drive the prompt through pipes."""
    environment, _ = weft.environment(None)
    process = subprocess.Popen([weft.command, "repl"], cwd=weft.directory, env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for number in (3, 4):
            process.stdin.write(f"A = ones({number})\n".encode())
            process.stdin.flush()
            require_in(f"A: {number} d".encode(), process.stdout.readline(), "the answer")
    finally:
        process.stdin.close()
        process.wait(timeout=SECONDS)
        process.stdout.close()
        process.stderr.close()


def case_sample(weft):
    os.symlink(ROOT / "samples", weft.path("samples"))
    run = weft("repl", "samples/session.weft")
    require_in("3000000.0\n", run.out, "the number of flights")
    require_in("[200792. 196576. 196142. 187010. 167980. 189333.]", run.out, "the morning")
    require_in("program A", run.out, "the loops")
    require_in("F: rows mode 0", run.out, "the picture")


def case_what_mistyped_statements_say(weft):
    said = {
        ":list; :list": "':list; :list': a command ends with its line, and another one has a line of its own",
        ":info A A": ":info wants the name of one tensor, not 'A A'",
        ":info A+": "'A+' is not the name of a tensor: letters, digits and '_'",
        ":format A A": "'A A' is not the name of a tensor: letters, digits and '_'",
        ":drop * A": ":drop wants * alone, for all tensors, or names, not '* A'",
        ":format :ds": ":format wants NAME:KINDS[:ORDER][:SCALAR] or NAME:like(OPERAND), not ':ds'",
        ":format A:xx": ":format A:xx: ",
        "A[1.5]": "a slice is made of whole numbers\n  1.5\n   ^\n",
        "A[]": "a slice is made of numbers, start:stop:step and '...'\n  A[]\n    ^\n",
    }
    for text, wanted in said.items():
        run = piped(weft, f"A = ones(3)\n{text}\n", status=2)
        require(run.err.startswith("<stdin>:2: error: " + wanted), f"what {text!r} says: {run.err!r}")
    require_equal(piped(weft, "A = ones(3);\n:drop *;\n:list;\n").out, "no tensors\n", "commands that end with ';'")


# At a terminal.

def home(weft):
    return {"HOME": weft.directory, "XDG_STATE_HOME": weft.path("state")}


def start(weft, *arguments, env=None):
    terminal = Terminal(weft, "repl", *arguments, env={**home(weft), **(env or {})})
    terminal.until("weft> ")
    return terminal


def has_line_editor(weft):
    libraries = subprocess.run(["ldd", weft.command], capture_output=True, text=True, check=False).stdout
    return "libedit" in libraries


def case_terminal_session(weft):
    with start(weft) as terminal:
        require_equal(terminal.say("B = ones(2x2)"), "B: 2x2 dd:0,1 f64, 4 stored, 32 B\n", "a tensor")
        require_equal(terminal.say("A(i,k) = B(i,j) *", "  ... "), "", "a line that goes on")
        require_equal(terminal.say("B(j,k)"), "[[2. 2.]\n [2. 2.]]\n", "its result")
        shown = terminal.say("A(i) = B(i,j) * c(j)")
        require_in("error: no tensor is named c", shown, "an error")
        require_in("\n  A(i) = B(i,j) * c(j)\n                  ^\n", shown, "its place")
        require_in("did you mean :time?", terminal.say(":tmie"), "another error")
        require_equal(terminal.say("A[0,0]"), "2.0\n", "the session goes on")
        terminal.type("\x04")
        require_equal(terminal.end()[1], 0, "exit status after Ctrl-D")


def case_terminal_quit(weft):
    with start(weft) as terminal:
        terminal.say("nosuch")
        terminal.type(":quit\r")
        require_equal(terminal.end()[1], 0, "exit status")


def case_terminal_interrupts_the_line(weft):
    with start(weft) as terminal:
        terminal.say("B = ones(2)")
        terminal.say("A(i) = B(i) *", "  ... ")
        terminal.type("\x03")
        terminal.until("weft> ")
        terminal.type("B(i\x03")
        terminal.until("weft> ")
        require_equal(terminal.say("B"), "[1. 1.]\n", "the session goes on")


def case_terminal_interrupts_a_run(weft):
    with start(weft, "--threads", "1", env={"TERM": "xterm"}) as terminal:
        terminal.say("A = uniform(3000x3000)")
        terminal.type(":set repeat 1000\r")
        terminal.until("weft> ")
        terminal.type(":time B(i,k) = A(i,j) * A(j,k)\r")
        time.sleep(2)
        began = time.monotonic()
        terminal.type("\x03", editing=False)
        shown = terminal.until("weft> ")
        require(time.monotonic() - began < 2, f"{time.monotonic() - began:.2f} s until the prompt")
        require_in("interrupted", shown, "what is said")
        require_in(b"Ctrl-C stops it", terminal.shown, "progress before that")
        require_in(b"computing B ", terminal.shown, "what is done")
        require_equal(terminal.say("A[0,0]"), "0.3381666012719897\n", "tensors are kept")
        terminal.say(":set repeat 1")
        require_in("of 1 run,", terminal.say(":time B(i) = A(i,j)"), "and kernels run")


def case_terminal_shows_how_far_one_thread_has_summed(weft):
    with start(weft, "--threads", "1", env={"TERM": "xterm"}) as terminal:
        terminal.say("A = uniform(4000x4000)")
        terminal.type("s = (A(i,j) * A(j,k) * A(k,i))\r")
        time.sleep(2.5)
        terminal.type("\x03", editing=False)
        require_in("interrupted", terminal.until("weft> "), "what is said")
        require_in(b"computing s ", terminal.shown, "what is done")


def case_terminal_history(weft):
    if not has_line_editor(weft):
        return
    with start(weft) as terminal:
        terminal.say("B = ones(2)")
        terminal.say("A(i) =", "  ... ")
        terminal.say("B(i)")
        terminal.type("\x04")
        terminal.end()
    path = weft.path("state/weft/history")
    require_equal(weft.text("state/weft/history"), "B = ones(2)\nA(i) = B(i)\n", "the file")
    require_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "its mode")
    with start(weft) as terminal:
        terminal.say("B = ones(2)")
        terminal.type("\x10\x10\r")  # the line before the last
        require_in("[1. 1.]\n", terminal.until("]\nweft> "), "a line of the session before")


def case_terminal_history_of_lines_with_comments(weft):
    if not has_line_editor(weft):
        return
    with start(weft) as terminal:
        terminal.say("B = ones(2); C = ones(2);  # two")
        terminal.say("A(i) =  # a sum", "  ... ")
        terminal.say("# of", "  ... ")
        terminal.say("B(i)  # this \\", "weft> ")
        terminal.say("D(i) = B(i) * # that", "  ... ")
        terminal.say("C(i) # and another")
        terminal.say(":drop A D")
        terminal.type("\x10" * 3 + "\r")
        require_in("[1. 1.]\n", terminal.until("weft> "), "the first statement once more")
        terminal.type("\x10" * 3 + "\r")
        require_in("[1. 1.]\n", terminal.until("weft> "), "the second statement once more")
        require_in("A  2 d:0", terminal.say(":list"), "what they assigned")
        terminal.type("\x04")
        terminal.end()
    lines = weft.text("state/weft/history").splitlines()
    require_equal(lines[0], "B = ones(2); C = ones(2);  # two", "a comment behind all of an entry stays")
    require(all("#" not in line for line in lines[1:]), f"comments within a statement: {lines}")


def case_terminal_completion(weft):
    if not has_line_editor(weft):
        return
    weft.write("measured.tns", "1 1 2\n2 2 3\n")
    with start(weft) as terminal:
        require_in("Meas: 2x2 ss:0,1", terminal.say("Meas = measu\t"), "a file completed")
        require_in("(0, 0)  2.0", terminal.say("Me\t"), "a name completed")
        require_in("no tensors\n", terminal.say(":dr\tMe\t") + terminal.say(":li\t"), "commands completed")
        terminal.type(":lo\t\t")
        shown = terminal.until(":lo")
        if "load" not in shown:  # that was what is typed; the list ends with it once more
            shown += terminal.until(":lo")
        require(re.search(r"load\s+loops", shown), f"candidates are listed: {shown!r}")


def case_terminal_without_a_place_for_history(weft):
    with Terminal(weft, "repl", env={"HOME": None, "XDG_STATE_HOME": None}) as terminal:
        terminal.until("weft> ")
        require_equal(terminal.say("x = 2; x"), "x: scalar f64, 1 stored, 8 B\n2.0\n", "a session")
        terminal.type("\x04")
        require_equal(terminal.end()[1], 0, "exit status")


def measured(line):
    """Times differ from run to run."""
    return re.sub(r"[0-9.]+(e[-+][0-9]+)?( [num]?s\b)?", "#", line) if "GFLOP/s" in line else line


def case_session_of_the_readme(weft):
    """What the README shows is what the prompt shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```console\n\$ weft repl\n(.*?)```", text, re.DOTALL)
    require(block, "the README has a session")
    os.symlink(ROOT / "samples", weft.path("samples"))
    wanted = block[1].splitlines()
    entered = [place for place, line in enumerate(wanted) if line.startswith(("weft> ", "  ... "))]
    require(len(entered) > 5, "a session of some length")
    with start(weft, "--threads", "2") as terminal:
        for place, following in zip(entered, entered[1:] + [len(wanted)]):
            line = wanted[place][6:]
            if line == ":quit":
                break
            prompt = wanted[following][:6] if following < len(wanted) else "weft> "
            shown = terminal.say(line, prompt, SECONDS).splitlines()
            # How long it took is said after what takes more than a second.
            shown = [one for one in shown if not re.fullmatch(r"\([0-9.]+ s\)", one)]
            require_equal([measured(one) for one in shown], [measured(one) for one in wanted[place + 1:following]], f"what {line!r} shows")


# What a kernel may assume of its operands, and tensors with which it no longer holds: (settings, first, then, expression).
BROKEN_FACTS = {
    "extents": ("", "M = sparse(30x20,nnz=90)\nx = ones(20x16)", "x = ones(20x48)", "y(i,r) = M(i,j) * x(j,r)"),
    "all extents": ("", "M = sparse(30x20,nnz=90)\nx = ones(20x16)", "M = sparse(50x70,nnz=200)\nx = ones(70x1)", "y(i,r) = M(i,j) * x(j,r)"),
    "full": ("", "M = sparse(30x20,nnz=40)\nN = sparse(30x20,nnz=600)", "N = sparse(30x20,nnz=599)", "y(i) = M(i,j) * N(i,j)"),
    "one entry in each row": (":format P:ds\n", "P = sparse(40x1,nnz=40)\nx = ones(1)", "P = sparse(40x1,nnz=39)", "y(i) = P(i,j) * x(j)"),
    "short fibers": (":format Q:ds\n", "Q = sparse(30x2,nnz=50)\nx = ones(2)", "Q = sparse(40x20,nnz=300)\nx = ones(20)", "y(i) = Q(i,j) * x(j)"),
    "pattern": (":set specialize baked\n", "M = sparse(30x20,nnz=90)\nx = ones(20)", "M = sparse(30x20,nnz=90,seed=7)", "y(i) = M(i,j) * x(j)"),
    "NaN": ("", "T = sparse(9x10x11,nnz=200)\nx = ones(10x16)\nz = ones(11x16)", "z = nan.tns:11x16", "y(i,r) = T(i,j,k) * x(j,r) * z(k,r)"),
    "infinite": ("", "T = sparse(9x10x11,nnz=200)\nx = ones(10x16)\nz = ones(11x16)", "z = inf.tns:11x16", "y(i,r) = T(i,j,k) * x(j,r) * z(k,r)"),
}


def case_facts_that_no_longer_hold_at_the_prompt(weft):
    weft.write("nan.tns", "3 4 nan\n" + "".join(f"{k + 1} 1 2.5\n" for k in range(11)))
    weft.write("inf.tns", "3 4 inf\n" + "".join(f"{k + 1} 1 2.5\n" for k in range(11)))
    for fact, (settings, first, then, expression) in BROKEN_FACTS.items():
        # The caches hold the code for the first tensors, and the session has its kernel.
        changed = piped(weft, f"{settings}{first}\n{expression}\n{then}\n{expression}\n{first}\n{expression}\n").out
        fresh_first = piped(weft, f"{settings}{first}\n{expression}\n", "--no-cache").out
        fresh_then = piped(weft, f"{settings}{first}\n{then}\n{expression}\n", "--no-cache").out
        made = first.count("\n") + 1  # a line for each tensor that is made
        after = lambda text, lines: "".join(text.splitlines(keepends=True)[lines:])
        value_first, value_then = after(fresh_first, made), after(fresh_then, made + then.count("\n") + 1)
        told_first, told_then = fresh_first[:len(fresh_first) - len(value_first)], after(fresh_then[:len(fresh_then) - len(value_then)], made)
        require_equal(changed, told_first + value_first + told_then + value_then + told_first + value_first, f"{fact}: what is printed")
        require(value_first != value_then, f"{fact}: the two results differ")


def case_formats_of_tensors_that_are_there(weft):
    weft.write("m.tns", "1 1 1\n1 2 2\n4 3 5\n3 1 -1\n")
    run = piped(weft, "M = m.tns\n:format M:sell(2)\nM\n:format M:ds\nM\n:format M:sss\n", status=2)
    for part in ("*:v", "ds:0,1 f64, 4 stored", "  (3, 2)  5.0"):
        require_in(part, run.out, "what is printed")
    require_in("the format of M is over 3 modes, but M has 2", run.err, "the mistake")
