"""Progress of calls that take longer than a second: a line on a terminal, a bar in a notebook, else nothing."""

import contextvars
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
        self._write(f"{what} [{'#' * filled}{'.' * (30 - filled)}] {100 * fraction:3.0f} %")

    def wait(self, seconds):
        """That a call is under way which has told nothing for so many seconds."""
        self._turn += 1
        self._write(f"computing {_TURNING[self._turn % len(_TURNING)]} {seconds:.0f} s")

    def clear(self):
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text):
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


def _display():
    """Where progress is seen: in a notebook, on a terminal, or nowhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        from weft.notebook_progress import Notebook

        return Notebook()
    try:
        seen = sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        seen = False
    return Terminal(sys.stderr) if seen else None
