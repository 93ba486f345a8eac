"""Progress of calls that take longer than a second, as a kernel's front end and a terminal see it."""

import contextvars
import fcntl
import io
import itertools
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time

import numpy as np
import pytest

import weft
from weft import progress

# Calls that would take long, and are ended after two seconds.
LONG = '''
import threading, numpy as np, weft
operands = {"A": np.ones((850, 850)), "B": np.ones((850, 850)), "C": np.ones((850, 300))}
def long():
    timer = threading.Timer(4.0, weft.cancel)
    timer.start()
    try:
        weft.evaluate("s(i,l) = (A(i,j) * B(j,k) * C(k,l))", operands)
    except weft.CancelledError:
        pass
'''
IN_A_THREAD = "thread = threading.Thread(target=long)\nthread.start()\nthread.join()"
SHORT = '_ = weft.evaluate("s = A(i,j) * B(i,j)", A=operands["A"], B=operands["B"])'


@pytest.fixture(scope="module")
def kernel():
    """A function that runs a cell in a kernel, and gives the messages that its front end got."""
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("own_kernel").manager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def cell(code):
        told = []
        reply = client.execute_interactive(code, timeout=60, output_hook=told.append)
        assert reply["content"]["status"] == "ok", told
        return [each for each in told if each["msg_type"] not in ("status", "execute_input")]

    cell.interrupt, cell.client = manager.interrupt_kernel, client
    try:
        cell(LONG)
        yield cell
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("code", ["long()", IN_A_THREAD], ids=["main thread", "other thread"])
def test_a_notebook_shows_one_bar_that_vanishes(kernel, code):
    told = kernel(code)
    assert [each["msg_type"] for each in told[:2]] == ["display_data", "update_display_data"]
    assert {each["msg_type"] for each in told[1:]} == {"update_display_data"}
    assert len({each["content"]["transient"]["display_id"] for each in told}) == 1
    texts = [each["content"]["data"]["text/plain"] for each in told]
    shares = without_waiting(texts[:-1])
    assert shares and all(re.fullmatch(r"computing s \d+ %", each) for each in shares) and texts[-1] == ""
    assert "<progress" in told[0]["content"]["data"]["text/html"] and told[-1]["content"]["data"]["text/html"] == ""


def test_a_notebook_shows_nothing_of_short_calls(kernel):
    assert kernel(SHORT) == []


@pytest.mark.parametrize("code", ["weft.evaluate({text!r}, operands)", "%load_ext weft\nglobals().update(operands)\n%weft {text}"],
                         ids=["call", "magic"])
def test_the_stop_button_ends_a_call(kernel, code):
    text = "s(i,l) = (A(i,j) * B(j,k) * C(k,l))"
    sent = kernel.client.execute(code.format(text=text), stop_on_error=False)
    while True:  # until the bar shows, the call is under way
        told = kernel.client.get_iopub_msg(timeout=60)
        if told["msg_type"] == "display_data":
            break
    begun = time.monotonic()
    kernel.interrupt()
    while (reply := kernel.client.get_shell_msg(timeout=60))["parent_header"]["msg_id"] != sent:
        pass
    assert time.monotonic() - begun < 2  # 0.2 s where the machine has nothing else to do
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    while told["msg_type"] != "error":
        told = kernel.client.get_iopub_msg(timeout=60)
    if "%weft" in code:
        assert told["content"]["traceback"] == ["KeyboardInterrupt"]
    assert kernel("assert weft.einsum('i->', np.ones(3)) == 3") == []


def without_waiting(texts):
    """Without those in front which say that nothing was told yet, as on a machine that has much else to do."""
    return list(itertools.dropwhile(lambda each: re.fullmatch(r"computing\b.* \d+ s *", each), texts))


