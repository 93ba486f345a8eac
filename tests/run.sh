#!/usr/bin/env bash
# run.sh [--long] [FOLDER...]: installs what is missing (Debian packages), builds, runs the tests.
#
# Without an argument: everything with GCC, and with clang's AddressSanitizer and UndefinedBehaviorSanitizer a third of the folders, by turns;
# of what is drawn at random a share that the commit chooses.
# FOLDER (runtime, engine/plan or plan, frontend, command, embedding, …): the tests of these folders alone, with GCC.
# --long: all of what is drawn, everything sanitized too, a build in which small numbers are too wide for 32 bits, and one in
# which every file is compiled by itself.
# The last line is "N passed, N failed"; the exit status is 0 only if nothing failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/debian_packages.sh

# Whatever goes wrong before the tests, the last line keeps its form.
stopped() { echo "0 passed, 1 failed"; exit 1; }

folders=()
for argument in "$@"; do
  case $argument in
    --long) export WEFT_LONG=1 ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' tests/run.sh; exit 0 ;;
    -*) echo "run.sh: $argument is no option; --help tells which there are" >&2; exit 2 ;;
    *)
      folder=$(basename "$argument")
      if ! [ -d "tests/unit/$folder" ] && ! [[ $folder =~ ^(command|embedding|package|include_order|fuzz|python|python_package|python_sanitized)$ ]]; then
        echo "run.sh: $argument has no tests: $(cd tests/unit && echo */ | tr -d /) command embedding package include_order fuzz python python_package python_sanitized" >&2
        exit 2
      fi
      folders+=("$folder")
      ;;
  esac
done

gcc=g++
command -v g++-12 >/dev/null && gcc=g++-12
# shellcheck disable=SC2086 # a list of words
install_missing $build_packages $test_packages || stopped
[ -n "${WEFT_DATA:-}" ] || step "WEFT_DATA is not set: tests on downloaded tensors are skipped"

# What the commit draws; another number for what is not committed yet is not needed.
: "${WEFT_DRAW:=$((16#$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0)))}"
export WEFT_DRAW
step "WEFT_DRAW=$WEFT_DRAW repeats what this run draws"

# A test that hangs is killed and fails. The sanitizers slow some tests down tenfold.
seconds_per_test=600
[ -z "${WEFT_LONG:-}" ] || seconds_per_test=3600
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"

# run_tests DIRECTORY [CTEST OPTION...]: a failing test does not stop the script; summary.py counts.
run_tests() {
  local directory=$1
  shift
  step "$directory: running the tests"
  rm -f "$directory/tests.xml"
  ctest --test-dir "$directory" --parallel "$(nproc)" --timeout "$seconds_per_test" --output-junit "$PWD/$directory/tests.xml" \
    --test-output-size-passed 1000000 --test-output-size-failed 1000000 "$@" >"$directory/tests.log" 2>&1 || true
}

# Most of a test's time is LLVM's and the kernels', so weft itself is compiled with -O1, in a folder of its own: build/ stays
# what is used and measured. Preconditions of the standard library are checked (an element beyond a vector's end), whichever folders are
# sanitized. The unit tests are compiled by clang, which takes three fifths of GCC's time for them; by GCC in the last stage of the
# long run.
gcc_build=build/gcc
release=(-DCMAKE_CXX_COMPILER="${CXX:-$gcc}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -D_GLIBCXX_ASSERTIONS"
  -DWEFT_TESTS=ON -DWEFT_UNIT_FLAGS=-O0 -DWEFT_BENCH_FLAGS=-O0)
unit_clang=(-DWEFT_UNIT_CLANG="$(command -v clang++-19 || true)")

