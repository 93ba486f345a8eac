#!/usr/bin/env bash
# sanitized_library.sh BUILD [PYTEST ARGUMENT...]: the tests of the package with libweft and the extension module under
# AddressSanitizer and UndefinedBehaviorSanitizer. BUILD: a sanitized build of clang's (build/asan of tests/run.sh), from whose
# archives a shared library is linked here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
place=$build/python/sanitized
mkdir -p "$place"
compiler=$(command -v clang++-19 || command -v clang++)
sanitizers=(-fsanitize=address,undefined -fno-sanitize=vptr -shared-libasan)

# What the command is linked from: our archives as a whole, then the libraries of the system.
cd "$build"
command=$(ninja -t commands bin/weft | tail -n 1)
mapfile -t linked < <(tr ' ' '\n' <<<"$command" | grep -E '^(libweft_[a-z]+\.a|-l.+|/.+\.(a|so)([.0-9]*)|-L.+|-Wl,-rpath.*)$')
archives=() libraries=()
for each in "${linked[@]}"; do
  if [[ $each == libweft_*.a ]]; then archives+=("$build/$each"); else libraries+=("$each"); fi
done
mapfile -t archives < <(printf '%s\n' "${archives[@]}" | sort -u)
"$compiler" -shared "${sanitizers[@]}" -Wl,-soname,libweft.so.0.1 -Wl,-Bsymbolic-functions -o "$place/libweft.so.0.1" \
  -Wl,--whole-archive "${archives[@]}" -Wl,--no-whole-archive "${libraries[@]}" -Wl,--exclude-libs,libLLVM
ln -sf libweft.so.0.1 "$place/libweft.so"

cd "$root"
headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
printf '%s\n' python/_weft/*.cpp | xargs -P "$(nproc)" -I{} sh -c '"$0" "$@" -c {} -o "'"$place"'/$(basename {}).o"' \
  "$compiler" -std=c++23 -O1 -g -fPIC -fvisibility=hidden -Wno-deprecated-declarations "${sanitizers[@]}" -I. -Ifrontend/include -isystem "$headers"
"$compiler" -shared "${sanitizers[@]}" -o "$place/_weft.abi3.so" "$place"/*.o -L"$place" -lweft -Wl,-rpath,"$place"

export PYTHONPATH=$root/python:$place PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc
# Python keeps much until it ends; memory that stays flat is a test of its own, without the quarantine of what was freed.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=32 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
LD_PRELOAD="$("$compiler" -print-file-name=libclang_rt.asan-x86_64.so) $("$compiler" -print-file-name=libstdc++.so.6)"
export LD_PRELOAD
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider --capture=sys --doctest-modules \
  --deselect python/tests/test_conversions.py::test_memory_stays_flat --ignore-glob='*notebook*' --ignore=python/tests/test_typing.py \
  "${@:-python}"
