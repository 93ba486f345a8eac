"""The front door: which command is meant, the answer first, predictions for the threads of a run, comparisons."""

import json
import os
import pty
import re
import select
import subprocess
import time

from harness import PATIENCE, Skip, require, require_equal, require_in
from tensors import npy, uniform

MATRIX = "A=sparse(100x80,nnz=500,seed=1)"
VECTOR = "x=uniform(80,seed=2)"


def case_an_expression_means_run(weft):
    for expression in ("ij,j->i", "ij,j", "y(i) = A(i,j) * x(j)", "y[i] = A[i,j] * x[j]", "y = ij,j->i A x"):
        answer = weft(expression, MATRIX, VECTOR).out.splitlines()[:-1]
        require_equal(answer, weft("run", expression, MATRIX, VECTOR).out.splitlines()[:-1], expression)
    require_in("s = 2.5", weft("s = v", "v=2.5").out, "an expression with blanks")
    require_in("out = 6.0", weft("->", "6").out, "an expression that begins like an option")
    require_equal(weft("-q", "s = v", "v=2.5").out, "2.5\n", "options first")


def case_a_word_is_a_command(weft):
    weft.error("runn", "ij->i", MATRIX, says=["no command runn", "did you mean run?", "calibrate"])
    weft.error("ij", MATRIX, says="no command ij")
    weft.error("--quiet", "run", "ij->i", MATRIX, says="options follow the command: weft run --quiet")
    weft.error("run", "ij->i", MATRIX, "--reapeat", "3", says=["--reapeat is no option of weft run", "did you mean --repeat?"])
    weft.error("info", "ones(3)", "--shedule", "x", says="--shedule is no option of weft info; weft info --help")
    weft.error("info", says="weft info wants one file")
    weft.error("convert", "ones(3)", says=["wants two files", "one word"])
    weft.error("cache", "status", "twice", says="wants one of status, clear and path")
    weft.error("run", "y(i) = Tempp(i)", "Temp=ones(3)", says="is Temp meant?")


def case_ways_to_ask(weft):
    version = weft("--version").out
    for way in (["-V"], ["version"]):
        require_equal(weft(*way).out, version, str(way))
    require_equal(weft("help").out, weft("--help").out, "help")
    require_in("Exit status: 0 success", weft("--help").out, "exit statuses")
    for command in ("run", "plan", "compare", "repl", "info", "convert", "layout", "cache", "calibrate"):
        require_equal(weft("help", command).out, weft(command, "--help").out, f"help {command}")
        require_equal(weft(command, "-h").out, weft(command, "--help").out, f"{command} -h")
    weft.error("help", "runn", says="no command runn")
    options = ("--repeat", "--count", "--explain", "--prove")
    for command in ("run", "plan"):
        text = weft(command, "--help").out
        require_equal([option for option in options if option not in text], [], f"options that weft {command} takes and does not list")


def cases_examples_run(_):
    for command in ("", "run", "plan", "compare", "repl", "info", "convert", "layout", "cache", "calibrate"):
        def one(weft, command=command):
            text = weft(*([command] if command else []), "--help").out
            lines = text.rstrip().splitlines()[-2:]
            require(all(line.startswith("weft ") for line in lines), f"two examples end the help: {lines}")
            environment, _ = weft.environment(None)
            for line in lines:
                done = subprocess.run(["sh", "-c", f'weft() {{ "{weft.command}" "$@"; }}; {line}'], cwd=weft.directory, env=environment,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100 * PATIENCE, check=False)
                require_equal((done.returncode, done.stderr), (0, ""), line)
        yield command or "weft", one


def case_the_last_of_quiet_and_verbose_counts(weft):
    run = weft("s = v", "v=2.5", "--verbose", "--quiet")
    require_equal((run.out, run.err), ("2.5\n", ""), "quiet at last")
    run = weft("s = v", "v=2.5", "-q", "-v")
    require_in(" # run ", run.err, "verbose at last")
    require_in("s = 2.5\n", run.out, "the summary")


def case_quiet_prints_scalars_alone(weft):
    require_equal(weft("y(i) = x(i); s = y(i) * y(i)", "x=ones(3)", "-q").out, "3.0\n", "one scalar")
    require_equal(weft("ij,j->i", MATRIX, VECTOR, "--quiet").out, "", "no scalar")


def case_the_one_result_needs_no_name(weft):
    weft("ij,j->i", MATRIX, VECTOR, "-o", "y.npy")
    weft("ij,j->i", MATRIX, VECTOR, "--out", "out=z.npy")
    require_equal(weft.read("y.npy"), weft.read("z.npy"), "both files")
    weft("B(i) = x(i); s = B(i) * x(i)", "x=ones(3)", "--out", "s.tns")
    require_equal(weft.text("s.tns"), "3\n", "the last is the result")
    weft.error("B(i) = x(i); s = B(i) * x(i)", "x=ones(3)", "--out", "B=b.tns", "--out", "s.tns", says=["several results, B, s", "--out s=s.tns"])
    weft.error("B(i) = x(i); s = B(i) * x(i)", "x=ones(3)", "--out", "C=c.tns", says=["C, which is no result", "results are B, s"])
    weft.error("ij,j->i", MATRIX, VECTOR, "-o", "A=c.tns", says="the result is out")


