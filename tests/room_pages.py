#!/usr/bin/env python3
"""Compares the pages of the planner's rooms with their files: room_pages.py [ROOT].

Every file of a room stands in the table of its README.md, every name in the table is a file, a page has 15 to 60 lines and
says what the room may see; the page of engine/plan links every room. No folder's page has more than 150 lines.
Prints one line per violation; exit status 1 if there is one.
"""

import pathlib
import re
import sys

from include_order import ROOMS

PAGE = "engine/plan/README.md"


def names(table):
    """The names in the first column, in backticks."""
    return {name.split(".")[0] for row in re.findall(r"^\|([^|]*`[^|]*)\|", table, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}


def violations(root, rooms=tuple(ROOMS)):
    root = pathlib.Path(root)
    found = []
    plan = (root / PAGE).read_text(encoding="utf-8")
    for page in sorted(root.rglob("README.md")):
        lines = len(page.read_text(encoding="utf-8").splitlines())
        if lines > 150 and "build" not in page.relative_to(root).parts[0]:
            found.append(f"{page.relative_to(root)}: {lines} lines, more than 150")
    for room in rooms:
        page = root / room / "README.md"
        if not page.is_file():
            found.append(f"{room}: no README.md")
            continue
        text = page.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        if not 15 <= lines <= 60:
            found.append(f"{room}/README.md: {lines} lines, not 15 to 60")
        if "What it may see" not in text:
            found.append(f"{room}/README.md does not say what the room may see")
        if f"({room.split('/')[-1]}/README.md)" not in plan:
            found.append(f"{PAGE} does not link {room}/README.md")
        stems = {path.stem for path in (root / room).iterdir() if path.suffix in (".h", ".cpp")}
        named = names(text)
        found += [f"{room}/README.md does not name {stem}" for stem in sorted(stems - named)]
        found += [f"{room}/README.md names {name}, which is not there" for name in sorted(named - stems)]
    return found


if __name__ == "__main__":
    wrong = violations(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(wrong) if wrong else "every file of the planner is on the page of its room")
    sys.exit(1 if wrong else 0)
