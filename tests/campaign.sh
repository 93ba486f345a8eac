#!/usr/bin/env bash
# tests/campaign.sh MINUTES [PART...]: looks for defects for that long, at low priority beside other work. Builds what it
# needs first, which takes its own time. Parts (all of them without any), by their share of the minutes:
#
#   fuzz      6  the targets of tests/fuzz in turn: libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer
#   networks  4  random networks of seeds that no run had before, against the oracle, without sanitizers
#   threads   1  the same with ThreadSanitizer
#   faults    1  every byte of a cache damaged, power loss and system calls that fail; limits of memory and of threads
#
# Ends with a summary that says how to repeat each finding, appends a line to the ledger in docs/reliability.md, and exits
# with 1 if there is a finding. WEFT_JOBS processes at a time (all processors); WEFT_DATA as for tests/run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/debian_packages.sh
minutes=${1:?tests/campaign.sh MINUTES [fuzz] [networks] [threads] [faults]}
shift
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(fuzz networks threads faults)
jobs=${WEFT_JOBS:-$(nproc)}
renice -n 15 -p $$ >/dev/null || true
# Where Linux schedules sessions in groups, nice counts within a session only: the session of this script steps back as a whole.
group=/proc/self/autogroup
had=$(sed -n 's/.* nice //p' $group 2>/dev/null || true)
if [ -n "$had" ]; then echo 19 2>/dev/null >$group || true; fi
if command -v ionice >/dev/null; then ionice -c 3 -p $$ || true; fi

export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
export TSAN_OPTIONS="halt_on_error=1"
export campaign=$PWD/build/campaign
export findings=$campaign/findings-$(date +%Y%m%d-%H%M%S)
mkdir -p "$findings" "$campaign/corpus"
tally=$(mktemp -d)
export tally
trap 'rm -rf "$tally"; if [ -n "$had" ]; then echo "$had" 2>/dev/null >$group || true; fi' EXIT

declare -A share=([fuzz]=6 [networks]=4 [threads]=1 [faults]=1)
whole=0
for part in "${parts[@]}"; do
  [ -n "${share[$part]:-}" ] || { echo "no part is named $part" >&2; exit 2; }
  whole=$((whole + share[$part]))
done
seconds_of() { echo $((60 * minutes * share[$1] / whole)); }
has_part() { local part; for part in "${parts[@]}"; do [ "$part" = "$1" ] && return 0; done; return 1; }

# Precompiled headers save clang nothing.
sanitized="-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=RelWithDebInfo
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DWEFT_TESTS=ON -DWEFT_PRECOMPILE=OFF -DWEFT_BENCH=OFF -DWEFT_UNIT_FLAGS=-O0"
# shellcheck disable=SC2086 # lists of words
prepare() {
  # git says which commit it was.
  install_missing $build_packages $test_packages git
  if has_part fuzz; then
    step "build/fuzz: libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer"
    [ -e build/fuzz/CMakeCache.txt ] || configure build/fuzz $sanitized -DWEFT_SANITIZE=address -DWEFT_FUZZ=ON
    build build/fuzz fuzz
  fi
  if has_part networks || has_part faults; then
    step "build: without sanitizers"
    [ -e build/CMakeCache.txt ] || configure build -DCMAKE_BUILD_TYPE=Release -DWEFT_TESTS=ON -DWEFT_UNIT_FLAGS=-O0
    if has_part networks; then build build test_differential; fi
    if has_part faults; then
      build build test_durability test_cache weft
      if has_target test_memory; then build build test_memory; fi
    fi
  fi
  if has_part threads; then
    step "build/thread: ThreadSanitizer"
    [ -e build/thread/CMakeCache.txt ] || configure build/thread $sanitized -DWEFT_SANITIZE=thread
    build build/thread test_differential
  fi
}

# has_target NAME: of the build without sanitizers.
has_target() { ninja -C build -t query "$1" >/dev/null 2>&1; }

# add NAME NUMBER: to what all processes count together.
add() { echo "$2" >>"$tally/$1"; }
total() { { cat "$tally/$1" 2>/dev/null || true; } | awk '{ sum += $1 } END { printf "%d", sum }'; }
# found TEXT: a finding and how to repeat it.
found() { printf '%s\n' "$1" >>"$tally/findings"; }
export -f add found

# fuzz_target NAME SECONDS: goes on after a finding, to three of them.
fuzz_target() {
  local target=$1 log=$findings/$1.log left=$2 begin=$SECONDS count=0 options=()
  mkdir -p "$campaign/corpus/$target"
  [ -e "tests/fuzz/dictionaries/$target.dict" ] && options+=("-dict=tests/fuzz/dictionaries/$target.dict")
  while [ "$left" -gt 0 ] && [ "$count" -lt 3 ]; do
    : >"$log.part"
    if ! { TIMEFORMAT='cpu %U'; time WEFT_FUZZ_TARGET=$target build/fuzz/bin/fuzz -max_total_time="$left" -timeout=120 -rss_limit_mb=3000 \
        -print_final_stats=1 -artifact_prefix="$findings/$target-" "${options[@]}" "$campaign/corpus/$target" \
        "tests/fuzz/corpus/$target"; } >>"$log.part" 2>&1; then
      count=$((count + 1))
      local artifact
      artifact=$(grep -o "Test unit written to .*" "$log.part" | tail -n 1 | sed 's/Test unit written to //')
      found "$target: $(grep -m 1 -E 'finding: |ERROR: |runtime error: |SUMMARY: ' "$log.part" | head -c 300)
    build/fuzz or any build: bin/test_fuzz $target ${artifact:-(no input written, see $log)}"
    fi
    add inputs "$(grep -o 'stat::number_of_executed_units: .*' "$log.part" | tail -n 1 | awk '{ print $2 + 0 }')"
    add cpu "$(grep -o '^cpu [0-9.]*' "$log.part" | tail -n 1 | awk '{ print $2 + 0 }')"
    cat "$log.part" >>"$log"
    left=$(($2 - SECONDS + begin))
  done
  rm -f "$log.part"
}

