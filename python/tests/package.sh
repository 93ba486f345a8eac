#!/usr/bin/env bash
# package.sh BUILD: wheels, the source archive and the editable installation that the backend makes from a finished build folder,
# installed into fresh environments without a network, and used there when the checkout cannot be seen.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath --relative-to="$root" "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "package.sh: $*" >&2; exit 1; }
quietly() { "$@" >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "failed: $*"; }; }
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH

cat >"$place/use.py" <<'PYTHON'
import os
import sys

import numpy as np
import weft

home = os.path.realpath(sys.argv[1])
assert os.path.realpath(weft.__file__).startswith(home), weft.__file__
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split()[-1] for line in maps if "libweft" in line})
assert len(loaded) == 1 and loaded[0].startswith(home), loaded
x = np.arange(5.0)
assert weft.einsum("i,i", x, x) == 30
assert weft.plan("s = x(i) * x(i)", x=x, prove=True).report["plan"]["optimal"] in ("all", "tree")
PYTHON

# environment NAME: one that sees Debian's numpy, and Debian's pip: one of its own takes 3 s to make.
environment() { quietly /usr/bin/python3 -m venv --without-pip --system-site-packages "$place/$1"; }
use() { (cd / && "$place/$1/bin/python" "$place/use.py" "${2:-$place/$1}") || fail "$1: the installed package does not work"; }

# pip builds from the checkout, quietly; under -v what it does is shown.
environment wheel
environment tools
pip=("$place/tools/bin/python" -m pip)
quietly "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$place/wheels" --config-settings=build="$build" "$root"
grep -q 'cmake' "$place/log" && fail "pip wheel is not quiet"
wheel=$(echo "$place"/wheels/weft-*.whl)
[[ $wheel == *-cp311-abi3-linux_*.whl ]] || fail "the wheel is called $wheel"
quietly "$place/wheel/bin/python" -m pip install "$wheel"
use wheel
quietly "$place/wheel/bin/python" -m pip uninstall -y weft

# With what libweft needs of the system: the loader takes those libraries, not the system's.
quietly "${pip[@]}" wheel -v --no-deps --wheel-dir "$place/bundled" --config-settings=build="$build" --config-settings=bundle=1 "$root"
grep -q 'cmake' "$place/log" || fail "pip wheel -v does not show what it does"
environment bundled
quietly "$place/bundled/bin/python" -m pip install "$place"/bundled/weft-*.whl
use bundled
(cd / && "$place/bundled/bin/python" - "$place/bundled" <<'PYTHON') || fail "the bundled libraries are not those that are used"
import os, sys, numpy as np, weft
weft.plan("s = x(i) * x(i)", x=np.ones(3), prove=True)
with open("/proc/self/maps") as maps:
    used = {line.split()[-1] for line in maps if ".so" in line}
home = os.path.realpath(sys.argv[1])
for name in ("libtbb.so", "libfmt.so", "libzstd.so", "libxxhash.so"):
    found = [path for path in used if os.path.basename(path).startswith(name)]
    assert found and all(path.startswith(home) for path in found), (name, found)
assert all(path.startswith(home) for path in used if "libz3" in path), used
PYTHON

# The sources, packed, make the same wheel: packed and unpacked here; tests/run.sh --long builds it from nothing.
quietly "$place/tools/bin/python" -c "
import sys
sys.path.insert(0, '$root/python/build')
import backend
print(backend.build_sdist('$place'))"
tar -xzf "$place"/weft-*.tar.gz -C "$place"
unpacked=$(echo "$place"/weft-*/)
for needed in pyproject.toml PKG-INFO CMakeLists.txt python/_weft/module.cpp python/weft/py.typed engine runtime frontend/include/weft.h; do
  [ -e "$unpacked/$needed" ] || fail "the source archive lacks $needed"
done
if [ -n "${WEFT_LONG:-}" ]; then
  environment source
  quietly "$place/source/bin/python" -m pip install "$place"/weft-*.tar.gz
  use source
fi

# Editable: the sources of the checkout.
environment editable
quietly "$place/editable/bin/python" -m pip install -e "$root" --config-settings=build="$build"
(cd / && "$place/editable/bin/python" -c "
import numpy as np, weft
assert weft.__file__ == '$root/python/weft/__init__.py', weft.__file__
assert weft.einsum('i->', np.ones(3)) == 3") || fail "the editable installation does not work"
echo "wheel, bundled wheel, source archive and editable installation work"