if [ ${#folders[@]} -gt 0 ]; then
  targets=()
  pattern=
  for folder in "${folders[@]}"; do
    case $folder in
      command) targets+=(weft) ;;
      embedding | package) targets+=(all) ;;
      python | python_package | python_sanitized) targets+=(weft_python) ;;
      include_order) ;;
      *) targets+=("test_$folder") ;;
    esac
    pattern+="|^$folder(_test)?$"
    [ "$folder" = differential ] && pattern+='|^random_networks$'
  done
  configure "$gcc_build" "${release[@]}" "${unit_clang[@]}" || stopped
  [ ${#targets[@]} -eq 0 ] || build "$gcc_build" "${targets[@]}" || stopped
  run_tests "$gcc_build" --tests-regex "${pattern#|}"
  exec python3 tests/summary.py "$gcc_build/tests.xml"
fi

step "$gcc_build: GCC"
configure "$gcc_build" "${release[@]}" "${unit_clang[@]}" || stopped
if [ -n "${WEFT_LONG:-}" ]; then
  build "$gcc_build" all test_fuzz || stopped
  left_out=()
else
  build "$gcc_build" all || stopped
  left_out=(--exclude-regex '^fuzz$')
fi

# One third of the product is sanitized, which the commit chooses by bits that choose nothing else; the other folders and the oracles are
# those of the first build. It is compiled while the tests of that build run. The command and the inputs of the fuzz targets, networks
# among them, go through all of it; unit tests are run of the folders that read files and arrays, own memory, generate code, or run it.
case $(((WEFT_DRAW >> 20) % 3)) in
  0) checked=(runtime) tested=(runtime) ;;
  1) checked=(text network loop lower codegen jit) tested=(loop codegen) ;;
  2) checked=(prove plan cache engine frontend repl) tested=(cache durability engine frontend) ;;
esac
targets=(weft)
pattern='^command$'
for folder in fuzz "${tested[@]}"; do
  targets+=("test_$folder")
  pattern+="|^$folder$"
done
in_part=(-DWEFT_SANITIZED_FOLDERS="$(IFS=';' && echo "${checked[*]}")" -DWEFT_PLAIN_BUILD="$PWD/$gcc_build")
if [ -n "${WEFT_LONG:-}" ]; then
  targets=(all)
  pattern=.
  in_part=(-DWEFT_SANITIZED_FOLDERS= -DWEFT_PLAIN_BUILD=)
fi
# Assertions stay on. In the long run readers and the interpreter are compiled with -O1: with -O0 their tests would take three times what
# compiling them saves. Nothing is measured under sanitizers: no benchmarks.
sanitized() {
  renice -n 3 "$BASHPID" >/dev/null
  step "build/asan: clang, AddressSanitizer and UndefinedBehaviorSanitizer"
  configure build/asan -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DWEFT_SANITIZE=address -DWEFT_TESTS=ON -DWEFT_BENCH=OFF \
    -DWEFT_UNIT_FLAGS=-O0 -DWEFT_BRIEF_FLAGS=-O0 "${in_part[@]}" || return
  build build/asan "${targets[@]}" || return
  run_tests build/asan --tests-regex "$pattern"
}
sanitized &
sanitized=$!
run_tests "$gcc_build" "${left_out[@]}"
wait "$sanitized" || stopped

results=("$gcc_build" build/asan)
if [ -n "${WEFT_LONG:-}" ]; then
  results+=(build/narrow)
  step "build/narrow: GCC, numbers above 7 need arrays of 64 bits"
  configure build/narrow "${release[@]}" "${unit_clang[@]}" -DWEFT_BENCH=OFF -DWEFT_NARROW_BITS=3 || stopped
  build build/narrow test_differential || stopped
  run_tests build/narrow --tests-regex '^(differential|random_networks)$'
  step "build/alone: GCC, every file by itself"
  configure build/alone "${release[@]}" -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DWEFT_UNITY=OFF -DWEFT_PRECOMPILE=OFF || stopped
  build build/alone all || stopped
fi

step "done"
exec python3 tests/summary.py "${results[@]/%//tests.xml}"
