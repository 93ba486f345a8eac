"""The JSON report, the summary, and what goes to which stream."""

import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import time

from harness import PATIENCE, Skip, require, require_equal, require_in
from tensors import evaluate, npy, sparse, uniform

EXPRESSION = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)"
OPERANDS = ["T=sparse(30x20x25,nnz=200,seed=1)", "B=uniform(20x8,seed=2)", "C=uniform(25x8,seed=3)"]
NUMBER = (int, float)
PHASES = ("parse", "statistics", "plan", "lower", "generate", "emit", "load", "convert")


def require_type(value, wanted, where):
    """wanted: a type or tuple of types, a dict of such, or a list with one such."""
    if isinstance(wanted, dict):
        require(isinstance(value, dict), f"{where} is an object, found {value!r}")
        for key, inner in wanted.items():
            require(key in value, f"{where} has {key!r}; it has {sorted(value)}")
            require_type(value[key], inner, f"{where}.{key}")
    elif isinstance(wanted, list):
        require(isinstance(value, list), f"{where} is a list, found {value!r}")
        for one in value:
            require_type(one, wanted[0], f"{where}[]")
    else:
        require(isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool)), f"{where} is a {wanted}, found {value!r}")


PLANNED = {
    "weft": str, "expression": str, "tree": str,
    "plan": {"producer": str, "optimal": str, "cost_ns": NUMBER, "schedule": str, "loops": str, "peak_bytes": int, "peak_is_estimate": bool,
             "flops": NUMBER, "candidates": int},
    "phases": {phase: NUMBER for phase in PHASES}, "cache": {"plan": str, "kernel": str}, "object_bytes": int, "threads": int,
    "operands": {name: {"extents": [int], "nnz": int, "format": str, "scalar": str, "bytes": int} for name in "TBC"},
}
RUN = {**PLANNED, "read_ms": {name: NUMBER for name in "TBC"}, "run_ms": [NUMBER],
       "results": {"A": {"extents": [int], "format": str, "nnz": int, "bytes": int, "sum": NUMBER, "norm": NUMBER}}}


def product():
    t, b, c = sparse((30, 20, 25), 200, 1), uniform((20, 8), 2), uniform((25, 8), 3)
    return evaluate("ijk,jr,kr->ir", t, b, c)


def case_every_field(weft):
    run = weft("run", EXPRESSION, *OPERANDS, "--json", "--threads", 2)
    require_equal(run.err, "", "standard error")
    report = run.json
    require_type(report, RUN, "report")
    require_equal(report["expression"], EXPRESSION, "expression")
    require_equal(report["threads"], 2, "threads")
    require_equal(len(report["run_ms"]), 1, "times of runs")
    require(report["plan"]["producer"] in ("dp", "z3", "baseline", "enumerated", "user"), f"producer {report['plan']['producer']}")
    require(report["plan"]["optimal"] in ("tree", "all", "false"), f"optimal {report['plan']['optimal']}")
    require(report["cache"]["plan"] in ("hit", "miss"), "cache.plan")
    require(report["cache"]["kernel"] in ("memory", "disk", "compiled"), "cache.kernel")
    require(report["plan"]["cost_ns"] > 0 and report["plan"]["flops"] > 0 and report["plan"]["peak_bytes"] > 0, "costs are positive")
    require(report["object_bytes"] > 0, "object_bytes")
    require_equal(report["operands"]["T"], {**report["operands"]["T"], "extents": [30, 20, 25], "nnz": 200, "format": "sss:0,1,2", "scalar": "f64"}, "T")
    require_equal(report["operands"]["B"], {**report["operands"]["B"], "extents": [20, 8], "nnz": 160, "format": "dd:0,1", "scalar": "f64", "bytes": 1280}, "B")
    result = report["results"]["A"]
    require_equal(result, {**result, "extents": [30, 8], "format": "dd", "nnz": 240, "bytes": 1920}, "A")
    values = product().entries.values()
    for found, wanted in ((result["sum"], sum(values)), (result["norm"], math.sqrt(sum(value * value for value in values)))):
        require(abs(found - wanted) <= 1e-12 * wanted, f"sum or norm {found}, wanted {wanted}")
    require_equal(sorted(report["read_ms"]), ["B", "C", "T"], "read_ms")
    require_in("for ", report["plan"]["loops"], "loops")


