#!/usr/bin/env bash
# run.sh BUILD COMPILER: installs a finished build into a new directory and uses it as a host would, through CMake and
# through pkg-config; looks that nothing of LLVM can be seen from outside.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 compiler=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$place/weft" >"$place/install.log" || fail "cmake --install"
[ "$("$place/weft/bin/weft" --version | cut -d' ' -f1)" = weft ] || fail "the installed command does not answer --version"

# expect_silence COMMAND...: what runs inside a host must not print.
expect_silence() {
  "$@" >"$place/out" 2>&1 || { cat "$place/out" >&2; fail "$* ended with an error"; }
  [ ! -s "$place/out" ] || { cat "$place/out" >&2; fail "$* printed"; }
}

cmake -G Ninja -S "$here" -B "$place/cmake" -DCMAKE_PREFIX_PATH="$place/weft" -DCMAKE_CXX_COMPILER="$compiler" >"$place/cmake.log" 2>&1 ||
  { cat "$place/cmake.log" >&2; fail "find_package(weft)"; }
cmake --build "$place/cmake" >"$place/cmake.log" 2>&1 || { cat "$place/cmake.log" >&2; fail "building with CMake"; }
expect_silence "$place/cmake/host"

pc=$(dirname "$(find "$place/weft" -name weft.pc)")
# shellcheck disable=SC2046 # words on purpose
"$compiler" "$here/host.cpp" -o "$place/host" -pthread $(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs weft) ||
  fail "building with pkg-config"
expect_silence "$place/host"

library=$(find "$place/weft" -name 'libweft.so' | head -n 1)
nm -DC --defined-only "$library" >"$place/symbols"
grep -q ' weft::Session::create' "$place/symbols" || fail "libweft.so does not export weft::Session::create"
if grep -E ' (llvm::|LLVM)' "$place/symbols" | head -n 3 | grep .; then fail "libweft.so shows symbols of LLVM"; fi
echo "installed, found by CMake and by pkg-config"
