"""Notebooks: pages in shadow roots, pictures of patterns, the magics, progress."""

import base64
import re
import struct
import zlib

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse

import weft

pytest.importorskip("IPython")
from IPython.core.completer import provisionalcompleter  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from IPython.utils.capture import capture_output  # noqa: E402

from weft import notebook, notebook_page, notebook_progress, notebook_tensor  # noqa: E402


# Pages.

def parts(html):
    """Style, body and the text beside the template."""
    found = re.fullmatch(r'<div class="weft-page"><template shadowrootmode="open"><style>(.*?)</style>\n(.*)</template>'
                         r"<pre>(.*?)</pre></div>\n<script>.*</script>", html, re.S)
    assert found
    return found.groups()


def test_plan_is_the_page_in_a_shadow_root(matrix):
    plan = weft.plan("y(i) = M(i,j) * x(j)", M=matrix, x=np.ones(20))
    style, body, text = parts(plan._repr_html_())
    assert "<h2>Loop nest</h2>" in body and "<svg" in body and "<h2>Layouts</h2>" in body
    assert "<body" not in body and "<html" not in body
    assert ":root" not in style and style.count("--paper: #f7f7f4") == 3 and style.count("--paper: #13161b") == 3
    assert "y(i) = M(i,j) * x(j)" in text


def test_plan_after_a_run_shows_measured_beside_estimated(matrix):
    text = "y(i) = M(i,j) * x(j)"
    before, after = (weft.plan(text, M=matrix, x=np.ones(20), run=run)._repr_html_() for run in (False, True))
    assert "predicted for a run on" in before and "measured on" not in before and ">counted<" not in before
    assert "predicted for a run on" in after and "measured on" in after and ">counted<" in after


def test_plan_of_a_kernel_has_a_page(matrix):
    # A text of its own: a kernel that another test has compiled and run shows what that took.
    kernel = weft.compile("paged(i) = M(i,j) * x(j)", M=matrix, x=np.ones(20))
    page = kernel.plan._repr_html_()
    assert "<h2>Loop nest</h2>" in page and "measured on" not in page
    kernel(M=matrix, x=np.ones(20))
    page = kernel.plan._repr_html_()
    assert "measured on" in page and ", measured <b>" in page


