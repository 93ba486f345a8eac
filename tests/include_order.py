#!/usr/bin/env python3
"""Reads the #include lines and enforces the order of the folders: include_order.py [ROOT].

Includes go one way, the rooms of the planner are stacked, plan and loop do not see each other, codegen sees neither plan nor lower, the cache and the
frontend reach no header of LLVM, only runtime uses TBB, public headers need nothing but the standard library and 120
columns, and Python's extension module sees weft.h alone.
Prints one line per violation; exit status 1 if there is one.
"""

import pathlib
import re
import sys

# What a folder may include besides itself.
MAY_SEE = {
    "runtime": [],
    "engine/text": ["runtime"],
    "engine/network": ["runtime", "engine/text"],
    "engine/include": ["runtime"],
    "engine/prove": ["runtime", "engine/text", "engine/network", "engine/loop", "engine/cache"],
    "engine/plan": ["runtime", "engine/text", "engine/network", "engine/include", "engine/prove"],
    "engine/loop": ["runtime", "engine/text", "engine/network"],
    "engine/lower": ["runtime", "engine/text", "engine/network", "engine/include", "engine/plan", "engine/loop"],
    "engine/codegen": ["runtime", "engine/text", "engine/network", "engine/loop"],
    "engine/jit": ["runtime", "engine/text", "engine/network", "engine/loop", "engine/codegen"],
    "engine/cache": ["runtime", "engine/text", "engine/network"],
    "engine": ["runtime", "engine/network", "engine/include", "engine/prove", "engine/plan", "engine/loop", "engine/lower", "engine/codegen",
               "engine/jit", "engine/cache"],
    "frontend": ["runtime", "engine/text", "engine/network", "engine/include", "engine/prove", "engine/plan", "engine/loop", "engine/lower",
                 "engine/codegen", "engine/jit", "engine/cache", "engine"],
}
# The rooms of the planner, from the lowest: each sees those before it, and the problem. Only plan.cpp and plan.h see all of them.
ROOMS = [f"engine/plan/{room}" for room in ("estimate", "schedule", "cost", "space", "search", "prove", "const", "explain")]
for folder, seen in MAY_SEE.items():
    if "engine/plan" in seen:
        seen += ROOMS
for number, room in enumerate(ROOMS):
    MAY_SEE[room] = MAY_SEE["engine/plan"] + ["engine/plan"] + ROOMS[:number]
ABOVE = {"engine/plan/plan.h": ROOMS}
# The prompt sees what the command sees, and the command itself; only main.cpp sees the prompt.
MAY_SEE["frontend/repl"] = MAY_SEE["frontend"] + ["frontend"]
BESIDES = {"frontend/main.cpp": ["frontend/repl"], "engine/plan/plan.h": ROOMS, "engine/plan/plan.cpp": ROOMS}
# Python's extension module is a host like any other: weft in C, and nothing else of ours.
MAY_SEE["python/_weft"] = []
HOSTS = {"python/_weft": ["frontend/include/weft.h"]}
TOPS = ("runtime", "engine", "frontend", "python")
# Third-party headers by the start of their name, and the folders that may include them.
THIRD_PARTY = {
    "llvm": ["engine/codegen", "engine/jit"],
    "tbb": ["runtime"],
    "oneapi": ["runtime"],
    "z3": ["engine/prove", "engine/plan/prove"],
    "xxhash.h": ["engine/cache", "engine", "runtime"],
    "fmt": [folder for folder in MAY_SEE if folder != "python/_weft"],
    "nlohmann": ["frontend"],
    "histedit.h": ["frontend/repl"],
    "CLI": ["frontend"],
    "fast_float": ["runtime"],
    "zstd.h": ["runtime"],
    "zlib.h": ["runtime", "frontend/repl"],
    "Python.h": ["python/_weft"],
}
# What a folder must not reach even through other headers.
MUST_NOT_REACH = {"engine/cache": ["llvm"], "frontend": ["llvm", "z3", "tbb", "oneapi"],
                  "frontend/repl": ["llvm", "z3", "tbb", "oneapi"]}
