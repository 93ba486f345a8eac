"""A plan in a notebook: the page of ``weft --html``, shut into a shadow root."""

import re

from weft import notebook_page

_PAGE = re.compile(r"<style>(?P<style>.*?)</style>.*?<body>\s*(?P<body>.*?)\s*</body>", re.S)
_LIGHT = re.compile(r"\A\s*:root\s*\{(?P<variables>[^{}]*)\}")
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\)\s*\{\s*:root\s*\{(?P<variables>[^{}]*)\}\s*\}")
# A page of its own has room around it; an output has little, and nbconvert lays it out as a table's cell, which what
# scrolls must not widen.
_NARROW = """
.page { background: var(--paper); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; border-radius: 10px; }
main { max-width: none; padding: 16px 14px 12px; }
.tile b { font-size: 17px; }
.track { width: 110px; min-width: 70px; }
.scroll, pre { contain: inline-size; }
"""


def html(plan):
    """The page of a `weft.Plan` as an element of another document."""
    page = _PAGE.search(plan.html())
    style = page["style"]
    light, dark = (_variables(each, style) for each in (_LIGHT, _DARK))
    rest = _LIGHT.sub("", _DARK.sub("", style))
    return notebook_page.shut_in(f'<div class="page">{page["body"]}</div>', rest + _NARROW, light, dark, f"{plan!r}\n{plan}")


def _variables(pattern, style):
    return re.sub(r"color-scheme:[^;]*;", "", " ".join(pattern.search(style)["variables"].split()))
