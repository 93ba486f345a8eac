"""Progress in a notebook: a bar that is updated where it stands, and vanishes."""

import uuid
from html import escape


class Notebook:
    """A display of its own for each call; any thread may update it, while others compute."""

    def __init__(self):
        self._name = f"weft-{uuid.uuid4().hex}"
        self._shown = False

    def update(self, what, fraction):
        """What is done, and the fraction of it from 0 to 1."""
        percent = 100 * min(max(fraction, 0.0), 1.0)
        told = f"{what} {percent:.0f} %"
        bar = (f'<progress max="100" value="{percent:.1f}" style="width:16em; vertical-align:middle"></progress> '
               f'<span style="font:13px system-ui,sans-serif">{escape(told)}</span>')
        self._send({"text/plain": told, "text/html": bar})

    def wait(self, seconds):
        """That a call is under way which has told nothing for so many seconds: a bar that moves, without a fraction."""
        told = f"computing {seconds:.0f} s"
        bar = (f'<progress style="width:16em; vertical-align:middle"></progress> '
               f'<span style="font:13px system-ui,sans-serif">{told}</span>')
        self._send({"text/plain": told, "text/html": bar})

    def clear(self):
        """Nothing is seen any more; nothing is done where nothing was."""
        if self._shown:
            self._send({"text/plain": "", "text/html": ""})

    def _send(self, data):
        from IPython.display import display

        try:
            display(data, raw=True, display_id=self._name, update=self._shown)
        except Exception:  # the front end is gone: the call goes on
            return
        self._shown = True
