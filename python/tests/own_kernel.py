"""A kernel of the Python that runs the tests: Debian's own kernel is the system's, where a virtual environment's packages are not."""

import json
import pathlib
import sys
import tempfile

from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

# Frozen modules: the debugger of ipykernel warns of them on standard error.
COMMAND = [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]


def manager(kind=KernelManager):
    """A manager of such a kernel, not started yet."""
    folder = tempfile.TemporaryDirectory()
    spec = pathlib.Path(folder.name, "weft", "kernel.json")
    spec.parent.mkdir()
    spec.write_text(json.dumps({"argv": COMMAND, "display_name": "weft", "language": "python"}))
    made = kind(kernel_name="weft", kernel_spec_manager=KernelSpecManager(kernel_dirs=[folder.name]))
    made.kernel_spec  # is read now
    folder.cleanup()
    return made