def test_pages_load_nothing(matrix):
    for page in (weft.plan("y(i) = M(i,j) * x(j)", M=matrix, x=np.ones(20))._repr_html_(), weft.tensor(matrix)._repr_html_()):
        assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(|<link", page)


def test_texts_of_pages_are_escaped():
    assert "<pre>a&lt;b</pre>" in notebook_page.shut_in("", "", "", "", "a<b")


# Tensors.

def decoded(png):
    """Opacities of a picture that notebook_tensor.png made."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, size = 8, b"", None
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0] == zlib.crc32(name + body)
        if name == b"IHDR":
            size = struct.unpack(">II", body[:8])
        if name == b"IDAT":
            data += body
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(size[1], size[0] + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


def pictures(tensor):
    return [decoded(base64.b64decode(each)) for each in re.findall(r"base64,([^\"]+)", tensor._repr_html_())]


@pytest.mark.parametrize("format", ["ds", "ss", "ds:1,0", "sd", "dd", "hs"])
def test_picture_of_a_small_matrix_is_its_pattern(matrix, format):
    tensor = weft.tensor(matrix, format=format)
    (picture,) = pictures(tensor)
    assert ((picture > 0) == (matrix.toarray() != 0)).all()


@pytest.mark.parametrize("format", ["bcsr(2,2)", "bcsr(3,2)", "dia", "dia(4)", "ell", "vbl", "band(2,2)", "sell(8)", "csb(4)", "lower", "upper",
                                    "nm(2,4)", "skyline", "coo", "dcsr", "bsr", "dia_array"])
def test_picture_of_a_layout_is_its_pattern(format):
    array = np.diag(np.arange(1.0, 10)) + (0 if format in ("lower", "nm(2,4)") else np.diag(np.ones(8), 1))
    if format in ("bsr", "dia_array"):
        tensor = weft.tensor(scipy.sparse.bsr_array(array, blocksize=(3, 3)) if format == "bsr" else scipy.sparse.dia_array(array))
    else:
        tensor = weft.tensor(array, format=format)
    (picture,) = pictures(tensor)
    assert ((picture > 0) == (array != 0)).all()


def test_pictures_of_layouts_of_three_modes():
    tensor = weft.tensor(([1.0, 2.0], ([0, 3], [1, 0], [2, 2])), shape=(4, 2, 3), format="hicoo(2)")
    assert [np.argwhere(each).tolist() for each in pictures(tensor)] == [[[0, 1], [3, 0]], [[0, 2], [3, 2]], [[0, 2], [1, 2]]]


def test_picture_of_a_vector_is_a_strip():
    (picture,) = pictures(weft.tensor(np.array([0.0, 3, 0, -1])))
    assert (picture > 0).tolist() == [[False, True, False, True]]


def test_pictures_of_more_modes_are_of_pairs():
    tensor = weft.tensor(([1.0, 2.0], ([0, 3], [1, 0], [2, 2])), shape=(4, 2, 3))
    down, over, across = (picture > 0 for picture in pictures(tensor))
    assert np.argwhere(down).tolist() == [[0, 1], [3, 0]]
    assert np.argwhere(over).tolist() == [[0, 2], [3, 2]]
    assert np.argwhere(across).tolist() == [[0, 2], [1, 2]]
    assert len(pictures(weft.sparse(3, 4, 5, 6, 7, nnz=9, seed=1))) == 3


def test_picture_of_a_large_matrix_is_cells_filled_by_share():
    full = scipy.sparse.block_diag([np.ones((600, 300)), np.ones((600, 300))], format="csr")  # 360,000 entries: a sample
    (picture,) = pictures(weft.tensor(full))
    assert picture.shape == (120, 60)
    assert (picture[:60, :30] > 200).all() and (picture[60:, 30:] > 200).all()
    assert not picture[:60, 30:].any() and not picture[60:, :30].any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_picture_of_a_large_array_is_of_a_sample(order):
    array = np.zeros((1000, 800), order=order)
    array[:500, :400] = 2
    (picture,) = pictures(weft.tensor(array))
    assert picture.shape == (120, 96)
    assert (picture[:59, :47] > 150).all() and not picture[61:].any() and not picture[:, 49:].any()


def test_a_large_tensor_that_is_not_read_in_place_has_no_picture(monkeypatch, matrix):
    tensor = weft.tensor(matrix, format="hs")
    assert len(pictures(tensor)) == 1
    monkeypatch.setattr(notebook_tensor, "_MOST_EXPANDED", 50)
    assert not pictures(tensor)


def test_pictures_stay_small_and_empty_tensors_have_none():
    assert len(weft.sparse(5000, 5000, nnz=100000, seed=2)._repr_html_()) < 40000
    assert not pictures(weft.tensor(scipy.sparse.csr_array((0, 5)))) and not pictures(weft.tensor(3.0))
    (picture,) = pictures(weft.tensor(scipy.sparse.csr_array((3, 5))))
    assert not picture.any()


def test_table_of_a_tensor(matrix):
    _, body, text = parts(weft.tensor(matrix)._repr_html_())
    told = re.findall(r"<th>(.*?)</th><td>(.*?)</td>", body)
    assert told[:4] == [("shape", "30 × 20"), ("type", "float64"), ("format", "<code>ds:0,1</code>"), ("stored", str(matrix.nnz))]
    assert text == "&lt;weft.Tensor 30x20 ds:0,1 f64, 120 stored&gt;"


# Magics.

@pytest.fixture
def shell(matrix):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "weft")
    shell.push({"Matrix": matrix, "vector": np.arange(20.0), "i": 7, "a": 3, "np": np})
    yield shell
    InteractiveShell.clear_instance()


def run(shell, cell):
    with capture_output() as told:
        result = shell.run_cell(cell)
    return result, told


def test_cell_evaluates_over_variables(shell, matrix):
    result, _ = run(shell, "%%weft\ny(i) = Matrix(i,j)\n     * vector(j)\n")
    assert (result.result == matrix @ np.arange(20.0)).all()
    assert "y" not in shell.user_ns


def test_line_and_numbers(shell, matrix):
    result, _ = run(shell, "%weft y(i) = a * Matrix(i,j) * vector(j)")
    assert (result.result == 3 * (matrix @ np.arange(20.0))).all()


def test_einsum_with_names(shell, matrix):
    result, _ = run(shell, "%weft y = ij,j->i Matrix vector")
    assert (result.result == matrix @ np.arange(20.0)).all()


def test_numbers_named_like_an_index(shell):
    shell.push({"i": 4.0, "j": 5.0})
    result, _ = run(shell, "%weft y(i) = i * vector(i)")
    assert (result.result == 4 * np.arange(20.0)).all()
    assert run(shell, "%weft y(j) = vector(j)")[0].success


def test_results_become_variables(shell, matrix):
    result, _ = run(shell, "%%weft -o S,t --format S:ss\nS(i,j) = 2 * Matrix(i,j);\nt = S(i,j)")
    assert result.success and result.result is None
    assert shell.user_ns["t"] == 2 * matrix.sum() and shell.user_ns["S"].format == "ss:0,1"
    result, _ = run(shell, "%weft -o y y(i) = Matrix(i,j) * vector(j)")
    assert (shell.user_ns["y"] == matrix @ np.arange(20.0)).all()


def test_time_and_plan(shell):
    _, told = run(shell, "%%weft --time --plan -o y --threads 1\ny(i) = Matrix(i,j) * vector(j)")
    assert re.search(r"[\d.]+ (µs|ms), median of \d+ runs on 1 thread; the first took [\d.]+ (µs|ms)", told.stdout)
    (page,) = told.outputs
    assert "measured on 1 thread" in page._repr_html_()
    assert "y" in shell.user_ns


def test_errors_show_the_place_and_no_traceback(shell):
    result, told = run(shell, "%%weft\ny(i) = Matrix(i,j) * vector(i)")
    assert isinstance(result.error_in_exec, weft.InputError)
    assert told.stdout.splitlines() == [
        "InputError: index i is 30 in Matrix (mode 0) but 20 in vector (mode 0)",
        "  y(i) = Matrix(i,j) * vector(i)", "                ^             ^"]


def test_lines_to_write_can_be_written(shell):
    shell.push({"whole": np.arange(20), "listed": list(range(20))})
    for name in ("whole", "listed"):
        result, told = run(shell, f"%weft -o y y(i) = Matrix(i,j) * {name}(j)")
        assert isinstance(result.error_in_exec, weft.UnsupportedError)
        line = told.stdout.rpartition("write ")[2]
        assert run(shell, line)[0].success and run(shell, f"%weft -o y y(i) = Matrix(i,j) * {name}(j)")[0].success
        assert (shell.user_ns["y"] == shell.user_ns["Matrix"] @ np.arange(20.0)).all()


def test_unknown_name_is_told_with_a_near_one(shell):
    result, told = run(shell, "%weft y(i) = Matrx(i,j) * vector(j)")
    assert result.error_in_exec.operand == "Matrx"
    assert told.stdout.splitlines()[-1] == "the notebook has Matrix"


def test_modules_and_classes_are_no_operands(shell):
    """Those of numpy have functions that are named like the properties of an array."""
    shell.push({"np": np, "float64": np.float64})
    assert not {"np", "float64"} & set(notebook.operand_names(shell.user_ns))
    _, told = run(shell, "%weft y(i) = npp(i)")
    assert "InputError" in told.stdout and "the notebook has" not in told.stdout


@pytest.mark.parametrize("cell, message", [
    ("%%weft -q\ny = a", "has no option -q; it has -o, --format"),
    ("%%weft -o\ny = a", "-o needs a value"),
    ("%%weft --threads none\ny = a", "--threads none: a number from 1 on"),
    ("%%weft --time=3\ny = a", "--time takes no value"),
    ("%%weft y = a\ny = a", "the text stands below it"),
    ("%weft --time", "no text to evaluate"), ("%weft ij,jk->ik", "assigns to nothing: index notation is wanted"),
    ("%weft -o z y = a * vector(i)", "nothing is assigned to z; there are y"),
])
def test_wrong_options(shell, cell, message):
    result, told = run(shell, cell)
    assert isinstance(result.error_in_exec, weft.InputError)
    assert told.stdout.startswith("InputError: ") and message in told.stdout and "Traceback" not in told.stdout


@pytest.mark.parametrize("text, wanted", [
    ("%weft y(i) = Mat", "Matrix"), ("%%weft --time\ny(i) = Matrix(i,j) *\n  vec", "vector"),
    ("%weft --ti", "--time"), ("%%weft -o y --f", "--format"),
])
def test_names_and_options_are_completed(shell, text, wanted):
    run(shell, "%load_ext weft")
    run(shell, "%reload_ext weft")  # no name twice
    with provisionalcompleter():
        found = [text[:each.start] + each.text for each in shell.Completer.completions(text, len(text))]
    stem = text[:len(text) - len(re.search(r"[-\w]+$", text)[0])]
    assert stem + wanted in found
    assert len(shell.Completer.custom_matchers) == 1


@hypothesis.given(st.text("-o time=\"'\\SA,;() \n", max_size=30), st.none() | st.just("y = a"))
@hypothesis.settings(max_examples=300, deadline=None, derandomize=True)
def test_any_line_is_read_or_refused(line, cell):
    try:
        options, text = notebook.parsed(line, cell)
    except weft.InputError as error:
        assert str(error)
    else:
        assert text.strip() and set(options) == {"-o", "--format", "--plan", "--time", "--tree", "--threads", "--calls"}


def test_operands_of_a_text():
    assert notebook.names_of_operands("y(i) = alpha * M(i,j) * x[j]  # of z(i)") == ["alpha", "M", "x"]
    assert notebook.names_of_operands("t = s * s") == ["s"]
    assert notebook.names_of_operands("y(i) = 2 * x(i);\n x(i) = 3 * y(i)\n  * z(i)") == ["x", "z"]
    assert notebook.names_of_operands("x(i) = 2 * x(i)") == ["x"]  # which evaluate refuses, and says why
    assert notebook.names_of_operands("no text") == []
    assert notebook.names_of_operands("X = ij,jk->ik A A") == ["A"]
    assert notebook.names_of_operands("X = ij, jk -> i k A B  # of ij") == ["A", "B"]
    assert notebook.names_of_operands("y(i) = i * x(i)") == ["i", "x"]
    assert notebook.names_of_operands("y(i) = (a) * j * x(i)") == ["a", "j", "x"]


# Progress.

def test_notebook_bar_is_updated_in_place_and_vanishes(monkeypatch):
    sent = []
    monkeypatch.setattr("IPython.display.display", lambda data, **options: sent.append((data, options)))
    bar = notebook_progress.Notebook()
    bar.clear()
    assert not sent
    bar.update("reading <x>", 0.25)
    bar.update("reading <x>", 1.5)
    bar.clear()
    assert [options["update"] for _, options in sent] == [False, True, True]
    assert len({options["display_id"] for _, options in sent}) == 1
    assert sent[0][0]["text/plain"] == "reading <x> 25 %" and "reading &lt;x&gt; 25 %" in sent[0][0]["text/html"]
    assert sent[1][0]["text/plain"] == "reading <x> 100 %"
    assert sent[2][0] == {"text/plain": "", "text/html": ""}


def test_bars_of_two_calls_are_two(monkeypatch):
    names = []
    monkeypatch.setattr("IPython.display.display", lambda data, **options: names.append(options["display_id"]))
    for bar in (notebook_progress.Notebook(), notebook_progress.Notebook()):
        bar.update("computing", 0)
    assert len(set(names)) == 2


def test_a_bar_that_cannot_be_shown_does_not_end_the_call(monkeypatch):
    def fail(*_, **__):
        raise OSError("the front end is gone")

    monkeypatch.setattr("IPython.display.display", fail)
    notebook_progress.Notebook().update("computing", 0.5)


def test_shares():
    assert notebook_tensor.share(1 / 3) == "33 %" and notebook_tensor.share(2.4e-9) == "2.4e-07 %"
