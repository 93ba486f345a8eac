#!/usr/bin/env bash
# From nothing to a fused, compiled kernel over real data: installs what is missing (Debian packages), builds, and
# evaluates a matricised tensor times Khatri-Rao product (MTTKRP), the core of CP decomposition, over three million
# flights. Safe to repeat; needs no argument.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/debian_packages.sh

# shellcheck disable=SC2086 # a list of words
install_missing $build_packages
tests=()
[ -e build/CMakeCache.txt ] || tests=(-DWEFT_TESTS=OFF)
step "configuring build"
configure build -DCMAKE_BUILD_TYPE=Release "${tests[@]}"
step "building build/bin/weft and build/bin/weft-bench"
build build weft weft-bench
step "built"

weft=build/bin/weft
expression='A(o,r) = T(o,d,y,h) * D(d,r) * Y(y,r) * H(h,r)'
operands=(T=samples/data/flights2001_count.tns.zst 'D=uniform(229x8,seed=1)' 'Y=uniform(182x8,seed=2)' 'H=uniform(24x8,seed=3)')

cat <<TEXT

T holds the number of flights by origin (o), destination (d), day (y) and hour of departure (h), January to June 2001.
D, Y and H are factor matrices of rank 8.

TEXT

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
# evaluate NAME REPEAT OPTION...: like typing it; the report goes to a file of that name.
evaluate() {
  local name=$1 repeat=$2
  shift 2
  printf "\$ weft run '%s' T=flights2001_count.tns.zst D=... Y=... H=... --no-cache --repeat %s%s\n" "$expression" "$repeat" "${*:+ ${*@Q}}"
  "$weft" run "$expression" "${operands[@]}" --no-cache --repeat "$repeat" --json="$reports/$name" "$@"
}
# number NAME FIELD: of a report, whose JSON stands on one line.
number() { grep -o "\"$2\":[-+.0-9eE]*" "$reports/$1" | tail -n 1 | cut -d: -f2; }
# fastest NAME: the least of the times of its runs, in milliseconds: what else the machine does only adds to them.
fastest() { grep -o '"run_ms":\[[^]]*' "$reports/$1" | cut -d[ -f2 | tr , '\n' | sort -g | head -n 1; }

evaluate fused 20
evaluate stored 20 --unfused
evaluate obvious 2 --unfused --tree '(((T * H) * Y) * D)'

awk -v fused="$(fastest fused)" -v stored="$(fastest stored)" -v obvious="$(fastest obvious)" -v threads="$(number fused threads)" \
    -v a="$(number fused norm)" -v b="$(number stored norm)" -v c="$(number obvious norm)" '
  function differ(x, y) { return !((x - y) / x < 1e-9 && (y - x) / x < 1e-9) }
  BEGIN {
    if (!(fused > 0 && stored > 0 && obvious > 0)) { print "quickstart: a run time is missing" > "/dev/stderr"; exit 1 }
    if (differ(a, b) || differ(a, c)) {
      printf "quickstart: the plans disagree: norms %s, %s, %s\n", a, b, c > "/dev/stderr"; exit 1
    }
    printf "\nA(o,r), the matricised tensor times the Khatri-Rao product of three factors, with the same result (norm %.6g), the fastest runs on %d thread%s:\n",
      a, threads, threads == 1 ? "" : "s"
    printf "  %8.2f ms  as weft plans it: one fused loop nest, no intermediate stored\n", fused
    printf "  %8.2f ms  the best plan that stores its intermediates, as libraries without fusion do (%.2f times)\n", stored, stored / fused
    printf "  %8.2f ms  factor by factor, each intermediate stored (%.0f times)\n", obvious, obvious / fused
  }'

cat <<TEXT

Next:
  build/bin/weft 'odyh->h' samples/data/flights2001_count.tns.zst                       # flights by hour: the answer, and a line of times
  build/bin/weft plan 'odyh,dr,yr->or' samples/data/flights2001_count.tns.zst 'ones(229x4)' 'ones(182x4)'    # a plan, and why
  build/bin/weft repl                                                                   # a prompt; :help tells what can be said

With a FILE of yours (.tns, .mtx, .npy or .npz, each also .gz or .zst) of I x J x K:
  build/bin/weft info FILE                                                              # I, J, K, and how full it is
  build/bin/weft 'A(i,r) = T(i,j,k) * B(j,r) * C(k,r)' T=FILE 'B=uniform(Jx16)' 'C=uniform(Kx16)' -o A.npy    # its MTTKRP
TEXT
