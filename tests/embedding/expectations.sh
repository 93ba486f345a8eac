# Sourced by the scripts beside it: a directory of their own in $place, gone when they end, and how they fail.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# quietly COMMAND...: shows what it printed only if it fails.
quietly() { "$@" >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "$*"; }; }

# expect_silence COMMAND...: what runs inside a host must not print. A host that hangs fails.
expect_silence() {
  timeout 60 "$@" >"$place/out" 2>&1 || { cat "$place/out" >&2; fail "$* ended with an error"; }
  [ ! -s "$place/out" ] || { cat "$place/out" >&2; fail "$* printed"; }
}

# pkg_config_path PREFIX: pkg-config finds what is installed there.
pkg_config_path() {
  PKG_CONFIG_PATH=$(dirname "$(find "$1" -name weft.pc)")
  export PKG_CONFIG_PATH
}
