"""The package in a process that forks and ends."""

import atexit
import os

import _weft

from weft import _engines


def watch():
    """Once, when the package is imported."""
    os.register_at_fork(after_in_child=_engines.forget)
    atexit.register(_weft.cancel)
