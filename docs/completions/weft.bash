# bash completion of weft; written by docs/commands.py
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options
  COMPREPLY=()
  case $before in
    --emit) COMPREPLY=($(compgen -W "network tree schedule loops proofs signature llvm asm object" -- "$word")); return ;;
    --specialize) COMPREPLY=($(compgen -W "generic profiled baked auto" -- "$word")); return ;;
    --objective) COMPREPLY=($(compgen -W "time workspace-order" -- "$word")); return ;;
    --cache-dir|--dump) compopt -o filenames; COMPREPLY=($(compgen -d -- "$word")); return ;;
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
    help) COMPREPLY=($(compgen -W "run plan compare repl info convert layout cache calibrate" -- "$word")); return ;;
    -*) options="-V --version -h --help" ;;
    *) options="-h --help --format -o --out --repeat --tree --schedule --objective --prove --unfused --calls --no-cache --cache-dir --dump --specialize --deterministic --strict-fp --checked --paranoid --emit --html --count --explain -t --threads --memory-limit --json -q --quiet -v --verbose" ;;  # an expression
  esac
  if [ "$COMP_CWORD" -eq 1 ] && [[ $word != -* ]]; then
    COMPREPLY=($(compgen -W "run plan compare repl info convert layout cache calibrate help version" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ "$command" = cache ]; then
    COMPREPLY=($(compgen -W "status clear path" -- "$word"))
  else
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "${word##*[=]}"))
  fi
}
complete -F _weft weft
