#!/usr/bin/env python3
"""Black-box tests of the weft command: run.py --weft PATH [--only WORD] [--jobs N] [--seed N] [--parts N]

Every case calls the command as a user would and judges it by the interface alone. A failing case prints one line: its
name, what was wrong, and the command line that repeats it (the case's directory is kept then). Lines that begin with
"skipped" say what was not run. The last line is "N passed, N failed"; the exit status is 1 if anything failed.
With WEFT_DATA naming the directory of downloaded tensors, cases on real tensors run too. With --parts N one in N cases
runs, chosen by WEFT_DRAW (see tests/unit/share.h), unless WEFT_LONG is set.
"""

import argparse
import concurrent.futures
import importlib
import inspect
import os
import pathlib
import random
import shlex
import shutil
import sys
import tempfile
import traceback

import harness

HERE = pathlib.Path(__file__).parent


def cases(seed):
    """(name, function) of every case; a generator in a module makes cases of its own."""
    for path in sorted(HERE.glob("cases_*.py")):
        module = importlib.import_module(path.stem)
        topic = path.stem.removeprefix("cases_")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("case_"):
                yield f"{topic}.{name.removeprefix('case_')}", function
            elif name.startswith("cases_"):
                for number, (what, one) in enumerate(function(random.Random(seed))):
                    yield f"{topic}.{name.removeprefix('cases_')}[{number}: {what}]", one


def judge(name, function, command, root, cache):
    directory = tempfile.mkdtemp(dir=root)
    weft = harness.Weft(command, directory, cache)
    try:
        function(weft)
    except harness.Skip as skip:
        shutil.rmtree(directory)
        return "skipped", f"skipped {name}: {skip}"
    except Exception as error:  # whatever a case trips over is its failure
        what = str(error) if isinstance(error, harness.Failure) else traceback.format_exc(limit=-2)
        repeat = f"cd {shlex.quote(directory)} && {weft.history[-1]}" if weft.history else "(no command)"
        return "failed", f"FAILED {name}: {' '.join(what.split())}; repeat: {repeat}"
    shutil.rmtree(directory)
    return "passed", ""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--weft", required=True, help="the command to test")
    options.add_argument("--only", default="", help="only cases whose name contains this")
    options.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--seed", type=int, default=1, help="of the random expressions")
    options.add_argument("--parts", type=int, default=1, help="run one in so many cases")
    given = options.parse_args()
    command = os.path.abspath(given.weft)
    if not os.access(command, os.X_OK):
        print(f"FAILED: {command} cannot be run\n0 passed, 1 failed")
        return 1
    sys.path.insert(0, str(HERE))
    root = tempfile.mkdtemp(prefix="weft-command-")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as workers:
        chosen = [(name, function) for name, function in cases(given.seed) if given.only in name]
        if given.parts > 1 and "WEFT_LONG" not in os.environ:
            draw = int(os.environ.get("WEFT_DRAW", "0"))
            chosen = chosen[draw % given.parts::given.parts]
        for outcome, line in workers.map(lambda one: judge(*one, command, root, os.path.join(root, "cache")), chosen):
            counts[outcome] += 1
            if line:
                print(line, flush=True)
    if counts["failed"] == 0:
        shutil.rmtree(root)
    if not chosen:
        counts["failed"] += 1
        print(f"FAILED: no case is named like {given.only!r}")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
