#!/usr/bin/env bash
# package.sh BUILD COMPILER: makes the static library and the Debian package of a finished build, looks into both, and builds
# hosts against what the package unpacks to.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/expectations.sh"
build=$1 compiler=$2
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 0; }
done

quietly cmake --build "$build" --target weft_static
quietly cpack --config "$build/CPackConfig.cmake" -B "$place/packed"
deb=$(find "$place/packed" -maxdepth 1 -name 'weft_*.deb')
[ -n "$deb" ] || fail "cpack made no package"
# What was installed before can be uninstalled after.
if grep -qs '^/usr/bin/weft$' "$build/installed_files.txt"; then fail "cpack writes the list of what is installed"; fi
dpkg-deb -c "$deb" >"$place/content"
for path in bin/weft include/weft.h include/weft/session.h lib/libweft.so lib/libweft.a lib/cmake/weft/weft-config.cmake \
            lib/pkgconfig/weft.pc share/doc/weft/LICENSE; do
  grep -qE " \./usr/(.*/)?$path( -> .*)?$" "$place/content" || { cat "$place/content" >&2; fail "the package has no $path"; }
done
dpkg-deb -f "$deb" Depends >"$place/depends"
for needed in libtbb12 libfmt9 libzstd1 zlib1g libxxhash0 libstdc++6; do
  grep -qF "$needed" "$place/depends" || { cat "$place/depends" >&2; fail "the package does not depend on $needed"; }
done
grep -q libz3 <(dpkg-deb -f "$deb" Recommends) || fail "the package does not recommend libz3-4"

# The same without the tools that look into libraries, as after samples/quickstart.sh on a fresh system.
quietly cpack --config "$build/CPackConfig.cmake" -B "$place/bare" -D CPACK_WEFT_TOOLS=no-such-tool
bare=$(find "$place/bare" -maxdepth 1 -name 'weft_*.deb')
[ -n "$bare" ] || fail "cpack without dpkg-shlibdeps made no package"
names() { dpkg-deb -f "$1" Depends | sed 's/ ([^)]*)//g; s/, /\n/g' | sort -u; }
diff <(names "$deb") <(names "$bare") >&2 || fail "without dpkg-shlibdeps the package depends on others (< with, > without)"

dpkg-deb -x "$deb" "$place/root"
[ "$("$place/root/usr/bin/weft" --version | cut -d' ' -f1)" = weft ] || fail "the packaged command does not answer --version"
pkg_config_path "$place/root"
# shellcheck disable=SC2046 # words on purpose
cc -std=c99 "$here"/c_host*.c -o "$place/c_host" $(pkg-config --cflags --libs weft-c) || fail "building with the package"
expect_silence "$place/c_host" "$place"

# Statically: C++ through CMake, C through pkg-config. Another LLVM may be there, and ours cannot be seen.
quietly cmake -G Ninja -S "$here/static" -B "$place/cmake" -DCMAKE_PREFIX_PATH="$place/root/usr" -DCMAKE_CXX_COMPILER="$compiler"
quietly cmake --build "$place/cmake"
expect_silence "$place/cmake/host"
# shellcheck disable=SC2046
cc -std=c99 "$here"/c_host*.c -o "$place/c_static" $(pkg-config --cflags weft-c) $(pkg-config --variable=static_library weft-c) \
  $(pkg-config --variable=static_needs weft-c) || fail "linking libweft.a"
expect_silence "$place/c_static" "$place"
for host in "$place/cmake/host" "$place/c_static"; do
  if ldd "$host" | grep -E 'libweft|libLLVM' >&2; then fail "$host is not linked statically"; fi
done
library=$(find "$place/root" -name libweft.a)
nm --defined-only -g --format=posix "$library" | awk 'NF > 2 { print $1 }' | sort -u >"$place/global"
# The static library has no entry for the command.
nm -D --defined-only --format=posix "$(find "$place/root" -name 'libweft.so.*.*.*')" | cut -d' ' -f1 | grep -v '^weft_private_command$' | sort -u >"$place/exported"
diff "$place/exported" "$place/global" >&2 || fail "libweft.a and libweft.so show different symbols (< shared, > static)"
echo "packed, and linked statically"
