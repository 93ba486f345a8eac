#!/usr/bin/env python3
"""Writes the man pages and the completions of bash, zsh and fish from what the command's own help says.

commands.py --weft COMMAND [--check]: into man/ and completions/ beside this file; --check compares and writes nothing.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = ("run", "plan", "compare", "repl", "info", "convert", "layout", "cache", "calibrate")
STAGES = ("network", "tree", "schedule", "loops", "proofs", "signature", "llvm", "asm", "object")
# What the value of an option may be, where that is not free text.
VALUES = {"--emit": STAGES, "--specialize": ("generic", "profiled", "baked", "auto"), "--objective": ("time", "workspace-order")}
FILES = ("--out", "--schedule", "--html", "--json", "--output")
DIRECTORIES = ("--cache-dir", "--dump")


class Option:
    def __init__(self, short, name, value, text):
        self.short, self.name, self.value, self.text = short, name, value, text


class Command:
    """The help of a command: its summary, usage, options, what stands below them, and its examples."""

    def __init__(self, weft, name):
        text = subprocess.run([weft, *([name] if name else []), "--help"], capture_output=True, text=True, check=True).stdout
        self.name = name
        self.summary = text.splitlines()[0]
        self.usage = [line.removeprefix("Usage:").strip() for line in text.split("\n\n")[0].splitlines()[1:]]
        found = re.findall(r"^  (?:(-\w),)?(--[\w-]+)(?: (\S+))?\s\s+(\S.*(?:\n {20,}\S.*)*)$", text, re.MULTILINE)
        self.options = [Option(short, option, value, " ".join(lines.split())) for short, option, value, lines in found]
        self.examples = re.search(r"^Examples:\n(.*)", text, re.MULTILINE | re.DOTALL).group(1).strip().splitlines()
        below = text.split("\n\n", 2)[2] if "\n\n" in text else ""
        below = re.sub(r"^(Options|Subcommands):\n(  .*\n)*", "", below, flags=re.MULTILINE)
        below = re.sub(r"Examples:\n.*", "", below, flags=re.DOTALL).strip()
        statuses = re.search(r"^Exit status: (.*)$", below, re.MULTILINE)  # of the help of all commands alone
        self.statuses = statuses[1] if statuses else ""
        self.below = below.replace(statuses[0], "").strip() if statuses else below

    @property
    def page(self):
        return "weft-" + self.name if self.name else "weft"


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def man(command, all_commands):
    # Words to type are cut nowhere, NAME:like(OPERAND) for one.
    lines = [f".TH {command.page.upper()} 1 \"\" \"weft\" \"User Commands\"", ".nh", ".SH NAME", f"{roff(command.page)} \\- {roff(command.summary.rstrip('.'))}",
             ".SH SYNOPSIS", ".nf"]
    lines += [roff(usage) for usage in command.usage] + [".fi"]
    if not command.name:
        lines += [".SH COMMANDS"]
        for each in all_commands:
            if each.name:
                lines += [".TP", f"\\fB{roff(each.page)}\\fR(1)", roff(each.summary)]
    lines += [".SH OPTIONS"]
    for option in command.options:
        names = ", ".join(f"\\fB{roff(name)}\\fR" for name in (option.short, option.name) if name)
        lines += [".TP", names + (f" \\fI{roff(option.value)}\\fR" if option.value else ""), roff(option.text)]
    if command.below:
        lines += [".SH DESCRIPTION", ".nf", roff(command.below), ".fi"]
    lines += [".SH EXAMPLES", ".nf"] + [roff(example) for example in command.examples] + [".fi"]
    lines += [".SH EXIT STATUS", roff(command.statuses or all_commands[0].statuses)]
    others = [each for each in all_commands if each.page != command.page]
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{roff(each.page)}\\fR(1)" for each in others)]
    return "\n".join(lines) + "\n"


def bash(commands):
    cases = "\n".join(f"    {each.name}) options=\"{' '.join(words(each))}\" ;;" for each in commands if each.name)
    run = " ".join(words(next(each for each in commands if each.name == "run")))
    values = "\n".join(f"    {name}) _weft_words \"{' '.join(known)}\"; return ;;" for name, known in VALUES.items())
    return f"""# bash completion of weft; written by docs/commands.py
