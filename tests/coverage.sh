#!/usr/bin/env bash
# tests/coverage.sh [TEST...]: which lines and branches of the product the tests reach (llvm-cov), a line per folder; names
# of tests as `runtime`, all of them without any. Builds in build/coverage; the lines that are not reached stand in
# build/coverage/missed.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/debian_packages.sh
# shellcheck disable=SC2086 # a list of words
install_missing $build_packages $test_packages llvm-19
directory=build/coverage
step "$directory: clang with counters"
[ -e $directory/CMakeCache.txt ] || configure $directory -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -fprofile-instr-generate -fcoverage-mapping" -DWEFT_TESTS=ON -DWEFT_BENCH=OFF \
  -DWEFT_UNIT_FLAGS=-O0
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(runtime text network prove plan loop lower codegen cache engine frontend repl durability differential fuzz)
build $directory "${tests[@]/#/test_}"
rm -f $directory/*.profraw
objects=()
for test in "${tests[@]}"; do
  step "test_$test"
  binary=$directory/bin/test_$test
  # A failing test counts what it reached; tests/run.sh is what judges.
  LLVM_PROFILE_FILE=$directory/$test-%p.profraw "$binary" >"$directory/$test.log" 2>&1 || step "test_$test failed: $directory/$test.log"
  objects+=(-object "$binary")
done
llvm-profdata-19 merge -sparse $directory/*.profraw -o $directory/all.profdata
llvm-cov-19 export -format=lcov "${objects[@]}" -instr-profile=$directory/all.profdata \
  -ignore-filename-regex='/(tests|build)/|^/usr/' >$directory/all.lcov 2>/dev/null
python3 -B - "$directory" <<'PYTHON'
import collections, os, sys
directory = sys.argv[1]
root = os.getcwd() + "/"
lines, branches, missed = (collections.defaultdict(dict) for _ in range(3))
name = None
for record in open(directory + "/all.lcov"):
    kind, _, rest = record.strip().partition(":")
    if kind == "SF":
        name = rest.removeprefix(root)
        if name.startswith("/"): name = None
    elif name and kind == "DA":
        line, count = rest.split(",")[:2]
        lines[name][line] = lines[name].get(line, 0) + int(count)
    elif name and kind == "BRDA":
        line, block, branch, count = rest.split(",")
        key = (line, block, branch)
        branches[name][key] = branches[name].get(key, 0) + (0 if count == "-" else int(count))
folders = collections.defaultdict(lambda: [0, 0, 0, 0])
with open(directory + "/missed.txt", "w") as out:
    for name in sorted(lines):
        row = folders[os.path.dirname(name).replace("/include/weft", "")]
        row[0] += sum(1 for count in lines[name].values() if count)
        row[1] += len(lines[name])
        row[2] += sum(1 for count in branches[name].values() if count)
        row[3] += len(branches[name])
        for line in sorted((int(l) for l, count in lines[name].items() if not count)):
            out.write(f"{name}:{line}: {open(name).read().splitlines()[line - 1].strip()}\n")
print(f"{'folder':<20} {'lines':>22} {'branches':>22}")
for folder, (line, of_lines, branch, of_branches) in sorted(folders.items()):
    part = lambda a, b: f"{a} of {b} {100 * a / b if b else 100:5.1f} %"
    print(f"{folder:<20} {part(line, of_lines):>22} {part(branch, of_branches):>22}")
PYTHON