def case_json_to_a_path(weft):
    run = weft("run", EXPRESSION, *OPERANDS, "--json=report.json")
    require_equal(run.out, "", "standard output")
    require_type(json.loads(weft.text("report.json")), RUN, "report")


def case_json_takes_no_argument_after_it(weft):
    run = weft("run", "--json", EXPRESSION, *OPERANDS)
    require_type(run.json, RUN, "report")


def case_plan(weft):
    run = weft("plan", EXPRESSION, *OPERANDS, "--json")
    report = run.json
    require_type(report, PLANNED, "report")
    require_equal([word for word in ("run_ms",) if word in report], [], "what only a run can know")
    ran = weft("run", EXPRESSION, *OPERANDS, "--json").json
    require_equal(report["plan"], ran["plan"], "plan of weft plan and weft run")
    require_equal(report["tree"], ran["tree"], "tree")
    if "results" in report:
        require("sum" not in report["results"].get("A", {}), "a plan knows no sum")


def case_plan_does_not_depend_on_threads_or_earlier_runs(weft):
    plans = [weft("plan", EXPRESSION, *OPERANDS, "--json", "--threads", threads).json["plan"] for threads in (1, 2, 1, 7)]
    for plan in plans[1:]:
        require_equal(plan, plans[0], "plan")


def case_repeat(weft):
    report = weft("run", EXPRESSION, *OPERANDS, "--json", "--repeat", 5).json
    require_equal(len(report["run_ms"]), 5, "times of runs")
    wanted = sum(product().entries.values())
    require(abs(report["results"]["A"]["sum"] - wanted) < 1e-12 * wanted, "the result after several runs is that of one")


def case_nan_is_null(weft):
    weft.write("x.npy", npy((2,), [float("nan"), 1.0]))
    result = weft("run", "A(i) = X(i)", "X=x.npy", "--json").json["results"]["A"]
    require_equal((result["sum"], result["norm"]), (None, None), "sum and norm")
    weft.write("x.npy", npy((2,), [float("inf"), 1.0]))
    result = weft("run", "A(i) = X(i)", "X=x.npy", "--json").json["results"]["A"]
    require_equal((result["sum"], result["norm"]), (None, None), "sum and norm")


def case_norm_of_huge_values(weft):
    weft.write("x.npy", npy((2,), [3e200, 4e200]))
    result = weft("run", "A(i) = X(i)", "X=x.npy", "--json").json["results"]["A"]
    require(abs(result["norm"] / 5e200 - 1) < 1e-15, f"norm {result['norm']}")


def cases_error(_):
    for what, kind, status, arguments in (
            ("input", "input", 2, [EXPRESSION, *OPERANDS[:2]]), ("option", "input", 2, [EXPRESSION, *OPERANDS, "--nonsense"]),
            ("unsupported", "unsupported", 3, ["A(i) = B(i) + C(i)", "B=ones(2)", "C=ones(2)"]),
            ("resource", "resource", 5, [EXPRESSION, *OPERANDS, "--memory-limit", "1k"])):
        def one(weft, kind=kind, status=status, arguments=arguments):
            run = weft("run", *arguments, "--json", status=status)
            require_equal(sorted(run.json), ["error"], "the report")
            require_equal(run.json["error"]["kind"], kind, "kind")
            require_in(run.json["error"]["message"].splitlines()[0], run.err, "standard error")
            weft("run", *arguments, "--json=e.json", status=status)
            require_equal(json.loads(weft.text("e.json")), run.json, "the report in a file")
        yield what, one


def case_names_beyond_ascii_in_json(weft):
    run = weft("run", "A(i) = \u00e9(i)", "B=ones(2)", "--json", status=2)
    require(isinstance(run.json["error"]["message"], str), "message")


def case_summary(weft):
    run = weft("run", EXPRESSION, *OPERANDS)
    require_equal(run.err, "", "standard error")
    lines = run.out.splitlines()
    require_equal(lines[0], "A: 30x8 dd:0,1 f64, 240 stored, 1.9 kB", "the head")
    require(lines[1].startswith("[[") and lines[-2].endswith("]]"), f"values as numpy prints them in {run.out!r}")
    require(re.fullmatch(r"read .*, plan .*, (compiled|kernel from \w+) in .*, run .* on \d+ threads?; predicted .*", lines[-1]),
            f"the line of times {lines[-1]!r}")
    require("for " not in run.out, "no plan without --explain")
    explained = weft("run", EXPRESSION, *OPERANDS, "--explain").out
    require_equal(explained.splitlines()[:len(lines) - 1], lines[:-1], "the results before the plan")
    run = weft("plan", EXPRESSION, *OPERANDS)
    for part in ("loop nest", "layouts", "memory", "program A"):
        require_in(part, run.out, "the plan")
        require_in(part, explained, "the plan after the results")
    require("run " not in run.out.replace("runner", ""), "a plan has no time of a run")


