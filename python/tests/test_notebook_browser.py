"""Pages of a notebook in a headless Chromium, where there is one: as nbconvert writes them, and as Jupyter inserts them."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import weft

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")

# A style of the document that must not reach the page, and what is asked of it afterwards.
DOCUMENT = """<!DOCTYPE html><html><head><meta charset="utf-8">
<style>section, table { display: none !important } * { color: red } .outside { color: green }</style></head>
<body BODY><p class="outside">outside</p><section class="outside"></section>CONTENT
<pre id="told"></pre><script>
const told = {pages: []};
for (const host of document.querySelectorAll(".weft-page")) {
  const root = host.shadowRoot, shown = root && root.querySelector(".page, .tensor");
  const of = (element, what) => getComputedStyle(element)[what];
  told.pages.push(!root ? {open: false, text: of(host.querySelector("pre"), "display")} : {
    open: true, ink: of(shown, "color"), paper: of(shown, "backgroundColor"), table: of(root.querySelector("table"), "display"),
    width: shown.getBoundingClientRect().width - document.body.clientWidth, text: host.querySelector("pre").getClientRects().length,
    images: [...root.querySelectorAll("img")].map(each => each.naturalWidth)});
}
told.outside = getComputedStyle(document.querySelector(".outside")).color;
document.getElementById("told").textContent = JSON.stringify(told);
</script></body></html>"""
# As JupyterLab inserts an output: inner HTML, then the scripts anew.
INSERTED = """<div id="output"></div><script>
const output = document.getElementById("output");
output.innerHTML = %s;
for (const script of output.querySelectorAll("script")) {
  const again = document.createElement("script");
  again.textContent = script.textContent;
  script.replaceWith(again);
}
</script>"""


def seen(tmp_path, content, body="", dark=False):
    path = tmp_path / "page.html"
    path.write_text(DOCUMENT.replace("BODY", body).replace("CONTENT", content))
    preferred = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]
    process = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
                              "--window-size=900,700", *preferred, "--dump-dom", path.as_uri()],
                             capture_output=True, text=True, timeout=60)
    told = process.stdout.partition('<pre id="told">')[2].partition("</pre>")[0]
    assert told, process.stderr[-2000:]
    return json.loads(told.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.fixture(scope="module")
def pages():
    M = np.eye(30)
    plan = weft.plan("y(i) = M(i,j) * x(j)", M=weft.tensor(M, format="ds"), x=np.ones(30), run=True)
    return plan._repr_html_() + weft.tensor(M)._repr_html_()


LIGHT, DARK = "rgb(28, 32, 39)", "rgb(229, 232, 236)"


@pytest.mark.parametrize("inserted, body, dark, ink", [
    (False, 'data-jp-theme-light="true"', True, LIGHT), (False, 'data-jp-theme-light="false"', False, DARK), (False, "", False, LIGHT),
    (True, 'data-jp-theme-light="false"', False, DARK), (True, 'data-vscode-theme-kind="vscode-dark"', False, DARK),
    (True, 'data-vscode-theme-kind="vscode-high-contrast-light"', True, LIGHT), (True, "", True, DARK)])
def test_pages_open_in_the_theme_of_the_document(tmp_path, pages, inserted, body, dark, ink):
    content = INSERTED % json.dumps(pages).replace("</script>", "<\\/script>") if inserted else pages
    told = seen(tmp_path, content, body, dark)
    plan, tensor = told["pages"]
    assert told["outside"] == "rgb(0, 128, 0)"
    for page in (plan, tensor):
        assert page["open"] and page["ink"] == ink and page["table"] == "table" and page["text"] == 0 and page["width"] <= 0
    assert plan["paper"] == ("rgb(247, 247, 244)" if ink == LIGHT else "rgb(19, 22, 27)")
    assert tensor["images"] == [30]


def test_without_scripts_and_templates_the_text_shows(tmp_path, pages):
    told = seen(tmp_path, "<div id='output'></div><script>document.getElementById('output').innerHTML = %s;</script>"
                % json.dumps(pages).replace("</script>", "<\\/script>"))
    assert told["pages"] == [{"open": False, "text": "block"}] * 2
