#!/usr/bin/env bash
# Installs what is missing (Debian packages), builds with GCC and with clang's sanitizers, runs all tests of both.
# The last line is "N passed, N failed"; the exit status is 0 only if nothing failed. Needs no argument.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/debian_packages.sh

# Whatever goes wrong before the tests, the last line keeps its form.
stopped() { echo "0 passed, 1 failed"; exit 1; }

gcc=g++
command -v g++-12 >/dev/null && gcc=g++-12
# shellcheck disable=SC2086 # a list of words
install_missing $build_packages $test_packages || stopped
[ -n "${WEFT_DATA:-}" ] || step "WEFT_DATA is not set: tests on downloaded tensors are skipped"

# A test that hangs is killed and fails. The sanitizers slow some tests down tenfold.
seconds_per_test=600
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
results=()

# run_tests DIRECTORY: a failing test does not stop the script; summary.py counts.
run_tests() {
  local directory=$1
  step "$directory: running the tests"
  results+=("$directory/tests.xml")
  rm -f "$directory/tests.xml"
  ctest --test-dir "$directory" --parallel "$(nproc)" --timeout "$seconds_per_test" --output-junit "$PWD/$directory/tests.xml" \
    --test-output-size-passed 1000000 --test-output-size-failed 1000000 >"$directory/tests.log" 2>&1 || true
}

step "build: GCC, release"
configure build -DCMAKE_CXX_COMPILER="${CXX:-$gcc}" -DCMAKE_BUILD_TYPE=Release -DWEFT_TESTS=ON -DWEFT_UNIT_FLAGS=-O0 || stopped
build build all || stopped
run_tests build

step "build/asan: clang, AddressSanitizer and UndefinedBehaviorSanitizer"
# Assertions stay on; -O1 halves the time to compile. Nothing is measured under sanitizers: no benchmarks.
configure build/asan -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DWEFT_SANITIZE=address -DWEFT_TESTS=ON -DWEFT_BENCH=OFF -DWEFT_UNIT_FLAGS=-O0 || stopped
build build/asan all || stopped
run_tests build/asan

step "done"
exec python3 tests/summary.py "${results[@]}"
