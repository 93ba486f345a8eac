#!/usr/bin/env python3
"""Finds types of one namespace that are defined twice under one name: type_names.py [ROOT].

Two files that never meet in one compilation may each define weft::Proof; the linker then takes the functions of either for both, and a
destructor goes over members that are not there. Types in anonymous namespaces, and within others, are left alone.
Prints one line per name; exit status 1 if there is one.
"""

import pathlib
import re
import sys

TOPS = ("runtime", "engine", "frontend", "bench")
DEFINITION = re.compile(r"^(?:template <[^\n]*>\s*)?(?:struct|class|union|enum|enum class|enum struct)\s+(?:\[\[\w+\]\]\s+)?(\w+)"
                        r"(?:\s+final)?(?:\s*:(?!:)[^\n{;]*)?\s*\{")
OPENED = re.compile(r"^(?:inline )?namespace(?:\s+([\w:]+))?\s*\{")
CLOSED = re.compile(r"^\}\s*//\s*namespace")


def definitions(text):
    """Qualified names of the types that a file defines in named namespaces, at the beginning of a line."""
    spaces = []
    for line in text.splitlines():
        opened = OPENED.match(line)
        if opened:
            spaces.append(opened.group(1))
        elif CLOSED.match(line) and spaces:
            spaces.pop()
        else:
            found = DEFINITION.match(line)
            if found and spaces and None not in spaces:
                yield "::".join([*spaces, found.group(1)])


def violations(root):
    root = pathlib.Path(root)
    files = {}
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for name in definitions(path.read_text(encoding="utf-8")):
                files.setdefault(name, []).append(str(path.relative_to(root)))
    return [f"{name} is defined in {' and in '.join(sorted(paths))}" for name, paths in sorted(files.items()) if len(paths) > 1]


if __name__ == "__main__":
    found = violations(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    print("\n".join(found) if found else "every type has a name of its own")
    sys.exit(1 if found else 0)