def on_a_terminal(code):
    """What a process wrote on standard error, a terminal, and on standard output, none."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", LONG + code], stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    written = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    return seen.decode(), written.decode()


@pytest.mark.parametrize("code", ["long()", IN_A_THREAD], ids=["main thread", "other thread"])
def test_a_terminal_shows_one_line_that_vanishes(code):
    seen, written = on_a_terminal(code)
    lines = seen.split("\r")
    assert "\n" not in seen and written == ""
    bars = without_waiting(lines[1:-2])
    assert bars and all(re.fullmatch(r"computing s \[[#.]{30}\] +\d+ % *", each) for each in bars)
    assert lines[-1] == "" and lines[-2].strip() == "" and len(lines[-2]) >= len(lines[1])


def test_a_terminal_shows_nothing_of_short_calls():
    assert on_a_terminal(SHORT) == ("", "")


def test_nothing_is_shown_where_nobody_sees():
    process = subprocess.run([sys.executable, "-c", LONG + "long()"], capture_output=True, timeout=60)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


class Engine:
    """An engine that tells what it is given."""

    def __init__(self, *told):
        self.told = list(told)

    def _progress(self):
        return self.told.pop(0) if self.told else None


class Seen:
    def __init__(self):
        self.updates, self.waited, self.cleared = [], [], threading.Event()

    def update(self, what, fraction):
        self.updates.append((what, fraction))

    def wait(self, seconds):
        self.waited.append(seconds)

    def clear(self):
        self.cleared.set()


def test_what_an_earlier_call_told_is_not_shown(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "_display", lambda: seen)
    end = progress.show(Engine(("reading an earlier file", 0.9), ("planning", 0.5)))
    time.sleep(1.3)
    end()
    assert seen.updates == [("planning", 0.5)] and seen.cleared.is_set()


def test_a_call_that_tells_nothing_is_seen_after_a_second(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "_display", lambda: seen)
    end = progress.show(Engine())
    time.sleep(0.5)
    assert not seen.waited
    time.sleep(1.5)
    end()
    assert not seen.updates and seen.waited and seen.cleared.is_set()
    assert 1 <= seen.waited[0] and seen.waited == sorted(seen.waited)


def test_once_something_was_told_that_stays(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "_display", lambda: seen)
    end = progress.show(Engine(None, ("planning", 0.5)))
    time.sleep(1.7)
    end()
    assert seen.updates == [("planning", 0.5)] and not seen.waited


def test_what_turns_on_a_terminal_is_written_over():
    stream = io.StringIO()
    line = progress.Terminal(stream)
    line.wait(1.2)
    line.wait(12.4)
    line.update("planning", 0.5)
    line.clear()
    told = stream.getvalue().split("\r")
    assert told[1:3] == ["computing / 1 s", "computing - 12 s"]
    assert told[3].startswith("planning [") and told[-2].strip() == "" and told[-1] == ""


@pytest.mark.parametrize("columns", [100, 61, 60, 40, 12, 3])
def test_no_line_is_wider_than_the_terminal(columns):
    other, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with open(own, "w", encoding="utf-8") as stream, open(other, "rb", buffering=0) as screen:
        line = progress.Terminal(stream)
        line.update(f"reading {'directory/' * 20}größe.tns.zst", 0.5)
        line.wait(12.4)
        line.update("planning", 0.5)
        line.clear()
        shown = screen.read(65536).decode().split("\r")
    assert max(len(each) for each in shown) < columns
    if columns >= 40:
        assert shown[1].startswith("...") and "größe.tns.zst " in shown[1] and shown[1].endswith("  50 %")


def test_a_dumb_terminal_shows_no_progress(monkeypatch):
    other, own = pty.openpty()
    with open(own, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "dumb")
        assert progress._display() is None
        monkeypatch.setenv("TERM", "xterm")
        assert isinstance(progress._display(), progress.Terminal)
    os.close(other)


def test_what_is_shown_is_of_the_callers_context(monkeypatch):
    cell, told = contextvars.ContextVar("cell"), []

    class InCell(Seen):
        def update(self, what, fraction):
            told.append(cell.get())

    cell.set(7)
    monkeypatch.setattr(progress, "_display", InCell)
    end = progress.show(Engine(None, ("planning", 0.5)))
    time.sleep(1.2)
    end()
    assert told == [7]


def test_a_stream_that_is_closed_ends_the_showing_alone(monkeypatch, capfd):
    class Closed:
        def write(self, text):
            raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(progress, "_display", lambda: progress.Terminal(Closed()))
    end = progress.show(Engine(None, ("planning", 0.5)))
    time.sleep(1.2)
    end()
    assert capfd.readouterr() == ("", "")


def test_no_thread_stays():
    before = threading.active_count()
    weft.evaluate("y(i) = A(i,j) * x(j)", A=np.ones((20, 20)), x=np.ones(20))
    assert threading.active_count() == before