def case_scalar_result_is_printed(weft):
    run = weft("run", "a = u(i) * u(i)", "u=uniform(3,seed=1)")
    value = sum(value * value for value in uniform((3,), 1).entries.values())
    printed = [line for line in run.out.splitlines() if line.startswith("a = ")]
    require_equal(len(printed), 1, f"lines with the value in {run.out!r}")
    require(abs(float(printed[0][4:]) / value - 1) < 1e-15, f"value {printed[0]}")


def case_quiet(weft):
    run = weft("run", EXPRESSION, *OPERANDS, "--quiet")
    require_equal((run.out, run.err), ("", ""), "output")


def case_verbose(weft):
    run = weft("run", EXPRESSION, *OPERANDS, "--verbose", "--no-cache")
    def told(run, what):
        return sum(line.startswith("weft run ") and f" # {what} " in line for line in run.err.splitlines())
    for word in ("plan", "compile", "run"):
        require(told(run, word) == 1, f"a line about {word} in {run.err!r}")
    weft("run", EXPRESSION, *OPERANDS)
    run = weft("run", EXPRESSION, *OPERANDS, "--verbose", "--repeat", "3")
    require(told(run, "load") == 1, f"a line about load in {run.err!r}")
    require(told(run, "run") >= 3, f"a line per run in {run.err!r}")
    require("\033" not in run.err + run.out, "no colour outside a terminal")


def case_progress_only_on_a_terminal_and_only_when_it_lasts(weft):
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise Skip(f"no pseudo-terminal: {error}") from error
    environment, _ = weft.environment(None)
    for arguments, silent in ((["run", EXPRESSION, *OPERANDS], False), (["run", EXPRESSION, *OPERANDS, "--quiet"], True)):
        done = subprocess.run([weft.command, *arguments], cwd=weft.directory, env=environment, stdout=subprocess.PIPE, stderr=theirs, check=False)
        require_equal(done.returncode, 0, "exit status")
        require(b"\033" not in done.stdout, "no control characters on standard output")
        shown = b""
        while select.select([ours], [], [], 0.1)[0]:
            shown += os.read(ours, 4096)
        require(b"%" not in shown, f"no progress of what ends at once: {shown!r}")
        require(not silent or shown == b"", f"quiet is quiet: {shown!r}")
    os.close(ours)
    os.close(theirs)


def cases_progress_of_a_run(_):
    for threads in ("1", "2"):
        def one(weft, threads=threads):
            try:
                ours, theirs = pty.openpty()
            except OSError as error:
                raise Skip(f"no pseudo-terminal: {error}") from error
            environment, _ = weft.environment(None)
            run = subprocess.Popen([weft.command, "run", "s(i,l) = (A(i,j) * A(j,k) * A(k,l))", "A=uniform(800x800)", "--threads", threads],
                                   cwd=weft.directory, env=environment, stdout=subprocess.PIPE, stderr=theirs)
            shown = b""
            end = time.monotonic() + 40 * PATIENCE
            while b"computing s " not in shown and time.monotonic() < end and run.poll() is None:
                if select.select([ours], [], [], 0.1)[0]:
                    shown += os.read(ours, 4096)
            run.send_signal(signal.SIGINT)
            out, _ = run.communicate(timeout=20 * PATIENCE)
            os.close(ours)
            os.close(theirs)
            require(re.search(rb"computing s +\d+ %", shown), f"how far the run is in {shown!r}")
            require_equal((run.returncode, out), (130, b""), "what an interrupt leaves")
        yield threads + " threads", one


def case_json_and_verbose(weft):
    require_type(weft("run", EXPRESSION, *OPERANDS, "--verbose", "--json").json, RUN, "report")