def case_einsum_with_names(weft):
    weft.write("x.npy", npy((80,), uniform((80,), 2).entries.values()))
    plain = weft("ij,j->i", MATRIX, "x=x.npy", "--json").json["results"]["out"]
    for expression, operands, name in (("X = ij,j->i", (MATRIX, "x=x.npy"), "X"), ("X = ij,j->i A x", ("x=x.npy", MATRIX), "X"),
                                       ("ij,j->i A x", ("x=x.npy", MATRIX), "out"), ("X=ij,j", (MATRIX[2:], "x.npy"), "X")):
        require_equal(weft(expression, *operands, "--json").json["results"][name], plain, expression)
    square = weft("ij,jk->ik A A", "A=sparse(20x20,nnz=50)", "--json").json
    require_equal(list(square["operands"]), ["A"], "an operand that stands twice")
    weft.error("ij,j->i A y", MATRIX, VECTOR, says="no operand is given for y")
    weft.error("X = ij,j->i", MATRIX, says="has 2 operands but 1 is given")
    require_equal(weft("ij,jk -> i k", MATRIX, "B=ones(80x3)", "--json").json["results"]["out"]["extents"], [100, 3], "blanks between letters")


def case_predictions_are_for_the_threads_of_the_run(weft):
    operands = ("A=sparse(3000x3000,nnz=900000,seed=1)", "x=ones(3000)")
    for asked in (1, 2, 8):
        report = weft("plan", "ij,j->i", *operands, "--threads", asked, "--json").json
        threads = report["threads"]  # there may be fewer processors
        chosen_for = report["plan"]["cost_ns"] * 1e-6
        if threads == 8:
            require_equal(report["predicted_ms"], chosen_for, "as many as plans are chosen for")
        else:
            ratio = report["predicted_ms"] / chosen_for
            require(0.7 * 8 / threads < ratio < 1.1 * 8 / threads, f"the work of 8 threads on {threads}: {ratio}")
        text = weft("plan", "ij,j->i", *operands, "--threads", asked).out
        require(re.search(rf"^predicted .* on {threads} thread", text, re.MULTILINE), f"{threads} threads in {text!r}")
        require_in("one thread", text.splitlines()[1], "what the column of times means")
        run = weft("ij,j->i", *operands, "--threads", asked)
        require(re.search(rf" on {threads} threads?; predicted \S+ [mu]s", run.out), f"predicted beside measured in {run.out[-200:]!r}")


def case_a_missing_calibration_is_told(weft):
    require_in("weft calibrate", weft("ij,j->i", MATRIX, VECTOR).out.splitlines()[-1], "the line of times")
    require_in("weft calibrate", weft("plan", "ij,j->i", MATRIX, VECTOR).out, "the plan")
    require("calibrate" not in weft("->", "2", "--quiet").out, "not when quiet")
    weft("calibrate", "--output", "machine", "--quiet")
    run = weft("ij,j->i", MATRIX, VECTOR, env={"WEFT_CALIBRATION": weft.path("machine")})
    require("weft calibrate" not in run.out, "not with a calibration")


def case_a_page_labels_its_times(weft):
    weft("ij,j->i", "A=sparse(3000x3000,nnz=90000,seed=1)", "x=ones(3000)", "--html", "run.html", "--threads", 2)
    page = weft.text("run.html")
    times = r"predicted <b>[^<]+</b> on 2 threads, measured <b>[^<]+</b>{}, [^<]+/s through caches and memory"
    require(re.search(times.format(""), page), "the nest's times")
    require_in("predicted for a run on 2 threads", page, "the tile")
    require_in("predicted, one thread", page, "the column of times")
    run = weft("ij,j->i", "A=sparse(3000x3000,nnz=90000,seed=1)", "x=ones(3000)", "--html", "run.html", "--threads", 2, "--repeat", 5, "--explain")
    require(re.search(times.format(" in the fastest run"), weft.text("run.html")), "beside the median of the runs")
    require_in(" in the fastest run for the nest of ", run.out, "--explain")


