"""Progress of calls that take longer than a second: a line on a terminal, a bar in a notebook, else nothing."""

import contextvars
import os
import sys
import threading
import time


def show(engine):
    """Begins to watch a call of the engine; what ends that, or None where nobody could see it."""
    display = _display()
    if display is None:
        return None
    engine._progress()  # what an earlier call told last
    ended = threading.Event()
    # In the caller's context, by which newer kernels know the cell that a display belongs to.
    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(_watch, engine, display, ended), name="weft progress", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread can be started any more
        return None

    def end():
        ended.set()
        thread.join()

    return end


def _watch(engine, display, ended):
    began = time.monotonic()
    if ended.wait(1.0):
        return
    try:
        told = None
        pause = 0
        while not ended.wait(pause):
            news = engine._progress()
            told = news or told
            if news is not None:
                display.update(*news)
            elif told is None:  # a call that tells nothing: planning, compiling, reading a pipe
                display.wait(time.monotonic() - began)
            pause = 0.2
        display.clear()
    except (OSError, ValueError):  # the stream is closed, or its reader gone: the call goes on unseen
        pass


_TURNING = "|/-\\"


class Terminal:
    """A line on standard error that is written over."""

    def __init__(self, stream):
        self._stream = stream
        self._width = 0
        self._turn = 0

    def update(self, what, fraction):
        filled = int(30 * min(max(fraction, 0.0), 1.0))
        room = self._room()
        bar = f" [{'#' * filled}{'.' * (30 - filled)}]" if room >= 60 else ""
        done = f"{bar} {100 * fraction:3.0f} %"
        self._write((_end_of(what, max(room - len(done), 0)) + done)[:room])

    def wait(self, seconds):
        """That a call is under way which has told nothing for so many seconds."""
        self._turn += 1
        self._write(f"computing {_TURNING[self._turn % len(_TURNING)]} {seconds:.0f} s"[:self._room()])

    def clear(self):
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text):
        self._stream.write("\r" + text.ljust(min(self._width, self._room())))
        self._stream.flush()
        self._width = len(text)

    def _room(self):
        """Characters that a line takes without being wrapped: one that is could not be written over."""
        try:
            return max(os.get_terminal_size(self._stream.fileno()).columns - 1, 0) or sys.maxsize
        except (AttributeError, OSError, ValueError):  # no terminal
            return sys.maxsize


def _end_of(text, room):
    """The end of a text that is too long, with "..." before it: the end of a path says more than its begin.

    >>> _end_of("reading flights.tns", 16), _end_of("reading flights.tns", 19), _end_of("reading", 2)
    ('...g flights.tns', 'reading flights.tns', '')
    """
    if len(text) <= room:
        return text
    return "..." + text[len(text) - room + 3:] if room > 3 else ""


def _display():
    """Where progress is seen: in a notebook, on a terminal, or nowhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        from weft.notebook_progress import Notebook

        return Notebook()
    try:
        # A dumb terminal does not go back to the begin of a line.
        seen = sys.stderr is not None and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()
    except ValueError:  # closed
        seen = False
    return Terminal(sys.stderr) if seen else None
