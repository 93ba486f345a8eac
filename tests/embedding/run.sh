#!/usr/bin/env bash
# run.sh BUILD COMPILER: installs a finished build into a new directory and uses it as hosts would: through CMake and through
# pkg-config, from C++, C, Python and Fortran, without exceptions, as a plugin, beside other LLVMs, after fork, ending while it compiles; looks that nothing but
# weft's API can be seen from outside.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/expectations.sh"
build=$1 compiler=$2

# Twice, and below a name with a blank; the manifest is for later, when another installation may have written its own.
for prefix in "$place/a place" "$place/weft" "$place/weft"; do
  cmake --install "$build" --prefix "$prefix" >"$place/log" || fail "cmake --install"
  [ "$("$prefix/bin/weft" --version | cut -d' ' -f1)" = weft ] || fail "the installed command does not answer --version"
done
cp "$build/installed_files.txt" "$place/manifest"
[ "$(du -sm --exclude=libweft.a "$place/weft" | cut -f1)" -lt 45 ] || fail "the installation is larger than 45 MB"
pkg_config_path "$place/weft"
library=$(find "$place/weft" -name 'libweft.so' | head -n 1)
header=$place/weft/include/weft.h

# Through CMake: hosts in C++ and in C, and the samples.
quietly cmake -G Ninja -S "$here" -B "$place/cmake" -DCMAKE_PREFIX_PATH="$place/weft" -DCMAKE_CXX_COMPILER="$compiler"
quietly cmake --build "$place/cmake"
mkdir "$place/cache"
expect_silence "$place/cmake/host"
expect_silence "$place/cmake/kept_names"
expect_silence "$place/cmake/every_function"
expect_silence "$place/cmake/no_exceptions"
expect_silence "$place/cmake/c_host" "$place/cache"
for how in thread tbb openmp; do
  case $how in
    tbb) grep -q '^TBB_DIR:.*/' "$place/cmake/CMakeCache.txt" || { echo "skipped: no headers of TBB"; continue; } ;;
    openmp) grep -q '^OpenMP_CXX_FLAGS:STRING=-' "$place/cmake/CMakeCache.txt" || { echo "skipped: the compiler has no OpenMP"; continue; } ;;
  esac
  expect_silence "$place/cmake/host_threads" "$how"
done
expect_silence "$place/cmake/side_by_side"
expect_silence "$place/cmake/fork"
expect_silence "$place/cmake/exits"
expect_silence "$place/cmake/plugin_host" "$place/cmake/libplugin.so"
"$place/cmake/hello" >"$place/out" || fail "samples/hello.cpp"
[ "$(cat "$place/out")" = $'2001\n0\n430' ] || { cat "$place/out" >&2; fail "samples/hello.cpp computes something else"; }
"$place/cmake/embed" >"$place/out" || fail "samples/embed.cpp"
printf '%s\n' 'A(2,1) = 190' 'A(2,1) = 1160' >"$place/expected"
head -n 2 "$place/out" | cmp -s - "$place/expected" || { cat "$place/out" >&2; fail "samples/embed.cpp computes something else"; }
grep -q '^refused: M: .*coordinate 5 .*extent 5' "$place/out" || { cat "$place/out" >&2; fail "samples/embed.cpp does not see the mistake"; }
"$place/cmake/specialize" >"$place/out" || fail "samples/specialize.cpp"
[ "$(wc -l <"$place/out")" = 4 ] || { cat "$place/out" >&2; fail "samples/specialize.cpp does not show three patterns"; }
"$place/cmake/bfs" >"$place/out" || fail "samples/bfs.cpp"
[ "$(cat "$place/out")" = "12 levels, 20000 of 20000 vertices" ] || { cat "$place/out" >&2; fail "samples/bfs.cpp computes something else"; }
"$place/cmake/async" >"$place/out" 2>/dev/null || fail "samples/async.cpp"
[ "$(grep -c '^A is 300x16' "$place/out")" = 3 ] || { cat "$place/out" >&2; fail "samples/async.cpp computes something else"; }
"$place/cmake/c_api" >"$place/out" || fail "samples/c_api.c"
[ "$(head -n 2 "$place/out")" = $'2001 0 430\n4002 0 860' ] || { cat "$place/out" >&2; fail "samples/c_api.c computes something else"; }
"$place/cmake/completion" >"$place/out" || fail "samples/completion.cpp"
grep -qE '^2400 entries held out, relative error [0-9.]+e-' "$place/out" || { cat "$place/out" >&2; fail "samples/completion.cpp finds something else"; }
python3 -B "$here/cp_als_test.py" "$place/cmake/cp_als" "$place" || fail "samples/cp_als.cpp"

