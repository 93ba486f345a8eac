# bash completion of weft; written by docs/commands.py
_weft_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word")
}
# A name with blanks is one reply, which bash quotes. The word is as it was typed, with the quotes or backslashes in it; within quotes
# what stands before '=' belongs to it.
_weft_files() {
  local path=$word
  case $path in
    \"*|\'*) path=${path:1} ;;
    *) path=${path//\\/} ;;
  esac
  local last=${path##*=}
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen "$1" -P "${path%"$last"}" -- "$last")
}
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options
  COMPREPLY=()
  # "--emit=lo" is three words, "--emit=" two.
  if [ "$word" = = ]; then
    word=
  elif [ "$before" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $before in
    --emit) _weft_words "network tree schedule loops proofs signature llvm asm object"; return ;;
    --specialize) _weft_words "generic profiled baked auto"; return ;;
    --objective) _weft_words "time workspace-order"; return ;;
    --cache-dir|--dump) _weft_files -d; return ;;
  esac
  case $command in
    run) options="-h --help --format -o --out --repeat --tree --schedule --objective --prove --unfused --calls --no-cache --cache-dir --dump --specialize --deterministic --strict-fp --checked --paranoid --emit --html --count --explain -t --threads --memory-limit --json -q --quiet -v --verbose" ;;
    plan) options="-h --help --format --repeat --tree --schedule --objective --prove --unfused --calls --no-cache --cache-dir --dump --specialize --deterministic --strict-fp --checked --paranoid --emit --html --count --explain -t --threads --memory-limit --json -q --quiet -v --verbose" ;;
    compare) options="-h --help --format --repeat --no-cache --cache-dir --specialize --deterministic --strict-fp --checked -t --threads --memory-limit --json -q --quiet -v --verbose" ;;
    repl) options="-h --help --format --repeat --calls --no-cache --cache-dir --dump --specialize --deterministic --strict-fp --checked --paranoid -t --threads --memory-limit -q --quiet -v --verbose" ;;
    info) options="-h --help --format -t --threads --memory-limit --json -q --quiet" ;;
    convert) options="-h --help --format -t --threads --memory-limit --json -q --quiet" ;;
    layout) options="-h --help --shape --no-cache --cache-dir --json -q --quiet" ;;
    cache) options="-h --help --cache-dir --json -q --quiet" ;;
    calibrate) options="-h --help -o --output -q --quiet" ;;
    help) _weft_words "run plan compare repl info convert layout cache calibrate"; return ;;
    -*) options="-V --version -h --help --format -o --out --repeat --tree --schedule --objective --prove --unfused --calls --no-cache --cache-dir --dump --specialize --deterministic --strict-fp --checked --paranoid --emit --html --count --explain -t --threads --memory-limit --json -q --quiet -v --verbose" ;;  # before an expression
    *) options="-h --help --format -o --out --repeat --tree --schedule --objective --prove --unfused --calls --no-cache --cache-dir --dump --specialize --deterministic --strict-fp --checked --paranoid --emit --html --count --explain -t --threads --memory-limit --json -q --quiet -v --verbose" ;;  # an expression
  esac
  if [ "$COMP_CWORD" -eq 1 ] && [[ $word != -* ]]; then
    _weft_words "run plan compare repl info convert layout cache calibrate help version"
  elif [[ $word == -* ]]; then
    _weft_words "$options"
  elif [ "$command" = cache ]; then
    _weft_words "status clear path"
  else
    _weft_files -f
  fi
}
complete -F _weft weft