def case_version(weft):
    run = weft("--version")
    require(run.out.startswith("weft "), f"version {run.out!r}")
    version = weft("run", "a = s", "s=1", "--json").json["weft"]
    require_equal(run.out.split()[1], version, "version")


def case_help(weft):
    run = weft("--help")
    for command in ("run", "plan", "repl", "info", "convert", "cache"):
        require_in(command, run.out, "the help")
        own = weft(command, "--help")
        require(own.out.strip() and own.err == "", f"help of {command}")
        require(own.out != run.out, f"help of {command} is its own")
    for option in ("--format", "--out", "--threads", "--repeat", "--tree", "--schedule", "--memory-limit", "--calls", "--emit", "--no-cache",
                   "--cache-dir", "--deterministic", "--strict-fp", "--json", "--quiet", "--verbose"):
        for command in ("run", "plan"):
            bears = command == "run" or option != "--out"
            listed = re.search(rf"^ +(-\w,)?{option}\b", weft(command, "--help").out, re.MULTILINE)
            require_equal(listed is not None, bears, f"{option} in the help of {command}")


def case_no_command(weft):
    run = weft(status=2)
    require_equal(run.out + run.err, weft("--help").out, "the help")


def cases_wrong_use(_):
    for arguments in (["bogus"], ["--bogus"], ["run"], ["plan"], ["info"], ["convert", "x.tns"], ["cache"], ["cache", "bogus"], ["run", EXPRESSION, *OPERANDS, "--bogus"],
                      ["run", EXPRESSION, *OPERANDS, "--threads", "0"], ["run", EXPRESSION, *OPERANDS, "--threads", "two"],
                      ["run", EXPRESSION, *OPERANDS, "--repeat", "-1"], ["run", EXPRESSION, *OPERANDS, "--calls", "0"], ["run", EXPRESSION, *OPERANDS, "--calls", "nan"],
                      ["run", EXPRESSION, *OPERANDS, "--calls", "inf"], ["run", EXPRESSION, *OPERANDS, "--calls", "many"], ["run", EXPRESSION, *OPERANDS, "--tree", ""],
                      ["run", EXPRESSION, *OPERANDS, "--schedule", ""], ["run", EXPRESSION, *OPERANDS, "--memory-limit", ""], ["run", EXPRESSION, *OPERANDS, "--json="],
                      ["run", EXPRESSION, *OPERANDS, "--memory-limit", "lots"], ["run", EXPRESSION, *OPERANDS, "--memory-limit", "-1"],
                      ["run", EXPRESSION, *OPERANDS, "--out", "A"], ["run", EXPRESSION, *OPERANDS, "--out", "Z=z.tns"], ["run", EXPRESSION, *OPERANDS, "--out", "A=a.xyz"],
                      ["run", EXPRESSION, *OPERANDS, "--out", "B=b.npy"], ["run", EXPRESSION, *OPERANDS, "--out", "A=absent/a.npy"],
                      ["run", EXPRESSION, *OPERANDS, "--format", "A"], ["run", EXPRESSION, *OPERANDS, "--format", "Z:dd"],
                      ["run", EXPRESSION, *OPERANDS, "--format", "A:d"], ["run", EXPRESSION, *OPERANDS, "--format", "A:dx"],
                      ["run", EXPRESSION, *OPERANDS, "--format", "T:sss:0,1,1"], ["run", EXPRESSION, *OPERANDS, "--format", "T:sss:0,1,2:f16"],
                      ["run", EXPRESSION, *OPERANDS, "--format", "T:ss"], ["run", EXPRESSION, *OPERANDS, "--format", "T:sss", "--format", "T:dss"],
                      ["run", EXPRESSION, *OPERANDS, "--emit", "bogus"], ["run", EXPRESSION, *OPERANDS, "--emit", "loops", "--json"],
                      ["run", EXPRESSION, *OPERANDS, "--schedule", "absent.txt"], ["run", EXPRESSION, *OPERANDS, "--tree", "(T * C"],
                      ["run", EXPRESSION, *OPERANDS, "--tree", "(T * C)"], ["run", EXPRESSION, *OPERANDS, "--tree", "((T * C) * Z)"]):
        def one(weft, arguments=arguments):
            run = weft(*arguments, status=2)
            require(run.err.count("\n") <= 12, f"a short message: {run.err!r}")
        yield " ".join(word for word in arguments if word not in OPERANDS and word != EXPRESSION), one

