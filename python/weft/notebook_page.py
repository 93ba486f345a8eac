"""HTML in a notebook: a shadow root, so that no style leaks in or out.

The root is declared (``<template shadowrootmode>``), which documents such as those of nbconvert need no script for. Jupyter
inserts outputs as inner HTML, where browsers leave templates alone: there one line of script opens the root. Where neither
is allowed (a notebook that is not trusted), the text beside the template shows.
"""

from html import escape

# What a page of weft is coloured by, as weft --html has it (frontend/page_style.h).
LIGHT = "#1c2027", "#5b6472", "#e2e3de"
DARK = "#e5e8ec", "#98a2b0", "#2b313a"

_SCRIPT = """(() => {
  for (const host of document.querySelectorAll(".weft-page")) {
    const declared = host.querySelector(":scope > template");
    if (!host.shadowRoot && declared) host.attachShadow({mode: "open"}).append(declared.content);
    const page = document.body, light = page.dataset.jpThemeLight, kind = page.dataset.vscodeThemeKind;
    if (light || kind) host.dataset.theme = light === "false" || /dark|high-contrast$/.test(kind) ? "dark" : "light";
  }
})()"""


def shut_in(body, style, light, dark, text):
    """`body` under its own style. light, dark: variables of the style in the two themes.

    The theme is that of Jupyter or Visual Studio Code where the document tells it, else the one the reader prefers. text:
    what is seen where the page cannot be.

    >>> shut_in("<p>1</p>", "p { color: var(--ink); }", "--ink: black;", "--ink: white;", "one")[:28]
    '<div class="weft-page"><temp'
    """
    jupyter = "[data-jp-theme-light"
    themes = [":host { all: initial; display: block; contain: content; color-scheme: light; %s }" % light,
              "@media (prefers-color-scheme: dark) { :host { color-scheme: dark; %s } }" % dark]
    for theme, variables, here in (("light", light, jupyter + '="true"]'), ("dark", dark, jupyter + '="false"]')):
        for where in (f":host-context({here})", f':host([data-theme="{theme}"])'):
            themes.append("%s { color-scheme: %s; %s }" % (where, theme, variables))
    styles = "\n".join(themes) + "\n" + style
    return (f'<div class="weft-page"><template shadowrootmode="open"><style>{styles}</style>\n{body}</template>'
            f"<pre>{escape(text)}</pre></div>\n<script>{_SCRIPT}</script>")
