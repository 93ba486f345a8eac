#!/usr/bin/env python3
"""The memory limit seen from outside: memory_limit.py --weft PATH [FILE...] [--data DIR] [--all] [--minutes M]

Every run of the command under --memory-limit ends with status 0 or 5, and its peak resident memory, as the system counts
it for the child, is at most the limit + 64 MB. For every file the command reads, converts, contracts and writes it, with
1, 2 and 16 threads. The least limit that suffices is searched for, so that runs end in the middle of every phase; then
limits right around it are tried. A failing run prints the command that repeats it. The last line is "N passed, N failed",
in commands of a file with a number of threads; the exit status is 1 if anything failed.

Without FILE: the shipped tensor, and three of the downloaded ones if --data or WEFT_DATA names their directory, with
fewer limits, and of those with more than a million entries fewer commands. With --all every tensor there, small files
first, until the minutes are over.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ALLOWANCE = 64_000_000  # of the process itself, with LLVM, Z3 and the heap
HERE = pathlib.Path(__file__).resolve().parent
SHIPPED = HERE.parent / "samples" / "data"
THREE = ("kddcup99.tns.zst", "notredame_www.mtx.zst", "debian_contents.tns.zst")
SECONDS = 120  # a run that takes longer is left out and said so
LARGEST_ENTRIES = 1_000_000  # of tensors whose products with themselves are made
LARGEST_DENSE = 1 << 24

Case = collections.namedtuple("Case", "name words")
Run = collections.namedtuple("Run", "status peak err")
Row = collections.namedtuple("Row", "file case threads limit peak")


class TimedOut(Exception):
    pass


class Weft:
    def __init__(self, command, directory):
        self.command = command
        self.directory = directory
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": directory, "WEFT_CACHE_DIR": directory}

    def line(self, words):
        return " ".join(shlex.quote(word) for word in (self.command, *words))

    def run(self, words):
        """Status and peak of one run. A thread of our own that waits would not get the child's figures: wait4 does."""
        with tempfile.TemporaryFile() as err:
            process = subprocess.Popen([self.command, *words], cwd=self.directory, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except TimedOut:
                process.kill()
                os.wait4(process.pid, 0)
                raise
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            return Run(process.returncode, usage.ru_maxrss * 1024, err.read().decode("utf-8", "replace"))


def described(weft, path):
    """Extents and entries of a file, or nothing where it is refused (complex data)."""
    run = subprocess.run([weft.command, "info", "--json", "--", path], cwd=weft.directory, env=weft.environment,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode == 3:
        return None
    if run.returncode != 0:
        raise SystemExit(f"{weft.line(['info', path])}: {run.stderr}")
    report = json.loads(run.stdout)
    return report["extents"], report["nnz"]


def cases_of(path, extents, entries):
    """What is done with one file."""
    order = len(extents)
    indices = "ijklmnop"[:order]
    all_indices = ",".join(indices)
    operand = f"T={path}"
    options = ["--no-cache", "--quiet"]
    modes = range(order)
    backwards = ",".join(str(mode) for mode in reversed(modes))
    yield Case("info", ["info", path])
    yield Case("convert", ["convert", path, "copy.tns.zst"])
    yield Case("copy", ["run", f"F({all_indices}) = T({all_indices})", operand, "--format", f"F:{'s' * order}:{backwards}",
                        "--out", "F=copy.tns.gz", *options])
    yield Case("hashed operand", ["run", f"a = T({all_indices})", operand, "--format", "T:" + "s" * (order - 1) + "h", *options])
    factors = [f"{name}=ones({extent}x8)" for name, extent in zip("ABCDEFGH", extents)]
    if order == 2:
        yield Case("SpMV", ["run", "y(i) = T(i,j) * x(j)", operand, f"x=ones({extents[1]})", "--out", "y=y.npy", *options])
        yield Case("SpMM", ["run", "Y(i,r) = T(i,j) * B(j,r)", operand, factors[1], *options])
        product = "T(i,k) * T(k,j)" if extents[0] == extents[1] else "T(i,k) * T(j,k)"
        for kinds in ("ds", "ss:1,0"):
            yield Case(f"A*A {kinds}", ["run", f"C(i,j) = {product}", operand, "--format", f"C:{kinds}", *options])
        if math.prod(extents) <= LARGEST_DENSE:
            yield Case("dense", ["run", "D(i,j) = T(i,j)", operand, "--format", "D:dd", "--out", "D=d.npy", *options])
            # Places of blocks are entries of joins: many more than the file has.
            yield Case("A*A in blocks", ["run", f"C(i,j) = {product}", operand, "--format", "T:bcsr(4,4)", *options])
        return
    terms = "".join(f" * {name}({index},r)" for name, index in zip("ABCDEFGH"[1:], indices[1:]))
    yield Case("MTTKRP", ["run", f"Y(i,r) = T({all_indices}){terms}", operand, *factors[1:], *options])
    yield Case("proven MTTKRP", ["run", f"Y(j,r) = T({all_indices}) * A(i,r)" + "".join(
        f" * {name}({index},r)" for name, index in zip("CDEFGH", indices[2:])), operand, factors[0], *factors[2:], "--prove", *options])
    i, j, k = extents[:3]
    # A search for a proof among many trees: its tables are most of the memory.
    yield Case("proven product of six", ["plan", f"Y(i,k) = T({all_indices}) * U(j,k,a) * V(a,b) * W(b,c) * X(c,i) * Z(i,a)", operand,
                                         f"U=sparse({j}x{k}x50,nnz=2000)", "V=sparse(50x50,nnz=500)", "W=sparse(50x50,nnz=500)",
                                         f"X=sparse(50x{i},nnz=500)", f"Z=sparse({i}x50,nnz=500)", "--prove", "--no-cache"])
    kept = ",".join(indices[:-1])
    yield Case("TTV", ["run", f"S({kept}) = T({all_indices}) * x({indices[-1]})", operand, f"x=ones({extents[-1]})",
                       "--format", f"S:{'s' * (order - 1)}", "--out", "S=s.tns", *options])
    yield Case("sums backwards", ["run", f"S({indices[-1]},i) = T({all_indices})", operand, "--format", "S:ss", *options])
    if entries <= LARGEST_ENTRIES:
        others = ",".join(indices[:-1])
        yield Case("Gram", ["run", f"G({indices[-1]},z) = T({all_indices}) * T({others},z)", operand, "--format", "G:ss", *options])


NEEDED = re.compile(r"needs (\d+) bytes, but (\d+) of the limit")


class Search:
    """The runs of one case with one number of threads."""

    def __init__(self, weft, case, threads):
        self.weft = weft
        self.words = [*case.words, "--threads", str(threads)]
        self.worst = None  # (excess, limit, peak)
        self.failures = []

    def run(self, limit):
        words = [*self.words, "--memory-limit", str(limit)]
        run = self.weft.run(words)
        excess = run.peak - limit
        if self.worst is None or excess > self.worst[0]:
            self.worst = (excess, limit, run.peak)
        if run.status not in (0, 5):
            self.failures.append(f"exit status {run.status}: {run.err.strip()[-300:]}; repeat: {self.weft.line(words)}")
        elif excess > ALLOWANCE:
            self.failures.append(f"{run.peak / 1e6:.1f} MB resident under a limit of {limit / 1e6:.1f} MB; repeat: {self.weft.line(words)}")
        return run

    def least(self, smallest, most, brief):
        """The least limit found to suffice, or None: up by what is said to be missing, then halving."""
        step, close = (1.6, 6) if brief else (1.3, 25)
        below, limit = 0, smallest
        while True:
            run = self.run(limit)
            if run.status != 5:
                break
            if limit >= most:
                return None
            below = limit
            needed = NEEDED.search(run.err)
            limit = min(most, max(int(limit * step), sum(map(int, needed.groups())) if needed else 0))
        while limit - below > max(limit // close, 1 << 18):
            middle = (below + limit) // 2
            if self.run(middle).status == 5:
                below = middle
            else:
                limit = middle
        return limit


def tried(weft, case, threads, most, known, brief):
    """A search with the first number of threads; with others what lies around the limit that it found."""
    search = Search(weft, case, threads)
    if known is None:
        least = search.least(2_000_000, most, brief)
    else:
        least = known
    if least is not None:
        others = (0.8, 1.0, 1.1) if brief else (0.45, 0.8, 0.97, 1.0, 1.1, 1.5)
        for factor in (1.02, 1.3) if known is None else others:
            search.run(int(least * factor))
    return search, least


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--weft", required=True, help="the command to test")
    options.add_argument("--data", default=os.environ.get("WEFT_DATA"), help="directory of downloaded tensors")
    options.add_argument("--all", action="store_true", help="every tensor there")
    options.add_argument("--minutes", type=float, default=math.inf, help="no other case is begun after that time")
    options.add_argument("--threads", default="1,2,16", help="numbers of threads")
    options.add_argument("--only", default="", help="only cases whose name contains this")
    options.add_argument("--most", type=int, default=1_500_000_000, help="no larger limit is tried")
    options.add_argument("--table", action="store_true", help="a line per file and number of threads: the run with the largest excess")
    options.add_argument("files", nargs="*")
    given = options.parse_args()

    def ring(*_):
        raise TimedOut

    signal.signal(signal.SIGALRM, ring)
    if not os.access(given.weft, os.X_OK):
        print(f"FAILED: {given.weft} cannot be run\n0 passed, 1 failed")
        return 1
    files = [os.path.abspath(file) for file in given.files]
    brief = not files and not given.all
    if not files:
        files = sorted(map(str, SHIPPED.glob("*.zst")))
        if given.data and given.all:
            files = [str(file) for file in pathlib.Path(given.data).resolve().iterdir() if re.search(r"\.(tns|mtx)(\.zst|\.gz)?$", file.name)]
        elif given.data:
            files += [str(path) for name in THREE if (path := pathlib.Path(given.data).resolve() / name).exists()]
        else:
            print("skipped downloaded tensors: WEFT_DATA is not set")
    files.sort(key=os.path.getsize)
    directory = tempfile.mkdtemp(prefix="weft-memory-")
    weft = Weft(os.path.abspath(given.weft), directory)
    threads = [int(word) for word in given.threads.split(",")]
    end = time.monotonic() + given.minutes * 60
    passed = failed = left_out = 0
    rows = []
    for path in files:
        if time.monotonic() > end:
            left_out += 1
            continue
        shape = described(weft, path)
        if shape is None:
            print(f"skipped {os.path.basename(path)}: complex data")
            continue
        large = brief and shape[1] > LARGEST_ENTRIES
        for case in cases_of(path, *shape):
            if given.only not in case.name or (large and case.name not in ("info", "MTTKRP")):
                continue
            known = None
            for count in threads[:2][-1:] if large else threads:
                if time.monotonic() > end:
                    left_out += 1
                    continue
                try:
                    search, known = tried(weft, case, count, given.most, known, brief)
                except TimedOut:
                    print(f"skipped {os.path.basename(path)}, {case.name}, {count} threads: longer than {SECONDS} s", flush=True)
                    continue
                rows.append(Row(os.path.basename(path), case.name, count, *search.worst[1:]))
                passed += not search.failures
                failed += bool(search.failures)
                for failure in search.failures[:2]:
                    print(f"FAILED {os.path.basename(path)}, {case.name}, {count} threads: {failure}", flush=True)
    if given.table:
        worst = {}
        for row in rows:
            key = row.file, row.threads
            if key not in worst or row.peak - row.limit > worst[key].peak - worst[key].limit:
                worst[key] = row
        print(f"{'file':<28} {'case':<16} threads  limit MB   peak MB  excess MB")
        for row in worst.values():
            print(f"{row.file:<28} {row.case:<16} {row.threads:>7} {row.limit / 1e6:>9.1f} {row.peak / 1e6:>9.1f} {(row.peak - row.limit) / 1e6:>10.1f}")
    shutil.rmtree(directory)
    if left_out:
        print(f"skipped {left_out} files or cases: the time was over")
    if not rows:
        failed += 1
    else:
        largest = max(rows, key=lambda row: row.peak - row.limit)
        print(f"largest excess {(largest.peak - largest.limit) / 1e6:.1f} MB: {largest.file}, {largest.case}, {largest.threads} threads")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