# Headers of the C library and the kernel that ISO C++ does not have.
SYSTEM = re.compile(r"^((sys|linux|netinet)/[a-z_]+|[a-z_0-9]+)\.h$|^[a-z_0-9]+$")
COLUMNS = 120  # of public headers
STANDARD = re.compile(r"^[a-z_0-9]+$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_of(path):
    """The longest folder of MAY_SEE that holds the (relative) path."""
    candidates = [folder for folder in MAY_SEE if path.startswith(folder + "/")]
    return max(candidates, key=len) if candidates else None


def third_party(header):
    for start in THIRD_PARTY:
        if header == start or header.startswith((start + "/", start + "-")) or start == "z3" and header.startswith("z3"):
            return start
    return None


class Sources:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.includes = {}  # relative path: list of (quoted, header)
        self.texts = {}
        for top in TOPS:
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in (".h", ".cpp"):
                    name = path.relative_to(self.root).as_posix()
                    self.texts[name] = path.read_text(encoding="utf-8")
                    self.includes[name] = [(kind == '"', header) for kind, header in INCLUDE.findall(self.texts[name])]

    def resolve(self, header):
        """The file a quoted include means: a public header or a path from the root."""
        for top in TOPS:
            name = f"{top}/include/{header}"
            if name in self.includes:
                return name
        return header if header in self.includes else None

    def reached(self, name, seen=None):
        """Every third-party header reached from a file, with the file that includes it."""
        seen = set() if seen is None else seen
        if name in seen:
            return []
        seen.add(name)
        found = []
        for quoted, header in self.includes[name]:
            if quoted:
                target = self.resolve(header)
                found += self.reached(target, seen) if target else []
            elif third_party(header):
                found.append((header, name))
        return found

    def cycle(self):
        """A list of files that include each other in a circle, or None."""
        state = {}

        def visit(name, path):
            if state.get(name) == "done":
                return None
            if name in path:
                return path[path.index(name):] + [name]
            for quoted, header in self.includes[name]:
                target = self.resolve(header) if quoted else None
                if target and (circle := visit(target, path + [name])):
                    return circle
            state[name] = "done"
            return None

        for name in self.includes:
            if circle := visit(name, []):
                return circle
        return None


def violations(root):
    sources = Sources(root)
    found = []
    if not sources.includes:
        found.append(f"{root}: no sources")
    for name, includes in sources.includes.items():
        folder = folder_of(name)
        public = "/include/weft/" in name
        if public or name.endswith("/include/weft.h"):
            for number, line in enumerate(sources.texts[name].split("\n"), 1):
                if len(line) > COLUMNS:
                    found.append(f"{name}:{number}: {len(line)} columns, more than {COLUMNS}")
        for quoted, header in includes:
            if quoted:
                target = sources.resolve(header)
                if target is None:
                    found.append(f'{name}: "{header}" is neither a public header nor a path from the root')
                    continue
                seen = folder_of(target)
                if target in HOSTS.get(folder, []):
                    continue
                if folder in ABOVE.get(target, []):
                    found.append(f"{name}: {folder} is below {header}")
                if seen != folder and seen not in MAY_SEE[folder] + BESIDES.get(name, []):
                    found.append(f"{name}: {folder} must not see {seen} ({header})")
                if public and not header.startswith("weft/"):
                    found.append(f"{name}: a public header includes {header}, which is not installed")
                continue
            owner = third_party(header)
            if owner is None and not SYSTEM.match(header):
                found.append(f"{name}: <{header}> is not a known third-party header")
            if owner is not None and folder not in THIRD_PARTY[owner]:
                found.append(f"{name}: {folder} must not use <{header}>")
            if public and not STANDARD.match(header):
                found.append(f"{name}: a public header includes <{header}>, which is not of the standard library")
            if owner == "fmt" and name.endswith(".h"):
                found.append(f"{name}: <{header}> belongs in a .cpp file")
        for header, through in sources.reached(name):
            if through != name and third_party(header) in MUST_NOT_REACH.get(folder, []):
                found.append(f"{name}: reaches <{header}> through {through}")
    if circle := sources.cycle():
        found.append("circle: " + " -> ".join(circle))
    return found


if __name__ == "__main__":
    wrong = violations(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(wrong) if wrong else "includes go one way")
    sys.exit(1 if wrong else 0)
