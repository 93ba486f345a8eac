#!/usr/bin/env bash
# run.sh BUILD [PYTEST OPTION...]: the package of the sources, over the extension module of a build folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
export PYTHONPATH=$root/python:$build/python PYTHONDONTWRITEBYTECODE=1
cd "$root"
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider --doctest-modules "${@:-python}"
