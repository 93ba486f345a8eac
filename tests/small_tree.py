"""Small trees of sources, in which a check of the sources finds what it is made for."""

import pathlib
import tempfile


def found_in(files, check):
    """What `check` finds in a directory with these files: a mapping from relative paths to texts."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = pathlib.Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check(directory)
