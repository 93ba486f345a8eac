#!/usr/bin/env python3
"""Shows that include_order.py finds each kind of violation, one at a time, in a small tree that has none."""

import sys

from include_order import violations
from small_tree import found_in

GOOD = {
    "runtime/include/weft/tensor.h": "#include <vector>\n",
    "runtime/host_arena.cpp": '#include <sys/mman.h>\n#include <tbb/task_arena.h>\n#include "weft/tensor.h"\n',
    "engine/include/weft/engine.h": '#include "weft/tensor.h"\n',
    "engine/network/network.h": '#include "weft/tensor.h"\n',
    "engine/plan/problem.h": '#include "engine/network/network.h"\n',
    "engine/plan/cost/cost.h": '#include "engine/plan/problem.h"\n',
    "engine/plan/search/search.h": '#include "engine/plan/cost/cost.h"\n',
    "engine/plan/plan.h": '#include "engine/plan/search/search.h"\n',
    "engine/plan/explain/explain.h": '#include "engine/plan/search/search.h"\n',
    "engine/plan/prove/solver.cpp": "#include <z3.h>\n",
    "engine/loop/program.h": '#include "engine/network/network.h"\n',
    "engine/lower/lower.h": '#include "engine/plan/plan.h"\n#include "engine/loop/program.h"\n',
    "engine/codegen/codegen.h": '#include "engine/loop/program.h"\n',
    "engine/codegen/emit.h": "#include <llvm/IR/IRBuilder.h>\n",
    "engine/jit/jit.h": '#include "engine/codegen/codegen.h"\n',
    "engine/cache/disk_cache.h": "#include <string>\n",
    "engine/engine.cpp": '#include <fmt/format.h>\n#include "weft/engine.h"\n#include "engine/jit/jit.h"\n',
    "frontend/main.cpp": '#include <CLI/CLI.hpp>\n#include "weft/engine.h"\n',
}
# file, line added to it, what must be said
BAD = [
    ("runtime/include/weft/tensor.h", '#include "engine/network/network.h"', "runtime must not see engine/network"),
    ("runtime/include/weft/tensor.h", '#include "weft/engine.h"', "runtime must not see engine"),
    ("runtime/include/weft/tensor.h", "#include <unistd.h>", "not of the standard library"),
    ("engine/include/weft/engine.h", '#include "engine/plan/plan.h"', "which is not installed"),
    ("engine/include/weft/engine.h", "#include <fmt/format.h>", "not of the standard library"),
    ("engine/plan/plan.h", '#include "engine/loop/program.h"', "engine/plan must not see engine/loop"),
    ("engine/plan/cost/cost.h", '#include "engine/plan/search/search.h"', "engine/plan/cost must not see engine/plan/search"),
    ("engine/plan/problem.h", '#include "engine/plan/cost/cost.h"', "engine/plan must not see engine/plan/cost"),
    ("engine/plan/explain/explain.h", '#include "engine/plan/plan.h"', "engine/plan/explain is below engine/plan/plan.h"),
    ("engine/plan/search/search.h", "#include <z3.h>", "engine/plan/search must not use <z3.h>"),
    ("engine/loop/program.h", '#include "engine/plan/plan.h"', "engine/loop must not see engine/plan"),
    ("engine/codegen/codegen.h", '#include "engine/plan/plan.h"', "engine/codegen must not see engine/plan"),
    ("engine/codegen/codegen.h", '#include "engine/lower/lower.h"', "engine/codegen must not see engine/lower"),
    ("engine/cache/disk_cache.h", '#  include <llvm/Support/Path.h>', "engine/cache must not use <llvm/"),
    ("engine/plan/plan.h", "#include <tbb/parallel_for.h>", "engine/plan must not use <tbb/"),
    ("frontend/main.cpp", "#include <z3++.h>", "frontend must not use <z3++.h>"),
    ("frontend/main.cpp", '#include "engine/codegen/emit.h"', "reaches <llvm/IR/IRBuilder.h> through"),
    ("frontend/main.cpp", '#include "no/such/file.h"', "neither a public header nor a path"),
    ("frontend/main.cpp", "#include <boost/any.hpp>", "not a known third-party header"),
    ("engine/jit/jit.h", "#include <fmt/format.h>", "belongs in a .cpp file"),
    ("engine/network/network.h", '#include "engine/network/network.h"', "circle: "),
    ("engine/include/weft/engine.h", "// " + "x" * 118, "121 columns"),
]


def check(files):
    return found_in(files, violations)


def main():
    failed = 0
    if found := check(GOOD):
        failed += 1
        print("the good tree is refused:", *found, sep="\n  ")
    for name, line, expected in BAD:
        found = check({**GOOD, name: GOOD[name] + line + "\n"})
        if not any(expected in text for text in found):
            failed += 1
            print(f"{name}: {line.strip()}: expected '{expected}', found {found}")
    if not check({}):
        failed += 1
        print("an empty tree is accepted")
    print(f"{len(BAD) + 2 - failed} of {len(BAD) + 2} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
