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
D, Y and H are factor matrices of rank 8. weft prints its plan: contraction tree, predicted loop nest, layouts, memory,
and the loop programs it compiles, where a tensor after "with" exists only inside that loop.

TEXT

# evaluate REPEAT OPTION...: like typing it; the report goes to the variable report.
evaluate() {
  local repeat=$1
  shift
  printf "\$ weft run '%s' T=flights2001_count.tns.zst D=... Y=... H=... --no-cache --repeat %s%s\n" "$expression" "$repeat" "${*:+ ${*@Q}}"
  report=$("$weft" run "$expression" "${operands[@]}" --no-cache --repeat "$repeat" "$@")
}
run_ms() { sed -n 's/^run \([0-9.]*\) ms.*/\1/p' <<<"$report"; }
sum() { sed -n 's/^A: .* sum \([^,]*\),.*/\1/p' <<<"$report"; }
outline() { grep -E '^(tree|run|peak memory) |^  intermediate .*B$' <<<"$report"; }

evaluate 7
printf '%s\n' "$report"
fused=$(run_ms) fused_sum=$(sum)

printf '\nFor comparison, the best plan that stores its intermediates between separate loop nests, as libraries without fusion do:\n'
evaluate 5 --unfused
outline
stored=$(run_ms) stored_sum=$(sum)

printf '\nAnd the obvious one, factor by factor, each intermediate stored:\n'
evaluate 1 --unfused --tree '(((T * H) * Y) * D)'
outline
obvious=$(run_ms) obvious_sum=$(sum)

awk -v fused="$fused" -v stored="$stored" -v obvious="$obvious" \
    -v a="$fused_sum" -v b="$stored_sum" -v c="$obvious_sum" '
  function differ(x, y) { return !((x - y) / x < 1e-9 && (y - x) / x < 1e-9) }
  BEGIN {
    if (!(fused > 0 && stored > 0 && obvious > 0)) { print "quickstart: a run time is missing" > "/dev/stderr"; exit 1 }
    if (differ(a, b) || differ(a, c)) {
      printf "quickstart: the plans disagree: sums %s, %s, %s\n", a, b, c > "/dev/stderr"; exit 1
    }
    printf "\nThe same result three times: fused %.2f ms, best with stored intermediates %.2f ms (%.2f times), factor by factor %.0f ms (%.0f times)\n",
      fused, stored, stored / fused, obvious, obvious / fused
  }'
