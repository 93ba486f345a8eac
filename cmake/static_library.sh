#!/usr/bin/env bash
# static_library.sh SHARED OUTPUT COMPILER AR OBJCOPY NM ARGUMENT...: one relocatable object out of weft's objects and what they
# need of the archives among ARGUMENT (LLVM's), in which only what SHARED exports is still global. A host that
# links it sees no more of weft, and no more of LLVM, than one that links the shared library.
set -euo pipefail
shared=$1 output=$2 compiler=$3 ar=$4 objcopy=$5 nm=$6
shift 6
place=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$place"' EXIT

# What nothing exported needs is left out. Groups are dissolved: else the host's copy of an inline function would displace
# ours, whose name is no longer global.
"$nm" -D --defined-only --format=posix "$shared" | cut -d' ' -f1 >"$place/exported"
sed 's/^/-Wl,-u,/' "$place/exported" >"$place/roots"
"$compiler" -nostdlib -no-pie -r -Wl,--force-group-allocation -Wl,--gc-sections "@$place/roots" -Wl,--start-group "$@" -Wl,--end-group \
  -o "$place/weft.o"
# objcopy makes no local symbols of unique ones, but of weak ones.
"$nm" --defined-only --format=posix "$place/weft.o" | awk '$2 == "u" { print $1 }' >"$place/unique"
"$objcopy" --weaken-symbols="$place/unique" --strip-debug "$place/weft.o"
"$objcopy" --keep-global-symbols="$place/exported" "$place/weft.o"
rm -f "$output"
"$ar" -crsD "$output" "$place/weft.o"
