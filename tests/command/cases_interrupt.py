"""Signals: Ctrl-C is exit status 130 within a second; never a partial file under its final name, nor a temporary one left."""

import os
import resource
import signal
import subprocess
import time

from harness import PATIENCE, require, require_equal, require_in

SECONDS = 1.5  # a second, and a busy machine


def interrupted(weft, arguments, when, signals=1):
    """Starts the command, waits until `when` says that it is at work, interrupts it. (status, seconds, standard error)"""
    process = weft.start(*arguments)
    try:
        deadline = time.monotonic() + 30 * PATIENCE
        while not when(process) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        require(process.poll() is None, f"the command is still at work; it ended with {process.returncode}")
        start = time.monotonic()
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        out, err = process.communicate(timeout=20 * PATIENCE)
        return process.returncode, time.monotonic() - start, out.decode(), err.decode()
    except subprocess.TimeoutExpired:
        raise AssertionError("the command did not end within 20 s") from None
    finally:
        process.kill()
        process.communicate()


def at_work(seconds):
    def when(process):
        with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= seconds
    return when


HEAVY = ["run", "A(i,j) = B(i,k) * C(k,j)", "B=uniform(3000x3000)", "C=uniform(3000x3000)"]


def require_interrupted(outcome):
    status, seconds, _, err = outcome
    require_equal(status, 130, f"exit status (standard error {err[-300:]!r})")
    require(seconds < SECONDS, f"{seconds:.2f} s until the end")


def case_while_running(weft):
    """Repeated so often that it is certainly running."""
    require_interrupted(interrupted(weft, [*HEAVY, "--repeat", "1000", "--out", "A=a.npy"], at_work(1.0)))
    require(not weft.exists("a.npy"), "no output")


def case_while_running_on_one_thread(weft):
    require_interrupted(interrupted(weft, [*HEAVY, "--repeat", "1000", "--threads", "1", "--out", "A=a.npy"], at_work(1.0)))
    require(not weft.exists("a.npy"), "no output")


def case_while_proving(weft):
    sizes = {"A": "200x210x30", "B": "210x220x31", "C": "220x230x32", "D": "230x240x32", "E": "240x250x30", "F": "250x260x31"}
    operands = [f"{name}=sparse({shape},nnz=20000)" for name, shape in sizes.items()]
    text = "R(a,g) = A(a,b,k) * B(b,c,l) * C(c,d,m) * D(d,e,m) * E(e,f,k) * F(f,g,l)"
    require_interrupted(interrupted(weft, ["plan", text, *operands, "--no-cache", "--prove"], at_work(0.4)))


def case_twice(weft):
    require_interrupted(interrupted(weft, [*HEAVY, "--repeat", "1000"], at_work(0.5), signals=2))


def case_while_generating(weft):
    require_interrupted(interrupted(weft, ["run", "a = S(i,j,k)", "S=sparse(100000x100000x100000,nnz=30000000)"], at_work(0.3)))


def case_while_reading_a_pipe(weft):
    """A reader that waits for input must not wait for ever."""
    os.mkfifo(weft.path("x.tns"))
    held = []

    def when(process):
        try:
            held.append(os.open(weft.path("x.tns"), os.O_WRONLY | os.O_NONBLOCK))
            return True
        except OSError:
            return process.poll() is not None
    process = weft.start("info", "x.tns")
    deadline = time.monotonic() + 10 * PATIENCE
    while not when(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.poll() is not None:
        out, err = process.communicate()
        require_equal(process.returncode, 2, "a pipe that is refused is wrong input")
        require_in(b"x.tns", err, "the message")
    else:
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20 * PATIENCE)
        require_interrupted((process.returncode, time.monotonic() - start, "", ""))
        require_in(b"interrupted", err, "the sentence of a handler that nothing else ran beside")
    for descriptor in held:
        os.close(descriptor)


def writes(extent):
    vectors = [f"u=uniform({extent},seed=1)", f"v=uniform({extent},seed=2)"]
    return ["run", "A(i,j) = u(i) * v(j)", *vectors, "--out", "A=a.tns.gz"]


WRITES = writes(3000)  # what takes far longer than it takes to interrupt it


def temporary_files(weft):
    return [name for name in os.listdir(weft.directory) if ".tmp" in name]


def writing(weft):
    """Compression of the output takes long; its temporary file shows that it has begun."""
    return lambda _: any(os.path.getsize(weft.path(name)) > 0 for name in temporary_files(weft))


def case_while_writing(weft):
    weft.write("a.tns.gz", "old")
    require_interrupted(interrupted(weft, WRITES, writing(weft)))
    require_equal(weft.text("a.tns.gz"), "old", "the file of that name is untouched")


def ended_by(weft, number, arguments=WRITES, **options):
    """The exit status of a command that gets the signal while it writes."""
    weft.write("a.tns.gz", "old")
    process = weft.start(*arguments, **options)
    try:
        deadline = time.monotonic() + 30 * PATIENCE
        while not writing(weft)(process) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        require(process.poll() is None, f"the command is still at work; it ended with {process.returncode}")
        process.send_signal(number)
        process.communicate(timeout=60 * PATIENCE)
        return process.returncode
    finally:
        process.kill()
        process.communicate()


def cases_ended_while_writing(_):
    """What a signal ends leaves no temporary file, and says which signal it was."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXCPU):
        def one(weft, number=number):
            def as_usual():  # also where the tests are started in the background, with signals ignored
                signal.signal(number, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            status = ended_by(weft, number, preexec_fn=as_usual)
            require_equal(status, -number, "exit status")
            require_equal(temporary_files(weft), [], "temporary files left over")
            require_equal(weft.text("a.tns.gz"), "old", "the file of that name is untouched")
        yield number.name, one


def case_ignored_hangup(weft):
    """As nohup starts it: it goes on."""
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    status = ended_by(weft, signal.SIGHUP, writes(1000), preexec_fn=ignoring)
    require_equal(status, 0, "exit status")
    require(weft.read("a.tns.gz") != b"old", "the result is written")


def case_terminated_while_writing(weft):
    require_equal(ended_by(weft, signal.SIGTERM), 130, "exit status")
    require_equal(temporary_files(weft), [], "temporary files left over")
    require_equal(weft.text("a.tns.gz"), "old", "the file of that name is untouched")


def case_largest_file(weft):
    """A limit of what a process may write is an error like a full disk."""
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    process = weft.start("run", "A(i,j) = u(i) * v(j)", "u=ones(1000)", "v=ones(1000)", "--out", "A=a.tns", "--no-cache", preexec_fn=limited)
    _, err = process.communicate(timeout=60 * PATIENCE)
    require_equal(process.returncode, 5, "exit status")
    require_in(b"cannot write a.tns", err, "the message")
    require_equal(temporary_files(weft), [], "temporary files left over")


def case_json_report(weft):
    status, _, out, err = interrupted(weft, [*HEAVY, "--repeat", "1000", "--json"], at_work(0.5))
    require_equal(status, 130, "exit status")
    require('"run_ms"' not in out, "no report of a run that did not end")
    require_in("interrupted", err, "standard error")


def case_terminate(weft):
    process = weft.start(*HEAVY, "--repeat", "1000", "--out", "A=a.npy")
    when = at_work(0.5)
    while not when(process) and process.poll() is None:
        time.sleep(0.01)
    start = time.monotonic()
    process.terminate()
    process.communicate(timeout=20 * PATIENCE)
    require(time.monotonic() - start < SECONDS, "it ends within a second")
    require(process.returncode != 0, "it fails")
    require(not weft.exists("a.npy"), "no output")
