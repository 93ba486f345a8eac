"""Progress of calls that take longer than a second: a line on a terminal, a bar in a notebook, else nothing."""

import sys
import threading


def show(engine):
    """Begins to watch a call of the engine; what ends that, or None where nobody could see it."""
    display = _display()
    if display is None:
        return None
    engine._progress()  # what an earlier call told last
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(engine, display, ended), name="weft progress", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread can be started any more
        return None

    def end():
        ended.set()
        thread.join()

    return end


def _watch(engine, display, ended):
    if ended.wait(1.0):
        return
    try:
        shown = False
        while not ended.wait(0.2 if shown else 0):
            told = engine._progress()
            if told is not None:
                display.update(*told)
            shown = True
        display.clear()
    except (OSError, ValueError):  # the stream is closed, or its reader gone: the call goes on unseen
        pass


class Terminal:
    """A line on standard error that is written over."""

    def __init__(self, stream):
        self._stream = stream
        self._width = 0

    def update(self, what, fraction):
        filled = int(30 * min(max(fraction, 0.0), 1.0))
        self._write(f"{what} [{'#' * filled}{'.' * (30 - filled)}] {100 * fraction:3.0f} %")

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
