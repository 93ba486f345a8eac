"""The pages' Python is what they say; so are the docstrings (`--doctest-modules`). Every public name has one, with an example."""

import doctest
import inspect
import os
import pathlib
import re

import pytest

import weft

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_pages(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "\n".join(re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S))
    assert ">>>" in text
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    told = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=told.append)
    assert not told, "".join(told)


def test_every_public_name_has_a_docstring_with_an_example():
    for name in weft.__all__:
        made = getattr(weft, name)
        assert inspect.getdoc(made), name
        if inspect.isfunction(made) or name in ("Engine", "Tensor", "Plan"):
            assert ">>>" in made.__doc__, name
    for name, made in vars(weft.Tensor).items():
        if not name.startswith("_") and callable(made):
            assert made.__doc__, name


def test_the_readme_of_the_folder_names_every_file():
    text = (ROOT / "python/README.md").read_text()
    for folder in ("_weft", "weft", "build", "tests"):
        for path in (ROOT / "python" / folder).iterdir():
            if path.suffix in (".py", ".h", ".cpp", ".sh") and not path.name.startswith(("test_", "__")):
                stem = re.escape(path.stem)
                assert re.search(rf"\b{stem}\.(\*|{path.suffix[1:]})", text) or folder == "tests", path.name
    assert os.access(ROOT / "python/tests/run.sh", os.X_OK)