def case_comparison(weft):
    operands = ("A=sparse(90x90,nnz=900)", "B=uniform(90x8)", "c=ones(8)")
    expression = "y(i) = A(i,j) * B(j,k) * c(k)"
    weft("plan", expression, *operands, "--tree", "(A * B) * c", "--emit", "schedule=a")
    weft("plan", expression, *operands, "--tree", "A * (B * c)", "--emit", "schedule=b")
    run = weft("compare", "a", "b", expression, *operands, "--repeat", "12")
    require(re.search(r"^b takes [0-9.]+ times as long as a: middle half of 12 pairs [0-9.]+ to [0-9.]+", run.out, re.MULTILINE), f"the ratio in {run.out!r}")
    report = weft("compare", "a", "b", "--repeat", "7", "--json", "--", expression, *operands).json
    require_equal((len(report["first"]["run_ms"]), len(report["second"]["run_ms"])), (7, 7), "runs")
    require(report["ratio"]["least"] <= report["ratio"]["low"] <= report["ratio"]["median"] <= report["ratio"]["high"] <= report["ratio"]["most"], "the spread")
    require(float(weft("compare", "a", "b", "-q", "--repeat", "3", "--", "y = ij,jk,k->i A B c", *operands).out) > 0, "the ratio alone")
    weft.error("compare", "a", "b", says="wants two schedules, an expression and its operands")
    weft.error("compare", "a", "nosuch", expression, *operands, says="nosuch")
    for words in (["a", expression, *operands], [expression, "a", "b", *operands]):
        weft.error("compare", *words, says=["cannot read", "the files of two schedules, then an expression"])
    weft.write("empty", " \n")
    weft.error("compare", "a", "empty", expression, *operands, says="empty holds no schedule")
    weft.write("other", weft.text("a").replace("k", "m"))
    weft.error("compare", "a", "other", expression, *operands, says="other")


def case_lines_for_taco(weft):
    run = weft.error("y(i) = A(i,j) * x(j)", "-f=A:ds:0,1", "-i=A:a b.mtx", "-i=x:x.tns", "-o=y:y.tns", says="taco")
    require_in("weft run 'y(i) = A(i,j) * x(j)' 'A=a b.mtx' x=x.tns --format A:ds:0,1 --out y=y.tns", run.err, "the line for weft")


def case_one_rank_of_many(weft):
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        weft.error("->", "2", "-o", "y.tns", status=3, says="3 MPI ranks", env={name: "3"})
        require(not weft.exists("y.tns"), "nothing is written")
        weft("->", "2", env={name: "1"})
        weft("plan", "->", "2", env={name: "3"})
        weft("info", "ones(3)", env={name: "3"})


def case_standard_output_holds_one_thing(weft):
    weft.error("ij,j->i", MATRIX, VECTOR, "-o", "-", "--json", says="standard output")
    weft.error("ij,j->i", MATRIX, VECTOR, "-o", "-", "--emit", "loops", says="standard output")
    weft.error("B(i) = x(i); s = B(i) * x(i)", "x=ones(3)", "--out", "B=-", "--out", "s=-", says="standard output")


def terminal_output(weft, arguments, wanted, seconds=40):
    """Standard error of the command on a terminal until it holds `wanted`, or the command ends."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise Skip(f"no pseudo-terminal: {error}") from error
    environment, _ = weft.environment(None)
    process = subprocess.Popen([weft.command, *arguments], cwd=weft.directory, env=environment, stdout=subprocess.DEVNULL, stderr=theirs)
    shown = b""
    end = time.monotonic() + seconds * PATIENCE
    while wanted not in shown and time.monotonic() < end and (process.poll() is None or select.select([ours], [], [], 0)[0]):
        if select.select([ours], [], [], 0.1)[0]:
            shown += os.read(ours, 4096)
    process.kill()
    process.wait()
    os.close(ours)
    os.close(theirs)
    return shown


def case_progress_of_repeated_runs(weft):
    shown = terminal_output(weft, ["run", "B(i,k) = A(i,j) * A(j,k)", "A=uniform(2500x2500)", "--repeat", "20", "--threads", "1"], b"run 2 of 20")
    require_in(b"run 2 of 20", shown, "which run it is")


def case_errors_have_a_line_of_their_own(weft):
    shown = terminal_output(weft, ["run", "b = A(i,j) * B(i)", "A=uniform(30000x9000,seed=1)", "B=nosuch.tns", "--threads", "1"], b"nosuch.tns")
    require_in(b"generating A", shown, "progress of a generated operand")
    before = shown[:shown.index(b"error:")].replace(b"\r\n", b"\n")
    require(before.endswith((b"\n", b"\r\x1b[K")) or before == b"", f"the error begins a line: {before[-60:]!r}")


def case_empty_shape_is_named(weft):
    weft.error("y(i) = T(i)", "T=ones()", says="T has 0 modes but is written with 1 index")


def case_json_of_a_comparison_is_an_object(weft):
    weft("plan", "ij,j->i", MATRIX, VECTOR, "--emit", "schedule=a")
    weft("compare", "a", "a", "ij,j->i", MATRIX, VECTOR, "--json=c.json", "--repeat", "3")
    require_equal(sorted(json.loads(weft.text("c.json"))), ["expression", "first", "ratio", "second", "threads", "weft"], "fields")


def case_runners_up_that_tie(weft):
    """Three digits of a ratio tell a tie from nothing: then it is no number."""
    text = weft("plan", "a,b,c->abc", "ones(9)", "ones(9)", "ones(9)").out
    require_in("; hardly more time: ", text, "the runner-up")
    require(not re.search(r"\b1 times the time", text), "no ratio of 1")
