#!/usr/bin/env python3
"""Shows that room_pages.py finds each kind of violation, one at a time, in a small tree that has none."""

import sys

from room_pages import violations
from small_tree import found_in

ROOMS = ("engine/plan/cost",)
PAGE = "# cost\n\n| file | what |\n|---|---|\n| `loop`, `nest` | prices |\n\nWhat it may see: nothing.\n" + "text\n" * 10
GOOD = {
    "engine/plan/README.md": "[cost](cost/README.md)\n",
    "engine/plan/cost/README.md": PAGE,
    "engine/plan/cost/loop.h": "",
    "engine/plan/cost/loop.cpp": "",
    "engine/plan/cost/nest.cpp": "",
}
# file, its text, what must be said
BAD = [
    ("engine/plan/README.md", "nothing\n", "engine/plan/README.md does not link engine/plan/cost/README.md"),
    ("engine/plan/README.md", GOOD["engine/plan/README.md"] * 151, "engine/plan/README.md: 151 lines, more than 150"),
    ("engine/plan/cost/page.cpp", "", "engine/plan/cost/README.md does not name page"),
    ("engine/plan/cost/README.md", PAGE.replace("`nest`", "`nets`"), "engine/plan/cost/README.md names nets, which is not there"),
    ("engine/plan/cost/README.md", PAGE.replace("text\n", "", 4), "engine/plan/cost/README.md: 13 lines, not 15 to 60"),
    ("engine/plan/cost/README.md", PAGE + "text\n" * 50, "engine/plan/cost/README.md: 67 lines, not 15 to 60"),
    ("engine/plan/cost/README.md", PAGE.replace("may see", "sees"), "engine/plan/cost/README.md does not say what the room may see"),
]


def found(files):
    return found_in(files, lambda directory: violations(directory, ROOMS))


wrong = [f"nothing wrong, but {said}" for said in found(GOOD)]
for file, text, expected in BAD:
    said = found({**GOOD, file: text})
    if expected not in said:
        wrong.append(f"{file}: {expected!r} is not among {said}")
without = dict(GOOD)
del without["engine/plan/cost/README.md"]
if found(without) != ["engine/plan/cost: no README.md"]:
    wrong.append("a room without a page")
print("\n".join(wrong) if wrong else f"{len(BAD) + 1} kinds of violation are found")
sys.exit(1 if wrong else 0)
