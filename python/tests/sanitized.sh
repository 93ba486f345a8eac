#!/usr/bin/env bash
# sanitized.sh BUILD [PYTEST ARGUMENT...]: the tests of the package with the extension module under AddressSanitizer and
# UndefinedBehaviorSanitizer, in tests/run.sh --long. libweft is that of the build folder: its own tests sanitize it.
set -euo pipefail
if [ -z "${WEFT_LONG:-}" ]; then
  echo "skipped: the extension module is sanitized by tests/run.sh --long"
  exit 0
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
place=$build/python/sanitized
mkdir -p "$place"
cd "$root"
compiler=$(command -v g++-12 || command -v g++)
flags=(-std=c++23 -O1 -g -fPIC -fvisibility=hidden -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined)
headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
printf '%s\n' python/_weft/*.cpp | xargs -P "$(nproc)" -I{} sh -c \
  '"$0" "$@" -c {} -o "'"$place"'/$(basename {}).o"' "$compiler" "${flags[@]}" -I. -Ifrontend/include -isystem "$headers"
"$compiler" -shared -fsanitize=address,undefined -o "$place/_weft.abi3.so" "$place"/*.o -L"$build/lib" -lweft -Wl,-rpath,"$build/lib"
export PYTHONPATH=$root/python:$place PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc
# Python keeps much until it ends; memory that stays flat is a test of its own, without the sanitizer's quarantine.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=32
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
export LD_PRELOAD
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider --capture=sys --doctest-modules \
  --deselect python/tests/test_conversions.py::test_memory_stays_flat --ignore-glob='*notebook*' --ignore=python/tests/test_typing.py \
  "${@:-python}"
