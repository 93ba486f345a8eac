# Sourced by samples/quickstart.sh and tests/run.sh: installs Debian packages that are missing, and only those.

# What building the command and the benchmark driver takes.
build_packages="g++ cmake ninja-build llvm-19-dev libtbb-dev libfmt-dev libcli11-dev libfast-float-dev
  libzstd-dev zlib1g-dev nlohmann-json3-dev libxxhash-dev libz3-dev libedit-dev"
# What the Python package takes besides: `pip install .` in a virtual environment that sees Debian's numpy.
python_packages="python3-dev python3-venv python3-pip python3-numpy"
# What the tests and the sanitizer build take besides.
test_packages="ccache clang-19 libclang-rt-19-dev doctest-dev dpkg-dev pkg-config python3
  $python_packages python3-scipy python3-pytest python3-hypothesis python3-ipython python3-nbclient python3-nbconvert
  python3-ipykernel mypy zsh fish"

# install_missing PACKAGE...: as root or through sudo, without questions. On a system without dpkg it leaves the search
# for what is missing to CMake.
install_missing() {
  command -v dpkg-query >/dev/null || { echo "not a Debian system: taking the installed tools as they are"; return 0; }
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=(env)
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install as root: apt-get install ${missing[*]}" >&2; return 1; }
    as_root=(sudo env)
  fi
  step "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log=${TMPDIR:-/tmp}/weft-apt.$$.log
  if "${as_root[@]}" DEBIAN_FRONTEND=noninteractive sh -c \
      'apt-get -q update && apt-get -q -y --no-install-recommends install "$@"' install "${missing[@]}" >"$log" 2>&1
  then
    rm -f "$log"
  else
    tail -n 30 "$log" >&2
    echo "apt-get failed; the whole log is $log" >&2
    return 1
  fi
}

# step TEXT: one line of progress with the time since the script began.
step() { printf '[%3d s] %s\n' "$SECONDS" "$*"; }

# build DIRECTORY TARGET...: runs the build quietly, a line of progress each quarter; prints the log if it fails.
build() {
  local directory=$1 log=$1/build.log
  shift
  # Not awk: some buffer what they read, and the lines would come too late to be progress.
  if ! cmake --build "$directory" --parallel "$(nproc)" --target "$@" 2>&1 | tee "$log" | {
    local line quarter shown=0
    while IFS= read -r line; do
      [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
      quarter=$((4 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      [ "$quarter" -gt "$shown" ] && [ "${BASH_REMATCH[2]}" -gt 20 ] || continue
      shown=$quarter
      step "$directory: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    done
  }
  then
    grep -v '^\[[0-9]*/[0-9]*\] \(Building\|Linking\)' "$log" | tail -n 60 >&2
    echo "building $directory failed; the whole log is $log" >&2
    return 1
  fi
}

# configure DIRECTORY OPTION...: with Ninja where the directory is new; an existing one keeps its generator.
configure() {
  local directory=$1 log=$1/configure.log generator=()
  shift
  mkdir -p "$directory"
  [ -e "$directory/CMakeCache.txt" ] || generator=(-G Ninja)
  if ! cmake "${generator[@]}" -S . -B "$directory" "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "configuring $directory failed; the whole log is $log" >&2
    return 1
  fi
}