# Other LLVMs in the process, loaded before and after, also by the loader itself.
others=()
for version in 14 22; do
  found=$(ls /usr/lib/llvm-$version/lib/libLLVM-$version.so.1 /usr/lib/llvm-$version/lib/libLLVM.so.$version.* \
    "${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/*/lib/libLLVM.so.$version.* 2>/dev/null | head -n 1) || true
  if [ -n "$found" ]; then others+=("$found"); else echo "skipped: LLVM $version is not installed"; fi
done
if [ ${#others[@]} -gt 0 ]; then
  expect_silence "$place/cmake/other_llvm" before "$place/cmake/libplugin.so" "${others[@]}"
  expect_silence "$place/cmake/other_llvm" after "$place/cmake/libplugin.so" "${others[@]}"
  expect_silence env LD_PRELOAD="${others[0]}" "$place/cmake/c_host" "$place/cache"
fi

# Through pkg-config, as C++23 and as C99.
# shellcheck disable=SC2046 # words on purpose
"$compiler" "$here/host.cpp" -o "$place/host" -pthread $(pkg-config --cflags --libs weft) || fail "building with pkg-config"
expect_silence "$place/host"
# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -pedantic -Werror "$here"/c_host*.c -o "$place/c_host" $(pkg-config --cflags --libs weft-c) || fail "building C with pkg-config"
expect_silence "$place/c_host" "$place/cache"

expect_silence python3 -B "$here/ctypes_host.py" "$library" "$header" "$place"
if command -v gfortran >/dev/null; then
  # shellcheck disable=SC2046
  quietly gfortran -ffree-line-length-140 "$here/fortran_host.f90" -o "$place/fortran_host" $(pkg-config --libs weft-c)
  expect_silence "$place/fortran_host"
else
  echo "skipped: gfortran is not installed"
fi

# The symbols of the API, and no others.
nm -DC --defined-only "$library" >"$place/symbols"
grep -q ' weft::Session::create' "$place/symbols" || fail "libweft.so does not export weft::Session::create"
if grep -vE '^[0-9a-f]+ [A-Z] (weft::|weft_[a-z_]+$)' "$place/symbols" | head -n 5 | grep .; then fail "libweft.so shows symbols that are not weft's"; fi
grep -oE '\bweft_[a-z0-9_]+\(' "$header" | tr -d '(' | sort -u >"$place/declared"
# The command's own entry is in no header.
grep -oE ' weft_[a-z0-9_]+$' "$place/symbols" | tr -d ' ' | grep -v '^weft_private_command$' | sort -u >"$place/exported"
diff "$place/declared" "$place/exported" >&2 || fail "weft.h does not declare what libweft.so exports (< declared, > exported)"
# Installed headers name nothing that is not installed, and tell a host in C++20 in one sentence what they need.
(cd "$place/weft/include" && grep -rnE '[a-z_0-9/]+\.(h|cpp|md)\b' . | grep -v '#include <' | grep -oE '^[^:]*:[0-9]+:|[a-z_0-9/]+\.(h|cpp|md)\b' |
  awk '/:$/ { place = $0; next } { print place $0 }') | while IFS=: read -r file line name; do
  [ -e "$place/weft/include/$name" ] || [ -e "$place/weft/include/weft/$name" ] || fail "$file:$line names $name, which is not installed"
done
echo '#include <weft/session.h>' >"$place/old.cpp"
"$compiler" -std=c++20 -I"$place/weft/include" -c "$place/old.cpp" -o "$place/old.o" 2>"$place/log" && fail "a host in C++20 compiles"
grep -q "error: #\?error.*headers need C++23" "$place/log" && [ "$(grep -c 'error:' "$place/log")" = 2 ] || { cat "$place/log" >&2; fail "what a host in C++20 is told"; }

# What is missing says how to get it.
for how in 'find_package(weft REQUIRED COMPONENTS static)' \
           $'find_package(weft REQUIRED)\nadd_executable(host host.c)\ntarget_link_libraries(host weft::weft-static)'; do
  rm -rf "$place/static"
  mkdir "$place/static"
  echo 'int main(void) { return 0; }' >"$place/static/host.c"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(host LANGUAGES C)\n%s\n' "$how" >"$place/static/CMakeLists.txt"
  [ -e "$place/weft/lib/libweft.a" ] || [ -e "$(dirname "$library")/libweft.a" ] && continue
  cmake -S "$place/static" -B "$place/static/build" -DCMAKE_PREFIX_PATH="$place/weft" >"$place/log" 2>&1 && fail "linking libweft.a that is not there"
  tr -s ' \n' ' ' <"$place/log" | grep -q 'libweft.a is not installed: build the target weft_static' || { cat "$place/log" >&2; fail "what a host is told that links libweft.a"; }
done

# Uninstalling leaves what others put there.
touch "$place/weft/include/weft/foreign.h"
cmake -DMANIFEST="$place/manifest" -P "$here/../../cmake/uninstall.cmake" >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "uninstalling"; }
left=$(cd "$place/weft" && find . ! -type d)
[ "$left" = ./include/weft/foreign.h ] || { echo "$left" >&2; fail "uninstalling leaves other files"; }
if find "$place/weft/" -type d -path '*/weft' | grep -v include; then fail "uninstalling leaves directories"; fi
cmake -DMANIFEST="$place/manifest" -P "$here/../../cmake/uninstall.cmake" 2>&1 | grep -q "nothing is installed" || fail "uninstalling twice"
echo "installed, and used from C++, C and Python"