_weft_words() {{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word")
}}
# A name with blanks is one reply, which bash quotes. The word is as it was typed, with the quotes or backslashes in it; within quotes
# what stands before '=' belongs to it.
_weft_files() {{
  local path=$word
  case $path in
    \\"*|\\'*) path=${{path:1}} ;;
    *) path=${{path//\\\\/}} ;;
  esac
  local last=${{path##*=}}
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen "$1" -P "${{path%"$last"}}" -- "$last")
}}
_weft() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} options
  COMPREPLY=()
  # "--emit=lo" is three words, "--emit=" two.
  if [ "$word" = = ]; then
    word=
  elif [ "$before" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  case $before in
{values}
    {'|'.join(DIRECTORIES)}) _weft_files -d; return ;;
  esac
  case $command in
{cases}
    help) _weft_words "{' '.join(COMMANDS)}"; return ;;
    -*) options="{' '.join(dict.fromkeys([*words(commands[0]), *run.split()]))}" ;;  # before an expression
    *) options="{run}" ;;  # an expression
  esac
  if [ "$COMP_CWORD" -eq 1 ] && [[ $word != -* ]]; then
    _weft_words "{' '.join(COMMANDS)} help version"
  elif [[ $word == -* ]]; then
    _weft_words "$options"
  elif [ "$command" = cache ]; then
    _weft_words "status clear path"
  else
    _weft_files -f
  fi
}}
complete -F _weft weft
"""


def words(command):
    return [name for option in command.options for name in (option.short, option.name) if name]


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(commands):
    lines = ["#compdef weft", "# written by docs/commands.py", "# Of NAME=PATH the part behind \"=\".", "_weft_files() {", "  compset -P '*='",
             '  _files "$@"', "}", "_weft() {", "  local -a commands", "  commands=("]
    lines += [f"    '{each.name}:{quoted(each.summary)}'" for each in commands if each.name]
    lines += ["    'help:the help of a command'", "    'version:the version'", "  )", "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
              "    _describe command commands", "    _files", "    return", "  fi", "  case $words[2] in"]
    run = next(each for each in commands if each.name == "run")
    lines += ["    help) _describe command commands ;;"]
    # An expression means run, whose options may stand before it too.
    first = {option.name: option for option in (*commands[0].options, *run.options)}
    cases = [("-*", "", list(first.values())), *((each.name, each.name, each.options) for each in commands if each.name), ("*", "run", run.options)]
    for case, name, options in cases:
        lines += [f"    {case})", "      _arguments \\"]
        for option in options:
            text = quoted(option.text).replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
            lead = f"({option.short} {option.name})" if option.short else ""
            # "=": a value may stand behind that or in the next word; "=-": behind that alone; "+": right behind the letter too.
            ends = "" if not option.value else "=-" if option.name == "--json" else "="
            names = f"{{{option.short}{'+' if ends else ''},{option.name}{ends}}}" if option.short else option.name + ends
            action = ""
            if option.value:
                kind = "_weft_files" if option.name in FILES else "_files -/" if option.name in DIRECTORIES else \
                       f"({' '.join(VALUES[option.name])})" if option.name in VALUES else " "
                optional = ":" if option.name == "--json" else ""
                action = f"{optional}:{re.sub(r'[^A-Z]', '', option.value).lower() or 'value'}:{kind}"
            form = f"'{lead}'{names}'[{text}]{action}'" if option.short else f"'{names}[{text}]{action}'"
            lines += [f"        {form} \\"]
        lines += ["        '*:action:(status clear path)'" if name == "cache" else "        '*:file:_weft_files'", "      ;;"]
    return "\n".join(lines + ["  esac", "}", "_weft \"$@\"", ""])


def fish(commands):
    lines = ["# fish completion of weft; written by docs/commands.py"]
    lines += [f"complete -c weft -n __fish_use_subcommand -a {each.name} -d '{each.summary}'" for each in commands if each.name]
    lines += ["complete -c weft -n __fish_use_subcommand -a help -d 'the help of a command'",
              "complete -c weft -n __fish_use_subcommand -a version -d 'the version'"]
    for each in commands:
        others = " ".join(name for name in COMMANDS if name != "run")
        where = "__fish_use_subcommand" if not each.name else \
                f"'not __fish_seen_subcommand_from {others}'" if each.name == "run" else f"'__fish_seen_subcommand_from {each.name}'"
        for option in each.options:
            line = f"complete -c weft -n {where}" + (f" -s {option.short[1:]}" if option.short else "") + f" -l {option.name[2:]}"
            if option.value and option.name != "--json":
                line += " -r" if option.name in (*FILES, *DIRECTORIES) else " -x"  # -x: no file
                line += f" -a '{' '.join(VALUES[option.name])}'" if option.name in VALUES else ""
            text = option.text.replace("\\", "\\\\").replace("'", "\\'")
            lines.append(f"{line} -d '{text}'")
    lines.append("complete -c weft -n '__fish_seen_subcommand_from cache' -f -a 'status clear path'")
    lines.append(f"complete -c weft -n '__fish_seen_subcommand_from help' -f -a '{' '.join(COMMANDS)}'")
    return "\n".join(lines) + "\n"


def texts(weft):
    commands = [Command(weft, name) for name in ("", *COMMANDS)]
    found = {f"man/{each.page}.1": man(each, commands) for each in commands}
    found.update({"completions/weft.bash": bash(commands), "completions/_weft": zsh(commands), "completions/weft.fish": fish(commands)})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    other = []
    for name, text in texts(arguments.weft).items():
        path = HERE / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        other.append(name)
        if not arguments.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if arguments.check and other:
        print(f"not what the command's help says: {', '.join(other)}; docs/commands.py --weft build/bin/weft writes them anew", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
