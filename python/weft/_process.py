"""The package in a process that forks, and when the interpreter ends.

At a fork the parent waits, a second at most, until no thread of it compiles, reads or converts. The child forgets the
default engine, what was compiled in it, and what is known of arrays, without freeing any of it, and makes its own at first
use. An engine of the user's own goes on, on one thread, unless another thread was inside it: then it raises RuntimeError.
"""

import atexit
import os
import time

import _weft

from weft import _engines


def watch():
    """Once, when the package is imported."""
    os.register_at_fork(before=_wait_for_compilers, after_in_child=_start_anew)
    atexit.register(_end)


def _wait_for_compilers():
    latest = time.monotonic() + 1
    while _weft.under_way()[1] and time.monotonic() < latest:
        time.sleep(0.001)


def _start_anew():
    _weft.forked()
    _engines.forget()


def _end():
    """Threads that compute are stopped, and waited for: one that came back later would be torn down where it stands."""
    _weft.end()
    latest = time.monotonic() + 10
    while any(_weft.under_way()) and time.monotonic() < latest:
        _weft.cancel()
        time.sleep(0.001)
