#!/usr/bin/env python3
"""The weft command where the system gives less than it asks for: limits.py --weft PATH [--seed N] [--every] [--only WORD]

Address space in steps of 1 MB from what `weft --version` needs to what the run needs (RLIMIT_AS, as `ulimit -v`): a sample
of the steps drawn from the seed, or with --every all of them. A user who may have one process (RLIMIT_NPROC,
as `ulimit -u 1`) and a control group that may have one (pids): what the run gives without is given. A control group
that has 64 MB more than `--memory-limit`, beyond which the system kills.
Every exit status is 0 or 5, an error says what was being done, and nothing is left behind. Prints a line per failure with what
repeats it; lines that begin with "skipped" say what could not be tried; the last line is "N passed, N failed".
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

MB = 1 << 20
SECONDS = 120
SAMPLE = 10   # steps of a command that are tried unless all are
NOBODY = 54321  # a user without processes

SCRIPT = """A = ones(300x200)
x = ones(200)
y(i) = A(i,j) * x(j)
s = y(i) * y(i)
:write y=y.npy
"""
MTTKRP = ["A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "T=sparse(60x70x80,nnz=3000)", "B=uniform(70x16)", "C=uniform(80x16)"]
PRODUCT = ["A(i,j) = B(i,k) * C(k,j)", "B=sparse(200x300,nnz=3000)", "C=sparse(300x250,nnz=3000)"]
SEVERAL = ["S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)", "M=sparse(300x200,nnz=2000)", "A=uniform(300x8)",
           "B=uniform(200x8)", "D=uniform(200x8)"]
LARGE = ["y(i) = A(i,j) * x(j)", "A=ones(2000x1000)", "x=ones(1000)"]

COMMANDS = {
    "run dense": ["run", *MTTKRP, "--out", "A=A.npy"],
    "run sparse": ["run", *PRODUCT, "--format", "A:ds", "--out", "A=A.mtx"],
    "run threads": ["run", *LARGE, "--threads", "2"],
    "run several": ["run", *SEVERAL, "--prove", "--out", "O=O.npy"],
    "info": ["info", "given.mtx"],
    "convert": ["convert", "given.mtx", "converted.tns"],
    "plan": ["plan", *SEVERAL, "--prove"],
    "repl": ["repl", "script.weft"],
}
MAY_APPEAR = {"A.npy", "A.mtx", "O.npy", "y.npy", "converted.tns"}


class Limits:
    def __init__(self, weft, directory):
        self.weft = weft
        self.directory = directory
        self.given = {"given.mtx", "script.weft", "cache"}
        self.failed = 0
        self.passed = 0
        with open(self.path("script.weft"), "w") as file:
            file.write(SCRIPT)
        with open(self.path("given.mtx"), "w") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n500 400 20000\n")
            file.writelines(f"{1 + entry * 7 % 500} {1 + entry // 50} {entry % 9}\n" for entry in range(20000))

    def path(self, name):
        return os.path.join(self.directory, name)

    def run(self, arguments, before=None):
        for name in MAY_APPEAR:
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        shutil.rmtree(self.path("cache"), ignore_errors=True)
        os.mkdir(self.path("cache"))
        os.chmod(self.path("cache"), 0o777)
        environment = {"HOME": self.directory, "XDG_CACHE_HOME": self.path("cache"), "TMPDIR": self.directory, "PATH": os.environ["PATH"]}
        return subprocess.run([self.weft, *arguments], cwd=self.directory, env=environment, capture_output=True, timeout=SECONDS,
                              preexec_fn=before, text=True, errors="replace", stdin=subprocess.DEVNULL)

    def judge(self, what, how, arguments, run, statuses=(0, 5)):
        wrong = []
        if run.returncode not in statuses:
            wrong.append(f"status {run.returncode}")
        lines = run.stderr.strip().splitlines()
        if run.returncode == 5 and not any("error: " in line and "memory" in line and len(line) > 25 for line in lines):
            wrong.append("the message does not say what memory was for")
        files = set(os.listdir(self.directory))
        left = files - self.given - (MAY_APPEAR if run.returncode == 0 or "repl" in arguments else set())
        for folder, _, names in os.walk(self.path("cache")):
            left |= {os.path.join(folder, name) for name in names if name.endswith((".tmp", "~")) or name.startswith(".tmp")}
        if left:
            wrong.append(f"left behind: {sorted(left)}")
        for name in left & files:
            os.unlink(self.path(name))
        if not wrong:
            self.passed += 1
            return
        self.failed += 1
        said = " / ".join(lines[-2:])
        print(f"FAILED {what}: {'; '.join(wrong)}: {said[:300]}; repeat: {how} {shlex.join(['weft', *arguments])}", flush=True)

    # Address space

    def under(self, megabytes, arguments):
        return self.run(arguments, lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB)))

    def need(self, arguments, least):
        """The least number of megabytes from which on doubling finds success, narrowed by halves."""
        most = 2 * least
        while self.under(most, arguments).returncode != 0:
            most *= 2
            if most > 1 << 16:
                raise SystemExit(f"{shlex.join(arguments)} fails without a limit")
        while most - least > 1:
            middle = (least + most) // 2
            if self.under(middle, arguments).returncode == 0:
                most = middle
            else:
                least = middle
        return most

    def sweep_memory(self, what, arguments, start, chosen):
        end = max(start + 1, self.need(arguments, start)) + 2
        for megabytes in chosen(range(start, end + 1)):
            self.judge(f"{what} under {megabytes} MB", f"ulimit -v {megabytes * 1024};", arguments, self.under(megabytes, arguments))
        return end

    # Processes

    def compare(self, what, how, arguments, before):
        """The values of a run that gets no second thread, and how many it says it had."""
        free = self.run([*arguments, "--json"])
        if free.returncode != 0:
            raise SystemExit(f"{shlex.join(arguments)}: {free.stderr}")
        limited = self.run([*arguments, "--json"], before)
        self.judge(what, how, arguments, limited, statuses=(0,))
        if limited.returncode != 0:
            return
        found, wanted = json.loads(limited.stdout), json.loads(free.stdout)
        for name, result in wanted["results"].items():
            if found["results"][name]["sum"] != result["sum"]:
                self.failed += 1
                print(f"FAILED {what}: {name} has sum {found['results'][name]['sum']}, not {result['sum']}")
        if "threads" in what and found["threads"] != 1:  # shorter runs ask for no second one
            self.failed += 1
            print(f"FAILED {what}: says {found['threads']} threads, and had one")

    def memory_of_group(self, megabytes):
        limits = {1: {"memory.limit_in_bytes": (megabytes + 64) * MB}, 2: {"memory.max": (megabytes + 64) * MB}}
        group, why = control_group("memory", limits)
        if group is None:
            print(f"skipped a control group with little memory: {why}")
            return
        for what, arguments in COMMANDS.items():
            if what.startswith("run"):
                limited = [*arguments, "--memory-limit", f"{megabytes}M"]
                # With a limit of its own, and with what the group says.
                for words in (limited, arguments):
                    self.judge(f"{what} in a group", f"memory.max {megabytes + 64} MB:", words,
                               self.run(words, lambda: (group / "cgroup.procs").write_text(str(os.getpid()))))
        group.rmdir()

    def one_process(self, what, arguments):
        if os.geteuid() != 0:
            # Whatever else this user runs counts too.
            limit = lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        else:
            def limit():
                resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
        self.compare(f"{what} with one process", "ulimit -u 1;", arguments, limit)


def control_group(controller, limits):
    """A group with these limits, or why there is none."""
    roots = [(pathlib.Path("/sys/fs/cgroup"), 2)] if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else []
    roots.append((pathlib.Path("/sys/fs/cgroup") / controller, 1))
    why = "no control groups"
    for root, version in roots:
        group = root / f"weft-limits-{os.getpid()}"
        try:
            group.mkdir()
            for name, value in limits[version].items():
                (group / name).write_text(str(value))
            return group, ""
        except OSError as error:
            why = str(error)
            if group.exists():
                group.rmdir()
    return None, why


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--weft", required=True)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--every", action="store_true", help="every megabyte, not a sample")
    options.add_argument("--only", default="", help="only commands whose name contains this")
    given = options.parse_args()
    directory = tempfile.mkdtemp(prefix="weft-limits-")
    os.chmod(directory, 0o777)
    limits = Limits(os.path.abspath(given.weft), directory)
    draw = random.Random(given.seed)
    try:
        start = limits.need(["--version"], 1)
        for what, arguments in COMMANDS.items():
            if given.only not in what:
                continue
            chosen = (lambda steps: steps) if given.every else (lambda steps: sorted(draw.sample(steps, min(SAMPLE, len(steps)))))
            limits.sweep_memory(what, arguments, start, chosen)
        if given.only in "processes":
            if os.geteuid() == 0 and not os.access(limits.weft, os.X_OK):
                print("skipped one process: another user cannot run the command")
            else:
                for what in ("run threads", "run dense", "run several"):
                    limits.one_process(what, [part for part in COMMANDS[what] if not part.startswith("--out") and "=A." not in part
                                              and "=O." not in part] + ["--threads", "2"][: 0 if "threads" in what else 2])
            group, why = control_group("pids", {1: {"pids.max": 1}, 2: {"pids.max": 1}})
            if group is None:
                print(f"skipped a control group of one process: {why}")
            else:
                # A process that is moved counts, those that it may start do not come to be.
                limits.compare("run threads in a control group of one process", f"pids.max 1 in {group}:", COMMANDS["run threads"],
                               lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
                group.rmdir()
        if given.only in "groups":
            for megabytes in (8, 64):
                limits.memory_of_group(megabytes)
    finally:
        shutil.rmtree(directory)
    print(f"{limits.passed} passed, {limits.failed} failed")
    return 1 if limits.failed else 0


if __name__ == "__main__":
    sys.exit(main())
