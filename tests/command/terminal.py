"""A command at a pseudo-terminal: what it shows after what is typed."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from harness import PATIENCE, Failure

TAKEN_AWAY = re.compile(rb"[^\n]*\r\x1b\[K")  # a line of progress
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][0-9A-B]|\x1b[=>]|\x07")


class Terminal:
    def __init__(self, weft, *arguments, env=None, columns=100, program=None):
        """`program`: another one than the command, as a shell."""
        environment, _ = weft.environment({"TERM": "dumb", **(env or {})})
        program = program or weft.command
        weft.history.append("(at a terminal) " + " ".join((program, *arguments)))
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(weft.directory)
            os.execve(program, [program, *arguments], environment)
        self.resize(columns)
        self.status = None
        self.shown = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def resize(self, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))

    def type(self, text, editing=True):
        """`editing`: waits until keys are edited and no longer echoed by the terminal itself, a moment after the prompt."""
        deadline = time.monotonic() + 0.5
        while editing and termios.tcgetattr(self.terminal)[3] & termios.ICANON and time.monotonic() < deadline:
            time.sleep(0.002)
        os.write(self.terminal, text.encode())

    def until(self, wanted, seconds=20):
        """What stands there up to the wanted text at the end; `shown` also has what was taken away."""
        shown = b""
        deadline = time.monotonic() + seconds * PATIENCE
        while time.monotonic() < deadline:
            if not select.select([self.terminal], [], [], 0.1)[0]:
                continue
            try:
                more = os.read(self.terminal, 65536)
            except OSError:  # the other side is closed
                more = b""
            shown += more
            self.shown = shown
            text = CONTROL.sub(b"", TAKEN_AWAY.sub(b"", shown)).decode(errors="replace").replace("\r\n", "\n")
            if wanted is not None and text.endswith(wanted):
                return text
            if not more:
                if wanted is None:
                    return text
                break
        raise Failure(f"waited for {wanted!r}, the terminal shows {shown[-600:]!r}")

    def say(self, line, prompt="weft> ", seconds=20):
        """Types a line and returns what is shown after it, up to the next prompt."""
        self.type(line + "\r")
        return self.until(prompt, seconds).split("\n", 1)[-1].removesuffix(prompt)

    def end(self):
        """What is shown until the command ends, and its exit status."""
        shown = self.until(None)
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return shown, self.status