# draw_networks BINARY SECONDS LANE: tests that each draw networks of their own from every seed.
draw_networks() {
  local binary=$1 begin=$SECONDS seed=$((($(date +%s) * 64 + $3) * 100000)) count=25
  local cases='--test-case=*compiled and run*,*rebound*,*bound to operands*,*run over others*,*between runs*'
  local log=$findings/networks-$seed.log tests
  tests=$("$binary" --count "$cases" | sed -n 's/.*current filters: //p')
  while [ $((SECONDS - begin)) -lt "$2" ]; do
    if WEFT_SEED=$seed WEFT_COUNT=$count "$binary" "$cases" >"$log" 2>&1; then
      rm -f "$log"
    else
      found "$binary, seeds from $seed: $(grep -m 1 -E 'WEFT_SEED=|ERROR|WARNING|FATAL' "$log" | head -c 300)
    WEFT_SEED=$seed WEFT_COUNT=$count $binary '$cases'   # $log"
      log=$findings/networks-$((seed + count)).log
    fi
    add networks $((tests * count))
    seed=$((seed + count))
  done
}

# faulty COMMAND...: a test of faults; what it says is kept if it fails.
faulty() {
  local log=$findings/faults-$RANDOM.log
  if "$@" >"$log" 2>&1; then rm -f "$log"; else found "$*: $(tail -n 1 "$log" | head -c 300)
    $*   # $log"; fi
}
export -f fuzz_target draw_networks faulty

prepare
begin=$SECONDS
if has_part fuzz; then
  seconds=$(seconds_of fuzz)
  # Those that compile or interpret get four times as much as those that parse.
  targets=() weights=0
  for folder in tests/fuzz/corpus/*/; do
    target=$(basename "$folder") weight=1
    case $target in networks | assignments | rebinding | layouts | saved_kernel | loops | schedule | prompt) weight=4 ;; esac
    targets+=("$target $weight")
    weights=$((weights + weight))
  done
  step "fuzzing ${#targets[@]} targets for $seconds s"
  for each in "${targets[@]}"; do
    read -r target weight <<<"$each"
    echo "$target $((seconds * weight * jobs / weights))"
  done | sort -k 2nr | xargs -P "$jobs" -L 1 bash -c 'fuzz_target "$@"' fuzz
fi
lanes() { seq "$jobs" | xargs -P "$jobs" -I LANE bash -c 'draw_networks "$@"' draw "$1" "$2" LANE; }
if has_part networks; then
  step "random networks without sanitizers for $(seconds_of networks) s"
  lanes build/bin/test_differential "$(seconds_of networks)"
fi
if has_part threads; then
  step "random networks with ThreadSanitizer for $(seconds_of threads) s"
  lanes build/thread/bin/test_differential "$(seconds_of threads)"
fi
if has_part faults; then
  step "faults"
  limit=$(seconds_of faults)
  end=$((SECONDS + limit))
  WEFT_DAMAGE=all faulty timeout -k 9 "$((limit > 900 ? limit : 900))" build/bin/test_durability
  faulty build/bin/test_cache
  # Allocations that fail, at other points than those of any run before.
  while has_target test_memory && [ "$SECONDS" -lt "$end" ]; do
    WEFT_SEED=$(date +%s%N) WEFT_COUNT=200 faulty build/bin/test_memory
    add points 200
  done
  if [ -e tests/memory_limit.py ]; then
    python=(python3 -B tests/memory_limit.py --weft build/bin/weft)
    [ -n "${WEFT_DATA:-}" ] && python+=(--data "$WEFT_DATA" --all --minutes $((1 + limit / 60)))
    faulty "${python[@]}"
  fi
fi

spent=$(((SECONDS - begin + 59) / 60))
findings_count=$(grep -c '^[^ ]' "$tally/findings" 2>/dev/null || true)
findings_count=${findings_count:-0}
ledger="| $(git rev-parse --short HEAD 2>/dev/null || echo unknown) | $(date +%F) | ${parts[*]} | $spent | $(($(total cpu) / 60)) | $(total networks) | $(total inputs) | $findings_count |"
echo "$ledger" >>docs/reliability.md
step "done: $(total inputs) inputs in $(($(total cpu) / 60)) minutes of processor time, $(total networks) networks, $findings_count findings"
[ "$findings_count" -eq 0 ] || { cat "$tally/findings"; exit 1; }
rmdir "$findings" 2>/dev/null || true
