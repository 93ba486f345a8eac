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

# show TEXT: like typing it.
show() { printf '\n$ %s\n' "$*"; }

cat <<TEXT

T holds the number of flights by origin (o), destination (d), day (y) and hour of departure (h) in 2001.
D, Y and H are factor matrices of rank 8. The plan is one nest of loops; what lies below "with" stays in registers:
TEXT
show "weft plan '$expression' ${operands[*]}"
"$weft" plan "$expression" "${operands[@]}"

show "weft run '$expression' ... --no-cache --repeat 7"
fused=$("$weft" run "$expression" "${operands[@]}" --no-cache --repeat 7)
printf '%s\n' "$fused"

echo
echo "The best plan that stores its intermediate results between separate loop nests, as libraries without fusion do:"
show "weft run '$expression' ... --no-cache --repeat 3 --unfused"
stored=$("$weft" run "$expression" "${operands[@]}" --no-cache --repeat 3 --unfused)
printf '%s\n' "$stored"

# run_ms SUMMARY: the time that stands in "run 1.234 ms (median ...".
run_ms() { sed -n 's/^run \([0-9.]*\) ms.*/\1/p' <<<"$1"; }
sum_of() { sed -n 's/^A: .* sum \([^,]*\),.*/\1/p' <<<"$1"; }
awk -v fused="$(run_ms "$fused")" -v stored="$(run_ms "$stored")" -v a="$(sum_of "$fused")" -v b="$(sum_of "$stored")" '
  BEGIN {
    if (fused <= 0 || stored <= 0) { print "quickstart: a run time is missing" > "/dev/stderr"; exit 1 }
    difference = (a - b) / a; if (difference < 0) difference = -difference
    if (!(difference < 1e-9)) { printf "quickstart: the plans disagree: %s and %s\n", a, b > "/dev/stderr"; exit 1 }
    printf "\nfused %.2f ms, with a stored intermediate %.2f ms: fusion is %.1f times as fast, with the same result\n", fused, stored, stored / fused
  }'
